import {
  everyInput,
  FilesRead,
  type InputPath,
  inputFile,
  pathFrom,
  profileInputs,
  specInputs,
  withOwnFaults,
} from '../../artifacts/index.js';
import { itemAt } from '../../collections/index.js';
import {
  aliasedProfiles,
  fault,
  firstFaults,
  InputError,
  type InputFile,
  type Loaded,
  type NoPlanModel,
  type OpenCluster,
  type PipelineSpec,
  type Profile,
  type ProfileFigures,
  pipelineMethodOf,
  ToldFaults,
} from '../../formats/index.js';
import {
  type GivenProblem,
  givenFigures,
  type OpenProblem,
  openFigures,
  type PipelineFiles,
  pipelineSpecFaults,
  resolveGiven,
  resolveOpen,
  servedApplications,
  tracedSpan,
  unprofiledNotes,
} from '../../pipeline/index.js';
import { countFaults, type StageGraph, servingFaults } from '../../plans/index.js';
import { leftOutNotes, leftOutOf, meanRps, type Trace } from '../../workload/index.js';

/** LoadedPipeline is a pipeline's spec, read with all files that it names, checked and resolved. */
export interface LoadedPipeline {
  readonly spec: Loaded<'pipeline'>;
  /** The pipeline as its spec fixes it; absent where a planner is to choose. */
  readonly problem?: GivenProblem;
  /** The pipeline with what may be chosen; absent where nothing is. */
  readonly open?: OpenProblem;
  readonly graph: StageGraph;
  readonly files: PipelineFiles;
  /** The trace that the spec names. */
  readonly trace?: Trace;
  /** The files that were read or named. No output may replace them. */
  readonly read: readonly InputPath[];
  /** inputs lists spec, cluster and trace (where there are such files), and a profile for each stage of the plan. */
  inputs(holder: string | undefined): InputFile[];
}

/** pipelineFigures names the figures of each stage that a plan could be made of. */
export function pipelineFigures({ problem, open, files }: LoadedPipeline): ProfileFigures[] {
  return open === undefined ? givenFigures(problem as GivenProblem, files) : openFigures(open, files);
}

/** pipelineNotes gives what is to be known of a spec and its files, whatever the answer. */
export function pipelineNotes({ spec, problem, files, trace }: LoadedPipeline): string[] {
  const ofTrace = trace === undefined ? [] : leftOutNotes(leftOutOf(trace));
  return [...(problem?.notes ?? unprofiledNotes(spec.value, files)), ...ofTrace];
}

/** profilesIn lists the profiles of a pipeline's stages. */
export function profilesIn({ files }: Pick<LoadedPipeline, 'files'>): Profile[] {
  return files.profiles.map(({ profile }) => profile);
}

/**
 * noPlanModelsOf names the SLOs of a pipeline, or of its applications, with those that they could meet, as far as they are
 * known.
 */
export function noPlanModelsOf(spec: PipelineSpec, leastMs: readonly number[]): NoPlanModel[] {
  const { objectives } = spec;
  const least = (k: number) => (leastMs[k] === undefined ? {} : { smallestFeasibleSloMs: leastMs[k] });
  const further = objectives?.map((one, k) => ({ ...one, ...least(k + 1) }));
  return servedApplications(spec).map(({ name, sloMs }, k) => ({
    name,
    sloMs,
    ...least(k),
    ...(further === undefined ? {} : { objectives: further }),
  }));
}

/**
 * loadPipeline reads the cluster, the profiles and the trace of a pipeline's spec, and resolves it.
 * @param readBefore other files that were read before
 * @throws InputError with every fault of the spec, of the files that it names, and of how they fit together;
 *   MissingError where files are only missing
 */
