import type { Stream } from '../../../src/random/index.js';
import type { SchedulerName } from './rules.js';

/** Chain is what is served: requests of one row each, sent at given times through one stage after the other. */
export interface Chain {
  stages: Stage[];
  sloNs: number;
  /** The times at which the requests are sent, ascending. */
  arrivalsNs: number[];
}

/** Stage is a stage with its devices, its planned batch, and its latency by batch size at index size − 1. */
export interface Stage {
  devices: number;
  batch: number;
  latencyNs: number[];
}

/** Settings says by which scheduler a chain is served, and hands in the random numbers. */
export interface Settings {
  scheduler: SchedulerName;
  /** Without it, devices take turns. */
  dispatch?: DispatchRule;
  /** The stream of F's draws. */
  waits: Stream;
  /** The stream of `two-choices`. */
  choices?: Stream;
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

/** Visit is a request's stay at one stage: its device (counted through all stages), and t_r, t_b and t_e of the paper. */
export interface Visit {
  device: number;
  receivedNs: number;
  batchedNs?: number;
  startNs?: number;
}

/** Task is a request at a stage. */
export interface Task {
  request: number;
  sentNs: number;
  deadlineNs: number;
  receivedNs: number;
  visit: Visit;
}

/** Device has the tasks that wait in the order in which they came, the next batch, and the one that runs. */
export interface Device {
  number: number;
  stage: number;
  queue: Task[];
  collected: Task[];
  /** The batch that it executes, with its number among all that began. */
  running?: { number: number; tasks: Task[]; endNs: number } | undefined;
}

/** durationNs is d of a stage: how long its planned batch takes. */
export function durationNs({ batch, latencyNs }: Stage): number {
  return latencyNs[batch - 1]!;
}

/** sum adds numbers up from the first. */
export function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}
