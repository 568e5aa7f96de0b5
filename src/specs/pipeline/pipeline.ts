import {
  emittedHead,
  everyInput,
  FilesRead,
  fault,
  firstFaults,
  InputError,
  type InputFile,
  type InputPath,
  inputFile,
  type Loaded,
  type NoPlan,
  type NoPlanModel,
  type OpenCluster,
  outputFiles,
  type PipelinePlan,
  type PipelineSpec,
  type PlanServing,
  type Profile,
  type ProfileFigures,
  pathFrom,
  profileInputs,
  refuseReplacing,
  relativePath,
  saveArtifact,
  ToldFaults,
  withOwnFaults,
} from '../../artifacts/index.js';
import { countedPlan } from '../../checks/index.js';
import type { PipelineExplanation, PipelineLimits, PlannedOpen } from '../../inferline/index.js';
import type { GivenProblem, GivenReason, OpenProblem, PipelineFiles } from '../../pipeline/index.js';
import type { PipelinePlanBody, StageGraph } from '../../plans/index.js';
import type { Trace } from '../../workload/index.js';
import { hereNotes, serverNotes } from '../core-notes.js';
import { refuseMarked } from '../refuse-marked.js';
import { type PlanningJob, planningTools } from './planning-job.js';
import { plannedStandby, standbyAgain } from './standby.js';

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

/** PipelineSolving is how a search is limited, stopped and shown. */
interface PipelineSolving extends PipelineLimits {
  /** Adds what each change of one stage would bring. */
  readonly explain?: boolean | undefined;
  /** Whether to refuse profiles with unfit, emulated or imported figures that the plan could use. */
  readonly strictProfile?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((doing: string) => void) | undefined;
  /** Receives a note where this host measured the devices and has too few cores to run all that the plan uses. */
  readonly onNote?: ((text: string) => void) | undefined;
}

/** PipelineSolved is the answer of `plan solve` to a pipeline. `document` is what `--json` prints. */
export type PipelineSolved =
  | {
      readonly outcome: 'pipeline-plan';
      readonly plan: PipelinePlan;
      readonly warnings: readonly string[];
      /** Whether a limit ended the search that a person asked for. */
      readonly limitReached: boolean;
      readonly explanation?: PipelineExplanation;
      readonly document: PipelinePlan & { solver: NoPlan['solver']; explanation?: PipelineExplanation };
    }
  | {
      readonly outcome: 'infeasible';
      readonly reasons: readonly string[];
      readonly explanation?: undefined;
      readonly document: NoPlan;
    }
  | {
      readonly outcome: 'no-plan-in-time';
      readonly notHeld?: undefined;
      /** What was in the way of the plans that were tried, and what would help, where that is known. */
      readonly advice?: string;
      readonly document: NoPlan;
    };

/**
 * solvePipeline answers a spec of kind `pipeline`, and writes the plan where an output is named.
 * @throws InputError with every fault of the spec and its files, where the output would replace one of these, or as
 *   `refuseMarked` does where `strictProfile` is asked for; MissingError where files are only missing
 */
export async function solvePipeline(
  spec: Loaded<'pipeline'>,
  { output, ...options }: PipelineSolving & { readonly output?: string | undefined },
): Promise<PipelineSolved> {
  const loaded = await loadPipeline(spec.path, spec);
  await refuseReplacing(`solve ${spec.path}`, outputFiles({ output }), loaded.read);
  if (options.strictProfile) refuseMarked(spec.path, await pipelineFigures(loaded));
  const startedMs = performance.now();
  const { work, timeLimit, explain, signal, onProgress } = options;
  const outcome = await outcomeOf(loaded, { work, timeLimit, explain, signal, onProgress });
  const solver = {
    ...{ ms: performance.now() - startedMs, phases: {}, columns: 0, rounds: 0 },
    nodes: 'estimates' in outcome ? outcome.estimates : 0,
  };
  if (outcome.status === 'undecided') {
    const limit = signal?.aborted ? 'interrupted' : outcome.limit;
    const document = undecidedPipeline(loaded, { reasons: outcome.reasons, limit }, solver);
    const [advice] = outcome.reasons.map(({ text }) => text);
    return { outcome: 'no-plan-in-time', ...(advice === undefined ? {} : { advice }), document };
  }
  if (outcome.status === 'infeasible') {
    const document = noPipelinePlan(outcome, loaded, solver);
    return { outcome: 'infeasible', reasons: outcome.reasons.map(({ text }) => text), document };
  }
  const fixed = await pipelinePlan(outcome.plan, loaded, output);
  const plan = await plannedStandby(fixed, { spec: spec.value, trace: loaded.trace, signal, onProgress });
  if (output !== undefined) await saveArtifact<'pipeline-plan'>(output, plan);
  for (const note of await hereNotes(plan.classes, profilesIn(loaded))) options.onNote?.(note);
  const limitReached = 'finished' in outcome && !outcome.finished && isLimited(options);
  const explanation =
    'explanation' in outcome && outcome.explanation ? { explanation: outcome.explanation } : {};
  return {
    ...{ outcome: 'pipeline-plan', plan, limitReached, ...explanation },
    ...{ warnings: plan.notes ?? [], document: { ...plan, solver, ...explanation } },
  };
}

