import {
  attempted,
  checkWritable,
  type InputPath,
  inputFile,
  loadArtifact,
  type OutputPath,
  oneErrorOf,
  pathFrom,
  policyFiles,
  profileInputs,
  readPolicies,
  replacingFaults,
} from '../artifacts/index.js';
import {
  CHANGED_ADVICE,
  CheckFailedError,
  type EngineFigures,
  engineFigures,
  type Fault,
  fault,
  INPUTS_CHANGED,
  type InputError,
  type InputFile,
  type Loaded,
  option,
  type PolicyGiven,
  ToldFaults,
} from '../formats/index.js';
import {
  applicationsOf,
  type PlanKind,
  planOf,
  planProfileFaults,
  type ServedPlan,
  type StagePlan,
  type TunerOptions,
} from '../plans/index.js';
import type { SchedulerOptions } from '../serving/index.js';
import { type Jitter, profiledJitter } from './execution.js';
import { familyRecords } from './family-records.js';
import { lengthFaults, numberFaults } from './length-faults.js';
import { resolvedWorkload, type SimulatedLoadOptions } from './load.js';
import { ofStages, planAt, type SimulatedPlan } from './plan-at.js';
import { changedTraceFaults, withPlannedLoad } from './planned-load.js';
import { priorityMix } from './priority-mix.js';
import { type PlanProfiles, profilesOf } from './profiles.js';
import type { SimulationSetup } from './run.js';
import { type AskedServing, askedServing, type Served } from './serving.js';
import type { TraceFile } from './trace-file.js';
import { readVerdicts } from './verdict-records.js';
import type { Workload } from './workload.js';

/** SimulationSettings holds everything that decides a simulation besides the plan. */
export interface SimulationSettings extends SimulatedLoadOptions, SchedulerOptions, TunerOptions {
  /** The seed of all random draws. The default is 0. */
  readonly seed?: number | undefined;
  /** Executions take this multiple of the planned time. The default is 1. */
  readonly slow?: number | undefined;
  /**
   * Variation of execution times: as in the plan's profiles, or by this coefficient of variation. The default
   * is none.
   */
  readonly jitter?: 'profile' | number | undefined;
  /** Computes exact percentiles, at 32 bytes for each answered request. */
  readonly exact?: boolean | undefined;
  /** Which priorities requests have, such as `1=0.1,2=0.9`; all have none where absent. Weights are the plan's. */
  readonly priorities?: string | undefined;
  /** A CSV file with the verdicts on recorded requests, which requests to a pipeline then share, in their order. */
  readonly verdicts?: string | undefined;
  /** A CSV file with what the models of a gear plan say of samples, in place of the records that it was made from. */
  readonly records?: string | undefined;
}

/** PreparedSimulation is a simulation that is ready to run. */
export interface PreparedSimulation {
  readonly setup: SimulationSetup;
  /** The plan as it was read. */
  readonly found: SimulatedPlan;
  /** The profiles that the plan was made from, as far as they are still there. */
  readonly profiles: PlanProfiles;
  /** The files that the plan was made from, and those of its bundle. No output may replace them. */
  readonly made: readonly InputPath[];
  inputs(holder: string | undefined): InputFile[];
}

/** Preparation says how a simulation is prepared for what its caller makes of it. */
interface Preparation {
  readonly outputs?: readonly OutputPath[];
  readonly told?: ToldFaults;
  readonly check?: (plan: StagePlan, workload: Workload) => Fault[];
  /** The load, instead of the one that the options ask for. It adds its faults, and gives undefined after one. */
  readonly given?: (plan: Loaded<StagePlan['kind']>, told: ToldFaults) => Workload | undefined;
  /**
   * swept says whether the rates are replaced by multiples of the planned ones, so that the load is not the
   * one that a plan promises.
   */
  readonly swept?: boolean;
  /** transfers says whether transfers take time, if it is not to follow from what the path names. */
  readonly transfers?: SimulationSetup['transfers'];
  /** Finds who serves the plan, instead of the scheduler and the tuner that the options ask for. It adds its faults. */
  readonly serving?: (plan: StagePlan, asked: AskedServing, told: ToldFaults) => Served | undefined;
  /** The plan where it is read already, or is being read. */
  readonly found?: Promise<SimulatedPlan<PlanKind>>;
  /** The words with which errors say what cannot be done. */
  readonly task?: string;
}

/**
 * prepareSimulation reads and checks everything that a simulation needs: the plan, its profiles as far as they exist,
 * and traces. It writes nothing.
 * @param more the files that will be written, faults that the caller has already found, and a check that it adds
 * @throws InputError with every fault of plan, profiles, traces and options at once; MissingError where the
 *   plan is missing; CheckFailedError where nothing is wrong but that profiles have changed since the plan was made
 */
