import type { Stream } from '../../../src/random/index.js';
import { durationNs, edgesInto, type Pipeline, pathsAfter, type Stage } from './pipeline.js';
import type { Order } from './rules.js';

const BUCKETS = 50;
/** How many periods the smoothed workload covers. */
const SMOOTHED = 5;

/** Shared is what every stage knows of all stages until it is shared again; lists have one figure a stage. */
export interface Shared {
  /** q over the requests that were put into batches. */
  queueingNs: number[];
  /** q over all requests that were decided. */
  decidedQueueingNs: number[];
  /** F⁻¹(λ) over the stages after each, on each path from it. */
  waitNs: number[][];
  /** The longest time in the stage of the requests that were decided in the window, d where there was none. */
  worstNs: number[];
}

/** History is all that happened at one stage, in the order in which it happened. */
export interface History {
  receivedNs: number[];
  decided: Decided[];
}

/** Decided is a request that was decided at t_b, put into a batch or not. */
export interface Decided {
  isKept: boolean;
  batchedNs: number;
  queueingNs: number;
  waitNs: number;
  /** t_e + d − t_r. */
  latencyNs: number;
}

/** Sharing says how states are made. */
export interface Sharing {
  pipeline: Pipeline;
  order: Order;
  waits: Stream;
  periodNs: number;
  windowNs: number;
  lambda: number;
  draws: number;
}

/** sharedAt makes the state of an instant from all that happened before it. */
export function sharedAt(atNs: number, sharing: Sharing, histories: readonly History[]): Shared {
  const { pipeline, windowNs } = sharing;
  const kept = histories.map(({ decided }) => decided.filter(({ isKept }) => isKept));
  return {
    queueingNs: kept.map((decided) => queueingAt(atNs, windowNs, decided)),
    decidedQueueingNs: histories.map(({ decided }) => queueingAt(atNs, windowNs, decided)),
    waitNs: waitsAfter(
      sharing,
      kept.map((decided) => decided.map(({ waitNs }) => waitNs)),
    ),
    worstNs: histories.map(({ decided }, k) => {
      const recent = decided.filter((one) => weightAt(atNs, windowNs, one) > 0);
      const stage = pipeline.stages[k]!;
      return recent.length === 0 ? durationNs(stage) : Math.max(...recent.map((one) => one.latencyNs));
    }),
  };
}

/** mostFirstAt tells, at a multiple of the interval of T_in, at which stages the request with the most budget is decided first. */
export function mostFirstAt(
  atNs: number,
  { pipeline, order, intervalNs }: Pick<Sharing, 'pipeline' | 'order'> & { intervalNs: number },
  histories: readonly History[],
  before: readonly boolean[],
): boolean[] {
  const intervals = Math.round(atNs / intervalNs);
  const workloadsOf = ({ receivedNs }: History) =>
    Array.from(
      { length: intervals },
      (_, i) => receivedNs.filter((at) => at >= i * intervalNs && at < (i + 1) * intervalNs).length,
    );
  return pipeline.stages.map((stage, k) =>
    isMostFirst(order, before[k] ?? false, workloadsOf(histories[k]!), stage, intervalNs),
  );
}

/** weightAt is the weight of a decision in the window that ends with the present bucket, in fiftieths. */
function weightAt(atNs: number, windowNs: number, { batchedNs }: Decided): number {
  const bucketOf = (ns: number) => Math.floor(ns / (windowNs / BUCKETS));
  return Math.max(0, bucketOf(batchedNs) - bucketOf(atNs) + BUCKETS);
}

/** queueingAt is q: the weighted mean of t_b − t_r, 0 where nothing is in the window. */
export function queueingAt(atNs: number, windowNs: number, decided: readonly Decided[]): number {
  let weights = 0;
  let weightedNs = 0;
  for (const one of decided) {
    const weight = weightAt(atNs, windowNs, one);
    weights += weight;
    weightedNs += weight * one.queueingNs;
  }
  return weights === 0 ? 0 : weightedNs / weights;
}

/** waitsAfter gives F⁻¹(λ) of each path after each stage, by draws from what each stage's last M requests waited. */
export function waitsAfter(
  { pipeline, waits, lambda, draws }: Pick<Sharing, 'pipeline' | 'waits' | 'lambda' | 'draws'>,
  waitsNs: readonly (readonly number[])[],
): number[][] {
  const into = edgesInto(pipeline);
  const drawn = pipeline.stages.map((stage, k) => {
    if (into[k] === 0) return [];
    const last = waitsNs[k]!.slice(-draws);
    return Array.from({ length: draws }, () =>
      last.length > 0 ? last[waits.integer(last.length)]! : waits.uniform() * durationNs(stage),
    );
  });
  const sumsOn = (path: readonly number[]) => {
    const sums = new Array<number>(draws).fill(0);
    for (const later of path) for (let m = 0; m < draws; m++) sums[m]! += drawn[later]![m]!;
    return sums;
  };
  return pathsAfter(pipeline).map((paths) => paths.map((path) => quantile(lambda, sumsOn(path))));
}

/** quantile is the ⌈λM⌉-th smallest of M numbers, the smallest for λ = 0. */
export function quantile(lambda: number, numbers: readonly number[]): number {
  const rank = Math.max(1, Math.ceil(lambda * numbers.length));
  return Float64Array.from(numbers).sort()[rank - 1]!;
}

/** isMostFirst compares μ with 1 ± ε, or with 1; the workloads are those of all periods so far. */
export function isMostFirst(
  order: Order,
  before: boolean,
  workloads: readonly number[],
  stage: Stage,
  periodNs: number,
): boolean {
  if (order === 'most' || order === 'least') return order === 'most';
  if (workloads.length === 0) return before;
  const load = (workloads.at(-1)! * durationNs(stage)) / (periodNs * stage.batch * stage.devices);
  const margin = order === 'instant' ? 0 : unevenness(workloads);
  if (load > 1 + margin) return true;
  if (load < 1 - margin || order === 'instant') return false;
  return before;
}

/** unevenness is ε: how far the last workloads are from their smoothed ones, as a share of them. */
function unevenness(workloads: readonly number[]): number {
  const smoothed = workloads.map((_, i) => mean(workloads.slice(Math.max(0, i + 1 - SMOOTHED), i + 1)));
  const recent = workloads.map((one, i) => ({ one, far: Math.abs(one - smoothed[i]!) })).slice(-SMOOTHED);
  const total = recent.reduce((all, { one }) => all + one, 0);
  return total === 0 ? 0 : recent.reduce((all, { far }) => all + far, 0) / total;
}

function mean(numbers: readonly number[]): number {
  return numbers.reduce((all, one) => all + one, 0) / numbers.length;
}
