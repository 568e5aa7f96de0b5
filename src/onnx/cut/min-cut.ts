import { smallestOf } from '../../collections/index.js';
/** VertexNetwork is a directed graph without cycles, in which a cheapest set of vertices is looked for. */
export interface VertexNetwork {
  /** By vertex, those that it is made from; none for a source. A vertex stands after those. */
  readonly from: ReadonlyMap<string, readonly string[]>;
  /** The vertices that are wanted. */
  readonly wanted: readonly string[];
  /** The cost to pick a vertex: finite and not negative. */
  readonly costOf: (vertex: string) => number;
}

interface Edge {
  readonly to: number;
  left: number;
  readonly back: number;
}

/**
 * minVertexCut picks the vertices of least total cost without which no way leads from a source to a wanted vertex: all
 * that is wanted can be made from them. Among picks of the same cost it takes the one nearest to what is wanted. It is
 * a maximum flow by shortest augmenting paths (Edmonds and Karp 1972) through vertices that are split in two.
 */
export function minVertexCut({ from, wanted, costOf }: VertexNetwork): string[] {
  const names = [...from.keys()];
  const indexOf = new Map(names.map((name, index) => [name, index]));
  const [source, sink] = [2 * names.length, 2 * names.length + 1];
  const edges: Edge[][] = Array.from({ length: sink + 1 }, () => []);
  const connect = (a: number, b: number, capacity: number) => {
    edges[a]!.push({ to: b, left: capacity, back: edges[b]!.length });
    edges[b]!.push({ to: a, left: 0, back: edges[a]!.length - 1 });
  };
  for (const [index, name] of names.entries()) {
    const makers = from.get(name)!;
    connect(2 * index, 2 * index + 1, costOf(name));
    if (makers.length === 0) connect(source, 2 * index, Number.POSITIVE_INFINITY);
    for (const maker of makers) connect(2 * indexOf.get(maker)! + 1, 2 * index, Number.POSITIVE_INFINITY);
  }
  for (const name of new Set(wanted)) connect(2 * indexOf.get(name)! + 1, sink, Number.POSITIVE_INFINITY);
  while (augment(edges, source, sink));
  const reaches = reaching(edges, sink);
  return names.filter((_, index) => reaches.has(2 * index + 1) && !reaches.has(2 * index));
}

/** augment sends as much as fits along a shortest path, and says whether there was one. */
function augment(edges: Edge[][], source: number, sink: number): boolean {
  const cameBy = new Map<number, Edge>();
  const queue = [source];
  for (const at of queue) {
    for (const edge of edges[at]!) {
      if (edge.left <= 0 || edge.to === source || cameBy.has(edge.to)) continue;
      cameBy.set(edge.to, edge);
      queue.push(edge.to);
    }
  }
  if (!cameBy.has(sink)) return false;
  const path: Edge[] = [];
  for (let at = sink; at !== source; ) {
    const edge = cameBy.get(at)!;
    path.push(edge);
    at = edges[at]![edge.back]!.to;
  }
  const amount = smallestOf(path.map(({ left }) => left));
  for (const edge of path) {
    edge.left -= amount;
    edges[edge.to]![edge.back]!.left += amount;
  }
  return true;
}

/** reaching gives all places from which something could still flow to the sink. */
function reaching(edges: Edge[][], sink: number): Set<number> {
  const found = new Set([sink]);
  for (const at of found) {
    for (const edge of edges[at]!) {
      const back = edges[edge.to]![edge.back]!;
      if (back.left > 0) found.add(edge.to);
    }
  }
  return found;
}
