import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { itemAt } from '../collections/index.js';
import {
  type BundledComponent,
  type BundledModel,
  type BundledProgram,
  type Fault,
  fault,
  InputError,
  type WorkflowPlan,
} from '../formats/index.js';
import { type CalledFace, ProgramHost } from '../programs/index.js';
import { calledFace, callFaults, sentFace } from '../protocol/index.js';
import { type DeployedModel, type ModelFile, writeBlocks } from './model-file.js';
import { fileName } from './partitions.js';
import { type ProgramToWrite, writeProgram } from './program-files.js';
import type { ModelsToWrite, WrittenParts } from './written-parts.js';

/** Programs are only loaded here, and draw nothing. */
const NO_SEED = 0;

/**
 * refuseWorkflows refuses a plan of which some workflow has no program, or whose devices are in several groups.
 * @throws InputError with each of these
 */
export function refuseWorkflows({ workflows, subclusters }: WorkflowPlan, path: string): void {
  const lacking = workflows.flatMap(({ name, program }, i) =>
    program === undefined
      ? [fault(`${name} has no program, so that a server could not run it`, `/workflows/${i}`)]
      : [],
  );
  const grouped =
    subclusters > 1
      ? [fault(`is ${subclusters}; a server serves one group of devices, with one scheduler`, '/subclusters')]
      : [];
  const advice = [
    ...(lacking.length > 0 ? ['give each workflow a program in the spec'] : []),
    ...(grouped.length > 0 ? ['leave planner.subclusters out of the spec'] : []),
  ].join(', ');
  if (advice !== '')
    throw new InputError(
      `deploy ${path}`,
      [...lacking, ...grouped],
      `${advice.charAt(0).toUpperCase()}${advice.slice(1)}, and solve it again.`,
    );
}

/** programsOfWorkflows lists the programs of a plan's workflows, by their paths from the plan. */
export function programsOfWorkflows({ workflows }: WorkflowPlan): ProgramToWrite[] {
  return workflows.flatMap(({ name: workflow, program }) =>
    program === undefined ? [] : [{ workflow, path: program }],
  );
}

/**
 * writeWorkflows writes the models of components and the programs of workflows into a bundle's folder, and loads the
 * programs from there: what they export is what clients send and get.
 * @throws InputError where programs cannot call components, or modules are no programs
 */
export async function writeWorkflows(
  folder: string,
  plan: WorkflowPlan,
  { models, programs = [], signal }: ModelsToWrite,
): Promise<WrittenParts> {
  const { components, sizes } = await writeComponents(folder, plan, { models, signal });
  const written: BundledProgram[] = [];
  for (const [i, program] of programs.entries()) {
    signal?.throwIfAborted();
    const at = join('programs', fileName(program.workflow, i));
    written.push(await writeProgram(folder, at, program));
  }
  const faces = Object.fromEntries(components.map((one) => [one.name, calledFace(one)]));
  return {
    models: await exportedModels(folder, written, faces),
    partitions: [],
    components,
    programs: written,
    sizes,
  };
}

async function writeComponents(
  folder: string,
  plan: WorkflowPlan,
  { models, signal }: ModelsToWrite,
): Promise<{ readonly components: BundledComponent[]; readonly sizes: number[] }> {
  await mkdir(join(folder, 'models'), { recursive: true });
  const written = new Map<DeployedModel, { readonly written: ModelFile; readonly size: number }>();
  for (const [i, model] of models.entries()) {
    if (written.has(model)) continue;
    signal?.throwIfAborted();
    const file = `models/${fileName(plan.components[i]?.name ?? '', i)}.onnx`;
    const blocks = { from: 0, to: model.profile.blocks.length };
    written.set(model, await writeBlocks({ folder, file, signal }, model, blocks));
  }
  const files = models.map((model) => written.get(model) as { written: ModelFile; size: number });
  const faults = plan.components.flatMap((_, i) =>
    callFaults((files[i] as { written: ModelFile }).written).map((why) => fault(why, `/components/${i}`)),
  );
  if (faults.length > 0) throw new InputError('deploy the components', faults);
  return {
    components: plan.components.map(({ name }, i) => ({
      name,
      ...(files[i] as { written: ModelFile }).written,
    })),
    sizes: files.map(({ size }) => size),
  };
}

/**
 * exportedModels loads the programs of a bundle, and gives what clients send and get. @throws InputError with the
 * faults of all of them
 */
async function exportedModels(
  folder: string,
  programs: readonly BundledProgram[],
  components: Readonly<Record<string, CalledFace>>,
): Promise<BundledModel[]> {
  const loaded = await Promise.allSettled(
    programs.map(({ file }) =>
      ProgramHost.start(join(folder, file), { components, driver: NO_DRIVER, seed: NO_SEED }),
    ),
  );
  const hosts = loaded.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  await Promise.all(hosts.map((host) => host.close()));
  const faults = loaded.flatMap((one, i): Fault[] => {
    if (one.status === 'fulfilled') return [];
    if (!(one.reason instanceof InputError)) throw one.reason;
    return one.reason.faults.map(({ path, message }) =>
      fault(message, `${itemAt(programs, i).workflow}: ${path}`),
    );
  });
  if (faults.length > 0)
    throw new InputError('deploy the programs', faults, 'docs/programs.md says how programs are written.');
  return hosts.map(({ face }, i) => ({ name: itemAt(programs, i).workflow, ...sentFace(face) }));
}

const NO_DRIVER = { called: () => {}, wanted: () => {}, ended: () => {} };
