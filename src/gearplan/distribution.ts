import { type CsvError, parse } from 'csv-parse/sync';
import { type Fault, fault } from '../artifacts/index.js';
import type { LoadPoint } from './resolve.js';

const COLUMNS = ['rps', 'share'] as const;

/** Line is a line of the file, with its number. */
interface Line {
  readonly record: readonly string[];
  readonly info: { readonly lines: number };
}

/**
 * distributionOf reads a distribution of loads from a CSV text with the columns rps and share: how much of the time the
 * load is at each rate. Shares need not add up to 1.
 */
export function distributionOf(
  text: string,
): { readonly points: LoadPoint[] } | { readonly faults: Fault[] } {
  let rows: Line[];
  try {
    const options = { relax_column_count: true, skip_empty_lines: true, trim: true, info: true, bom: true };
    rows = parse(text, options) as unknown as Line[];
  } catch (error) {
    return { faults: [fault(`it is not CSV: ${(error as CsvError).message}`)] };
  }
  const [first, ...lines] = rows;
  const header = first?.record ?? [];
  const faults = [
    ...COLUMNS.filter((name) => !header.includes(name)).map((name) =>
      fault(`lacks a column ${name}`, 'line 1'),
    ),
    ...header
      .filter((name, i) => header.indexOf(name) < i)
      .map((name) => fault(`the column ${name} is given twice`, 'line 1')),
  ];
  if (faults.length === 0 && lines.length === 0) faults.push(fault('it has no line of a load'));
  if (faults.length > 0) return { faults };
  const points = lines.map(({ record, info }): LoadPoint => {
    const at = `line ${info.lines}`;
    const isWhole = record.length === header.length;
    if (!isWhole) faults.push(fault(`has ${record.length} cells; the header has ${header.length}`, at));
    const [rps, share] = COLUMNS.map((name) => {
      const cell = record[header.indexOf(name)] ?? '';
      const value = cell === '' ? Number.NaN : Number(cell);
      if (isWhole && !(value >= 0 && Number.isFinite(value)))
        faults.push(fault(`${name} is "${cell}"; it must be a number of 0 or more`, at));
      return value;
    }) as [number, number];
    return { rps, share };
  });
  return faults.length > 0 ? { faults } : { points };
}
