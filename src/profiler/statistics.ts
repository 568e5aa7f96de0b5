import { quantileSorted } from 'simple-statistics';
import { itemAt, largestOf, lastOf, smallestOf } from '../collections/index.js';
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

/** Below this time the calls themselves weigh, and what is added up is off. */
const LEAST_COMPARED_US = 2000;
/** The prediction of the whole model from blocks and pairs misleads a planner outside these bounds. */
const LEAST_RATIO = 0.8;
const MOST_RATIO = 1.25;

/** GroupFigures are the latencies in µs of blocks, of pairs of neighbours (figure k begins with block k), and of all. */
export interface GroupFigures {
  readonly blocks: readonly (number | null)[];
  readonly pairs: readonly (number | null)[];
  readonly whole: number;
}

/**
 * sumOverWhole divides the blocks' summed latencies by the whole model's, to a thousandth. It gives undefined where a
 * block is missing, there are none, or the whole is 0.
 */
export function sumOverWhole({ blocks, whole }: GroupFigures): number | undefined {
  return whole === 0 || blocks.length === 0 ? undefined : thousandth(sumOf(blocks) / whole);
}

/**
 * predictedOverWhole divides what blocks and pairs say of the whole model by what it took, to a thousandth: the sum of
 * the blocks, less what each pair takes less than its two blocks, but at least half of the longest block. It says how
 * well spans that were not timed are known. It gives undefined where a figure is missing or there are no pairs.
 */
export function predictedOverWhole({ blocks, pairs, whole }: GroupFigures): number | undefined {
  if (whole === 0 || pairs.length === 0) return undefined;
  const longest = largestOf(blocks.map((us) => us ?? Number.NaN));
  return thousandth(Math.max(sumOf(pairs) - sumOf(blocks.slice(1, -1)), longest / 2) / whole);
}

/** Not a number where one is missing. */
function sumOf(row: readonly (number | null)[]): number {
  return row.reduce((sum: number, us) => sum + (us ?? Number.NaN), 0);
}

function thousandth(ratio: number): number | undefined {
  return Number.isNaN(ratio) ? undefined : Math.round(ratio * 1000) / 1000;
}

/**
 * disagreement says why a group's figures do not stand for their model: blocks and pairs, or a single block, predict
 * less than 0.8 or more than 1.25 of the whole. It gives undefined where they agree, one is missing, the model takes
 * less than 2 ms, or there are two blocks, so that every span was timed.
 */
export function disagreement(figures: GroupFigures): string | undefined {
  const { blocks, whole } = figures;
  const ratio = blocks.length === 1 ? sumOverWhole(figures) : predictedOverWhole(figures);
  if (ratio === undefined || whole < LEAST_COMPARED_US) return undefined;
  if (ratio >= LEAST_RATIO && ratio <= MOST_RATIO) return undefined;
  return `blocks and pairs predict ${ratio} of the whole model: latencies of several blocks are as uncertain`;
}

/** Rotation holds one copy's runs, by part of a rotation. */
export type Rotation = readonly Measured[];

/** TimedRun is one timed run: how long its batch occupied the device, and how long the executor's run within it took. */
export interface TimedRun {
  readonly durationUs: number;
  readonly executionUs: number;
}

/** durationsOf lists how long the batch of each run occupied the device, in µs. */
export function durationsOf(runs: readonly TimedRun[]): number[] {
  return runs.map(({ durationUs }) => durationUs);
}

/**
 * commonWindow gives, by part, the runs during which all copies were busy: those between the last copy's first start and
 * the first copy's last end, of whichever part. Where no run of a part lies within (copies barely overlapped), it gives
 * all of its runs.
 */
export function commonWindow(copies: readonly Rotation[]): TimedRun[][] {
  const from = largestOf(copies.map(firstStartNs));
  const to = smallestOf(copies.map(lastEndNs));
  return itemAt(copies, 0).map((_, part) => {
    const runs = copies.flatMap((rotation) => runsOf(itemAt(rotation, part)));
    const inside = runs.filter(({ start, end }) => start >= from && end <= to);
    return (inside.length > 0 ? inside : runs).map(({ durationUs, executionUs }) => ({
      durationUs,
      executionUs,
    }));
  });
}

function runsOf({
  startedNs,
  durationUs,
  executionUs,
}: Measured): (TimedRun & { start: number; end: number })[] {
  return Array.from(startedNs, (start, i) => ({
    start,
    end: start + itemAt(durationUs, i) * 1000,
    durationUs: itemAt(durationUs, i),
    executionUs: itemAt(executionUs, i),
  }));
}

function firstStartNs(rotation: Rotation): number {
  return itemAt(itemAt(rotation, 0).startedNs, 0);
}

function lastEndNs(rotation: Rotation): number {
  const { startedNs, durationUs } = lastOf(rotation);
  return lastOf(startedNs) + lastOf(durationUs) * 1000;
}

/** rotationCount says how many times a copy ran every part. */
export function rotationCount(rotation: Rotation): number {
  return itemAt(rotation, 0).startedNs.length;
}

/** spanMs gives the time from a copy's first start to its last end. */
export function spanMs(rotation: Rotation): number {
  return (lastEndNs(rotation) - firstStartNs(rotation)) / 1e6;
}
