import type { Executor, TensorData, Tensors } from '../execution/index.js';
import { type CertaintyMeasure, type Fault, fault } from '../formats/index.js';
import { certaintyOf, predictionOf } from '../records/index.js';
import { noClass } from './labels.js';
import { numbersIn } from './numbers.js';

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
  /** onModel hears how many models are done. */
  readonly onModel?: ((done: number) => void) | undefined;
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
    for (const [sample, label] of labels.entries())
      if (label >= classes) faults.push(fault(noClass(label, { of: name, classes }), `label ${sample + 1}`));
    onModel?.(i + 1);
  }
  return faults.length > 0 ? { faults } : { text: `${lines.join('\n')}\n` };
}
