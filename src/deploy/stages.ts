import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type BundledStage, type Fault, fault, InputError, type TensorSpec } from '../formats/index.js';
import type { ServedStage } from '../plans/index.js';
import { type DeployedModel, type ModelFile, writeBlocks } from './model-file.js';
import { fileName } from './partitions.js';

/** StageModels is the stages of a pipeline or cascade, with the model of each. */
export interface StageModels {
  readonly stages: readonly StageToWrite[];
  readonly models: readonly DeployedModel[];
  readonly signal?: AbortSignal | undefined;
}

/** StageToWrite is a stage with the tensors that its model is to take and to give. */
export type StageToWrite = Pick<ServedStage, 'name' | 'inputs' | 'outputs'>;

/**
 * writeStages writes the model of each stage of a pipeline or cascade into a bundle's folder. Stages of one model share its file.
 * @returns the manifest's entries for them, and the size in bytes of each stage's file
 * @throws InputError where a model's file does not have the tensors that its stage says
 */
export async function writeStages(
  folder: string,
  { stages, models, signal }: StageModels,
): Promise<{ readonly stages: BundledStage[]; readonly sizes: number[] }> {
  await mkdir(join(folder, 'models'), { recursive: true });
  const written = new Map<DeployedModel, { readonly written: ModelFile; readonly size: number }>();
  for (const [i, model] of models.entries()) {
    if (written.has(model)) continue;
    signal?.throwIfAborted();
    const file = `models/${fileName(stages[i]?.name ?? '', i)}.onnx`;
    const blocks = { from: 0, to: model.profile.blocks.length };
    written.set(model, await writeBlocks({ folder, file, signal }, model, blocks));
  }
  const files = models.map((model) => written.get(model) as { written: ModelFile; size: number });
  const faults = stages.flatMap((stage, i) => [
    ...tensorFaults('inputs', stage.inputs, (files[i] as { written: ModelFile }).written.inputs, i),
    ...tensorFaults('outputs', stage.outputs, (files[i] as { written: ModelFile }).written.outputs, i),
  ]);
  if (faults.length > 0) throw new InputError('deploy the pipeline', faults, 'Profile the models again.');
  return {
    stages: stages.map((stage, i): BundledStage => {
      const { inputs: _, outputs: __, ...file } = (files[i] as { written: ModelFile }).written;
      return { name: stage.name, ...file, inputs: stage.inputs ?? [], outputs: stage.outputs ?? [] };
    }),
    sizes: files.map(({ size }) => size),
  };
}

/** tensorFaults finds tensors of a stage that are not those of its model's file. */
function tensorFaults(
  which: 'inputs' | 'outputs',
  planned: readonly TensorSpec[] | undefined,
  inFile: readonly TensorSpec[],
  stage: number,
): Fault[] {
  const namesOf = (specs: readonly TensorSpec[]) =>
    specs
      .map(({ name }) => name)
      .sort()
      .join(', ') || 'none';
  const [has, wanted] = [namesOf(inFile), namesOf(planned ?? [])];
  return has === wanted
    ? []
    : [fault(`are planned as ${wanted}; the model has ${has}`, `/stages/${stage}/${which}`)];
}
