import type { TraceName } from '../made-traces.js';
import type { ApplicationName } from '../workloads.js';
import type { AskedRuns, ServedRun, ServedRuns } from './served-runs.js';

/** A period of so many seconds needs dropping where even the scheduler that loses least of it loses more than this share. */
export const PERIOD_S = 10;
export const NEEDING_SHARE = 0.01;

/** The worst windows of the paper's figures 2 and 9 that are shown. */
export const WINDOWS_S = [1, 10, 60] as const;

/** FigureRow holds the figures of one workload and seed under one scheduler. Shares are from 0 to 1. */
export interface FigureRow {
  readonly application: ApplicationName;
  readonly trace: TraceName;
  readonly seed: number;
  readonly server: string;
  readonly arrived: number;
  /** Dropped and late requests, as a share of all. */
  readonly dropRate: number;
  readonly lateRate: number;
  /** The device time of dropped and late requests, as a share of that of all. */
  readonly invalidRate: number;
  readonly goodputRps: number;
  /** The least drop rate that any policy can have with the devices that this one had, and with all. */
  readonly leastDropRate?: number;
  readonly leastWithAll?: number;
  /** In the periods that need dropping: how long they are together, and what is in time in them. */
  readonly needing: { readonly seconds: number; readonly offeredRps: number; readonly goodputRps: number };
  /** By length of window (WINDOWS_S), the largest drop rate of any. */
  readonly worstDropRate: readonly number[];
  readonly stages: readonly string[];
  /** By stage, the share of all drops (late requests not counted); 0 where nothing was dropped. */
  readonly dropsAt: readonly number[];
  /** By stage, the mean wait of a task before its batch begins, the mean batch, and the devices that are up in the mean. */
  readonly waitMs: readonly number[];
  readonly batch: readonly number[];
  readonly workers: readonly number[];
}

/** figureRows gives the figures of a workload under each scheduler, in their order. */
export function figureRows(asked: AskedRuns, { stages, bound, runs }: ServedRuns): FigureRow[] {
  const needing = needingPeriods(runs);
  const { application, trace, seed = 0, durationS } = asked;
  return runs.map((run): FigureRow => {
    const { arrived, dropped } = run;
    const lost = (most: number) => 1 - most / arrived;
    return {
      application,
      trace,
      seed,
      server: run.server,
      arrived,
      dropRate: (dropped + run.late) / arrived,
      lateRate: run.late / arrived,
      invalidRate: run.wastedNs / run.usedNs,
      goodputRps: run.inTime / durationS,
      ...(run.bound === undefined ? {} : { leastDropRate: lost(run.bound) }),
      ...(bound === undefined ? {} : { leastWithAll: lost(bound) }),
      needing: inPeriods(run, needing),
      worstDropRate: WINDOWS_S.map((seconds) => worstDropRate(run, seconds)),
      stages,
      dropsAt: Array.from(run.droppedAt, (count) => (dropped === 0 ? 0 : count / dropped)),
      waitMs: [...run.waitMs],
      batch: [...run.batch],
      workers: run.workers.map((steps) => meanOf(steps, 1e9 * durationS)),
    };
  });
}

type BySecond = Pick<ServedRun, 'arrivedIn' | 'inTimeIn'>;

/** needingPeriods lists the periods that need dropping, by what all that serve a workload lose of each. */
export function needingPeriods(runs: readonly BySecond[]): number[] {
  const count = Math.floor((runs[0]?.arrivedIn.length ?? 0) / PERIOD_S);
  return Array.from({ length: count }, (_, period) => period).filter((period) =>
    runs.every((run) => lossOf(run, period, PERIOD_S) > NEEDING_SHARE),
  );
}

function inPeriods({ arrivedIn, inTimeIn }: BySecond, periods: readonly number[]): FigureRow['needing'] {
  const seconds = PERIOD_S * periods.length;
  const rateOf = (counts: Uint32Array) =>
    periods.reduce((sum, period) => sum + countIn(counts, period, PERIOD_S), 0) / Math.max(1, seconds);
  return { seconds, offeredRps: rateOf(arrivedIn), goodputRps: rateOf(inTimeIn) };
}

/** worstDropRate is the largest share that is lost of any window of this length. Windows lie side by side from 0. */
export function worstDropRate(run: BySecond, seconds: number): number {
  const count = Math.floor(run.arrivedIn.length / seconds);
  return Math.max(0, ...Array.from({ length: count }, (_, window) => lossOf(run, window, seconds)));
}

/** lossOf is the share of the requests that came in a window that were not in time; 0 where none came. */
function lossOf({ arrivedIn, inTimeIn }: BySecond, window: number, seconds: number): number {
  const came = countIn(arrivedIn, window, seconds);
  return came === 0 ? 0 : 1 - countIn(inTimeIn, window, seconds) / came;
}

function countIn(counts: Uint32Array, window: number, seconds: number): number {
  let sum = 0;
  for (let s = window * seconds; s < (window + 1) * seconds; s++) sum += counts[s]!;
  return sum;
}

function meanOf({ fromNs, count }: ServedRun['workers'][number], untilNs: number): number {
  return fromNs.reduce((sum, from, i) => {
    const to = Math.min(untilNs, fromNs[i + 1] ?? untilNs);
    return sum + (count[i]! * Math.max(0, to - from)) / untilNs;
  }, 0);
}
