import { type AccuracyInterval, type CompareRow, counted } from '../formats/index.js';
import { figure, orDash, percent } from './table.js';

/** CompareColumn is a column of a comparison, and of which rows it is wanted. */
export interface CompareColumn {
  readonly head: string;
  readonly wanted: (rows: readonly CompareRow[]) => boolean;
  readonly cell: (row: CompareRow) => string;
  /** The place in the order in which columns go where a screen is too narrow; one without it stays. */
  readonly spare?: number;
}

/** BestFigure is a figure of which the most, or the least, is best. */
export interface BestFigure {
  readonly words: string | ((row: CompareRow) => string);
  readonly figureOf: (row: CompareRow) => number | undefined;
  readonly isLeast?: true;
  /** By default in the manner of `figure`. */
  readonly text?: (value: number, row: CompareRow) => string;
}

/** always says that a column is wanted of all rows. */
export const always = (): boolean => true;

/** figureOrDash writes a figure that may be missing. */
export function figureOrDash(value: number | undefined): string {
  return orDash(value, figure);
}

/** intervalWords writes an interval in full. */
export function intervalWords({ low, high, samples }: AccuracyInterval): string {
  return `${percent(low)} – ${percent(high)} (${counted(samples, 'sample')})`;
}

/** accuracyText writes an accuracy that may be missing. */
export function accuracyText(share: number | undefined): string {
  return orDash(share, (one) => percent(one, 2));
}

/** mixWords writes a mix as `25 L4 + 75 T4`, without the classes that have no devices. */
export function mixWords({ mix, unlimited = [] }: Pick<CompareRow, 'mix' | 'unlimited'>): string {
  const parts = Object.entries(mix).flatMap(([name, count]) => (count > 0 ? [`${count} ${name}`] : []));
  return [...parts, ...unlimited.map((name) => `any ${name}`)].join(' + ') || 'no device';
}

/** usedWords writes the devices that plans use, by class, without those that none is used of. */
export function usedWords(classes: Readonly<Record<string, { readonly used: number }>>): string {
  return mixWords({
    mix: Object.fromEntries(Object.entries(classes).map(([name, { used }]) => [name, used])),
  });
}

/** buyWords names the devices that a plan uses, which are those to buy, or the mix where there is no plan. */
export function buyWords({ used, ...row }: Pick<CompareRow, 'mix' | 'unlimited' | 'used'>): string {
  return used === undefined ? mixWords(row) : mixWords({ mix: used });
}

/**
 * USED is the column of the devices that plans use, where any leaves some of its mix. Tables count devices and not GPUs, since a
 * class may be `cpu`.
 */
export const USED: CompareColumn = {
  head: 'devices used',
  wanted: (rows) => rows.some((row) => row.used !== undefined && buyWords(row) !== mixWords(row)),
  cell: ({ used }) => orDash(used, (mix) => mixWords({ mix })),
};

/** THROUGHPUT is the column of how many requests a plan serves. */
export const THROUGHPUT: CompareColumn = {
  head: 'requests/s',
  wanted: always,
  cell: ({ throughputRps }) => figureOrDash(throughputRps),
};

/**
 * MOST_THROUGHPUT names the row that serves the most requests, or that holds the most where that was searched. Several models
 * are ranked by requests per unit of weight, as the objective ranks them.
 */
export const MOST_THROUGHPUT: BestFigure = {
  words: (row) =>
    `most requests/s${row.hold === undefined ? '' : ' held'}${isWeighed(row) ? ' per unit of weight' : ''}`,
  figureOf: (row) =>
    isWeighed(row) ? (row.hold ?? row.objective)?.value : (row.heldRps ?? row.throughputRps),
};

function isWeighed({ models = [], objective }: CompareRow): boolean {
  return models.length > 1 && objective?.kind === 'throughput';
}
