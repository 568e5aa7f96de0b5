import {
  everyInput,
  FilesRead,
  type InputPath,
  inputFile,
  type LoadedRuns,
  loadRuns,
  pathFrom,
  profileInputs,
  readWhole,
  specInputs,
  withOwnFaults,
} from '../../artifacts/index.js';
import { itemAt } from '../../collections/index.js';
import {
  type ResolvedWorkflows,
  resolveWorkflows,
  type WorkflowFiles,
  workflowSpecFaults,
} from '../../dyorc/index.js';
import {
  aliasedProfiles,
  fault,
  firstFaults,
  InputError,
  type InputFile,
  type Loaded,
  type OpenCluster,
  type Profile,
  type ProfileFigures,
  sha256Of,
  ToldFaults,
} from '../../formats/index.js';
import { classFigures, tracedSpan } from '../../pipeline/index.js';
import { workflowServingFaults } from '../../plans/index.js';
import { leftOutNotes, leftOutOf, meanRps, requestsInTrace, type Trace } from '../../workload/index.js';

/** A program is a module that people write, and no model. */
const MOST_PROGRAM_BYTES = 16 * 1024 * 1024;

/** LoadedWorkflows is a spec of workflows, read with all files that it names, checked and resolved. */
export interface LoadedWorkflows {
  readonly spec: Loaded<'workflow'>;
  readonly files: WorkflowFiles;
  readonly resolved: ResolvedWorkflows;
  /** The trace that is the load, where the spec names one. */
  readonly trace?: LoadTrace;
  /** The files that were read or named. No output may replace them. */
  readonly read: readonly InputPath[];
  /**
   * inputs lists spec, cluster and trace (where there are such files), a profile for each component that is used (of
   * all where none are named), and the runs and programs.
   */
  inputs(holder: string | undefined, used?: readonly string[]): InputFile[];
}

/** LoadTrace is the trace that is a load, and what of it is of each workflow, where the trace itself says so. */
export interface LoadTrace {
  readonly trace: Trace;
  readonly grouped?: readonly Trace[];
}

/** workflowFigures names the figures that a plan could be made of, for each component of the spec. */
export function workflowFigures({ resolved, files }: LoadedWorkflows): ProfileFigures[] {
  return resolved.components.map(({ classes }, c) => {
    const { profile, path } = itemAt(files.profiles, c);
    return {
      profile,
      path,
      classes: classes.map(({ device, batch }) => classFigures(profile, { device, virtual: 1, batch })),
    };
  });
}

/** workflowNotes gives what is to be known of a spec and its files, whatever the answer. */
export function workflowNotes({ resolved, trace }: LoadedWorkflows): string[] {
  const left = trace === undefined ? [] : leftOutNotes(leftOutOf(trace.trace));
  return [...resolved.notes, ...left, ...(trace?.grouped === undefined ? [] : [BY_FUNCTION])];
}

const BY_FUNCTION =
  'the trace counts functions, and no workflow has a share: function f, counted from 0, is of workflow f modulo their number';

/** componentProfiles lists the profiles of the components. */
export function componentProfiles({ files }: Pick<LoadedWorkflows, 'files'>): Profile[] {
  return files.profiles.map(({ profile }) => profile);
}

/**
 * loadWorkflows reads the cluster, the profiles, the recorded runs, the programs and the trace of a spec of workflows,
 * and resolves it.
 * @param readBefore other files that were read before
 * @throws InputError with every fault of the spec, of the files that it names, and of how they fit together;
 *   MissingError where files are only missing
 */
export async function loadWorkflows(
  spec: Loaded<'workflow'>,
  readBefore = new FilesRead(),
): Promise<LoadedWorkflows> {
  const task = `plan ${spec.path}`;
  const serving = workflowServingFaults({ serving: spec.value.serving });
  const read = await withOwnFaults(task, filesOf(spec, readBefore), () => [
    ...workflowSpecFaults(spec.value),
    ...serving,
  ]);
  const files = resolvable(read);
  const outcome = resolveWorkflows(spec.value, files);
  const faults = [...('faults' in outcome ? outcome.faults : []), ...serving];
  if (!('resolved' in outcome) || faults.length > 0) throw new InputError(task, firstFaults(faults));
  return {
    spec,
    files,
    resolved: outcome.resolved,
    ...(read.trace && { trace: read.trace }),
    read: readPaths(spec, read),
    inputs: (holder, used) => inputsOf(spec, read, { holder, used }),
  };
}

interface FilesOfSpec {
  readonly cluster: { readonly value: OpenCluster; readonly file?: Loaded<'cluster'> };
  /** The profiles of the components, in order. */
  readonly profiles: readonly Loaded<'profile'>[];
  readonly trace: (LoadTrace & NamedFile & { readonly rps: number }) | undefined;
  /** By workflow, its recorded runs and its program, where it names them. */
  readonly runs: readonly (LoadedRuns | undefined)[];
  readonly programs: readonly (NamedFile | undefined)[];
}

interface NamedFile {
  readonly path: string;
  readonly sha256: string;
}

