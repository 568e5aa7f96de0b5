import {
  decimalOf,
  decodedText,
  fault,
  readWhole,
  sha256Of,
  type TensorSpec,
  type ToldFaults,
} from '../artifacts/index.js';
import { readNpy } from './npy.js';
import { numbersIn } from './numbers.js';
import type { SampleFile } from './read-samples.js';
import { SampleFault } from './sample-fault.js';

const MOST_LABEL_BYTES = 64 * 1024 * 1024;
/** How many wrong labels of a file are told. */
const MOST_TOLD = 10;

/** Labelled is what labels are for. */
export interface Labelled {
  /** The number of samples; undefined where they could not be read. */
  readonly samples: number | undefined;
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
 * which the first may be a header.
 * @param told where every fault is added: labels that are no class, also of the model with fewest, and an unequal number of samples
 */
export async function readLabels(
  path: string,
  { samples, scores }: Labelled,
  told: ToldFaults,
): Promise<ReadLabels | undefined> {
  try {
    const bytes = await readWhole(path, MOST_LABEL_BYTES);
    const written = path.toLowerCase().endsWith('.npy')
      ? Array.from(numbersIn(readNpy(bytes)), String)
      : linesOf(decodedText(bytes, path));
    const labels = written.map(decimalOf);
    const fewest = scores
      .map(({ of, output }) => ({ of, classes: classesOf(output) }))
      .reduce((a, b) => (b.classes < a.classes ? b : a), { of: '', classes: Number.POSITIVE_INFINITY });
    const wrong = written.flatMap((text, i) => {
      const said = wrongLabel(text, labels[i] as number, fewest);
      return said === undefined ? [] : [fault(said, `${path} label ${i + 1}`)];
    });
    const faults = wrong.slice(0, MOST_TOLD);
    if (wrong.length > MOST_TOLD)
      faults.push(fault(`has ${wrong.length - MOST_TOLD} further labels that are no class`, path));
    if (labels.length === 0) faults.push(fault('has no label', path));
    else if (samples !== undefined && labels.length !== samples)
      faults.push(fault(`has ${labels.length} labels, and there are ${samples} samples`, path));
    told.add(...faults);
    return faults.length > 0 ? undefined : { labels, file: { path, sha256: sha256Of(bytes) } };
  } catch (error) {
    if (error instanceof SampleFault) told.add(fault(error.message, path));
    else told.addOfFile(path, error);
    return undefined;
  }
}

/** linesOf reads a label on each line; a first line that is a word is a header. Empty lines at the end are none. */
function linesOf(text: string): string[] {
  const lines = text.trimEnd().split(/\r?\n/);
  const isHeader = Number.isNaN(Number(lines[0]));
  return text.trim() === '' ? [] : lines.slice(isHeader ? 1 : 0).map((line) => line.trim());
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