export async function prepareSimulation(
  path: string,
  options: SimulationSettings,
  more: Preparation = {},
): Promise<PreparedSimulation> {
  const { outputs = [], told = new ToldFaults(), check = () => [], serving = askedServing } = more;
  const task = more.task ?? `simulate ${path}`;
  const errors: InputError[] = [];
  for (const output of outputs) await attempted(errors, checkWritable(output.path));
  const found = await attempted(errors, foundStages(path, task, more.found));
  if (found === undefined) throw await withoutPlan(options, { task, errors, told });
  const { plan, madeAt } = found;
  const { transfers = found.transfers } = more;
  const before = told.count;
  const { profiles, changed } = await profilesOf({ ...plan, path: madeAt }, told);
  if (told.count + changed.length === before) told.addAll(planProfileFaults(plan.value, profiles));
  const broken = planOf(plan.value).contradictions(plan.value);
  const { policy, engine, files: ofServing } = await servingFiles(options, errors, told);
  const asked = { options: { ...options, engine }, policy, transfers, isSound: broken.length === 0 };
  const served = serving(plan.value, asked, told);
  const load = await loadOf(found, options, more, told);
  const said = await whatModelsSay({ ...plan, path: madeAt }, options, told);
  const jitter = jitterOf(plan.value, profiles, options, told);
  const priorities = askedPriorities(options, plan.value, told);
  told.addAll([...broken, ...numberFaults(options)]);
  const files = [...traceFiles(load?.files ?? []), ...ofServing, ...said.files];
  const made = [...madeFrom(plan.value, madeAt), ...(found.bundled ?? [])];
  const read = [
    { what: 'the plan', path: plan.path },
    ...made,
    ...profiles.flatMap((profile) => profileInputs(profile)),
    ...files.map(({ role, file }) => ({ what: `the ${role}`, path: file.path })),
  ];
  told.addAll(await replacingFaults(outputs, read));
  if (load !== undefined) {
    told.addAll(lengthFaults(plan.value, load.workload, options.exact));
    told.addAll(check(plan.value, load.workload));
  }
  if (served === undefined || load === undefined || errors.length + told.count + changed.length > 0)
    throw refusalOf({ task, errors, told, changed });
  const { slow = 1, seed = 0, exact = false } = options;
  const measured = jitter?.kind === 'profile' ? profiles : [];
  return {
    setup: {
      plan: served.plan,
      scheduler: served.scheduler,
      workload: load.workload,
      seed,
      exact,
      execution: { slow, ...(jitter === undefined ? {} : { jitter }) },
      transfers,
      ...(priorities === undefined ? {} : { priorities }),
      ...said.records,
    },
    found,
    profiles,
    made,
    inputs: (holder) => inputFiles({ plan, profiles: measured, files }, holder),
  };
}

interface RoleFile {
  readonly role: string;
  readonly file: { readonly path: string; readonly sha256: string };
}

function traceFiles(files: readonly TraceFile[]): RoleFile[] {
  return files.map((file) => ({ role: 'trace', file }));
}

interface SimulatedFiles {
  readonly plan: SimulatedPlan['plan'];
  readonly profiles: PlanProfiles;
  readonly files: readonly RoleFile[];
}

/** inputFiles lists the files that a simulation is made of, as its document names them. */
function inputFiles({ plan, profiles, files }: SimulatedFiles, holder: string | undefined): InputFile[] {
  return [
    inputFile('plan', plan, holder),
    ...profiles.map((profile) => inputFile('profile', profile, holder)),
    ...files.map(({ role, file }) => inputFile(role, file, holder)),
  ];
}

/** foundStages finds the plan of stages that is to be simulated. @throws as `planAt` and `ofStages` do */
async function foundStages(path: string, task: string, found = planAt(path)): Promise<SimulatedPlan> {
  return ofStages(await found, { task, cannot: 'be simulated like this' });
}

/** Refused is what was found to be wrong with a simulation so far. */
interface Refused {
  readonly task: string;
  readonly errors: readonly InputError[];
  readonly told: ToldFaults;
  /** The profiles that have changed since the plan was made. */
  readonly changed?: readonly Fault[];
}

function refusalOf({ task, errors, told, changed = [] }: Refused): InputError {
  if (errors.length + told.count === 0)
    return new CheckFailedError(task, changed, { advice: CHANGED_ADVICE, checks: INPUTS_CHANGED });
  told.addAll(changed);
  return oneErrorOf(task, told.count === 0 ? errors : [...errors, told.error(task)]);
}

/** withoutPlan makes the error about a plan that cannot be read, with what is wrong besides, whatever the plan is. */
async function withoutPlan(options: SimulationSettings, refused: Refused): Promise<InputError> {
  await readPolicies(options.policy ?? [], refused.told);
  refused.told.addAll(numberFaults(options));
  return refusalOf(refused);
}

