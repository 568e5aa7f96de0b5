import { type CsvError, type Options, parse } from 'csv-parse';
import { parse as parseAtOnce } from 'csv-parse/sync';
import { type Fault, fault } from './errors.js';
import { inSteps } from './run-files.js';

const COMMA = ','.charCodeAt(0);
const NEWLINE = '\n'.charCodeAt(0);

/** CsvLine is a line of a CSV text that is not empty, with its number. */
export interface CsvLine {
  readonly record: readonly string[];
  readonly info: { readonly lines: number };
}

/** LineCells are a line's cells of the columns that were asked for, in their order, or why it is not a whole line. */
export type LineCells = readonly string[] | { readonly wrong: string };

/** A table has at most so many cells; the library takes some 150 bytes for each. */
const MOST_CELLS = 3_000_000;
/** One that is read in one step has fewer. */
const MOST_CELLS_AT_ONCE = 100_000;
/** A table is read in pieces of so many letters, between which signals are heard. */
const PIECE_LETTERS = 1 << 16;

/**
 * csvLines reads a CSV text, whose cells are trimmed, in steps. Lines may have any number of cells, and the text at most
 * 3,000,000.
 * @throws the reason of the run's signal once that is aborted (`inSteps`)
 */
export async function csvLines(text: string): Promise<readonly CsvLine[] | { readonly faults: Fault[] }> {
  const lines: CsvLine[] = [];
  const faults = await eachLine(text, (line) => lines.push(kept(line)));
  return faults.length > 0 ? { faults } : lines;
}

/** eachLine hands out the lines of a CSV text, of which it keeps none. @returns why the text is not one, if it is not */
async function eachLine(text: string, read: (line: CsvLine) => void): Promise<Fault[]> {
  const faults = cellFaults(text, MOST_CELLS);
  if (faults.length > 0) return faults;
  let error: Error | undefined;
  const parser = parse({
    ...OPTIONS,
    // A line that is read here does not wait in the stream.
    on_record: (line) => {
      read(line as unknown as CsvLine);
      return null;
    },
  });
  parser.on('error', (one) => {
    error ??= one;
  });
  await inSteps(
    piecesOf(text),
    (piece) => {
      if (error === undefined) parser.write(piece);
    },
    1,
  );
  if (error === undefined)
    await new Promise<void>((resolve) => {
      parser.on('error', () => resolve());
      parser.on('end', resolve);
      parser.end().resume();
    });
  return error === undefined ? [] : [notCsv(error)];
}

/** smallCsvLines reads a CSV text as `csvLines` does, of at most 100,000 cells and in one step. */
export function smallCsvLines(text: string): readonly CsvLine[] | { readonly faults: Fault[] } {
  const faults = cellFaults(text, MOST_CELLS_AT_ONCE);
  if (faults.length > 0) return { faults };
  try {
    return (parseAtOnce(text, OPTIONS) as unknown as CsvLine[]).map(kept);
  } catch (error) {
    return { faults: [notCsv(error as CsvError)] };
  }
}

const OPTIONS: Options = {
  ...{ relax_column_count: true, skip_empty_lines: true, trim: true, info: true, bom: true },
  // Told one by one, as the library would take those of the first line for those of all.
  record_delimiter: ['\r\n', '\n', '\r'],
};

/** kept is what is needed of a line. The library tells more of each, and each of it takes memory until the end. */
function kept({ record, info }: CsvLine): CsvLine {
  return { record, info: { lines: info.lines } };
}

function cellFaults(text: string, most: number): Fault[] {
  const cells = cellsIn(text);
  return cells > most
    ? [fault(`it has ${cells} cells; of CSV at most ${most} are read (docs/limits.md)`)]
    : [];
}

/** notCsv says in the words of a person why the library takes a text for no CSV, with the line and the column. */
function notCsv(error: Error): Fault {
  const { code, lines, index } = error as CsvError & { readonly lines?: number; readonly index?: number };
  const place =
    lines === undefined ? '' : ` in line ${lines}${index === undefined ? '' : `, column ${index + 1}`}`;
  return fault(`it is not CSV: ${WORDS[code] ?? 'it cannot be read'}${place}`);
}

/** What the library refuses with the options that are used here. */
const WORDS: Readonly<Record<string, string>> = {
  CSV_INVALID_CLOSING_QUOTE:
    'a quotation mark is followed by more text of its cell; write it twice within a cell',
  CSV_NON_TRIMABLE_CHAR_AFTER_CLOSING_QUOTE:
    'a quotation mark is followed by more text of its cell; write it twice within a cell',
  INVALID_OPENING_QUOTE:
    'a quotation mark stands within a cell that has none before; put the whole cell between them',
  CSV_QUOTE_NOT_CLOSED: 'a quotation mark is not closed',
};

function* piecesOf(text: string): Generator<string> {
  for (let from = 0; from < text.length; from += PIECE_LETTERS) {
    yield text.slice(from, from + PIECE_LETTERS);
  }
}

/**
 * readCsvTable reads a CSV text with a header, line by line in steps, and keeps none of them.
 * @param columns the columns that the header must have, in any order and perhaps beside others
 * @param what what a line is of, as the fault of a text without any names it
 * @param read is given each line after a good header, with its number
 * @returns every fault of the header where there are any, or why the text is no CSV
 */
export async function readCsvTable(
  text: string,
  { columns, what }: { readonly columns: readonly string[]; readonly what: string },
  read: (cells: LineCells, line: number) => void,
): Promise<Fault[]> {
  let header: readonly string[] | undefined;
  let places: readonly number[] = [];
  let faults: Fault[] = [];
  let count = 0;
  const wrong = await eachLine(text, ({ record, info }) => {
    if (header === undefined) {
      header = record;
      faults = headerFaults(header, columns);
      places = columns.map((column) => record.indexOf(column));
      return;
    }
    count += 1;
    if (faults.length > 0) return;
    const isWhole = record.length === header.length;
    const said = `has ${record.length} cells; the header has ${header.length}`;
    read(isWhole ? places.map((place) => record[place] as string) : { wrong: said }, info.lines);
  });
  if (wrong.length > 0) return wrong;
  if (header === undefined) faults = headerFaults([], columns);
  if (faults.length === 0 && count === 0) faults.push(fault(`it has no line of a ${what}`));
  return faults;
}

/** cellsIn counts commas and line ends, of which those within quotes are no ends of cells. */
function cellsIn(text: string): number {
  let cells = 1;
  for (let i = 0; i < text.length; i++) {
    const letter = text.charCodeAt(i);
    if (letter === COMMA || letter === NEWLINE) cells++;
  }
  return cells;
}

function headerFaults(header: readonly string[], columns: readonly string[]): Fault[] {
  const missing = columns.filter((column) => !header.includes(column));
  const twice = header.filter((name, i) => header.indexOf(name) < i);
  return [
    ...missing.map((column) => fault(`lacks a column ${column}`, 'line 1')),
    ...twice.map((column) => fault(`the column ${column} is given twice`, 'line 1')),
  ];
}
