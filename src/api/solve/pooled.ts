import {
  type Cluster,
  type InputFile,
  type InputPath,
  inputFile,
  type Loaded,
  loadArtifact,
  type PooledSpec,
  pathFrom,
  profileInputs,
} from '../../artifacts/index.js';
import type { NamedProfile, PooledProblem } from '../../milp/index.js';

/** LoadedPooled is a pooled spec with every file that it names, read. */
export interface LoadedPooled {
  readonly spec: Loaded<'pooled'>;
  readonly cluster: Cluster;
  /** One profile per model of the spec, in order. */
  readonly profiles: readonly NamedProfile[];
  /** The files that were read or named. No output may replace them. */
  readonly read: readonly InputPath[];
  /** inputs lists spec, cluster (where it is a file) and profiles, with paths relative to `holder`. */
  inputs(holder: string | undefined): InputFile[];
}

/** LoadedProblem is a pooled spec, read, checked and resolved. */
export interface LoadedProblem {
  readonly problem: PooledProblem;
  /** The files that were read or named. No output may replace them. */
  readonly read: readonly InputPath[];
  inputs(holder: string | undefined): InputFile[];
}

/**
 * loadProblem reads a pooled spec, its cluster and its profiles, and resolves it.
 * @throws InputError with every fault of the first file that has any, then of how the files fit together
 */
export async function loadProblem(path: string): Promise<LoadedProblem> {
  const { spec, cluster, profiles, read, inputs } = await loadPooled(path);
  const { resolvePooled } = await import('../../milp/index.js');
  return { problem: resolvePooled(spec.value, cluster, profiles, path), read, inputs };
}

/**
 * loadPooled reads a pooled spec, its cluster and its profiles.
 * @throws InputError with every fault of the first file that has any
 */
export async function loadPooled(path: string): Promise<LoadedPooled> {
  const spec = await loadArtifact(path, ['pooled']);
  const cluster = await clusterOf(spec.value, path);
  const paths = spec.value.models.map((model) => pathFrom(path, model.profile));
  const distinct = new Map<string, Loaded<'profile'>>();
  for (const one of new Set(paths)) distinct.set(one, await loadArtifact(one, ['profile']));
  const loaded = paths.map((one) => distinct.get(one) as Loaded<'profile'>);
  const inputs = (holder: string | undefined): InputFile[] => [
    inputFile('spec', spec, holder),
    ...(cluster.file ? [inputFile('cluster', cluster.file, holder)] : []),
    ...loaded.map((profile) => inputFile('profile', profile, holder)),
  ];
  const profiles = loaded.map((profile) => ({ profile: profile.value, path: profile.path }));
  const read = [
    { what: 'the spec', path },
    ...(cluster.file ? [{ what: 'the cluster of the spec', path: cluster.file.path }] : []),
    ...[...distinct.values()].flatMap((profile) => profileInputs(profile, 'a profile of the spec')),
  ];
  return { spec, cluster: cluster.value, profiles, read, inputs };
}

async function clusterOf(
  spec: PooledSpec,
  path: string,
): Promise<{ value: Cluster; file?: Loaded<'cluster'> }> {
  if (typeof spec.cluster !== 'string') return { value: spec.cluster };
  const file = await loadArtifact(pathFrom(path, spec.cluster), ['cluster']);
  return { value: file.value, file };
}
