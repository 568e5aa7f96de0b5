import type { Boundary } from '../../artifacts/index.js';
import type { OnnxModel, TensorType } from '../wire/index.js';
import { valueInfoBytes } from '../wire/index.js';
import { typeOf } from './cuts.js';
import { castFromHalf, castToHalf, halfName } from './half.js';
import { namesOf, type PartitionParts, usedFunctions } from './part.js';
import { usedBy } from './spans.js';

/** EndOptions decide how a partition's ends look. */
interface EndOptions {
  readonly types: ReadonlyMap<string, TensorType>;
  readonly boundary?: Boundary;
}

/** Ends are the graph-level ends of a partition: the names there, a ValueInfo for each, and the casts in between. */
export interface Ends {
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly inputInfo: readonly Uint8Array[];
  readonly outputInfo: readonly Uint8Array[];
  readonly castsIn: readonly Uint8Array[];
  readonly castsOut: readonly Uint8Array[];
}

/**
 * endsOf gives a partition's ends. A tensor that crosses as float16 is named `<tensor>/float16` and gets a cast. An
 * input that is not the model's own is declared without a shape where the partition may branch (`mayBranch`).
 */
export function endsOf(model: OnnxModel, part: PartitionParts, options: EndOptions): Ends {
  const halves = halvesOf(model, part, options);
  const name = (tensor: string) => halves.get(tensor) ?? tensor;
  const loose = looseInputs(model, part);
  const declare = (tensor: string, withoutShape: boolean) => {
    const type = typeOf(model, tensor, options.types);
    const half = halves.get(tensor);
    if (type?.kind !== 'tensor' || (half === undefined && !withoutShape))
      return declared(model, tensor, options.types);
    const dtype = half === undefined ? type.dtype : 'float16';
    return valueInfoBytes(name(tensor), withoutShape ? { dtype } : { ...type, dtype });
  };
  const casts = (tensors: readonly string[], cast: typeof castToHalf) =>
    tensors.flatMap((tensor) => (halves.has(tensor) ? [cast(model, tensor, name(tensor))] : []));
  return {
    inputs: part.inputs.map(name),
    outputs: part.outputs.map(name),
    inputInfo: part.inputs.map((tensor) => declare(tensor, loose.has(tensor))),
    outputInfo: part.outputs.map((tensor) => declare(tensor, false)),
    castsIn: casts(part.inputs, castFromHalf),
    castsOut: casts(part.outputs, castToHalf),
  };
}

/** halvesOf gives names to the tensors at a partition's ends that cross as float16. */
function halvesOf(model: OnnxModel, part: PartitionParts, options: EndOptions): Map<string, string> {
  if (options.boundary !== 'float16' || part.whole) return new Map();
  const { inputs, outputs, nodes } = model.graph;
  const fixed = new Set([...namesOf(inputs), ...namesOf(outputs)]);
  const taken = new Set([...fixed, ...nodes.flatMap((node) => [...node.outputs, ...usedBy(node)])]);
  const halved = [...part.inputs, ...part.outputs].filter((tensor) => {
    const type = typeOf(model, tensor, options.types);
    return !fixed.has(tensor) && type?.kind === 'tensor' && type.dtype === 'float32';
  });
  return new Map(halved.map((tensor) => [tensor, halfName(tensor, taken)]));
}

/** looseInputs lists the inputs that are declared without their measured shape (`mayBranch`). */
function looseInputs(model: OnnxModel, part: PartitionParts): Set<string> {
  if (part.whole || !mayBranch(model, part.nodes)) return new Set();
  const given = new Set(namesOf(model.graph.inputs));
  return new Set(part.inputs.filter((tensor) => !given.has(tensor)));
}

const BRANCHING = new Set(['If', 'Loop', 'Scan', 'SequenceMap']);

/**
 * mayBranch says whether there are branches that may not be taken, in nodes or local functions. ONNX Runtime infers
 * shapes in those too, and refuses a model where a measured shape contradicts them. The whole model declares no such
 * shapes, so a partition must not either.
 */
export function mayBranch(model: OnnxModel, nodes = model.graph.nodes): boolean {
  if (nodes.some((node) => node.domain === '' && BRANCHING.has(node.op))) return true;
  return model.functions.length > 0 && usedFunctions(model, nodes).size > 0;
}

/** declared gives the file's own ValueInfo of a graph input or output, else one with the type that is known. */
function declared(model: OnnxModel, name: string, types: ReadonlyMap<string, TensorType>): Uint8Array {
  const { inputs, outputs, valueInfo } = model.graph;
  const ends = [...inputs, ...outputs].find((value) => value.name === name && value.type !== undefined);
  if (ends !== undefined) return ends.encoded;
  const type = typeOf(model, name, types);
  if (type?.kind === 'tensor') return valueInfoBytes(name, type);
  return valueInfo.get(name)?.encoded ?? valueInfoBytes(name);
}
