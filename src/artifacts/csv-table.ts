import { parse } from 'csv-parse';
import { itemAt } from '../collections/index.js';
import {
  CSV_OPTIONS,
  type CsvLine,
  cellFaults,
  type Fault,
  fault,
  keptLine,
  type LineCells,
  MOST_CELLS,
  notCsv,
} from '../formats/index.js';
import { inSteps } from './run-files.js';

/** A table is read in pieces of this many letters, between which signals are heard. */
const PIECE_LETTERS = 1 << 16;

/**
 * csvLines reads a CSV text, whose cells are trimmed, in steps. Lines may have any number of cells, and the text at most
 * 3,000,000.
 * @throws the reason of the run's signal once that is aborted (`inSteps`)
 */
export async function csvLines(text: string): Promise<readonly CsvLine[] | { readonly faults: Fault[] }> {
  const lines: CsvLine[] = [];
  const faults = await eachLine(text, (line) => lines.push(keptLine(line)));
  return faults.length > 0 ? { faults } : lines;
}

/** eachLine hands out the lines of a CSV text, of which it keeps none. @returns why the text is not one, if it is not */
async function eachLine(text: string, read: (line: CsvLine) => void): Promise<Fault[]> {
  const faults = cellFaults(text, MOST_CELLS);
  if (faults.length > 0) return faults;
  let error: Error | undefined;
  const parser = parse({
    ...CSV_OPTIONS,
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
    read(isWhole ? places.map((place) => itemAt(record, place)) : { wrong: said }, info.lines);
  });
  if (wrong.length > 0) return wrong;
  if (header === undefined) faults = headerFaults([], columns);
  if (faults.length === 0 && count === 0) faults.push(fault(`it has no line of a ${what}`));
  return faults;
}

function headerFaults(header: readonly string[], columns: readonly string[]): Fault[] {
  const missing = columns.filter((column) => !header.includes(column));
  const twice = header.filter((name, i) => header.indexOf(name) < i);
  return [
    ...missing.map((column) => fault(`lacks a column ${column}`, 'line 1')),
    ...twice.map((column) => fault(`the column ${column} is given twice`, 'line 1')),
  ];
}
