import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type Bundle,
  type BundledStage,
  type Fault,
  fault,
  type GearPlan,
  InputError,
  type PipelinePlan,
  type TensorSpec,
} from '../artifacts/index.js';
import {
  type ServedStages,
  servedCascadeOf,
  servedPipelineOf,
  unservedCascadeFaults,
  unservedFaults,
} from '../plans/index.js';
import { type DeployedModel, type ModelFile, writeBlocks } from './model-file.js';
import { fileName } from './partitions.js';

/** PipelineModels is a pipeline with the model of each of its stages, in its order. */
export interface PipelineModels {
  readonly plan: (ServedStages & { readonly name: string }) | GearPlan;
  readonly models: readonly DeployedModel[];
  readonly signal?: AbortSignal | undefined;
}

/**
 * writeStages writes the model of each stage of a pipeline or cascade into a bundle's folder. Stages of one model share its file.
 * @returns the manifest's entries for them, and the size in bytes of each stage's file
 * @throws InputError where a model's file does not have the tensors that the plan says
 */
export async function writeStages(
  folder: string,
  { plan, models, signal }: PipelineModels,
): Promise<Pick<Bundle, 'models' | 'partitions' | 'stages'> & { readonly sizes: number[] }> {
  await mkdir(join(folder, 'models'), { recursive: true });
  const written = new Map<DeployedModel, { readonly written: ModelFile; readonly size: number }>();
  for (const [i, model] of models.entries()) {
    if (written.has(model)) continue;
    signal?.throwIfAborted();
    const file = `models/${fileName(plan.stages[i]?.name ?? '', i)}.onnx`;
    const blocks = { from: 0, to: model.profile.blocks.length };
    written.set(model, await writeBlocks({ folder, file, signal }, model, blocks));
  }
  const files = models.map((model) => written.get(model) as { written: ModelFile; size: number });
  const faults = plan.stages.flatMap((stage, i) => [
    ...tensorFaults('inputs', stage.inputs, (files[i] as { written: ModelFile }).written.inputs, i),
    ...tensorFaults('outputs', stage.outputs, (files[i] as { written: ModelFile }).written.outputs, i),
  ]);
  if (faults.length > 0) throw new InputError('deploy the pipeline', faults, 'Profile the models again.');
  return {
    models: [{ name: plan.name, ...servedTensors(plan) }],
    partitions: [],
    stages: plan.stages.map((stage, i): BundledStage => {
      const { inputs: _, outputs: __, ...file } = (files[i] as { written: ModelFile }).written;
      return { name: stage.name, ...file, inputs: stage.inputs ?? [], outputs: stage.outputs ?? [] };
    }),
    sizes: files.map(({ size }) => size),
  };
}

/** servedTensors gives what clients send and get. */
function servedTensors(plan: PipelineModels['plan']): { inputs: TensorSpec[]; outputs: TensorSpec[] } {
  if ('gears' in plan) {
    const { inputs, outputs } = servedCascadeOf(plan);
    return { inputs: [...inputs], outputs: [...outputs] };
  }
  const { inputs, outputs } = servedPipelineOf(plan);
  return { inputs: [...inputs], outputs: outputs.map(({ spec }) => spec) };
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

/**
 * refuseUnserved refuses a plan whose stages cannot be run as models.
 * @throws InputError with every fault of its tensors and conditions
 */
export function refuseUnserved(plan: PipelinePlan | GearPlan, path: string): void {
  const faults = plan.kind === 'gear-plan' ? unservedCascadeFaults(plan) : unservedFaults(plan);
  if (faults.length > 0) throw new InputError(`deploy ${path}`, faults, 'Mend the spec, and solve it again.');
}
