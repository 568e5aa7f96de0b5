import { type CsvError, parse } from 'csv-parse/sync';
import { type Fault, fault } from '../artifacts/index.js';
import type { LoadPoint } from './resolve.js';

const COLUMNS = ['rps', 'share'] as const;

/**
 * distributionOf reads a distribution of loads from a CSV text with the columns rps and share: how much of the time the
 * load is at each rate. Shares need not add up to 1.
 */
export function distributionOf(
  text: string,
): { readonly points: LoadPoint[] } | { readonly faults: Fault[] } {
  let rows: string[][];
  try {
    rows = parse(text, { skip_empty_lines: true, trim: true, bom: true, relax_column_count: true });
  } catch (error) {
    return { faults: [fault(`it is not CSV: ${(error as CsvError).message}`)] };
  }
  const [header = [], ...lines] = rows;
  const faults = COLUMNS.filter((name) => !header.includes(name)).map((name) =>
    fault(`lacks a column ${name}`, 'line 1'),
  );
  if (faults.length === 0 && lines.length === 0) faults.push(fault('it has no line of a load'));
  if (faults.length > 0) return { faults };
  const points = lines.map((line, i): LoadPoint => {
    const [rps, share] = COLUMNS.map((name) => {
      const cell = line[header.indexOf(name)] ?? '';
      const value = cell === '' ? Number.NaN : Number(cell);
      if (!(value >= 0 && Number.isFinite(value)))
        faults.push(fault(`${name} is "${cell}"; it must be a number of 0 or more`, `line ${i + 2}`));
      return value;
    }) as [number, number];
    return { rps, share };
  });
  return faults.length > 0 ? { faults } : { points };
}
