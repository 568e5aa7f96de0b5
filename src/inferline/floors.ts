import { smallestOf } from '../collections/index.js';
import type { GraphEdge } from '../plans/index.js';
import type { PlanningProblem, Sample, StageCandidate, StageChoices, TailObjective } from './problem.js';

/** FLOOR is the device class of the candidate that stands for a stage at its best. No cluster has it. */
const FLOOR = '';

/** Relaxed is a problem in which each stage may also be left at its floor. */
export interface Relaxed {
  readonly problem: PlanningProblem;
  /** The least time of each stage: with any candidate and any number of rows. */
  readonly stageNs: readonly number[];
  /** The least time of each edge of each stage: between any two classes, with any number of rows. */
  readonly edgeNs: readonly (readonly number[])[];
}

/**
 * withFloors appends to each stage a candidate that is as fast as the stage and its transfers can ever be. A stage on
 * this candidate with a replica for each request delays no request more than any real choice does.
 */
export function withFloors(problem: PlanningProblem): Relaxed {
  const { graph, stages, transferNs } = problem;
  const stageNs = stages.map(({ candidates }) =>
    smallestOf(
      candidates.map((candidate) => leastOf(candidate.latencyNs.subarray(0, largestBatch(candidate)))),
    ),
  );
  const edgeNs = graph.edges.map((own, from) => own.map((edge) => leastTransfer(problem, { from, edge })));
  const relaxed = stages.map((choices, i): StageChoices => {
    const floor = {
      device: FLOOR,
      batches: [1],
      latencyNs: Float64Array.of(stageNs[i] as number),
      hourlyCost: 0,
    };
    return { ...choices, candidates: [...choices.candidates, floor] };
  });
  if (transferNs === undefined) return { problem: { ...problem, stages: relaxed }, stageNs, edgeNs };
  const orFloor: typeof transferNs = (move) =>
    move.fromDevice === FLOOR || move.toDevice === FLOOR
      ? (edgeNs[move.from]?.[(graph.edges[move.from] ?? []).indexOf(move.edge)] as number)
      : transferNs(move);
  return { problem: { ...problem, stages: relaxed, transferNs: orFloor }, stageNs, edgeNs };
}

function largestBatch({ batches }: StageCandidate): number {
  return batches.at(-1) as number;
}

function leastOf(values: Iterable<number>): number {
  let least = Number.POSITIVE_INFINITY;
  for (const value of values) least = Math.min(least, value);
  return least;
}

function leastTransfer(
  { stages, transferNs }: PlanningProblem,
  { from, edge }: { readonly from: number; readonly edge: GraphEdge },
): number {
  if (transferNs === undefined) return 0;
  let least = Number.POSITIVE_INFINITY;
  for (const sender of stages[from]?.candidates ?? [])
    for (const receiver of stages[edge.to]?.candidates ?? [])
      for (let rows = 1; rows <= largestBatch(sender); rows++) {
        const move = { from, edge, fromDevice: sender.device, toDevice: receiver.device, rows };
        least = Math.min(least, transferNs(move));
      }
  return least;
}

/** StageDemand is what a sample asks of a stage, whatever is chosen for the others. */
export interface StageDemand {
  /** The number of requests that visit the stage. */
  readonly visits: number;
  /** A visit begins this long after the arrival of its request, or later. */
  readonly headNs: number;
  /** A request is answered this long after the end of a visit, or later. */
  readonly tailNs: number;
  /** Some numbers of requests in a row that visit the stage, with the least time in which that many arrive. */
  readonly bursts: readonly { readonly requests: number; readonly spanNs: number }[];
  /** For each edge that leads on, the number of requests that take it. */
  readonly sent: readonly number[];
}

/**
 * demandsOf follows the requests of the sample through the graph with every stage and edge at its least time.
 * @param isOne for each request, 1 where it counts; all do where it is absent
 */
