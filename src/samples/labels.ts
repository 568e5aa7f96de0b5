import { decodedText, readWhole } from '../artifacts/index.js';
import { itemAt } from '../collections/index.js';
import type { TensorData } from '../execution/index.js';
import { decimalOf, fault, sha256Of, shown, type TensorSpec, type ToldFaults } from '../formats/index.js';
import { readNpy } from './npy.js';
import { numbersIn } from './numbers.js';
import type { SampleFile } from './read-samples.js';
import { SampleFault } from './sample-fault.js';

const MOST_LABEL_BYTES = 64 * 1024 * 1024;
/** How many wrong labels of a file are reported. */
const MOST_TOLD = 10;

/** Labelled is what labels are for. */
export interface Labelled {
  /** The outputs that score the classes, with whose they are. */
  readonly scores: readonly { readonly of: string; readonly output: TensorSpec }[];
}

/** ReadLabels holds the classes of samples, in their order. */
export interface ReadLabels {
  readonly labels: readonly number[];
  readonly file: SampleFile;
}

/**
 * readLabels reads the classes of samples, counted from 0: whole numbers of an array of NumPy (`.npy`), or a line each, of
 * which the first may be a header. Rows of zeros with a single one (one-hot) are classes too.
 * @param told where every fault is added: labels that are no class, also of the model with fewest
 */
export async function readLabels(
  path: string,
  { scores }: Labelled,
  told: ToldFaults,
): Promise<ReadLabels | undefined> {
  try {
    const bytes = await readWhole(path, MOST_LABEL_BYTES);
    const rows = path.toLowerCase().endsWith('.npy')
      ? rowsOf(readNpy(bytes))
      : linesOf(decodedText(bytes, path));
    const written = oneColumn(rows);
    const labels = written.map(decimalOf);
    const fewest = scores
      .map(({ of, output }) => ({ of, classes: classesOf(output) }))
      .reduce((a, b) => (b.classes < a.classes ? b : a), { of: '', classes: Number.POSITIVE_INFINITY });
    const wrong = written.flatMap((text, i) => {
      const said = wrongLabel(text, itemAt(labels, i), fewest);
      return said === undefined ? [] : [fault(said, `${path} label ${i + 1}`)];
    });
    const faults = wrong.slice(0, MOST_TOLD);
    if (wrong.length > MOST_TOLD)
      faults.push(fault(`has ${wrong.length - MOST_TOLD} further labels that are no class`, path));
    if (labels.length === 0) faults.push(fault('has no label', path));
    told.addAll(faults);
    return faults.length > 0 ? undefined : { labels, file: { path, sha256: sha256Of(bytes) } };
  } catch (error) {
    if (error instanceof SampleFault) told.add(fault(error.message, path));
    else told.addOfFile(path, error);
    return undefined;
  }
}

/** linesOf reads the cells of each line; a first line that is a word is a header. Empty lines at the end are none. */
function linesOf(text: string): string[][] {
  const lines = text.trimEnd().split(/\r\n|\n|\r/);
  const cells = lines.map((line) => line.split(',').map((cell) => cell.trim()));
  const isHeader = Number.isNaN(Number(cells[0]?.[0]));
  return text.trim() === '' ? [] : cells.slice(isHeader ? 1 : 0);
}

/** rowsOf gives the rows of an array: one number each, or as many as its second axis has. */
function rowsOf(tensor: TensorData): string[][] {
  const numbers = Array.from(numbersIn(tensor), String);
  const [count = 0, ...inner] = tensor.dims;
  const width = inner.reduce((product, size) => product * size, 1);
  if (tensor.dims.length > 2)
    throw new SampleFault(`has ${tensor.dims.length} axes; labels have one, or two of one-hot rows`);
  return Array.from({ length: count }, (_, i) => numbers.slice(i * width, (i + 1) * width));
}

/**
 * oneColumn gives the class of each row: its only cell, or where its only 1 is among zeros.
 * @throws SampleFault where rows have several cells and are not one-hot, or where labels are words
 */
function oneColumn(rows: readonly (readonly string[])[]): string[] {
  const width = rows[0]?.length ?? 1;
  if (width === 1 && rows.every(({ length }) => length === 1)) {
    const single = rows.map(([cell = '']) => cell);
    const word = single.find((cell) => /\p{L}/u.test(cell));
    const areWords = single.every((cell) => Number.isNaN(decimalOf(cell)) && cell !== '');
    if (word === undefined || !areWords) return single;
    throw new SampleFault(
      `holds words, such as ${shown(word)}: write the number of each class, from 0, in the order of the model's scores`,
    );
  }
  return rows.map((cells, i) => {
    const numbers = cells.map(decimalOf);
    const isOneHot =
      cells.length === width &&
      numbers.every((number) => number === 0 || number === 1) &&
      numbers.filter((number) => number === 1).length === 1;
    if (isOneHot) return String(numbers.indexOf(1));
    throw new SampleFault(
      `has several numbers for label ${i + 1}, which are not a single 1 among zeros (one-hot): give the number of its class alone`,
    );
  });
}

function wrongLabel(
  text: string,
  label: number,
  { of, classes }: { readonly of: string; readonly classes: number },
): string | undefined {
  if (text === '') return 'is empty';
  if (!(Number.isSafeInteger(label) && label >= 0)) return `is ${text}; classes are whole numbers from 0`;
  return label < classes ? undefined : noClass(label, { of, classes });
}

/** noClass says that a model or output has no class of a label's number. */
export function noClass(label: number, { of, classes }: { of: string; classes: number }): string {
  return `is ${label}, and ${of} has the classes 0 to ${classes - 1}`;
}

/** classesOf counts the scores of one row of an output. It gives Infinity where its shape does not tell. */
function classesOf({ shape, batchAxis, variableAxes = [] }: TensorSpec): number {
  const isKnown = (size: number, axis: number) => size > 0 && !variableAxes.includes(axis);
  const sizes = shape.map((size, axis) => {
    if (axis === batchAxis) return 1;
    return isKnown(size, axis) ? size : Number.POSITIVE_INFINITY;
  });
  return sizes.reduce((product, size) => product * size, 1);
}
