import { itemAt } from '../collections/index.js';
import { linkGbps, type OpenCluster } from '../formats/index.js';
import { ancestorsOf, bytesPerRow, predecessorsOf, REQUEST, type StageGraph } from '../plans/index.js';
import type { GivenStage } from './problem.js';

/** SendingStage is a stage with what says which tensors it takes and gives. */
type SendingStage = Pick<GivenStage, 'profile' | 'inputs'>;

/**
 * edgeBytes counts, for each edge of each stage, the bytes that one task sends along it: the tensors that the
 * next stage takes from this one, and those that it takes from stages further back, which come along the
 * edges from stages after these. Tensors that a request brings itself are not counted. Without a list of
 * tensors, it is the size of the output.
 */
export function edgeBytes(graph: StageGraph, stages: readonly SendingStage[]): number[][] {
  const ancestors = ancestorsOf(graph);
  const predecessors = predecessorsOf(graph);
  return graph.edges.map((edges, from) =>
    edges.map(({ to }) => {
      const { inputs } = itemAt(stages, to);
      const { blocks, model } = itemAt(stages, from).profile;
      if (inputs === undefined || model.outputs === undefined) return blocks.at(-1)?.cutBytes ?? 0;
      const carried = new Map<string, number>();
      for (const ref of inputs.flatMap((input) => input.from)) {
        const [name = '', ...tensor] = ref.split('.');
        const source = graph.names.indexOf(name);
        if (name === REQUEST || source < 0) continue;
        const isBehind = ancestors[from]?.has(source) && !predecessors[to]?.includes(source);
        if (source === from || isBehind)
          carried.set(ref, outputBytes(itemAt(stages, source), tensor.join('.')));
      }
      return [...carried.values()].reduce((all, bytes) => all + bytes, 0);
    }),
  );
}

function outputBytes({ profile }: SendingStage, tensor: string): number {
  const output = profile.model.outputs?.find(({ name }) => name === tensor);
  return output === undefined ? 0 : (bytesPerRow(output) ?? 0);
}

/** linkUs gives the time of sending bytes between devices of two classes; none where no rate of their links is known. */
export function linkUs(cluster: OpenCluster, classes: readonly [string, string], bytes: number): number {
  const gbps = linkGbps(cluster, classes);
  return gbps === undefined ? 0 : (8 * bytes) / gbps / 1e3;
}
