import { dirname, join } from 'node:path';
import {
  attempted,
  checkReadable,
  everyInput,
  externalInputs,
  FilesRead,
  type InputPath,
  inputFile,
  ofBundleAdvice,
  oneErrorOf,
  partFault,
  pathFrom,
  profileInputs,
  readWhole,
  refuseReplacing,
  sha256OfFile,
} from '../artifacts/index.js';
import { itemAt } from '../collections/index.js';
import type { DeployedModel, WrittenBundle } from '../deploy/index.js';
import {
  BUNDLE_MANIFEST,
  CHANGED_ADVICE,
  CheckFailedError,
  type DataFile,
  type DeployTarget,
  type Fault,
  fault,
  INPUTS_CHANGED,
  InputError,
  type InputFile,
  type Loaded,
  MissingError,
  option,
  sha256Of,
  shown,
} from '../formats/index.js';
import type { PlanKind, ServedPlan } from '../plans/index.js';
import { bundleNotes, confirmPlan, refuseUnchecked, type Strictness } from '../specs/index.js';
import type { ProgressStep } from './profile.js';

/** DeployOptions says where a bundle is written, and where its models are. */
export interface DeployOptions extends Strictness {
  /** The folder of the bundle. */
  readonly output: string;
  /** The program that the bundle is for; the default is `local`, the bundle that `plan serve` runs. */
  readonly target?: DeployTarget;
  /** ONNX files by model name, for models that are not at the paths in their profiles. */
  readonly model?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  readonly onProgress?: (step: ProgressStep) => void;
  /** Receives a note where this host is to run the bundle and has too few cores for all its devices. */
  readonly onNote?: (text: string) => void;
}

type LoadedPlan = Loaded<PlanKind>;

/**
 * deployPlan writes the bundle of a plan. It finds the plan's profiles by its `inputs`, and the models by `model` or by
 * their profiles. `path` leads to the plan, or to a bundle whose plan is deployed again. All digests must match. A plan
 * that names its spec is recomputed from it first.
 * @throws InputError where there is no such target, a file has changed, a figure of the plan is not right, the plan is of
 *   layers, a server could not tell which edges are taken, or the bundle would replace one of its inputs; MissingError
 *   where a profile or model is missing; the signal's reason on abort, with the folder as it was
 */
export async function deployPlan(path: string, options: DeployOptions): Promise<WrittenBundle> {
  const task = `deploy ${path}`;
  const errors: InputError[] = [];
  const { targetNamed } = await import('../deploy/index.js');
  const target = await attempted(errors, (async () => targetNamed(options.target ?? 'local', task))());
  const { planAt } = await import('../simulation/index.js');
  const found = await attempted(errors, planAt(path, task));
  if (found === undefined) {
    for (const file of Object.values(options.model ?? {})) await attempted(errors, checkReadable(file));
    throw oneErrorOf(task, errors);
  }
  const { plan: held, madeAt, bundled = [] } = found;
  // The files that a plan names are found from where it was made.
  const plan = { ...held, path: madeAt };
  const place = { path: madeAt, named: path };
  await attempted(errors, refuseUnfit(plan, path, options));
  options.onProgress?.({ doing: 'reading profiles and models' });
  const read = await attempted(errors, profiledModels(plan, path, options));
  const programs = await attempted(errors, programsOf(plan, task));
  if (target === undefined || read === undefined || programs === undefined || errors.length > 0)
    throw oneErrorOf(task, errors);
  const { profiles, distinct, models } = read;
  const output = { field: 'output', path: options.output, isFolder: true };
  const files = [
    ...(await filesRead(plan, profiles, models)),
    ...programs.map((program) => ({ what: `the program of ${program.workflow}`, path: program.path })),
    { what: 'the plan', path: held.path },
    ...bundled,
  ];
  await refuseReplacing(task, [output], files);
  const holder = `${options.output}/${BUNDLE_MANIFEST}`;
  const inputs: InputFile[] = [inputFile('plan', plan, holder)];
  profiles.forEach((profile, i) => {
    inputs.push(inputFile('profile', profile, holder));
    inputs.push(inputFile('model', itemAt(models, i).file, holder));
  });
  for (const program of programs) inputs.push(inputFile('program', program, holder));
  // A plan that `plan validate` refuses is not to be served either.
  const confirmed = await confirmPlan(plan.value, { ...place, files: new FilesRead(distinct) });
  refuseUnchecked(task, confirmed, options);
  const planBytes = await readWhole(held.path);
  options.signal?.throwIfAborted();
  options.onProgress?.({ doing: `writing ${options.output}` });
  const { checks } = confirmed;
  const deployment = {
    plan: plan.value,
    planBytes,
    models: models.map((model) => model.deployed),
    programs,
    inputs,
    checks,
    signal: options.signal,
  };
  const written = await target.write(options.output, deployment);
  if (target.lint === undefined)
    for (const note of await bundleNotes(written.manifest.devices, usedOf(plan.value)))
      options.onNote?.(note);
  return written;
}

