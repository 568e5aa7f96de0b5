import { dirname } from 'node:path';
import { eachRun, isStdin, loadArtifact, manifestIn, readWhole, specName } from '../artifacts/index.js';
import {
  ARTIFACT_KINDS,
  type ArtifactKind,
  type Bundle,
  CheckFailedError,
  counted,
  type DeployTarget,
  dipNotes,
  type EngineProfile,
  fault,
  faultAt,
  type GateVerdicts,
  INPUTS_HELD,
  InputError,
  type Loaded,
  listed,
  MissingError,
  option,
  type PlanChecks,
  type PolicyFile,
  type Run,
  type SchedulerComparison,
  type ServingMarks,
  type SimulationReport,
  servingNotes,
  unmeasuredFaults,
  unservedOutputNote,
  type Validation,
} from '../formats/index.js';
import type { PlanKind } from '../plans/index.js';
import {
  confirmBundledPlan,
  confirmPlan,
  describedSpec,
  type PlanConfirmation,
  refuseUnchecked,
  type Strictness,
  usedOrTold,
  usedSpec,
} from '../specs/index.js';

/** ValidateOptions says how strictly files are checked, and for which engine. */
export interface ValidateOptions extends Strictness {
  /** The engine that bundles are to be for; by default each is checked for the one that its manifest names. */
  readonly target?: DeployTarget | undefined;
}

/** Validated is the result of checking one file. */
export type Validated = Validation['files'][number];

/**
 * validateFiles checks that each file is valid for its kind, and that it fits together with the files it names: a spec
 * with its cluster and profiles, a plan with the spec and profiles it was made from, a bundle (or its folder) with its
 * files' digests, an ONNX model with its external data, and each line of a file of recorded runs (`.jsonl`).
 * @returns one result for each path, in their order: a file that is refused or missing is a result, not an exception
 */
export async function validateFiles(
  paths: readonly string[],
  options: ValidateOptions = {},
): Promise<Validated[]> {
  return Promise.all(paths.map((path) => validateFile(path, options)));
}

async function validateFile(path: string, options: ValidateOptions): Promise<Validated> {
  const shown = specName(path);
  try {
    const described = await describeFile(path, options);
    return { path: shown, ok: true, ...(typeof described === 'string' ? { what: described } : described) };
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    return {
      path: shown,
      ok: false,
      missing: error instanceof MissingError,
      ...(error instanceof CheckFailedError ? { checks: [...error.checks] } : {}),
      message: error.message,
      faults: error.faults.map((one) => faultAt(one, one.path)),
    };
  }
}

/** DescribedPlan says what a plan is, and against what it was checked. */
interface DescribedPlan extends PlanChecks, GateVerdicts {
  readonly what: string;
  readonly unconfirmed?: readonly string[];
  readonly warnings?: readonly string[];
}

/** The kinds of files that tell of runs, loads and comparisons, which are checked by themselves. */
const REPORTS = [
  ...(['simulation-report', 'simulation-sweep', 'scheduler-comparison'] as const),
  ...(['comparison', 'load-report', 'verification'] as const),
] as const satisfies ArtifactKind[];

function namesOf(named: readonly { readonly name: string }[]): string {
  return named.map(({ name }) => name).join(', ');
}

function describeSimulation({ overall, models, seed }: SimulationReport): string {
  return `simulation report of ${namesOf(models)}: ${counted(overall.arrived, 'request')}, seed ${seed}`;
}

function describeComparison({ rows, runs, seed }: SchedulerComparison): string {
  const names = rows.map(({ scheduler }) => scheduler);
  return `comparison of the schedulers ${listed(names)}: ${counted(runs, 'run')} each, seed ${seed}`;
}

/** describeFile says in a line what a file holds. A bundle is named by its folder or its manifest. */
async function describeFile(named: string, options: ValidateOptions): Promise<string | DescribedPlan> {
  const path = isStdin(named) ? named : await manifestIn(named);
  if (path.endsWith('.onnx')) return describeOnnx(path);
  if (RUNS.test(path)) return describeRuns(path);
  const describe = (loaded: Loaded<ArtifactKind>) => describeLoaded(loaded, options);
  return isStdin(path)
    ? usedSpec(path, describe)
    : usedOrTold(path, loadArtifact(path, ARTIFACT_KINDS), describe);
}