/** servingFiles reads the files that say how a plan is served: policies, and what an engine takes. */
async function servingFiles(
  options: SimulationSettings,
  errors: InputError[],
  told: ToldFaults,
): Promise<{
  readonly policy: readonly PolicyGiven[];
  readonly engine: EngineFigures | undefined;
  readonly files: readonly RoleFile[];
}> {
  const policy = await readPolicies(options.policy ?? [], told);
  const named = typeof options.engine === 'string' ? options.engine : undefined;
  const file = named && (await attempted(errors, loadArtifact(named, ['engine-profile'])));
  return {
    policy,
    engine: file ? engineFigures(file.value) : undefined,
    files: [
      ...policyFiles(policy).map((one) => ({ role: 'policy', file: one })),
      ...(file ? [{ role: 'engine-profile', file }] : []),
    ],
  };
}

/** verdictsOf reads recorded verdicts, unless the plan contradicts itself: its stages may then lead nowhere. */
async function verdictsOf(
  plan: StagePlan,
  { verdicts }: SimulationSettings,
  told: ToldFaults,
): Promise<Awaited<ReturnType<typeof readVerdicts>>> {
  if (verdicts === undefined || planOf(plan).contradictions(plan).length > 0) return undefined;
  return readVerdicts(verdicts, plan, told);
}

/** whatModelsSay reads recorded verdicts of a pipeline, and the records of a gear plan. */
async function whatModelsSay(
  plan: Loaded<StagePlan['kind']>,
  options: SimulationSettings,
  told: ToldFaults,
): Promise<{
  readonly records: Pick<SimulationSetup, 'verdicts' | 'family'>;
  readonly files: readonly RoleFile[];
}> {
  const verdicts = await verdictsOf(plan.value, options, told);
  const family = await familyOf(plan, options, told);
  return {
    records: {
      ...(verdicts === undefined ? {} : { verdicts: verdicts.records }),
      ...(family === undefined ? {} : { family: family.records }),
    },
    files: [
      ...(verdicts === undefined ? [] : [{ role: 'verdicts', file: verdicts.file }]),
      ...(family === undefined ? [] : [{ role: 'records', file: family.file }]),
    ],
  };
}

/** familyOf reads the records of a gear plan. Other plans have none. */
async function familyOf(
  plan: Loaded<StagePlan['kind']>,
  { records }: SimulationSettings,
  told: ToldFaults,
): ReturnType<typeof familyRecords> {
  const { cascade } = planOf(plan.value).world(plan.value);
  if (cascade !== undefined) return familyRecords({ ...plan, ...cascade }, records, told);
  if (records !== undefined) told.add(fault('is for gear plans', option('records')));
  return undefined;
}

function jitterOf(
  plan: StagePlan,
  profiles: PlanProfiles,
  { jitter }: SimulationSettings,
  told: ToldFaults,
): Jitter | undefined {
  if (jitter === undefined || jitter === 0) return undefined;
  return jitter === 'profile' ? profiledJitter(plan, profiles, told) : { kind: 'cv', cv: jitter };
}

/** askedPriorities reads which priorities requests are to have; undefined where they have none, or after a fault. */
function askedPriorities(
  { priorities: asked }: SimulationSettings,
  plan: StagePlan,
  told: ToldFaults,
): SimulationSetup['priorities'] {
  if (asked === undefined) return undefined;
  const read = priorityMix(asked, plan.serving?.priorities);
  if ('mix' in read) return read.mix;
  told.addAll(read.faults);
  return undefined;
}

/** loadOf gives the load that the caller has made, else the one that the options and the plan ask for. */
async function loadOf(
  { plan, madeAt }: SimulatedPlan,
  options: SimulatedLoadOptions,
  { given, swept = false }: Preparation,
  told: ToldFaults,
): Promise<{ workload: Workload; files: TraceFile[] } | undefined> {
  if (given !== undefined) {
    const workload = given(plan, told);
    return workload === undefined ? undefined : { workload, files: [] };
  }
  const planned = withPlannedLoad({ ...plan, path: madeAt }, options, swept);
  const found = await resolvedWorkload(applicationsOf(plan.value), planned.options, told);
  told.addAll(changedTraceFaults(plan.value, planned.trace, found?.files ?? []));
  return found;
}

/** madeFrom lists the files that a plan was made from, except for its profiles, which are read. */
export function madeFrom({ inputs = [] }: ServedPlan, madeAt: string): InputPath[] {
  return inputs
    .filter(({ role }) => role !== 'profile')
    .map(({ role, path }) => ({ what: `the ${role} of the plan`, path: pathFrom(madeAt, path) }));
}