async function filesOf(spec: Loaded<'workflow'>, files: FilesRead): Promise<FilesOfSpec> {
  const { cluster, components, workflows } = spec.value;
  const at = (path: string): string => pathFrom(spec.path, path);
  const [clusterRead, trace, profiles, runs, programs] = await everyInput<
    [
      FilesOfSpec['cluster'],
      FilesOfSpec['trace'],
      FilesOfSpec['profiles'],
      FilesOfSpec['runs'],
      FilesOfSpec['programs'],
    ]
  >(`use the files that ${spec.path} names`, [
    typeof cluster === 'string'
      ? files.load(at(cluster), ['cluster']).then((file) => ({ value: file.value, file }))
      : Promise.resolve({ value: cluster }),
    traceOf(spec),
    eachOnce(
      components.map(({ profile }) => at(profile)),
      (path) => files.load(path, ['profile']),
    ) as Promise<Loaded<'profile'>[]>,
    eachOnce(
      workflows.map(({ runs: path }) => path && at(path)),
      (path) => loadRuns(path),
    ),
    eachOnce(
      workflows.map(({ program }) => program && at(program)),
      programAt,
    ),
  ]);
  return { cluster: clusterRead, trace, profiles, runs, programs };
}

/**
 * eachOnce reads each of several files once, and gives what was read for each path. It reports the faults of
 * all.
 */
async function eachOnce<T>(
  paths: readonly (string | undefined)[],
  read: (path: string) => Promise<T>,
): Promise<(T | undefined)[]> {
  const distinct = [...new Set(paths.flatMap((path) => path ?? []))];
  const found = (await everyInput('read files', distinct.map(read) as [Promise<T>])) as readonly T[];
  return paths.map((path) => (path === undefined ? undefined : found[distinct.indexOf(path)]));
}

async function programAt(path: string): Promise<NamedFile> {
  return { path, sha256: sha256Of(await readWhole(path, MOST_PROGRAM_BYTES)) };
}

async function traceOf({ value, path }: Loaded<'workflow'>): Promise<FilesOfSpec['trace']> {
  const { load, workflows } = value;
  if (load === undefined || !('trace' in load)) return undefined;
  const { readTraceFile } = await import('../../simulation/index.js');
  const told = new ToldFaults();
  const at = pathFrom(path, load.trace);
  // Where workflows have shares, functions are not distinguished.
  const groups = workflows.every(({ share }) => share === undefined) ? workflows.length : undefined;
  const found = await readTraceFile(at, { ...tracedSpan(load), groups }, told);
  if (found === undefined) throw told.error(`use the trace ${at}`);
  const { trace, grouped, file } = found;
  const rps = meanRps(trace);
  if (rps !== undefined && rps > 0)
    return { ...file, rps, trace, ...(grouped === undefined ? {} : { grouped }) };
  throw new InputError(`use the trace ${at}`, [
    fault('has no rate: all of its requests come at one instant', at),
  ]);
}

function resolvable({ cluster, profiles, runs, trace }: FilesOfSpec): WorkflowFiles {
  return {
    cluster: cluster.value,
    profiles: aliasedProfiles(profiles, cluster.value),
    runs,
    traceRps: trace?.rps,
    traceShares: trace?.grouped && sharesOf(trace.grouped),
  };
}

function sharesOf(grouped: readonly Trace[]): number[] {
  const requests = grouped.map(requestsInTrace);
  const all = requests.reduce((sum, one) => sum + one, 0);
  return requests.map((one) => one / all);
}

function readPaths({ path }: Loaded<'workflow'>, read: FilesOfSpec): InputPath[] {
  const { cluster, trace, profiles, runs, programs } = read;
  const named = (what: string, files: readonly (NamedFile | undefined)[]): InputPath[] =>
    distinct(files).map((file) => ({ what, path: file.path }));
  return [
    { what: 'the spec', path },
    ...(cluster.file ? [{ what: 'the cluster of the spec', path: cluster.file.path }] : []),
    ...(trace ? [{ what: 'the trace of the spec', path: trace.path }] : []),
    ...distinct(profiles).flatMap((profile) => profileInputs(profile, 'a profile of the spec')),
    ...named('recorded runs of the spec', runs),
    ...named('a program of the spec', programs),
  ];
}

function inputsOf(
  spec: Loaded<'workflow'>,
  read: FilesOfSpec,
  { holder, used }: { readonly holder: string | undefined; readonly used: readonly string[] | undefined },
): InputFile[] {
  const { cluster, trace, runs, programs } = read;
  const profiles = read.profiles.filter(
    (_, c) => used === undefined || used.includes(spec.value.components[c]?.name as string),
  );
  return [
    ...specInputs(spec, holder),
    ...(cluster.file ? [inputFile('cluster', cluster.file, holder)] : []),
    ...(trace ? [inputFile('trace', trace, holder)] : []),
    ...profiles.map((profile) => inputFile('profile', profile, holder)),
    ...distinct(runs).map((file) => inputFile('runs', file, holder)),
    ...distinct(programs).map((file) => inputFile('program', file, holder)),
  ];
}

function distinct<T>(files: readonly (T | undefined)[]): T[] {
  return [...new Set(files.flatMap((file) => file ?? []))];
}
