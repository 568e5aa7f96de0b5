import type { GraphEdge, StageGraph } from '../plans/index.js';
import type { Sample } from './problem.js';

/** FlowEdge is an edge seen from the stage that it leads to. */
export interface FlowEdge {
  readonly from: number;
  readonly edge: GraphEdge;
  /** For each request, 1 where it goes along the edge. */
  readonly isTaken: Uint8Array;
}

/** SampleFlow says which requests of a sample visit which stages. No configuration changes that. */
export interface SampleFlow {
  /** The edges that lead to each stage. */
  readonly into: readonly (readonly FlowEdge[])[];
  /** For each stage, which requests visit it. */
  readonly visitors: readonly Visitors[];
}

/** Visitors says which requests visit a stage. */
export interface Visitors {
  readonly count: number;
  /** For each request, 1 where it visits. */
  readonly isVisited: Uint8Array;
}

/** flowOf follows every request of a sample through the pipeline. */
export function flowOf(graph: StageGraph, { atNs, verdicts }: Sample): SampleFlow {
  const isVisited = graph.names.map(() => new Uint8Array(atNs.length));
  const into: FlowEdge[][] = graph.names.map(() => []);
  for (const entry of graph.entries) isVisited[entry]?.fill(1);
  for (const from of graph.order) {
    const visited = isVisited[from] as Uint8Array;
    for (const edge of graph.edges[from] ?? []) {
      const isTaken = takenOf(edge, visited, verdicts[from]);
      into[edge.to]?.push({ from, edge, isTaken });
      mark(isVisited[edge.to] as Uint8Array, isTaken);
    }
  }
  return {
    into,
    visitors: isVisited.map((visited) => ({ count: sumOf(visited), isVisited: visited })),
  };
}

function takenOf({ bit }: GraphEdge, visited: Uint8Array, verdicts: Int32Array | undefined): Uint8Array {
  if (bit === undefined) return visited;
  return visited.map((one, r) => one & ((verdicts?.[r] as number) >>> bit));
}

function mark(column: Uint8Array, where: Uint8Array): void {
  for (let r = 0; r < column.length; r++) column[r]! |= where[r] as number;
}

function sumOf(column: Uint8Array): number {
  let sum = 0;
  for (let r = 0; r < column.length; r++) sum += column[r] as number;
  return sum;
}