export function demandsOf(relaxed: Relaxed, sample: Sample, isOne?: Uint8Array): StageDemand[] {
  const { graph } = relaxed.problem;
  const reached = reachedNs(relaxed, sample);
  const rest = restNs(relaxed, sample);
  return graph.edges.map((_, i) => {
    const [own, after] = [reached[i] as Float64Array, rest[i] as Float64Array];
    const atNs = new Float64Array(own.length);
    let [visits, headNs, tailNs] = [0, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
    for (let request = 0; request < own.length; request++) {
      if ((own[request] as number) < 0 || isOne?.[request] === 0) continue;
      atNs[visits++] = sample.atNs[request] as number;
      headNs = Math.min(headNs, own[request] as number);
      tailNs = Math.min(tailNs, after[request] as number);
    }
    const sent = (graph.edges[i] ?? []).map(({ bit }) => {
      const isTaken = takenBy(bit, sample.verdicts[i]);
      const counts = (at: number, request: number) => at >= 0 && isOne?.[request] !== 0 && isTaken(request);
      return own.reduce((sum, at, request) => (counts(at, request) ? sum + 1 : sum), 0);
    });
    return { visits, headNs, tailNs, bursts: burstsOf(atNs.subarray(0, visits)), sent };
  });
}

/** reachedNs lists, for each stage, how long after its arrival each request is there; -1 where it does not come. */
function reachedNs({ problem: { graph }, stageNs, edgeNs }: Relaxed, { atNs, verdicts }: Sample) {
  const reached = graph.edges.map(() => new Float64Array(atNs.length).fill(-1));
  for (const entry of graph.entries) reached[entry]?.fill(0);
  for (const i of graph.order)
    for (const [k, { to, bit }] of (graph.edges[i] ?? []).entries()) {
      const [from, there] = [reached[i] as Float64Array, reached[to] as Float64Array];
      const isTaken = takenBy(bit, verdicts[i]);
      const [servedNs, onWayNs] = [stageNs[i] as number, edgeNs[i]?.[k] as number];
      for (let request = 0; request < from.length; request++) {
        const at = from[request] as number;
        if (at < 0 || !isTaken(request)) continue;
        there[request] = Math.max(there[request] as number, at + servedNs + onWayNs);
      }
    }
  return reached;
}

/** restNs lists, for each stage, how long each request that visits it takes from its end there to its answer. */
function restNs({ problem: { graph }, stageNs, edgeNs }: Relaxed, { atNs, verdicts }: Sample) {
  const rest = graph.edges.map(() => new Float64Array(atNs.length));
  for (const i of graph.order.toReversed())
    for (const [k, { to, bit }] of (graph.edges[i] ?? []).entries()) {
      const [own, behind] = [rest[i] as Float64Array, rest[to] as Float64Array];
      const isTaken = takenBy(bit, verdicts[i]);
      const stepNs = (edgeNs[i]?.[k] as number) + (stageNs[to] as number);
      for (let request = 0; request < own.length; request++)
        if (isTaken(request))
          own[request] = Math.max(own[request] as number, stepNs + (behind[request] as number));
    }
  return rest;
}

/** takenBy says which requests go along an edge, of those that are where it begins. */
function takenBy(bit: number | undefined, verdicts: Int32Array | undefined): (request: number) => boolean {
  if (bit === undefined) return () => true;
  return (request) => (((verdicts?.[request] ?? 0) >>> bit) & 1) === 1;
}

/** Any numbers of requests give a valid bound; a twentieth more each time loses little of it. */
const GROWTH = 1.05;

function burstsOf(atNs: Float64Array): StageDemand['bursts'] {
  const bursts: { requests: number; spanNs: number }[] = [];
  const add = (requests: number): void => {
    let spanNs = Number.POSITIVE_INFINITY;
    for (let i = requests - 1; i < atNs.length; i++)
      spanNs = Math.min(spanNs, (atNs[i] as number) - (atNs[i - requests + 1] as number));
    bursts.push({ requests, spanNs });
  };
  for (let n = 1; n < atNs.length; n = Math.max(n + 1, Math.floor(n * GROWTH))) add(n);
  if (atNs.length > 0) add(atNs.length);
  return bursts;
}

/** allowedLate is the number of requests that may be late while the objective is met. */
export function allowedLate({ attainment }: TailObjective, requests: number): number {
  let late = Math.floor((1 - attainment) * requests);
  while (late < requests && (requests - late - 1) / requests >= attainment) late++;
  while (late > 0 && (requests - late) / requests < attainment) late--;
  return late;
}

/** Beyond this many rows, the time that a replica needs is bounded by its best rate alone. */
const MOST_ROWS = 2048;

/**
 * leastReplicas is a number of replicas below which no plan meets an objective, whatever is chosen for the other
 * stages and in whatever order tasks are served. Take n requests that arrive in a row: all but the allowed late ones
 * must begin and end their visits between the first arrival and the last one's SLO, less what other stages take at
 * least. A replica can serve only a limited number of rows in that time.
 *
 * With `byBatch` it is larger: the visit of a request is as long as its batch, and must be within the SLO, less what
 * other stages take at least. So only batches that are no longer serve requests in time.
 */
export function leastReplicas(
  demand: StageDemand,
  {
    capacity,
    objective,
    requests,
    byBatch = false,
  }: {
    readonly capacity: ReplicaCapacity;
    readonly objective: TailObjective;
    /** The number of requests that the objective is about. */
    readonly requests: number;
    readonly byBatch?: boolean;
  },
): number {
  let least = 1;
  const late = allowedLate(objective, requests);
  const slackNs = objective.sloNs - demand.headNs - demand.tailNs;
  const rowsWithin = capacity.byBatchesOf(byBatch ? slackNs : Number.POSITIVE_INFINITY);
  for (const burst of demand.bursts) {
    if (burst.requests <= late) continue;
    least = Math.max(least, Math.ceil((burst.requests - late) / rowsWithin(burst.spanNs + slackNs)));
  }
  return least;
}

/** ReplicaCapacity bounds the rows that one replica can serve from start to end within a time. */
export class ReplicaCapacity {
  private readonly known = new Map<string, (timeNs: number) => number>();

  /** @param latencyNs of a batch of 1, 2, … rows */
  constructor(
    private readonly latencyNs: Float64Array,
    private readonly visits: number,
  ) {}

  /** byBatchesOf gives the bound over the time, where batches count alone that take no longer than `mostNs`. */
  byBatchesOf(mostNs: number): (timeNs: number) => number {
    const allowedNs = this.latencyNs.map((ns) => (ns <= mostNs ? ns : Number.POSITIVE_INFINITY));
    const key = allowedNs.map((ns) => Number(ns <= mostNs)).join('');
    const known = this.known.get(key);
    if (known !== undefined) return known;
    const rowsWithin = rowsWithinOf(allowedNs, this.visits);
    this.known.set(key, rowsWithin);
    return rowsWithin;
  }
}

function rowsWithinOf(latencyNs: Float64Array, visits: number): (timeNs: number) => number {
  const least = latencyNs.slice();
  for (let n = least.length - 2; n >= 0; n--) least[n] = Math.min(least[n] as number, least[n + 1] as number);
  const most = Math.min(visits, MOST_ROWS);
  const neededNs = new Float64Array(most + 1);
  for (let rows = 1; rows <= most; rows++) {
    let best = Number.POSITIVE_INFINITY;
    for (let n = 1; n <= Math.min(rows, least.length); n++)
      best = Math.min(best, (least[n - 1] as number) + (neededNs[rows - n] as number));
    neededNs[rows] = best;
  }
  const rowNs = leastOf(least.map((ns, i) => ns / (i + 1)));
  return (timeNs) => {
    if (timeNs < 0) return 0;
    if (timeNs >= (neededNs[most] as number)) return most < visits ? Math.floor(timeNs / rowNs) : visits;
    let [fits, exceeds] = [0, most];
    while (exceeds - fits > 1) {
      const middle = (fits + exceeds) >> 1;
      if ((neededNs[middle] as number) <= timeNs) fits = middle;
      else exceeds = middle;
    }
    return fits;
  };
}
