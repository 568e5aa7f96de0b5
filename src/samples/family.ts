import {
  type CertaintyMeasure,
  decimalOf,
  decodedText,
  type Fault,
  fault,
  readWhole,
  sha256Of,
  type ToldFaults,
} from '../artifacts/index.js';
import { type Executor, elementNumbers, type TensorData, type Tensors } from '../execution/index.js';
import { certaintyOf, predictionOf } from '../records/index.js';
import { readNpy } from './npy.js';
import type { SampleFile } from './read-samples.js';
import { SampleFault } from './sample-fault.js';

const MOST_LABEL_BYTES = 64 * 1024 * 1024;
/** How many wrong labels of a file are told. */
const MOST_TOLD = 10;

/** RunModel is a model of a family as it is run on samples. */
export interface RunModel {
  readonly name: string;
  readonly file: string;
  /** The output that holds the scores of the classes. */
  readonly output: string;
}

/** FamilyRun is how a family is run on labelled samples. */
export interface FamilyRun {
  readonly executor: Pick<Executor, 'load' | 'run'>;
  readonly models: readonly RunModel[];
  readonly labels: readonly number[];
  readonly certainty: CertaintyMeasure;
  readonly signal?: AbortSignal | undefined;
  /** onModel is told how many models are done. */
  readonly onModel?: ((done: number) => void) | undefined;
}

/**
 * readLabels reads the classes of samples, counted from 0: whole numbers of an array of NumPy (`.npy`), or a line each.
 * @param told where every fault of the file is added
 */
export async function readLabels(
  path: string,
  told: ToldFaults,
): Promise<{ readonly labels: number[]; readonly file: SampleFile } | undefined> {
  const before = told.count;
  try {
    const bytes = await readWhole(path, MOST_LABEL_BYTES);
    const written = path.toLowerCase().endsWith('.npy')
      ? Array.from(numbersIn(readNpy(bytes)), String)
      : linesOf(decodedText(bytes, path));
    const labels = written.map(decimalOf);
    const wrong = [...labels.entries()].filter(([, label]) => !(Number.isSafeInteger(label) && label >= 0));
    for (const [sample] of wrong.slice(0, MOST_TOLD))
      told.add(
        fault(`is ${written[sample]}; classes are whole numbers from 0`, `${path} label ${sample + 1}`),
      );
    if (labels.length === 0) told.add(fault('has no label', path));
    return told.count > before ? undefined : { labels, file: { path, sha256: sha256Of(bytes) } };
  } catch (error) {
    if (error instanceof SampleFault) told.add(fault(error.message, path));
    else told.addOfFile(path, error);
    return undefined;
  }
}

/** linesOf reads a label on each line; a first line that is a word is a header. */
function linesOf(text: string): string[] {
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== '');
  const isHeader = Number.isNaN(Number(lines[0]));
  return lines.slice(isHeader ? 1 : 0).map((line) => line.trim());
}

/**
 * recordFamily runs each model on each sample by itself, and writes what they say as records: CSV with the columns sample,
 * model, prediction, label and certainty.
 * @returns every fault of the answers: labels that are no class, scores that are no numbers
 */
export async function recordFamily(
  rows: readonly Tensors[],
  { executor, models, labels, certainty, signal, onModel }: FamilyRun,
): Promise<{ readonly text: string } | { readonly faults: Fault[] }> {
  const faults: Fault[] = [];
  const lines = ['sample,model,prediction,label,certainty'];
  for (const [i, { name, file, output }] of models.entries()) {
    const { model } = await executor.load(file);
    let classes = 0;
    for (const [sample, feeds] of rows.entries()) {
      signal?.throwIfAborted();
      const { outputs } = await executor.run(model, feeds, [output]);
      const scores = numbersIn(outputs[output] as TensorData);
      classes = scores.length;
      const prediction = predictionOf(scores);
      if (prediction < 0)
        faults.push(fault(`${name} gives scores that are no numbers`, `sample ${sample + 1}`));
      lines.push(`${sample},${name},${prediction},${labels[sample]},${certaintyOf(scores, certainty)}`);
    }
    const above = labels.findIndex((label) => label >= classes);
    if (above >= 0)
      faults.push(
        fault(`is ${labels[above]}, and ${name} has the classes 0 to ${classes - 1}`, `label ${above + 1}`),
      );
    onModel?.(i + 1);
  }
  return faults.length > 0 ? { faults } : { text: `${lines.join('\n')}\n` };
}

/** numbersIn gives the elements of a tensor as numbers. @throws SampleFault where it holds text */
export function numbersIn(tensor: TensorData): ArrayLike<number> {
  const numbers = elementNumbers(tensor);
  if (numbers === undefined) throw new SampleFault('holds text; numbers are needed');
  return numbers;
}