/** pipelineFigures names the figures of each stage that a plan could be made of. */
export async function pipelineFigures({
  problem,
  open,
  files,
}: Pick<LoadedPipeline, 'problem' | 'open' | 'files'>): Promise<ProfileFigures[]> {
  const { givenFigures, openFigures } = await import('../../pipeline/index.js');
  return open === undefined ? givenFigures(problem as GivenProblem, files) : openFigures(open, files);
}

function isLimited({ work, timeLimit }: PipelineLimits): boolean {
  return work !== undefined || timeLimit !== undefined;
}

async function outcomeOf(
  { spec, problem, open, files, trace }: LoadedPipeline,
  options: PipelineSolving,
): Promise<PlannedOpen | ReturnType<typeof import('../../pipeline/index.js').planGiven>> {
  if (open !== undefined) {
    const { JobPool } = await import('../../jobs/index.js');
    const { signal, onProgress, ...rest } = options;
    const pool = new JobPool<PlanningJob, PlannedOpen, number>(
      '#dist/src/specs/pipeline/pipeline-worker.js',
      {
        ...{ what: 'planner', threads: 1, signal },
      },
    );
    const tell = (estimates: number): void => onProgress?.(`searching: ${estimates} estimates`);
    try {
      return await pool.run({ open, spec: spec.value, files, trace, ...rest }, tell);
    } finally {
      await pool.close();
    }
  }
  const { planGiven } = await import('../../pipeline/index.js');
  return planGiven(problem as GivenProblem);
}

/**
 * replanned makes the plan of a spec again: as the spec fixes it, or with what the plan chose.
 * @param simulates whether the tuner is simulated again, from which the standby devices follow; else these are taken over
 */
export async function replanned(
  plan: PipelinePlan,
  named: LoadedPipeline,
  simulates: boolean,
): Promise<
  | { readonly status: 'feasible'; readonly plan: PipelinePlanBody }
  | { readonly status: 'infeasible'; readonly reasons: readonly { readonly text: string }[] }
> {
  const loaded = plan.share === undefined ? named : await withinShare(plan, named);
  const again = await outcomeAgain(plan, loaded);
  if (again.status === 'infeasible') return again;
  const { $schema, tool, inputs, serving } = plan;
  const fixed = { $schema, tool, inputs, serving, ...(await enveloped(again.plan, loaded)) } as PipelinePlan;
  const origin = { spec: loaded.spec.value, trace: loaded.trace };
  return {
    ...again,
    plan: await (simulates ? plannedStandby(fixed, origin) : standbyAgain(fixed, plan, origin)),
  };
}

/** withinShare gives a pipeline the share of its cluster that its plan names, as far as there are so many devices. */
async function withinShare(
  { cluster: { devices } }: PipelinePlan,
  loaded: LoadedPipeline,
): Promise<LoadedPipeline> {
  const { resolveOpen } = await import('../../pipeline/index.js');
  const { files, spec } = loaded;
  const shared = Object.entries(files.cluster.devices).map(([name, device]) => {
    const { taken = 0, ...rest } = device;
    const count = devices[name]?.count;
    const isShare = device.count !== undefined && count !== undefined && count <= device.count - taken;
    return [name, isShare ? { ...rest, count } : device] as const;
  });
  const within = { ...files, cluster: { ...files.cluster, devices: Object.fromEntries(shared) } };
  const { problem } = resolveOpen(spec.value, within);
  return problem === undefined ? loaded : { ...loaded, files: within, open: problem };
}

