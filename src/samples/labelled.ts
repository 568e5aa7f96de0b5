import { fault, type TensorSpec, type ToldFaults } from '../formats/index.js';
import { type Labelled, type ReadLabels, readLabels } from './labels.js';
import { type ReadSamples, readSamples } from './read-samples.js';

/** LabelledFiles names labelled samples, and what they are read for. */
export interface LabelledFiles extends Labelled {
  readonly samples: readonly string[];
  readonly labels: string;
  readonly inputs: readonly TensorSpec[];
}

/**
 * readLabelled reads samples and their labels, which must be as many. The labels come first, as they say how many samples
 * there may be before any is unpacked.
 * @param told where every fault of every file is added
 */
export async function readLabelled(
  { samples, labels: path, inputs, scores }: LabelledFiles,
  told: ToldFaults,
): Promise<{ readonly read: ReadSamples; readonly known: ReadLabels | undefined }> {
  const known = await readLabels(path, { scores }, told);
  const labels = known === undefined ? undefined : { path, count: known.labels.length };
  const before = told.count;
  const read = await readSamples(samples, { inputs, labels }, told);
  if (labels !== undefined && told.count === before && labels.count !== read.rows.length)
    told.add(fault(`has ${labels.count} labels, and there are ${read.rows.length} samples`, path));
  return { read, known };
}