/** usedOf counts the GPUs of each class that the plan uses. */
function usedOf({ placement }: ServedPlan): Record<string, { readonly used: number }> {
  const places = new Map<string, Set<string>>();
  for (const { class: name, server, gpu } of placement) {
    const own = places.get(name) ?? new Set<string>();
    places.set(name, own.add(`${server}/${gpu}`));
  }
  return Object.fromEntries([...places].map(([name, gpus]) => [name, { used: gpus.size }]));
}

/** FoundProgram is the program of a workflow, with the digest of its module. */
interface FoundProgram {
  readonly workflow: string;
  readonly path: string;
  readonly sha256: string;
}

/**
 * programsOf finds the programs of a plan's workflows. They must be unchanged.
 * @throws MissingError where one is missing; CheckFailedError where one has changed since the plan was made
 */
async function programsOf({ value, path }: LoadedPlan, task: string): Promise<readonly FoundProgram[]> {
  const { partsOf } = await import('../deploy/index.js');
  const named = (partsOf(value).programs?.(value) ?? []).map((program) => ({
    workflow: program.workflow,
    path: pathFrom(path, program.path),
  }));
  const programs = await everyInput<FoundProgram[]>(
    task,
    named.map(async (program) => ({ ...program, sha256: sha256Of(await readWhole(program.path)) })),
  );
  const made = (value.inputs ?? []).filter(({ role }) => role === 'program');
  const changed = programs.flatMap((program) => {
    const then = made.find((input) => pathFrom(path, input.path) === program.path);
    return then === undefined || then.sha256 === program.sha256
      ? []
      : [fault('has changed since the plan was made', program.path)];
  });
  if (changed.length > 0)
    throw new CheckFailedError(task, changed, { advice: CHANGED_ADVICE, checks: INPUTS_CHANGED });
  return programs;
}

/**
 * refuseUnfit refuses a plan that no bundle can be made of, and models that it has not.
 * @throws InputError with all that is wrong
 */
async function refuseUnfit(plan: LoadedPlan, named: string, options: DeployOptions): Promise<void> {
  const { planOf } = await import('../plans/index.js');
  const { partsOf } = await import('../deploy/index.js');
  // A plan that contradicts itself is refused as such, whichever of its inputs are missing.
  if (planOf(plan.value).contradictions(plan.value).length > 0)
    await confirmPlan(plan.value, { path: plan.path, named });
  await everyInput(`deploy ${named}`, [
    (async () => partsOf(plan.value).refuse(plan.value, named))(),
    refuseUnknownModels(plan, options.model ?? {}),
  ]);
}

/** ProfiledModels are the profiles of a plan, one per model or stage, those that differ, and the models of all. */
interface ProfiledModels {
  readonly profiles: readonly Loaded<'profile'>[];
  readonly distinct: readonly Loaded<'profile'>[];
  readonly models: readonly DeployableModel[];
}

/**
 * profiledModels reads the profiles of a plan and their models. Stages may share one: it is read once, and all of them
 * get the same.
 */
async function profiledModels(
  plan: LoadedPlan,
  named: string,
  options: DeployOptions,
): Promise<ProfiledModels> {
  const profiles = await profilesOf(plan);
  const distinct = [...new Map(profiles.map((profile) => [profile.path, profile])).values()];
  const found = await everyInput<DeployableModel[]>(
    `deploy ${named}`,
    distinct.map((profile) => modelOfProfile(profile, options)),
  );
  const models = profiles.map((profile) =>
    itemAt(
      found,
      distinct.findIndex(({ path: at }) => at === profile.path),
    ),
  );
  return { profiles, distinct, models };
}

/** The files from which the bundle is made, and those from which the plan was made. */
async function filesRead(
  plan: LoadedPlan,
  profiles: readonly Loaded<'profile'>[],
  models: readonly DeployableModel[],
): Promise<InputPath[]> {
  const { externalLocations } = await import('../onnx/index.js');
  const ofModels = models.flatMap(({ deployed: { profile, graph }, file: { path } }) => [
    { what: `the model ${profile.model.name}`, path },
    ...externalInputs(path, externalLocations(graph)),
  ]);
  return [...planInputs(plan), ...profiles.flatMap((profile) => profileInputs(profile)), ...ofModels];
}

/**
 * planInputs lists the plan and the files that it names. Even files that are not read count, because replacing a folder
 * would delete them.
 */
function planInputs({ value, path }: LoadedPlan): InputPath[] {
  const made = (value.inputs ?? []).map((input) => ({
    what: `the ${input.role} of the plan`,
    path: pathFrom(path, input.path),
  }));
  return [{ what: 'the plan', path }, ...made];
}