async function outcomeAgain(plan: PipelinePlan, { open, problem, files, trace, spec }: LoadedPipeline) {
  if (open !== undefined) {
    const { planAsChosen } = await import('../../inferline/index.js');
    const tools = planningTools({ spec: spec.value, trace });
    return planAsChosen(plan, { open, spec: spec.value, files, ...tools }, { proves: true });
  }
  const { planGiven } = await import('../../pipeline/index.js');
  return planGiven(problem as GivenProblem);
}

/** enveloped adds the traffic envelope of a plan's load. */
async function enveloped(
  body: PipelinePlanBody,
  { spec, trace }: Pick<LoadedPipeline, 'spec' | 'trace'>,
): Promise<PipelinePlanBody> {
  const { withEnvelope } = await import('./pipeline-sample.js');
  return withEnvelope(body, { spec: spec.value, trace });
}

/** profilesIn lists the profiles of a pipeline's stages. */
export function profilesIn({ files }: Pick<LoadedPipeline, 'files'>): Profile[] {
  return files.profiles.map(({ profile }) => profile);
}

/**
 * pipelinePlan makes a file of a plan: with the head of a file, its traffic envelope, its trace relative to that file,
 * and a note where the cluster has more CPUs on a server than there are cores for.
 * @throws Error where its devices, counted again, are not those that it says or more than there are: a bug
 */
export async function pipelinePlan(
  planned: PipelinePlanBody,
  loaded: LoadedPipeline,
  holder: string | undefined,
): Promise<PipelinePlan> {
  const { spec, inputs, files } = loaded;
  const { kind, version, name, method, notes: own = [], ...figures } = await enveloped(planned, loaded);
  const notes = [...own, ...(await serverNotes(files.cluster, profilesIn(loaded)))];
  const load =
    figures.load !== undefined && 'trace' in figures.load
      ? { load: { trace: relativePath(pathFrom(spec.path, figures.load.trace), holder) } }
      : {};
  return countedPlan({
    ...emittedHead('pipeline-plan', inputs(holder)),
    ...{ name, method },
    ...(notes.length === 0 ? {} : { notes }),
    serving: pipelineServing(spec.value),
    ...figures,
    ...load,
  });
}

/** pipelineServing says by what plans of a spec are served. */
export function pipelineServing({ planner: { method }, serving, tuner }: PipelineSpec): PlanServing {
  return {
    ...(serving ?? { scheduler: method === 'given' ? 'stage-local' : 'inferline' }),
    ...(tuner === undefined ? {} : { tuner: { kind: tuner } }),
  };
}

function undecidedPipeline(
  { spec, inputs }: LoadedPipeline,
  { reasons, limit }: { readonly reasons: readonly GivenReason[]; readonly limit: NoPlan['limit'] },
  solver: NoPlan['solver'],
): NoPlan {
  const status = {
    status: 'no-plan-in-time' as const,
    ...(limit === undefined ? {} : { limit }),
    reasons: [...reasons],
    models: [noPlanModelOf(spec.value, [])],
    solver,
  };
  return { ...emittedHead('no-plan', inputs(undefined)), ...status };
}

/** InfeasiblePipeline says why a pipeline has no plan. */
interface InfeasiblePipeline {
  readonly reasons: readonly GivenReason[];
  readonly smallestFeasibleSlosMs?: readonly number[] | undefined;
  readonly smallestFeasibleSloMs?: number | undefined;
}

function noPipelinePlan(
  { reasons, smallestFeasibleSloMs, smallestFeasibleSlosMs }: InfeasiblePipeline,
  { spec, inputs }: LoadedPipeline,
  solver: NoPlan['solver'],
): NoPlan {
  const leastMs =
    smallestFeasibleSlosMs ?? (smallestFeasibleSloMs === undefined ? [] : [smallestFeasibleSloMs]);
  const models = [noPlanModelOf(spec.value, leastMs)];
  return { ...emittedHead('no-plan', inputs(undefined)), status: 'infeasible', reasons, models, solver };
}

/** noPlanModelOf names the SLOs of a pipeline, with those that it could meet, as far as they are known. */
export function noPlanModelOf(
  { name = 'pipeline', sloMs, objectives }: PipelineSpec,
  leastMs: readonly number[],
): NoPlanModel {
  const least = (k: number) => (leastMs[k] === undefined ? {} : { smallestFeasibleSloMs: leastMs[k] });
  const further = objectives?.map((one, k) => ({ ...one, ...least(k + 1) }));
  return { name, sloMs, ...least(0), ...(further === undefined ? {} : { objectives: further }) };
}

