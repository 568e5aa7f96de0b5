import { itemAt } from '../collections/index.js';
import type { Tensors } from '../execution/index.js';
import { type Fault, fault, InputError, option, ToldFaults } from '../formats/index.js';
import type { RemoteModel } from '../loadgen/index.js';
import { predictionOf } from '../records/index.js';
import { inputsOfSamples, numbersIn, readLabelled, readSamples, type SampleFile } from '../samples/index.js';

/** LabelledAnswers counts the right answers among those to labelled samples. */
export interface LabelledAnswers {
  readonly samples: number;
  readonly answered: number;
  readonly right: number;
}

/** SampledLoad sends samples in turn. */
export interface SampledLoad {
  readonly inputs: readonly Tensors[];
  /** The files that were read, with their roles. */
  readonly files: readonly { readonly role: 'samples' | 'labels'; readonly file: SampleFile }[];
}

/** LabelledLoad sends samples in turn, and compares answers with their labels. */
export interface LabelledLoad extends SampledLoad {
  /** check counts an answer; it finds none wrong, since a wrong class is an answer. */
  check(answer: { readonly index: number; readonly outputs: Tensors }): true;
  counted(): LabelledAnswers;
}

/**
 * sampledLoad reads the samples that a load sends.
 * @throws InputError with every fault of the files, also where there are several models
 */
export async function sampledLoad(
  url: string,
  samples: readonly string[],
  remote: readonly RemoteModel[],
): Promise<SampledLoad> {
  const told = new ToldFaults();
  const [model] = remote;
  if (model === undefined || remote.length > 1) throw new InputError(`load ${url}`, [oneModel('samples')]);
  const inputs = await inputsOf(model, samples, told);
  if (told.count > 0) throw told.error(`load ${url}`);
  const { rows, files } = await readSamples(samples, { inputs }, told);
  if (told.count === 0 && rows.length === 0) told.add(fault('has no sample', samples.join(', ')));
  if (told.count > 0) throw told.error(`load ${url}`);
  return { inputs: rows, files: asSamples(files) };
}

/**
 * labelledLoad reads the samples that a load sends, and their labels.
 * @throws InputError with every fault of the files, also where the model has several outputs
 */
export async function labelledLoad(
  url: string,
  { samples = [], labels }: { readonly samples?: readonly string[]; readonly labels: string },
  remote: readonly RemoteModel[],
): Promise<LabelledLoad> {
  const told = new ToldFaults();
  const [model] = remote;
  const unfit = modelFaults(remote);
  // Where the model has no scores, no further option mends it.
  const isMendable = unfit.length === 0 || remote.length !== 1;
  if (isMendable && samples.length === 0)
    told.add(fault(`is for labelled samples: give ${option('samples')}`, option('labels')));
  told.addAll(unfit);
  if (model === undefined || told.count > 0) throw told.error(`load ${url}`);
  const scores = itemAt(model.outputs, 0);
  const inputs = await inputsOf(model, samples, told);
  if (told.count > 0) throw told.error(`load ${url}`);
  const asked = { samples, labels, inputs, scores: [{ of: scores.name, output: scores }] };
  const { read, known } = await readLabelled(asked, told);
  const { rows, files } = read;
  if (known === undefined || told.count > 0) throw told.error(`load ${url}`);
  const output = scores.name;
  let answered = 0;
  let right = 0;
  return {
    inputs: rows,
    files: [...asSamples(files), { role: 'labels', file: known.file }],
    check: ({ index, outputs }) => {
      const scores = outputs[output];
      if (scores === undefined)
        throw new InputError(`load ${url}`, [fault(`has no ${output}`, 'the answer')]);
      answered += 1;
      if (predictionOf(numbersIn(scores)) === known.labels[index % rows.length]) right += 1;
      return true;
    },
    counted: () => ({ samples: rows.length, answered, right }),
  };
}

/** inputsOf gives the inputs of a model: as its server describes them, or else its samples. */
async function inputsOf(
  { inputs }: RemoteModel,
  samples: readonly string[],
  told: ToldFaults,
): Promise<RemoteModel['inputs']> {
  return inputs.length > 0 ? inputs : inputsOfSamples(samples, told);
}

function asSamples(files: readonly SampleFile[]): SampledLoad['files'] {
  return files.map((file) => ({ role: 'samples', file }));
}

function oneModel(asked: 'samples' | 'labels'): Fault {
  return fault(`is for one model: name it with ${option('model')}`, option(asked));
}

function modelFaults(remote: readonly RemoteModel[]): Fault[] {
  if (remote.length !== 1) return [oneModel('labels')];
  const { name = '', outputs = [] } = remote[0] ?? {};
  if (outputs.length === 0)
    return [fault(`is for models of one output, and the server describes none of ${name}`, option('labels'))];
  if (outputs.length === 1 && outputs[0]?.dtype === 'string')
    return [fault(`is for models that answer with scores, and ${outputs[0].name} is text`, option('labels'))];
  if (outputs.length === 1) return [];
  const has = outputs.map((output) => output.name).join(', ');
  return [fault(`is for models of one output, and this has ${has}`, option('labels'))];
}
