import type { GraphEdge, StageGraph } from './graph.js';

/**
 * wayWithout finds a way by which a request can come to a stage while it visits none of `missed`. It is exact: a stage
 * counts as safe where its verdicts can be such that nothing after it is in `missed`, and a way leads through safe
 * stages alone.
 * @returns the stages of such a way, or undefined where there is none
 */
export function wayWithout(
  graph: StageGraph,
  to: number,
  missed: ReadonlySet<number>,
): readonly number[] | undefined {
  const safe = safeStages(graph, missed);
  if (graph.entries.some((entry) => !safe[entry])) return undefined;
  const ways = new Map<number, number[]>(graph.entries.map((entry) => [entry, [entry]]));
  for (const i of graph.order) {
    const way = ways.get(i);
    if (way === undefined) continue;
    if (i === to) return way;
    for (const edge of graph.edges[i] ?? [])
      if (safe[edge.to] && !ways.has(edge.to)) ways.set(edge.to, [...way, edge.to]);
  }
  return undefined;
}

function safeStages({ edges, order }: StageGraph, missed: ReadonlySet<number>): boolean[] {
  const safe = edges.map(() => true);
  for (const i of order.toReversed()) safe[i] = !missed.has(i) && canAvoid(edges[i] ?? [], safe);
  return safe;
}

/** canAvoid says whether the verdicts about edges can lead to safe stages alone. */
function canAvoid(edges: readonly GraphEdge[], safe: readonly boolean[]): boolean {
  return edges.every(({ to, probability, group }) => {
    if (group === undefined) return probability < 1 || safe[to];
    return edges.some((other) => other.group === group && safe[other.to]);
  });
}

/**
 * canBothBeVisited says whether one request can visit both stages: whether there are ways to both that nowhere take two
 * exclusive edges.
 */
export function canBothBeVisited(graph: StageGraph, a: number, b: number): boolean {
  const rank = new Map(graph.order.map((stage, k) => [stage, k]));
  const seen = new Set<string>();
  const left = graph.entries.flatMap((one) => graph.entries.map((other): [number, number] => [one, other]));
  const follow = (one: number, other: number): void => {
    const key = `${one} ${other}`;
    if (!seen.has(key)) left.push([one, other]);
    seen.add(key);
  };
  for (let pair = left.pop(); pair !== undefined; pair = left.pop()) {
    const [one, other] = pair;
    const [oneStays, otherStays] = [one === a, other === b];
    if (oneStays && otherStays) return true;
    if (one === other && !oneStays && !otherStays) {
      for (const edge of graph.edges[one] ?? [])
        for (const second of graph.edges[one] ?? [])
          if (!areExclusive(edge, second)) follow(edge.to, second.to);
      continue;
    }
    // The way that is behind goes on first, so that two ways through one stage leave it in the same step.
    const oneGoes = !oneStays && (otherStays || (rank.get(one) as number) < (rank.get(other) as number));
    for (const edge of graph.edges[oneGoes ? one : other] ?? [])
      if (oneGoes) follow(edge.to, other);
      else follow(one, edge.to);
  }
  return false;
}

function areExclusive(a: GraphEdge, b: GraphEdge): boolean {
  return a.group !== undefined && a.group === b.group && a.to !== b.to;
}