async function describeLoaded(
  loaded: Loaded<ArtifactKind>,
  options: ValidateOptions,
): Promise<string | DescribedPlan> {
  await refuseContradictory(loaded);
  switch (loaded.kind) {
    case 'profile':
      return describeProfile(loaded);
    case 'cluster':
      return `cluster of ${Object.keys(loaded.value.devices).join(', ')}`;
    case 'pooled':
    case 'pipeline':
    case 'cascade':
    case 'workflow':
      return describedSpec(loaded as Loaded<typeof loaded.kind>);
    case 'policy':
      return describePolicy(loaded.value);
    case 'engine-profile':
      return describeEngine(loaded.value);
    case 'run':
      return `recorded run of ${loaded.value.application}: ${counted(loaded.value.tasks.length, 'task')}`;
    case 'pooled-plan':
    case 'pipeline-plan':
    case 'gear-plan':
    case 'workflow-plan':
      return describePlan(loaded as Loaded<PlanKind>, options);
    case 'bundle':
      return describeBundle(loaded, options);
    case 'simulation-report':
    case 'simulation-sweep':
    case 'scheduler-comparison':
    case 'comparison':
    case 'load-report':
    case 'verification':
      return describeReport(loaded);
    case 'trace-description':
      return `description of ${namesOf(loaded.value.traces)}`;
    case 'lint-report':
      return `lint report of a bundle for ${loaded.value.target}: ${counted(loaded.value.faults.length, 'fault')}, ${counted(loaded.value.warnings.length, 'warning')}`;
    case 'plan-diff':
      return `changes of a plan of ${namesOf(loaded.value.models)}`;
    case 'no-plan':
      return `answer without a plan: ${loaded.value.status}`;
    case 'error':
      return `error of a command: ${loaded.value.error.code}`;
    case 'devices':
    case 'validation':
    case 'partition-report':
    case 'pipeline-profile':
    case 'plan-set':
    case 'server':
    case 'example':
    case 'completion':
      return `answer of a command: ${loaded.kind}`;
  }
}

/** describeReport says what a report of runs, loads or comparisons is of. */
function describeReport(loaded: Loaded<(typeof REPORTS)[number]>): string {
  switch (loaded.kind) {
    case 'simulation-report':
      return describeSimulation(loaded.value);
    case 'simulation-sweep':
      return `simulation sweep of ${namesOf(loaded.value.models)}: ${counted(loaded.value.points.length, 'load factor')}`;
    case 'scheduler-comparison':
      return describeComparison(loaded.value);
    case 'comparison':
      return `comparison of ${counted(loaded.value.cases, 'case')}`;
    case 'load-report':
      return `load report of ${loaded.value.url}: ${counted(loaded.value.sent, 'request')}, seed ${loaded.value.seed}`;
    case 'verification':
      return `verification of ${counted(loaded.value.requests, 'request')}`;
  }
}

/** Files of such names have a recorded run on each line. */
const RUNS = /\.(?:jsonl|ndjson)(?:\.gz)?$/i;

async function describeRuns(path: string): Promise<string> {
  const applications = new Set<string>();
  let [tasks, most] = [0, 0];
  const { count } = await eachRun(path, ({ application, tasks: own }: Run) => {
    applications.add(application);
    tasks += own.length;
    most = Math.max(most, own.length);
    return [];
  });
  return `${counted(count, 'recorded run')} of ${listed([...applications])}: ${counted(tasks, 'task')}, at most ${most} in one`;
}

function describeEngine({ target, ingress, hopUs }: EngineProfile): string {
  return `profile of the engine ${target}: an ingress of ${counted(ingress.replicas, 'replica')}, ${ingress.requestUs} µs a request, ${hopUs} µs a hop`;
}

function describeProfile({ value: profile, path }: Pick<Loaded<'profile'>, 'value' | 'path'>): string {
  const faults = unmeasuredFaults(profile);
  if (faults.length > 0) throw new InputError(`use ${path}`, faults);
  const { model, blocks, devices } = profile;
  const head = `profile of ${model.name}: ${counted(blocks.length, 'block')} on ${Object.keys(devices).join(', ')}`;
  return [head, ...tolerances([model]), ...dipNotes(profile)].join('; ');
}

/** refuseContradictory refuses a report that contradicts itself. */
async function refuseContradictory(loaded: Loaded<ArtifactKind>): Promise<void> {
  if (!(REPORTS as readonly ArtifactKind[]).includes(loaded.kind)) return;
  const { reportFaults } = await import('../checks/index.js');
  const faults = reportFaults(loaded.value as Parameters<typeof reportFaults>[0]);
  if (faults.length > 0) throw new InputError(`use ${loaded.path}`, faults);
}

async function describeOnnx(path: string): Promise<string> {
  // Only models need these rooms, and most files are none.
  const [{ readModel }, { externalFaults }] = await Promise.all([
    import('../onnx/index.js'),
    import('../profiler/index.js'),
  ]);
  const bytes = await readWhole(path);
  const model = readModel(bytes, { name: path });
  const faults = await externalFaults(model, path);
  if (faults.length > 0) throw new InputError(`read the external data of ${path}`, faults);
  const head = `ONNX model of ${model.graph.nodes.length} nodes, opset ${model.opsets.get('') ?? '—'}`;
  const unserved = model.graph.outputs.filter(({ type }) => type !== undefined && type.kind !== 'tensor');
  return [head, ...unserved.map(({ name }) => unservedOutputNote(name))].join('; ');
}

/** The sentences about a plan that was confirmed. */
const CONFIRMED = {
  recomputed: 'recomputed from its spec and profiles',
  evaluated: 'its search was interrupted and cannot be repeated; all else follows from what it chose',
  unnamed: 'it names no spec, so its figures were not recomputed',
} as const;

