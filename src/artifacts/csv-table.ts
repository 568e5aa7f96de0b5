import { type CsvError, parse } from 'csv-parse/sync';
import { type Fault, fault } from './errors.js';

/** CsvLine is a line of a CSV text that is not empty, with its number. */
export interface CsvLine {
  readonly record: readonly string[];
  readonly info: { readonly lines: number };
}

/** ColumnTable is a CSV text whose header has the columns that were asked for, in any order and perhaps beside others. */
export interface ColumnTable {
  /** The lines after the header. */
  readonly lines: readonly CsvLine[];
  /** cellsOf gives a line's cells of the columns that were asked for, in their order, or why it is not a whole line. */
  cellsOf(line: CsvLine): readonly string[] | { readonly wrong: string };
}

/** csvLines reads a CSV text, whose cells are trimmed. Lines may have any number of cells. */
export function csvLines(text: string): readonly CsvLine[] | { readonly faults: Fault[] } {
  try {
    const options = { relax_column_count: true, skip_empty_lines: true, trim: true, info: true, bom: true };
    return parse(text, options) as unknown as CsvLine[];
  } catch (error) {
    return { faults: [fault(`it is not CSV: ${(error as CsvError).message}`)] };
  }
}

/**
 * csvTable reads a CSV text with a header.
 * @param columns the columns that the header must have
 * @param what what a line is of, as the fault of a text without any names it
 * @returns every fault of the header where there are any. Lines are looked at by `cellsOf` only.
 */
export function csvTable(
  text: string,
  columns: readonly string[],
  what: string,
): ColumnTable | { readonly faults: Fault[] } {
  const all = csvLines(text);
  if ('faults' in all) return all;
  const [first, ...lines] = all;
  const header = first?.record ?? [];
  const faults = headerFaults(header, columns);
  if (faults.length === 0 && lines.length === 0) faults.push(fault(`it has no line of a ${what}`));
  if (faults.length > 0) return { faults };
  const places = columns.map((column) => header.indexOf(column));
  return {
    lines,
    cellsOf: ({ record }) =>
      record.length === header.length
        ? places.map((place) => record[place] as string)
        : { wrong: `has ${record.length} cells; the header has ${header.length}` },
  };
}

function headerFaults(header: readonly string[], columns: readonly string[]): Fault[] {
  const missing = columns.filter((column) => !header.includes(column));
  const twice = header.filter((name, i) => header.indexOf(name) < i);
  return [
    ...missing.map((column) => fault(`lacks a column ${column}`, 'line 1')),
    ...twice.map((column) => fault(`the column ${column} is given twice`, 'line 1')),
  ];
}
