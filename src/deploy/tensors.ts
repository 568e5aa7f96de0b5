import { itemAt } from '../collections/index.js';
import {
  fault,
  InputError,
  layersBeforeBlocks,
  type Profile,
  shown,
  type TensorSpec,
} from '../formats/index.js';
import type { Cut, OnnxModel, TensorType } from '../onnx/index.js';

/** The name of a model's batch dimension in the graphs that we write. */
const BATCH = 'batch';

/**
 * crossingTypes gives the types of every tensor at a block's end and at the model's ends, by name. The batch axis is
 * named `batch` where its size at batch 1 is 1, and is otherwise without a size. With a fixed batch it has its size.
 */
export function crossingTypes(profile: Profile): Map<string, TensorType> {
  const fixed = profile.model.fixedBatch !== undefined;
  return new Map(
    [...specsOf(profile).values()].map(({ name, dtype, shape, batchAxis, variableAxes = [] }) => {
      const dims = shape.map((size, axis) => {
        if (variableAxes.includes(axis)) return undefined;
        return fixed || axis !== batchAxis ? size : size === 1 ? BATCH : undefined;
      });
      return [name, { dtype, dims }];
    }),
  );
}

/**
 * tensorSpecs describes the inputs or outputs of a partition as they are sent: names of the graph, with the types and
 * shapes that were profiled. A name that ends in `/float16` is of the tensor before it, sent as float16.
 * @throws InputError where the profile does not know a tensor
 */
export function tensorSpecs(profile: Profile, names: readonly string[]): TensorSpec[] {
  const specs = specsOf(profile);
  const faults: ReturnType<typeof fault>[] = [];
  const found = names.flatMap((name) => {
    const half = /^(.*)\/float16_*$/.exec(name)?.[1];
    const spec = specs.get(name);
    if (spec) return [spec];
    const original = half === undefined ? undefined : specs.get(half);
    if (original) return [{ ...original, name, dtype: 'float16' }];
    faults.push(fault(`the profile does not describe the tensor ${shown(name)}, which crosses a cut`));
    return [];
  });
  if (faults.length > 0) throw new InputError('deploy the plan', faults, 'Profile the model again.');
  return found;
}

function specsOf(profile: Profile): Map<string, TensorSpec> {
  const { inputs = [], outputs = [] } = profile.model;
  const crossing = profile.blocks.flatMap((block) => block.tensors ?? []);
  return new Map([...crossing, ...inputs, ...outputs].map((spec) => [spec.name, spec]));
}

/**
 * profiledCuts gives what crosses after each block, by the number of the graph's nodes before, as far as the profile
 * says it.
 */
export function profiledCuts({ blocks }: Profile): Cut[] {
  const before = layersBeforeBlocks(blocks);
  return blocks
    .slice(0, -1)
    .flatMap(({ tensors }, k) =>
      tensors === undefined
        ? []
        : [{ position: itemAt(before, k + 1), tensors: tensors.map(({ name }) => name) }],
    );
}

/**
 * nodeRange finds the nodes of blocks [from, to) as a range of the graph's topological order.
 * @throws InputError where the blocks hold other nodes than the graph
 */
export function nodeRange(
  profile: Profile,
  graph: OnnxModel,
  { from, to }: { from: number; to: number },
): { from: number; to: number } {
  const before = layersBeforeBlocks(profile.blocks);
  const range = { from: itemAt(before, from), to: itemAt(before, to) };
  const named = profile.blocks.slice(from, to).flatMap((block) => block.nodes ?? []);
  const there = graph.graph.nodes.slice(range.from, range.to).map((node) => node.name);
  const differs = named.findIndex((name, i) => name !== there[i]);
  if (named.length === 0 || differs >= 0) {
    const which = named[differs] === undefined ? 'its nodes' : JSON.stringify(named[differs]);
    throw new InputError(
      `deploy blocks ${from} to ${to - 1} of ${profile.model.name}`,
      [fault(`the profile's blocks do not match the model: it has not ${which} where the profile says`)],
      'Profile the model again.',
    );
  }
  return range;
}
