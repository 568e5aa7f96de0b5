import { type AccuracyInterval, type CompareRow, counted } from '../artifacts/index.js';
import { figure, orDash, percent } from './table.js';

/** CompareColumn is a column of a comparison, and of which rows it is wanted. */
export interface CompareColumn {
  readonly head: string;
  readonly wanted: (rows: readonly CompareRow[]) => boolean;
  readonly cell: (row: CompareRow) => string;
}

/** BestFigure is a figure of which the most, or the least, is best. */
export interface BestFigure {
  readonly words: string;
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

/** mixWords writes a mix as `25 L4 + 75 T4`, without the classes that have no GPUs. */
export function mixWords({ mix, unlimited = [] }: Pick<CompareRow, 'mix' | 'unlimited'>): string {
  const parts = Object.entries(mix).flatMap(([name, count]) => (count > 0 ? [`${count} ${name}`] : []));
  return [...parts, ...unlimited.map((name) => `any ${name}`)].join(' + ') || 'no GPU';
}

/** THROUGHPUT is the column of how many requests a plan serves. */
export const THROUGHPUT: CompareColumn = {
  head: 'requests/s',
  wanted: always,
  cell: ({ throughputRps }) => figureOrDash(throughputRps),
};

/** MOST_THROUGHPUT names the row that serves the most requests. */
export const MOST_THROUGHPUT: BestFigure = {
  words: 'most requests/s',
  figureOf: ({ throughputRps }) => throughputRps,
};
