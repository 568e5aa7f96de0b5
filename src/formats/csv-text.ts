import type { CsvError, Options } from 'csv-parse';
import { parse } from 'csv-parse/sync';
import { type Fault, fault } from './errors.js';

const COMMA = ','.charCodeAt(0);
const NEWLINE = '\n'.charCodeAt(0);

/** CsvLine is a line of a CSV text that is not empty, with its number. */
export interface CsvLine {
  readonly record: readonly string[];
  readonly info: { readonly lines: number };
}

/** LineCells are a line's cells of the columns that were asked for, in their order, or why it is not a whole line. */
export type LineCells = readonly string[] | { readonly wrong: string };

/** A table has at most this many cells; the library takes some 150 bytes for each. */
export const MOST_CELLS = 3_000_000;
/** A table that is read in one step has fewer cells. */
const MOST_CELLS_AT_ONCE = 100_000;
/** smallCsvLines reads a CSV text as `csvLines` does, of at most 100,000 cells and in one step. */
export function smallCsvLines(text: string): readonly CsvLine[] | { readonly faults: Fault[] } {
  const faults = cellFaults(text, MOST_CELLS_AT_ONCE);
  if (faults.length > 0) return { faults };
  try {
    return (parse(text, CSV_OPTIONS) as unknown as CsvLine[]).map(keptLine);
  } catch (error) {
    return { faults: [notCsv(error as CsvError)] };
  }
}

export const CSV_OPTIONS: Options = {
  relax_column_count: true,
  skip_empty_lines: true,
  trim: true,
  info: true,
  bom: true,
  // Told one by one, as the library would take those of the first line for those of all.
  record_delimiter: ['\r\n', '\n', '\r'],
};

/** keptLine is what is needed of a line. The library tells more of each, and each of it takes memory until the end. */
export function keptLine({ record, info }: CsvLine): CsvLine {
  return { record, info: { lines: info.lines } };
}

export function cellFaults(text: string, most: number): Fault[] {
  const cells = cellsIn(text);
  return cells > most
    ? [fault(`it has ${cells} cells; of CSV at most ${most} are read (docs/limits.md)`)]
    : [];
}

/** notCsv says in the words of a person why the library takes a text for no CSV, with the line and the column. */
export function notCsv(error: Error): Fault {
  const { code, lines, index } = error as CsvError & { readonly lines?: number; readonly index?: number };
  const place =
    lines === undefined ? '' : ` in line ${lines}${index === undefined ? '' : `, column ${index + 1}`}`;
  return fault(`it is not CSV: ${WORDS[code] ?? 'it cannot be read'}${place}`);
}

/** The words for errors of the library that the options used here can cause. */
const WORDS: Readonly<Record<string, string>> = {
  CSV_INVALID_CLOSING_QUOTE:
    'a quotation mark is followed by more text of its cell; write it twice within a cell',
  CSV_NON_TRIMABLE_CHAR_AFTER_CLOSING_QUOTE:
    'a quotation mark is followed by more text of its cell; write it twice within a cell',
  INVALID_OPENING_QUOTE:
    'a quotation mark stands within a cell that has none before; put the whole cell between them',
  CSV_QUOTE_NOT_CLOSED: 'a quotation mark is not closed',
};

/** cellsIn counts commas and line ends, of which those within quotes are no ends of cells. */
function cellsIn(text: string): number {
  let cells = 1;
  for (let i = 0; i < text.length; i++) {
    const letter = text.charCodeAt(i);
    if (letter === COMMA || letter === NEWLINE) cells++;
  }
  return cells;
}
