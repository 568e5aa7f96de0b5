import { dropRate, type WatchedBy, watchedRun } from '../watched-run.js';
import { type AskedWorkload, pardWorkload } from '../workloads.js';

/** Settings says how long each run is, and over how many seeds figures are taken. */
export interface Settings {
  readonly seconds: number;
  readonly seeds: number;
}

/** Section is what is shown of a figure: tables in Markdown, each with a line that says what it has. */
export interface Section {
  readonly tables: readonly { readonly said: string; readonly lines: readonly (readonly string[])[] }[];
}

/** markdown writes a section. The first line of a table names its columns. */
export function markdown({ tables }: Section): string {
  const row = (cells: readonly string[]) => `| ${cells.join(' | ')} |\n`;
  return tables
    .map(({ said, lines: [head = [], ...rest] }) => {
      const rule = row(head.map((_, i) => (i === 0 ? '---' : '---:')));
      return `${said}\n\n${row(head)}${rule}${rest.map(row).join('')}\n`;
    })
    .join('');
}

/** dropRates gives the drop rate of a workload under each seed from 0 on. */
export async function dropRates(
  asked: Omit<AskedWorkload, 'durationS' | 'seed'>,
  by: WatchedBy,
  { seconds, seeds }: Settings,
): Promise<number[]> {
  const rates: number[] = [];
  for (let seed = 0; seed < seeds; seed++)
    rates.push(dropRate(watchedRun(await pardWorkload({ ...asked, durationS: seconds, seed }), by)));
  return rates;
}

/** meanOf is the mean of numbers, of which there is one at least. */
export function meanOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, one) => sum + one, 0) / numbers.length;
}

/** deviationOf is the standard deviation of numbers. */
export function deviationOf(numbers: readonly number[]): number {
  const mean = meanOf(numbers);
  return Math.sqrt(meanOf(numbers.map((one) => (one - mean) ** 2)));
}

/** errorOf is the standard error of the mean of numbers, 0 for a single one. */
export function errorOf(numbers: readonly number[]): number {
  return numbers.length < 2 ? 0 : deviationOf(numbers) / Math.sqrt(numbers.length - 1);
}

/** quantileOf is the smallest number that a share of all do not exceed. */
export function quantileOf(sorted: ArrayLike<number>, share: number): number {
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] as number;
}

/** percent writes a share. */
export function percent(share: number): string {
  return (100 * share).toFixed(2);
}