/** PipelineTools are what a comparison needs of the planner beside its thread. */
export interface PipelineTools {
  readonly resolveOpen: typeof import('../../pipeline/index.js').resolveOpen;
  readonly freeCounts: typeof import('../../pipeline/index.js').freeCounts;
  readonly openFigures: typeof import('../../pipeline/index.js').openFigures;
  readonly takenOver: typeof import('../../inferline/index.js').takenOver;
  readonly costProof: typeof import('../../inferline/index.js').costProof;
}

/** pipelineTools loads the planner, which no command loads that does not plan. */
export async function pipelineTools(): Promise<PipelineTools> {
  const [{ freeCounts, openFigures, resolveOpen }, { costProof, takenOver }] = await Promise.all([
    import('../../pipeline/index.js'),
    import('../../inferline/index.js'),
  ]);
  return { costProof, freeCounts, openFigures, resolveOpen, takenOver };
}

/**
 * loadPipeline reads a pipeline's spec with its cluster, profiles and trace, and resolves it.
 * @param known the spec, where it was read before
 * @param readBefore other files that were read before
 * @throws InputError with every fault of the spec, of the files that it names, and of how they fit together;
 *   MissingError where files are only missing
 */
export async function loadPipeline(
  path: string,
  known?: Loaded<'pipeline'>,
  readBefore = new FilesRead(),
): Promise<LoadedPipeline> {
  const spec = known ?? (await readBefore.load(path, ['pipeline']));
  const { countFaults } = await import('../../plans/index.js');
  const { pipelineSpecFaults, resolveGiven, resolveOpen } = await import('../../pipeline/index.js');
  const { servingFaults } = await import('../../plans/index.js');
  const task = `plan ${path}`;
  const many = countFaults(spec.value);
  if (many.length > 0) throw new InputError(task, many);
  const read = await withOwnFaults(task, filesOf(spec, readBefore), () => [
    ...pipelineSpecFaults(spec.value),
    ...servingFaults(spec.value),
  ]);
  const { cluster, profiles, trace } = read;
  const files: PipelineFiles = {
    cluster: cluster.value,
    profiles: profiles.map(({ value, path: at }) => ({ profile: value, path: at })),
    traceRps: trace?.rps,
    traceKind: trace?.trace.kind,
  };
  const isOpen = spec.value.planner.method !== 'given';
  const open = isOpen ? resolveOpen(spec.value, files) : undefined;
  const given = isOpen ? undefined : resolveGiven(spec.value, files);
  const faults = [...((open ?? given)?.faults ?? []), ...servingFaults(spec.value)];
  const graph = (open ?? given)?.problem?.graph;
  if (graph === undefined || faults.length > 0) throw new InputError(task, firstFaults(faults));
  return {
    ...{ spec, graph, files },
    ...(given?.problem && { problem: given.problem }),
    ...(open?.problem && { open: open.problem }),
    ...(trace && { trace: trace.trace }),
    read: readFiles(spec, read),
    inputs: (holder) => [
      inputFile('spec', spec, holder),
      ...(cluster.file ? [inputFile('cluster', cluster.file, holder)] : []),
      ...(trace ? [inputFile('trace', trace, holder)] : []),
      ...graph.order.map((i) => inputFile('profile', profiles[i] as Loaded<'profile'>, holder)),
    ],
  };
}

interface PipelineFilesRead {
  readonly cluster: { readonly value: OpenCluster; readonly file?: Loaded<'cluster'> };
  /** One profile for each stage of the spec, in order. */
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
  const profiles = paths.map((one) => found[distinct.indexOf(one)] as Loaded<'profile'>);
  return { cluster: clusterRead, profiles, trace };
}

async function traceOf({ value: { load }, path }: Loaded<'pipeline'>): Promise<TraceRead | undefined> {
  if (load === undefined || !('trace' in load)) return undefined;
  const { readTraceFile } = await import('../../simulation/index.js');
  const { meanRps } = await import('../../workload/index.js');
  const told = new ToldFaults();
  const at = pathFrom(path, load.trace);
  const found = await readTraceFile(at, {}, told);
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
