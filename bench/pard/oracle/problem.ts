/**
 * OfflineProblem is a load as one sees it who knows everything beforehand: when each request comes, which stages it takes,
 * and how long every batch lasts. A request is in time if all its stages have ended by its deadline.
 */
export interface OfflineProblem {
  /** The stages in an order in which edges lead to later ones. */
  readonly stages: readonly OfflineStage[];
  /** The ways through the stages that requests take. */
  readonly routes: readonly OfflineRoute[];
  /** Of each request, in the order of arrival: its arrival, its deadline, and the index of its route. */
  readonly arrivalNs: Float64Array;
  readonly deadlineNs: Float64Array;
  readonly routeOf: Int32Array;
}

/** OfflineStage is what executes the requests at one stage: workers that are alike, each one batch at a time. */
export interface OfflineStage {
  /** How long a batch of b takes, at index b − 1. Its length is that of the largest batch. */
  readonly latencyNs: Float64Array;
  readonly workers: WorkerSteps;
}

/**
 * WorkerSteps says how many workers there are over time: `count[i]` from `fromNs[i]` on. The first begins at 0, and times
 * ascend. A worker counts until its last batch has ended.
 */
export interface WorkerSteps {
  readonly fromNs: readonly number[];
  readonly count: readonly number[];
}

/** OfflineRoute is one way through the stages: those that are taken, ascending, and the edges between them that are. */
export interface OfflineRoute {
  readonly stages: readonly number[];
  readonly edges: readonly OfflineEdge[];
}

/** OfflineEdge is an edge that a request goes along. Its next stage begins no earlier than `leastNs` after the one before it. */
export interface OfflineEdge {
  readonly from: number;
  readonly to: number;
  readonly leastNs: number;
}

/** RouteTimes holds the shortest times along a route, by stage. */
export interface RouteTimes {
  /** From the arrival to the earliest start of each stage. */
  readonly headNs: Float64Array;
  /** From the end of each stage to the earliest end of the request. */
  readonly tailNs: Float64Array;
}

/** alwaysWorkers are so many workers all the time. */
export function alwaysWorkers(count: number): WorkerSteps {
  return { fromNs: [0], count: [count] };
}

/** leastLatencyNs is the shortest time that a batch of any size takes at a stage. */
export function leastLatencyNs({ latencyNs }: OfflineStage): number {
  return latencyNs.reduce((least, ns) => Math.min(least, ns), Number.POSITIVE_INFINITY);
}

/** routeTimes finds the shortest times along a route, on idle workers with the quickest batches. */
export function routeTimes(stages: readonly OfflineStage[], { edges }: OfflineRoute): RouteTimes {
  const least = stages.map(leastLatencyNs);
  const headNs = new Float64Array(stages.length);
  const tailNs = new Float64Array(stages.length);
  // Edges in the order of their first stages have all that leads to a stage before what leads on from it.
  const ascending = [...edges].sort((a, b) => a.from - b.from);
  for (const { from, to, leastNs } of ascending)
    headNs[to] = Math.max(headNs[to]!, headNs[from]! + least[from]! + leastNs);
  for (const { from, to, leastNs } of ascending.reverse())
    tailNs[from] = Math.max(tailNs[from]!, leastNs + least[to]! + tailNs[to]!);
  return { headNs, tailNs };
}
