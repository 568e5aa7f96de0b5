import type { Stream } from '../../../src/random/index.js';
import type { SchedulerName } from './rules.js';

/** Pipeline is what is served: requests that are sent at given times through stages. */
export interface Pipeline {
  stages: Stage[];
  sloNs: number;
  /** The SLO of each application, and the application of each request, where there are several. */
  applications?: { slosNs: number[]; of: number[] };
  /** The times at which the requests are sent, ascending. */
  arrivalsNs: number[];
  /** By stage, the edges to later stages. Without them, each stage leads to the one after it. */
  edges?: Edge[][];
  /** How many rows each request has. Without them, it has one. */
  rows?: number[];
  /** verdict says which of the conditional edges of a stage a row goes along, as bits in their order. */
  verdict?: (request: number, row: number, stage: number) => number;
}

/** Edge leads to a stage: every row goes along it, or those whose verdict says so. */
export interface Edge {
  to: number;
  isConditional: boolean;
}

/** Stage is a stage with its devices, its planned batch, and its latency by batch size at index size − 1. */
export interface Stage {
  devices: number;
  batch: number;
  latencyNs: number[];
  /** The same of each of its devices, where they are unlike; `latencyNs` then counts for nothing. */
  unlikeNs?: number[][];
}

/** Settings says by which scheduler a pipeline is served, and hands in the random numbers. */
export interface Settings {
  scheduler: SchedulerName;
  /** Without it, devices take turns. */
  dispatch?: DispatchRule;
  /** The stream of F's draws. */
  waits: Stream;
  /** The stream of `two-choices`. */
  choices?: Stream;
  /** 0 shares q and d of Eq. 3 at once. */
  periodNs?: number;
  windowNs?: number;
  lambda?: number;
  /** M: how many waits are kept and drawn. */
  draws?: number;
}

export type DispatchRule = 'turns' | 'least-work' | 'two-choices';

/** Fate is what became of a request, and when. */
export interface Fate {
  outcome: 'inTime' | 'late' | 'dropped';
  endNs: number;
  /** The stage at which it was dropped. */
  droppedAt?: number;
  visits: Visit[];
}

/**
 * Visit is the stay of a row at one stage: its device (counted through all stages), t_r and t_b of the paper, and when its batch
 * has begun.
 */
export interface Visit {
  device: number;
  receivedNs: number;
  batchedNs?: number;
  startNs?: number;
}

/** Request is a request in flight. */
export interface Request {
  number: number;
  sentNs: number;
  deadlineNs: number;
  /** How many tasks it has at stages, and before joins. */
  left: number;
}

/** Row is a row of a request on its way. */
export interface Row {
  request: Request;
  row: number;
  /** By stage, how many of the edges into it have spoken for the row, and whether it goes along one of them. */
  spoken: number[];
  isReached: boolean[];
  /** The stages at which it was put into a batch. */
  taken: number[];
}

/** Task is a row at a stage. */
export interface Task {
  row: Row;
  sentNs: number;
  deadlineNs: number;
  receivedNs: number;
  visit: Visit;
  /** Its number among those that a parallel stage had taken on, in the order in which that was so of them while they waited. */
  beside?: number;
}

/** Device has the tasks that wait in the order in which they came, the next batch, and the one that runs. */
export interface Device {
  number: number;
  stage: number;
  /** How long it takes, by the size of the batch. */
  latencyNs: number[];
  /** When its last turn ended, if each took as long as a planned batch. */
  turnedNs: number;
  queue: Task[];
  collected: Task[];
  /** The batch that it executes, with its number among all that began. */
  running?: { number: number; tasks: Task[]; endNs: number } | undefined;
}

/** sloOf is the SLO of a request: that of its application. */
export function sloOf({ sloNs, applications }: Pipeline, request: number): number {
  return applications === undefined ? sloNs : applications.slosNs[applications.of[request]!]!;
}

/**
 * durationNs is d of a stage: how long its planned batch takes, or where its devices are unlike, each by its share of the
 * batches that they make in a long time: the harmonic mean.
 */
export function durationNs({ batch, latencyNs, unlikeNs }: Stage): number {
  if (unlikeNs === undefined) return latencyNs[batch - 1]!;
  return Math.round(unlikeNs.length / sum(unlikeNs.map((own) => 1 / own[batch - 1]!)));
}

/** sum adds numbers up from the first. */
export function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}

/** edgesOf gives the edges of each stage; a chain has one from each stage to the next. */
export function edgesOf({ stages, edges }: Pipeline): Edge[][] {
  return edges ?? stages.map((_, k) => (k + 1 < stages.length ? [{ to: k + 1, isConditional: false }] : []));
}

/** pathsAfter lists, for each stage, all ways from it to an end, without the stage itself. */
export function pathsAfter(pipeline: Pipeline): number[][][] {
  const edges = edgesOf(pipeline);
  const from = (k: number): number[][] =>
    edges[k]!.length === 0 ? [[]] : edges[k]!.flatMap(({ to }) => from(to).map((path) => [to, ...path]));
  return edges.map((_, k) => from(k));
}

/** areParallel tells whether a row can be at two stages at once: there is no way from one to the other. */
export function areParallel(pipeline: Pipeline, a: number, b: number): boolean {
  const after = pathsAfter(pipeline);
  const leads = (from: number, to: number) => after[from]!.some((path) => path.includes(to));
  return a !== b && !leads(a, b) && !leads(b, a);
}

/** edgesInto counts the edges that lead to each stage. */
export function edgesInto(pipeline: Pipeline): number[] {
  const into = pipeline.stages.map(() => 0);
  for (const { to } of edgesOf(pipeline).flat()) into[to]! += 1;
  return into;
}