export async function loadPipeline(
  spec: Loaded<'pipeline'>,
  readBefore = new FilesRead(),
): Promise<LoadedPipeline> {
  const task = `plan ${spec.path}`;
  const many = countFaults(spec.value);
  if (many.length > 0) throw new InputError(task, many);
  const read = await withOwnFaults(task, filesOf(spec, readBefore), () => [
    ...pipelineSpecFaults(spec.value),
    ...servingFaults({ ...spec.value, kind: 'pipeline-plan' }),
  ]);
  const { cluster, profiles, trace } = read;
  const files: PipelineFiles = {
    cluster: cluster.value,
    profiles: aliasedProfiles(profiles, cluster.value),
    traceRps: trace?.rps,
    traceKind: trace?.trace.kind,
  };
  const isOpen = pipelineMethodOf(spec.value) !== 'given';
  const open = isOpen ? resolveOpen(spec.value, files) : undefined;
  const given = isOpen ? undefined : resolveGiven(spec.value, files);
  const faults = [
    ...((open ?? given)?.faults ?? []),
    ...servingFaults({ ...spec.value, kind: 'pipeline-plan' }),
  ];
  const graph = (open ?? given)?.problem?.graph;
  if (graph === undefined || faults.length > 0) throw new InputError(task, firstFaults(faults));
  return {
    spec,
    graph,
    files,
    ...(given?.problem && { problem: given.problem }),
    ...(open?.problem && { open: open.problem }),
    ...(trace && { trace: trace.trace }),
    read: readFiles(spec, read),
    inputs: (holder) => [
      ...specInputs(spec, holder),
      ...(cluster.file ? [inputFile('cluster', cluster.file, holder)] : []),
      ...(trace ? [inputFile('trace', trace, holder)] : []),
      ...graph.order.map((i) => inputFile('profile', itemAt(profiles, i), holder)),
    ],
  };
}

interface PipelineFilesRead {
  readonly cluster: { readonly value: OpenCluster; readonly file?: Loaded<'cluster'> };
  /** The profiles of the spec's stages, in order. */
  readonly profiles: readonly Loaded<'profile'>[];
  readonly trace: TraceRead | undefined;
}

interface TraceRead {
  readonly path: string;
  readonly sha256: string;
  readonly rps: number;
  readonly trace: Trace;
}

async function filesOf(spec: Loaded<'pipeline'>, files: FilesRead): Promise<PipelineFilesRead> {
  const paths = spec.value.stages.map(({ profile }) => pathFrom(spec.path, profile));
  const distinct = [...new Set(paths)];
  const { cluster } = spec.value;
  const [clusterRead, trace, ...found] = await everyInput<
    [PipelineFilesRead['cluster'], TraceRead | undefined, ...Loaded<'profile'>[]]
  >(`use the files that ${spec.path} names`, [
    typeof cluster === 'string'
      ? files.load(pathFrom(spec.path, cluster), ['cluster']).then((file) => ({ value: file.value, file }))
      : Promise.resolve({ value: cluster }),
    traceOf(spec),
    ...distinct.map((one) => files.load(one, ['profile'])),
  ]);
  const profiles = paths.map((one) => itemAt(found, distinct.indexOf(one)));
  return { cluster: clusterRead, profiles, trace };
}

async function traceOf({ value: { load }, path }: Loaded<'pipeline'>): Promise<TraceRead | undefined> {
  if (load === undefined || !('trace' in load)) return undefined;
  // Few specs name a trace, and no other needs the room.
  const { readTraceFile } = await import('../../simulation/index.js');
  const told = new ToldFaults();
  const at = pathFrom(path, load.trace);
  const found = await readTraceFile(at, tracedSpan(load), told);
  if (found === undefined) throw told.error(`use the trace ${at}`);
  const rps = meanRps(found.trace);
  if (rps !== undefined && rps > 0) return { ...found.file, rps, trace: found.trace };
  throw new InputError(`use the trace ${at}`, [
    fault('has no rate: all of its requests come at one instant', at),
  ]);
}

function readFiles(
  { path }: Loaded<'pipeline'>,
  { cluster, profiles, trace }: PipelineFilesRead,
): InputPath[] {
  const distinct = profiles.filter((profile, i) => profiles.indexOf(profile) === i);
  return [
    { what: 'the spec', path },
    ...(cluster.file ? [{ what: 'the cluster of the spec', path: cluster.file.path }] : []),
    ...(trace ? [{ what: 'the trace of the spec', path: trace.path }] : []),
    ...distinct.flatMap((profile) => profileInputs(profile, 'a profile of the spec')),
  ];
}