function describePolicy({ $schema: _, kind: __, version: ___, scheduler, ...choices }: PolicyFile): string {
  const names = Object.keys(choices);
  return `policy of ${scheduler ?? "the plan's scheduler"}: ${names.length === 0 ? 'no choices' : names.join(', ')}`;
}

async function describePlan(
  { value: plan, path }: Loaded<PlanKind>,
  strictness: Strictness,
): Promise<DescribedPlan> {
  const { planOf } = await import('../plans/index.js');
  const own = planOf(plan);
  const confirmed = await confirmPlan(plan, { path });
  refuseUnchecked(`validate ${path}`, confirmed, strictness);
  const { how, checks, unconfirmed } = confirmed;
  const told = [
    own.title(plan),
    CONFIRMED[how],
    // A plan without notes cannot have them confirmed; only programs need to know that.
    ...unconfirmedText(unconfirmed.filter((field) => field !== '/notes' || plan.notes !== undefined)),
    ...tolerances(own.models(plan)),
  ];
  return {
    what: told.join('; '),
    ...inputsJudged(confirmed),
    ...checks,
    ...(unconfirmed.length === 0 ? {} : { unconfirmed }),
  };
}

/** inputsJudged says that all inputs of a plan are what it was made from, where each of them was looked at. */
function inputsJudged({ reasons }: Pick<PlanConfirmation, 'reasons'>): GateVerdicts {
  return reasons.length === 0 ? { checks: [INPUTS_HELD] } : {};
}

/** unconfirmedText says which fields only the search knows. */
function unconfirmedText(fields: readonly string[]): string[] {
  return fields.length === 0 ? [] : [`only its search knows ${listed(fields)}`];
}

/** tolerances says of which models the rows of a batch may differ, and by how much, or are trusted not to. */
function tolerances(models: readonly (ServingMarks & { readonly name: string })[]): string[] {
  return models.flatMap((model) => servingNotes(model.name, model));
}

/**
 * describeBundle checks a bundle as the server does, up to the start of its executors, or one for another engine by its
 * digests and the rules of that engine.
 */
async function describeBundle(
  { value: bundle, path }: Loaded<'bundle'>,
  { target, ...strictness }: ValidateOptions,
): Promise<DescribedPlan> {
  if (target !== undefined && target !== bundle.target)
    throw new InputError(`validate ${path}`, [
      fault(`is ${target}, and the bundle is for ${bundle.target}`, option('target')),
    ]);
  if (bundle.target !== 'local') return describeEngineBundle(path, strictness);
  // Only bundles need the server's room.
  const { checkBundle } = await import('../runtime/index.js');
  const opened = await checkBundle(dirname(path), 'validate');
  const confirmed = await confirmBundledPlan(opened);
  refuseUnchecked(`validate ${path}`, confirmed, strictness);
  const head = `bundle of ${bundle.models.map(({ name }) => name).join(', ')}: ${partsText(bundle)}`;
  const { planOf } = await import('../plans/index.js');
  const { plan } = opened;
  const told = [head, ...tolerances(planOf(plan).models(plan))];
  return { what: told.join('; '), ...inputsJudged(confirmed), ...confirmed.checks };
}

/** partsText counts what a bundle executes. */
function partsText({ partitions, stages, components }: Bundle): string {
  if (stages !== undefined) return `${stages.length} stages`;
  return components === undefined ? `${partitions.length} partitions` : `${components.length} components`;
}

/** describeEngineBundle checks a bundle for another engine: its digests, its plan, and its files by the rules of that engine. */
async function describeEngineBundle(path: string, strictness: Strictness): Promise<DescribedPlan> {
  const [{ readBundle }, { lintEngineBundle, lintFault }] = await Promise.all([
    import('../runtime/index.js'),
    import('../deploy/index.js'),
  ]);
  const task = `validate ${path}`;
  const read = await readBundle(dirname(path), { task, anyTarget: true });
  const { target, models } = read.manifest.value;
  if (read.contradictions.length > 0)
    throw new InputError(task, read.contradictions, 'Deploy the plan again.');
  const confirmed = await confirmBundledPlan(read);
  refuseUnchecked(task, confirmed, strictness);
  const { report, edited } = await lintEngineBundle(dirname(path), read);
  if (report.faults.length > 0) throw new InputError(task, report.faults.map(lintFault));
  const told = [
    `bundle of ${namesOf(models)} for ${target}`,
    report.warnings.length === 0 ? 'no rule of it is broken' : counted(report.warnings.length, 'warning'),
    ...(edited.length === 0 ? [] : [`edited since it was deployed: ${listed(edited)}`]),
  ];
  const warnings = report.warnings.map(lintFault).map(({ path: at, message }) => `${at}: ${message}`);
  return { what: told.join('; '), warnings, ...inputsJudged(confirmed), ...confirmed.checks };
}
