import {
  everyInput,
  FilesRead,
  type InputPath,
  inputFile,
  pathFrom,
  profileInputs,
  specInputs,
} from '../../artifacts/index.js';
import { itemAt } from '../../collections/index.js';
import {
  aliasedProfiles,
  type Cluster,
  countedCluster,
  InputError,
  type InputFile,
  type Loaded,
  PLANNED_SCHEDULER,
  type PlanServing,
  type PooledSpec,
  type ProfileFigures,
} from '../../formats/index.js';
import { type PooledProblem, type ProfileFile, resolvePooled, usableFigures } from '../../milp/index.js';
import { arrivalFaults } from './hold-target.js';

/** LoadedPooled is a pooled spec with the contents of every file that it names. */
export interface LoadedPooled {
  readonly spec: Loaded<'pooled'>;
  readonly cluster: Cluster;
  /** The profiles of the models of the spec, in order, with the aliases of the cluster. */
  readonly profiles: readonly ProfileFile[];
  /** The same profiles as their files have them. */
  readonly measured: readonly ProfileFile[];
  /** The files that were read or named. No output may replace them. */
  readonly read: readonly InputPath[];
  /** inputs lists spec, cluster (where it is a file) and profiles, with paths relative to `holder`. */
  inputs(holder: string | undefined): InputFile[];
}

/** LoadedProblem is a pooled spec, read, checked and resolved. */
export interface LoadedProblem {
  readonly spec: Loaded<'pooled'>;
  readonly problem: PooledProblem;
  /** The scheduler that plans of the spec are served by. */
  readonly serving: PlanServing;
  /** The profiles of the models of the spec, in order, with the aliases of the cluster. */
  readonly profiles: readonly ProfileFile[];
  /** The same profiles as their files have them. */
  readonly measured: readonly ProfileFile[];
  /** The files that were read or named. No output may replace them. */
  readonly read: readonly InputPath[];
  inputs(holder: string | undefined): InputFile[];
}

/**
 * loadProblem reads the cluster and the profiles of a pooled spec, and resolves it.
 * @param files other files that were read before
 * @throws InputError with every fault of the spec, else of the files it names, else of how they fit together;
 *   MissingError where files are only missing
 */
export async function loadProblem(spec: Loaded<'pooled'>, files?: FilesRead): Promise<LoadedProblem> {
  const { path } = spec;
  const resolved = loadPooled(spec, files).then(({ cluster, profiles, ...named }) => ({
    ...named,
    profiles,
    problem: resolvePooled(spec.value, { cluster, profiles, where: path }),
  }));
  const [loaded, serving] = await everyInput<[Omit<LoadedProblem, 'serving'>, PlanServing, undefined]>(
    `plan ${path}`,
    [resolved, servingOf(spec), checkArrivals(spec)],
  );
  return { ...loaded, serving };
}

async function checkArrivals({ value: { planner }, path }: Loaded<'pooled'>): Promise<undefined> {
  const faults = await arrivalFaults(planner);
  if (faults.length > 0) throw new InputError(`plan ${path}`, faults);
}

/** pooledFigures names the figures of each model that a plan for the cluster could be made of. */
export function pooledFigures(
  { models, cluster }: Pick<PooledProblem, 'models' | 'cluster'>,
  profiles: readonly ProfileFile[],
): ProfileFigures[] {
  return models.map((model, m) => ({
    profile: model.profile,
    path: itemAt(profiles, m).path,
    classes: usableFigures(model, cluster),
  }));
}

/**
 * servingOf gives the scheduler that serves the plans of a spec.
 * @throws InputError where the spec names a scheduler or a choice that does not exist */
export async function servingOf({ value: spec, path }: Loaded<'pooled'>): Promise<PlanServing> {
  if (spec.serving === undefined) return { scheduler: PLANNED_SCHEDULER };
  // Few pooled specs choose how plans are served, and no other needs the room.
  const { servingFaults } = await import('../../plans/index.js');
  const faults = servingFaults({ serving: spec.serving, kind: 'pooled-plan' });
  if (faults.length > 0) throw new InputError(`plan ${path}`, faults);
  return spec.serving;
}

/**
 * loadPooled reads the cluster and the profiles of a pooled spec. A profile that several models name is read once.
 * @throws InputError with every fault of the spec, else of the files it names; MissingError where files are only
 *   missing
 */
export async function loadPooled(spec: Loaded<'pooled'>, files = new FilesRead()): Promise<LoadedPooled> {
  const { path } = spec;
  const { models } = spec.value;
  const paths = models.map((model) => pathFrom(path, model.profile));
  const distinct = [...new Set(paths)];
  const [cluster, ...found] = await everyInput<[ClusterOfSpec, ...Loaded<'profile'>[]]>(
    `use the files that ${path} names`,
    [clusterOf(spec.value, path, files), ...distinct.map((one) => files.load(one, ['profile']))],
  );
  const loaded = paths.map((one) => itemAt(found, distinct.indexOf(one)));
  const inputs = (holder: string | undefined): InputFile[] => [
    ...specInputs(spec, holder),
    ...(cluster.file ? [inputFile('cluster', cluster.file, holder)] : []),
    ...loaded.map((profile) => inputFile('profile', profile, holder)),
  ];
  const profiles = aliasedProfiles(loaded, cluster.value);
  const read = [
    { what: 'the spec', path },
    ...(cluster.file ? [{ what: 'the cluster of the spec', path: cluster.file.path }] : []),
    ...found.flatMap((profile) => profileInputs(profile, 'a profile of the spec')),
  ];
  const measured = loaded.map(({ value, path: at }) => ({ profile: value, path: at }));
  return { spec, cluster: cluster.value, profiles, measured, read, inputs };
}

interface ClusterOfSpec {
  readonly value: Cluster;
  /** Where it is a file of its own. */
  readonly file?: Loaded<'cluster'>;
}

async function clusterOf(spec: PooledSpec, path: string, files: FilesRead): Promise<ClusterOfSpec> {
  if (typeof spec.cluster !== 'string') return { value: spec.cluster };
  const file = await files.load(pathFrom(path, spec.cluster), ['cluster']);
  return { value: countedCluster(file.value, file.path), file };
}