async function refuseUnknownModels(plan: LoadedPlan, given: Readonly<Record<string, string>>): Promise<void> {
  const { planOf } = await import('../plans/index.js');
  const known = [...new Set(planOf(plan.value).profiled(plan.value))];
  const faults = Object.keys(given)
    .filter((name) => !known.includes(name))
    .map((name) =>
      fault(`the plan has no model ${shown(name)}; it has ${known.join(', ')}`, option('model')),
    );
  if (faults.length > 0) throw new InputError(`deploy ${plan.path}`, faults);
}

/**
 * profilesOf loads the profiles that a plan was made from, one per model or stage of the plan. They must be unchanged.
 */
async function profilesOf(plan: LoadedPlan): Promise<Loaded<'profile'>[]> {
  const named = (plan.value.inputs ?? []).filter(({ role }) => role === 'profile');
  const { planOf } = await import('../plans/index.js');
  const own = planOf(plan.value);
  const models = own.profiled(plan.value);
  if (named.length !== models.length) {
    const said = `it names ${named.length} profiles for ${models.length} ${own.profiledWhat}`;
    throw new InputError(`deploy ${plan.path}`, [fault(said, '/inputs')], 'Solve the spec again.');
  }
  const files = new FilesRead();
  const profiles = await everyInput<Loaded<'profile'>[]>(
    `deploy ${plan.path}`,
    named.map(({ path }) => files.load(pathFrom(plan.path, path), ['profile'])),
  ).catch(async (error: unknown) => {
    const advice = error instanceof MissingError ? await ofBundleAdvice(plan.path) : undefined;
    throw advice === undefined
      ? error
      : new MissingError((error as MissingError).task, (error as MissingError).faults, advice);
  });
  const changed = profiles.flatMap((profile, i) =>
    profile.sha256 === named[i]?.sha256 ? [] : [fault('has changed since the plan was made', profile.path)],
  );
  if (changed.length > 0)
    throw new CheckFailedError(`deploy ${plan.path}`, changed, {
      advice: CHANGED_ADVICE,
      checks: INPUTS_CHANGED,
    });
  return profiles;
}

/** DeployableModel is the model of a profile, with the file that it was read from. */
export interface DeployableModel {
  readonly deployed: DeployedModel;
  readonly file: { readonly path: string; readonly sha256: string };
}

/**
 * modelOfProfile reads the model that a profile is of.
 * @throws InputError where it is not the file that was profiled; MissingError where it is missing, or not named
 */
export async function modelOfProfile(
  { value: profile, path: profilePath }: Loaded<'profile'>,
  { model: files, signal }: Pick<DeployOptions, 'model' | 'signal'>,
): Promise<DeployableModel> {
  const given = files?.[profile.model.name];
  const { name, file, sha256: wanted, data } = profile.model;
  const task = `deploy model ${name}`;
  if (given === undefined && file === undefined) {
    throw new MissingError(
      task,
      [fault('its profile names no ONNX file')],
      `Name it with ${option('model')} ${name}=<file>.`,
    );
  }
  const path = given ?? pathFrom(profilePath, file as string);
  const bytes = await readModelFile(path, name);
  const sha256 = sha256Of(bytes);
  if (wanted !== undefined && sha256 !== wanted) {
    throw new InputError(
      task,
      [fault('is not the file that was profiled: its digest differs', path)],
      'Profile it again.',
    );
  }
  const folder = dirname(path);
  const faults = await changedData(folder, data ?? [], signal);
  signal?.throwIfAborted();
  if (faults.length > 0) throw new InputError(task, faults, 'Profile it again.');
  const { bindAsProfiled } = await import('../profiler/index.js');
  const graph = bindAsProfiled(bytes, profile.model);
  return { deployed: { profile, graph, folder }, file: { path, sha256 } };
}

async function changedData(
  folder: string,
  data: readonly DataFile[],
  signal: AbortSignal | undefined,
): Promise<Fault[]> {
  const faults = await Promise.all(
    data.map(async ({ path, sha256 }) => {
      const wrong = await partFault(folder, path);
      if (wrong !== undefined) return [fault(`it holds external data of the model: ${wrong.message}`, path)];
      return (await sha256OfFile(join(folder, path), signal)) === sha256
        ? []
        : [fault('is not the external data that was profiled: its digest differs', path)];
    }),
  );
  return faults.flat();
}

async function readModelFile(path: string, name: string): Promise<Uint8Array> {
  try {
    return await readWhole(path);
  } catch (error) {
    if (!(error instanceof MissingError)) throw error;
    throw new MissingError(
      `read ${path}`,
      error.faults,
      `Name the model's file with ${option('model')} ${name}=<file>.`,
    );
  }
}
