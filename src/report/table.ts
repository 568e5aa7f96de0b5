import { toldDown, toldUp } from '../formats/index.js';

/** Table is a table as values: column heads and rows of cells. The command line draws it. */
export interface Table {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
  /** The heads of the columns that may be left out where a screen is too narrow for all, the least wanted first. */
  readonly spare?: readonly string[];
}

/** Part is one thing that is shown: a table, or a line; an empty line keeps what follows apart. */
export type Part = string | Table;

/** apart gives the tables that have rows, each with an empty line before it. */
export function apart(tables: readonly Table[]): Part[] {
  return tables.flatMap((table) => (table.rows.length === 0 ? [] : ['', table]));
}

/** Numbers below this are written with an exponent. */
const LEAST_PLAIN = 1e-6;

/** Formatters are made once: making one costs a hundred times as much as using it. */
const formatters = new Map<string, Intl.NumberFormat>();

/** formatted writes a number in English with these options, its thousands apart by spaces. */
function formatted(value: number, options: Intl.NumberFormatOptions): string {
  const key = JSON.stringify(options);
  let formatter = formatters.get(key);
  if (formatter === undefined) {
    formatter = new Intl.NumberFormat('en-US', { signDisplay: 'negative', ...options });
    formatters.set(key, formatter);
  }
  return formatter.format(value).replaceAll(',', ' ');
}

/**
 * figure writes a number as a person reads it: with three significant digits below 100, and else as a whole number:
 * `0.710`, `12.4`, `2 157`, `1.20e-7`. A number that is not finite becomes a dash.
 */
export function figure(value: number): string {
  if (!Number.isFinite(value)) return '—';
  const size = Math.abs(value);
  if (size === 0) return '0';
  if (size >= 100) return formatted(value, { maximumFractionDigits: 0 });
  const digits = { minimumSignificantDigits: 3, maximumSignificantDigits: 3 };
  if (size >= LEAST_PLAIN) return formatted(value, digits);
  return formatted(value, { ...digits, notation: 'scientific' }).replace('E', 'e');
}

/** decimals writes a number with exactly this many decimals: `0.90`. */
export function decimals(value: number, digits: number): string {
  return formatted(value, { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/** plain writes a number with at most this many significant digits, without zeros at the end or grouping: `0.625`. */
export function plain(value: number, digits: number): string {
  return formatted(value, { maximumSignificantDigits: digits, useGrouping: false });
}

/** orDash writes a value that may be missing: as text, or as a dash. */
export function orDash<T>(value: T | null | undefined, text: (value: T) => string): string {
  return value === undefined || value === null ? '—' : text(value);
}

/** count writes a whole number: `57`, `9 184`. */
export function count(value: number): string {
  return formatted(value, { maximumFractionDigits: 0 });
}

/** gpusText writes a number of GPUs, without a fraction when it is whole. */
export function gpusText(gpus: number): string {
  return Number.isInteger(gpus) ? String(gpus) : figure(gpus);
}

/** milliseconds writes microseconds as milliseconds, in the manner of `figure` and without the unit. */
export function milliseconds(us: number): string {
  return figure(us / 1000);
}

/**
 * upwards writes milliseconds rounded up to the next microsecond, so that an SLO that can be met can be met
 * as it is written.
 */
export function upwards(ms: number): string {
  return plain(Math.ceil(ms * 1000 - 1e-6) / 1000, 15);
}

/**
 * atMost rounds a figure that nothing exceeds up to the digits that `figure` writes, so that nothing exceeds
 * it as it is written.
 */
export function atMost(value: number): number {
  return toldUp(value, figureDigits(value));
}

/** atLeast rounds a figure that is reached down, as `atMost` does the other way. */
export function atLeast(value: number): number {
  return toldDown(value, figureDigits(value));
}

function figureDigits(value: number): number {
  return Math.max(3, Math.ceil(Math.log10(Math.abs(value))));
}

/** leastPercent writes a share that nothing is below as a percentage, rounded down: 0.98768 becomes `98.76 %`. */
export function leastPercent(share: number, digits: number): string {
  const units = 10 ** (digits + 2);
  return percent(Math.floor(share * units + 1e-9) / units, digits);
}

/** perHour writes a price per hour, in the currency that the cluster names, if it names one: `2.10 USD per hour`. */
export function perHour(cost: number, { currency }: { readonly currency?: string | undefined }): string {
  return `${figure(cost)}${currency === undefined ? '' : ` ${currency}`} per hour`;
}

/** bytes writes a number of bytes in the unit that suits it: B, KB, MB or GB, each 1000 of the one before. */
export function bytes(count: number): string {
  const units = ['B', 'KB', 'MB', 'GB'];
  let value = count;
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${unit === 0 ? value : figure(value)} ${units[unit]}`;
}

/** A share that is less than this below 1 is 1 except for rounding. */
const WHOLE = 1e-10;

/**
 * percent writes a share as a percentage with this many decimals: 0.5 becomes `50.0 %`. Less than the whole is not rounded up
 * to it: 0.99999 becomes `99.9 %`.
 */
export function percent(share: number, digits = 1): string {
  const isPart = share < 1 - WHOLE;
  const most = 100 - 10 ** -digits;
  return `${decimals(isPart ? Math.min(share * 100, most) : share * 100, digits)} %`;
}
