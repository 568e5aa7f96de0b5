import type { ColumnSource } from '../columns/index.js';
import type { MasterResult } from '../master/index.js';
import type { PlanOptions } from '../options.js';
import type { Phases } from '../phases.js';
import type { UsedColumn } from '../plan/index.js';
import type { PooledProblem, SearchLimit } from '../problem.js';
import type { ClassTable, ModelTable, Scale } from '../tables/index.js';
import type { Stop } from '../work.js';

/**
 * IntegerSearch holds the start of the search for whole numbers. All figures but the problem's are in the search's own
 * units.
 */
export interface IntegerSearch {
  readonly problem: PooledProblem;
  readonly scale: Scale;
  readonly classes: ClassTable;
  readonly tables: readonly ModelTable[];
  readonly sources: readonly ColumnSource[];
  readonly master: MasterResult;
  readonly options: PlanOptions;
  readonly phases: Phases;
  /** stop says whether tables must end: when their counted work is done, or when `isStopped` says so. */
  readonly stop: Stop;
}

/**
 * SearchResult is a plan with its bound (`limit` is undefined if it is optimal), none in time, or the proof of none.
 */
export type SearchResult =
  | {
      readonly status: 'found';
      readonly used: readonly UsedColumn[];
      readonly value: number;
      readonly bound: number;
      readonly limit: SearchLimit | undefined;
      readonly nodes: number;
    }
  | { readonly status: 'none'; readonly limit: SearchLimit; readonly nodes: number }
  | { readonly status: 'infeasible'; readonly nodes: number };

/** isOver says whether planning must end with what it has, because it was interrupted or its time is over. */
export function isOver({ interrupted, timeLimitMs }: PlanOptions, phases: Phases): boolean {
  return interrupted?.() === true || (timeLimitMs !== undefined && phases.elapsed() >= timeLimitMs);
}

/**
 * limitOf names what ended a search that is known to have ended early: `interrupted`, `time` or, if neither holds now,
 * `work`.
 */
export function limitOf(options: PlanOptions, phases: Phases): SearchLimit {
  if (options.interrupted?.() === true) return 'interrupted';
  return isOver(options, phases) ? 'time' : 'work';
}

/**
 * timeLeft is the rest of the time limit, for a solver, and at least a millisecond; it is empty if there is no limit.
 */
export function timeLeft({ options, phases }: IntegerSearch): { maxSeconds?: number } {
  if (options.timeLimitMs === undefined) return {};
  return { maxSeconds: Math.max(0.001, (options.timeLimitMs - phases.elapsed()) / 1000) };
}

/** isStopped says whether a search was interrupted or its time is over (see `isOver`); its work does not count. */
export function isStopped({ options, phases }: IntegerSearch): boolean {
  return isOver(options, phases);
}
