import { quantileSorted } from 'simple-statistics';
import type { Measured } from '../execution/index.js';
import type { Limits } from './types.js';

/** Figure is a measured latency with its spread. */
export interface Figure {
  readonly medianUs: number;
  readonly p95Us: number;
  readonly runs: number;
  /** (75th − 25th percentile) / median. */
  readonly spread: number;
}

/** Beyond this spread, the middle half of the runs differ so much that the median says little. */
const WIDEST_SPREAD = 0.3;

/** figureOf gives median, 95th percentile and spread of at least one duration, to a thousandth of a µs. */
export function figureOf(durationsUs: readonly number[]): Figure {
  const sorted = [...durationsUs].sort((a, b) => a - b);
  const [p25, median, p75, p95] = [0.25, 0.5, 0.75, 0.95].map((p) => quantileSorted(sorted, p)) as [
    number,
    number,
    number,
    number,
  ];
  const spread = median === 0 ? 0 : (p75 - p25) / median;
  return { medianUs: roundUs(median), p95Us: roundUs(p95), runs: sorted.length, spread };
}

/** roundUs rounds µs to whole nanoseconds. */
export function roundUs(us: number): number {
  return Math.round(us * 1000) / 1000;
}

/**
 * unfitness says why a figure is unfit; it gives undefined where the figure is fit. A figure is unfit when fewer runs
 * than `minRuns` came within `maxMs`, or when the middle half of the runs spreads over more than 30 % of the median.
 */
export function unfitness(figure: Figure, limits: Limits): string | undefined {
  const faults: string[] = [];
  if (figure.runs < limits.minRuns)
    faults.push(`${figure.runs} runs came within ${limits.maxMs} ms, ${limits.minRuns} are wanted`);
  if (figure.spread > WIDEST_SPREAD)
    faults.push(
      `the middle half of its runs spreads over ${Math.round(figure.spread * 100)} % of the median`,
    );
  return faults.length === 0 ? undefined : faults.join('; ');
}

/** Below this time the calls themselves weigh, and blocks sum to more than the whole model. */
const LEAST_COMPARED_US = 2000;
/** A sum outside these bounds misleads a planner that sums blocks. */
const LEAST_RATIO = 0.8;
const MOST_RATIO = 1.25;

/**
 * sumOverWhole divides the blocks' summed latencies by the whole model's (in one unit), to a thousandth. It gives
 * undefined where a block is missing, there are none, or the whole is 0.
 */
export function sumOverWhole(row: readonly (number | null)[], whole: number): number | undefined {
  if (whole === 0 || row.length === 0 || row.includes(null)) return undefined;
  const sum = row.reduce((a: number, b) => a + (b ?? 0), 0);
  return Math.round((sum / whole) * 1000) / 1000;
}

/**
 * disagreement says why blocks' latencies in µs do not stand for their model's: they sum to less than 0.8 or more than
 * 1.25 of it. It gives undefined where they agree, one is missing, or the model takes less than 2 ms.
 */
export function disagreement(row: readonly (number | null)[], whole: number): string | undefined {
  const ratio = sumOverWhole(row, whole);
  if (ratio === undefined || whole < LEAST_COMPARED_US) return undefined;
  if (ratio >= LEAST_RATIO && ratio <= MOST_RATIO) return undefined;
  const consequence =
    ratio < 1 ? 'plans promise more than the device can do' : 'plans promise less than the whole model does';
  return `sum of blocks is ${ratio} of the whole model: ${consequence}`;
}

/** Rotation holds one copy's runs, by part of a rotation. */
export type Rotation = readonly Measured[];

/**
 * commonWindow gives, by part, the durations of runs during which all copies were busy: those between the last copy's
 * first start and the first copy's last end, of whichever part. Where no run of a part lies within (copies barely
 * overlapped), it gives all of its runs.
 */
export function commonWindow(copies: readonly Rotation[]): number[][] {
  const from = Math.max(...copies.map(firstStartNs));
  const to = Math.min(...copies.map(lastEndNs));
  return copies[0]!.map((_, part) => {
    const runs = copies.flatMap((rotation) => runsOf(rotation[part]!));
    const inside = runs.filter(({ start, end }) => start >= from && end <= to);
    return (inside.length > 0 ? inside : runs).map(({ us }) => us);
  });
}

function runsOf({ startedNs, durationUs }: Measured): { start: number; end: number; us: number }[] {
  return Array.from(startedNs, (start, i) => ({
    start,
    end: start + durationUs[i]! * 1000,
    us: durationUs[i]!,
  }));
}

function firstStartNs(rotation: Rotation): number {
  return rotation[0]!.startedNs[0]!;
}

function lastEndNs(rotation: Rotation): number {
  const { startedNs, durationUs } = rotation.at(-1)!;
  return startedNs.at(-1)! + durationUs.at(-1)! * 1000;
}

/** rotationCount says how many times a copy ran every part. */
export function rotationCount(rotation: Rotation): number {
  return rotation[0]!.startedNs.length;
}

/** spanMs gives the time from a copy's first start to its last end. */
export function spanMs(rotation: Rotation): number {
  return (lastEndNs(rotation) - firstStartNs(rotation)) / 1e6;
}
