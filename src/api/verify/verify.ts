import {
  checkWritable,
  emittedHead,
  type InputPath,
  inputFile,
  loadArtifact,
  type OutputPath,
  outputFiles,
  profileInputs,
  refuseReplacing,
  saveArtifact,
} from '../../artifacts/index.js';
import { loadReportFaults } from '../../checks/index.js';
import { itemAt } from '../../collections/index.js';
import {
  counted,
  type Fault,
  fault,
  faultAt,
  INPUTS_HELD,
  InputError,
  isHeld,
  type LoadDocument,
  type Loaded,
  type LoadServed,
  measuredAs,
  option,
  refuseContradictions,
  type SimulationReport,
  type Verification,
} from '../../formats/index.js';
import type { KnownSamples, StagePlan } from '../../plans/index.js';
import type { SimulationSetup } from '../../simulation/index.js';
import type { Strictness } from '../../specs/index.js';
import { causesOf, frontMsOf } from './causes.js';
import {
  type CorrectionTarget,
  correctedProfile,
  correctionTargets,
  type ProfiledPlan,
  refuseUnmeasured,
} from './correct.js';
import {
  differenceCheck,
  modelFigures,
  priorityFigures,
  verifiedAnswers,
  verifiedFigures,
} from './figures.js';
import {
  executedFaults,
  type MeasuredPool,
  measuredExecution,
  measuredPools,
  verifiedExecutions,
} from './measured.js';
import { sentLoad, sentPriorities } from './sent-load.js';
import { schedulerNotes, serverScheduler } from './server-scheduler.js';

/** Deadlines that the front leaves no time for are simulated as this SLO. */
const LEAST_SLO_MS = 1e-3;

/** VerifyOptions says which plan a load is compared with, and what is written. */
export interface VerifyOptions extends Strictness {
  /** The plan, or the bundle, that the server served. */
  readonly plan: string;
  /**
   * The records of what a gear plan's models say of samples, in place of those that the plan was made from.
   */
  readonly records?: string | undefined;
  /** An engine profile: what the engine of the load takes beside its devices, in place of what the plan says of it. */
  readonly engine?: string | undefined;
  /** The largest difference of attainment, of all requests or of a model's, for which `within.held` is true: a share. */
  readonly within?: number | undefined;
  /** Where the plan's profiles are written with the measured latencies: `file` for one model, else `model=file`. */
  readonly correct?: readonly string[] | undefined;
  /** The file that the verification is written to. */
  readonly output?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * verifyLoad compares a load report with a simulation of the same arrivals by the plan that was served, and says what
 * the differences come from. It is simulated by the scheduler that the server ran, where the report says which, else by that
 * of the plan. Transfers take no time in it, as on a server. It writes the verification, and corrected
 * profiles, where they are named.
 * @param path the load report
 * @throws InputError with every reason why the report, the plan or the profiles cannot be used together, or where a profile
 *   is to be corrected of which the server measured too little; MissingError
 *   where a file is missing. Nothing is written then.
 */
export async function verifyLoad(path: string, options: VerifyOptions): Promise<Verification> {
  const { plan: planPath, records, engine, within, correct = [], output, signal } = options;
  const { prepareSimulation } = await import('../../simulation/index.js');
  const { applicationsOf } = await import('../../plans/index.js');
  if (output !== undefined) await checkWritable(output);
  const load = await loadArtifact(path, ['load-report']);
  const scheduler = await serverScheduler(load);
  const { setup, profiles, made, found, inputs } = await prepareSimulation(
    planPath,
    { exact: true, records, engine, ...scheduler.options, ...sentPriorities(load.value) },
    {
      task: `verify ${path}`,
      transfers: 'none',
      given: ({ value, path: at, sha256 }, told) => {
        told.addAll([...scheduler.faults, ...inFile(loadReportFaults(load.value), path)]);
        if (within !== undefined) told.addAll(inFile(unjudgedFaults(load.value), path));
        return sentLoad(load, { path: at, sha256, applications: applicationsOf(value) }, told);
      },
    },
  );
  const { confirmSimulated } = await import('../../specs/index.js');
  const checks = await confirmSimulated({ found, profiles }, `verify ${path}`, options);
  const { plan } = found;
  const ofPlan = await profiledPlan(plan.value);
  refuseUnplanned(load, ofPlan);
  const targets = correctionTargets(correct, ofPlan, profiles);
  const simulatedFrom = [
    { what: 'the plan', path: plan.path },
    ...made,
    ...profiles.flatMap((profile) => profileInputs(profile)),
    ...(records === undefined ? [] : [{ what: 'the records', path: records }]),
    ...(engine === undefined ? [] : [{ what: 'the engine profile', path: engine }]),
  ];
  await refuseOutputs({ path, plan: simulatedFrom, output, targets });
  const served = load.value.served ?? [];
  const pools = measuredPools(ofPlan.parts, served);
  const corrected = correctedBy(load, targets, asProfiled(pools, plan.value));
  const asPlanned = await simulated(setup, signal);
  const causes = await verifiedCauses({ setup, load, pools, served, asPlanned, signal });
  const figures = verifiedFigures(asPlanned, load.value);
  const models = figuresByModel(load.value, asPlanned);
  const verification: Verification = {
    ...emittedHead('verification', [inputFile('load-report', load, output), ...inputs(output)]),
    ...checks,
    requests: asPlanned.overall.arrived,
    figures,
    models,
    executions: verifiedExecutions(pools, asPlanned),
    ...priorityFigures(asPlanned, load.value),
    ...verifiedAnswers(asPlanned, load.value),
    ...(causes === undefined ? {} : { causes }),
    ...judgedWithin(options, figures, models),
    ...(correct.length === 0 ? {} : { corrected: corrected.map((one) => one.corrected) }),
    notes: await allNotes(setup, load, knownSamples(load.value, asPlanned, options)),
  };
  for (const [i, { profile }] of corrected.entries())
    await saveArtifact<'profile'>(itemAt(targets, i).output, profile);
  if (output !== undefined) await saveArtifact<'verification'>(output, verification);
  return verification;
}

/** allNotes gives what is to be known of a comparison: of the plan, of the server and of their differences. */
async function allNotes(
  setup: SimulationSetup,
  load: Loaded<'load-report'>,
  samples: KnownSamples,
): Promise<string[]> {
  return [
    ...(setup.plan.notes ?? []),
    ...notesOf(load, load.value.served ?? []),
    ...(await kindNotes(setup, samples)),
    ...(await schedulerNotes(setup)),
  ];
}

/** asProfiled names the classes of pools as profiles do, which know no aliases: their batches correct the class itself. */
function asProfiled(pools: readonly MeasuredPool[], { cluster }: StagePlan): MeasuredPool[] {
  return pools.map(({ part, cells }) => ({
    part: { ...part, device: measuredAs(cluster, part.device) },
    cells,
  }));
}

/** correctedBy gives the profiles with what a load measured, where that can be true. */
function correctedBy(
  { path }: Loaded<'load-report'>,
  targets: readonly CorrectionTarget[],
  pools: readonly MeasuredPool[],
): ReturnType<typeof correctedProfile>[] {
  refuseUnmeasured(path, targets, pools);
  const corrected = targets.map((target) => correctedProfile(target, pools));
  for (const one of corrected) refuseContradictions(one.profile, `correct ${one.corrected.model} by ${path}`);
  return corrected;
}

/** unjudgedFaults finds that no SLO says which requests of a load were in time, where that is to be compared. */
function unjudgedFaults({ models, sloMs }: LoadDocument): Fault[] {
  const judged = models?.filter(({ sent }) => sent > 0) ?? [{ sloMs }];
  if (judged.every((one) => one.sloMs !== undefined)) return [];
  const said = 'has no SLO, so it has no share of requests in time to compare';
  return [fault(`${said}: drive the load again with the SLO of the plan`, option('within'))];
}

/** judgedWithin judges whether the attainments, that of all requests and that of each model, are as near as is allowed. */
function judgedWithin(
  { within, strict }: Pick<VerifyOptions, 'within' | 'strict'>,
  figures: Verification['figures'],
  models: Verification['models'],
): Pick<Verification, 'within' | 'checks'> {
  const inputs = strict ? [INPUTS_HELD] : [];
  if (within === undefined) return inputs.length === 0 ? {} : { checks: inputs };
  const differences = [
    differenceCheck(within, figures),
    ...models.map((model) => differenceCheck(within, model.figures, { model: model.name })),
  ];
  return {
    within: { allowed: within, held: isHeld({ checks: differences }) },
    checks: [...inputs, ...differences],
  };
}

/** refuseUnplanned refuses batches that the plan cannot have executed. */
function refuseUnplanned({ value, path }: Loaded<'load-report'>, { parts }: ProfiledPlan): void {
  const faults = executedFaults(parts, value.served ?? []);
  if (faults.length > 0) throw new InputError(`verify ${path}`, inFile(faults, path));
}

/** inFile adds the load report to the places of its faults. */
function inFile(faults: readonly Fault[], path: string): Fault[] {
  return faults.map((one) => faultAt(one, `${path}#${one.path}`));
}

async function profiledPlan(plan: StagePlan): Promise<ProfiledPlan> {
  const { planOf } = await import('../../plans/index.js');
  return { profiled: planOf(plan).profiled(plan), parts: planOf(plan).parts(plan) };
}

/** figuresByModel compares the figures of each model, where there are several. */
function figuresByModel(
  { models = [], elapsedS }: LoadDocument,
  simulation: SimulationReport,
): Verification['models'] {
  return models.flatMap((live) => {
    const model = simulation.models.find(({ name }) => name === live.name);
    return model ? [{ name: live.name, figures: modelFigures(model.requests, live, elapsedS) }] : [];
  });
}

/** knownSamples says which samples were sent, and by which a cascade was simulated. */
function knownSamples(
  { labelled }: LoadDocument,
  { cascade }: SimulationReport,
  { records }: Pick<VerifyOptions, 'records'>,
): KnownSamples {
  return {
    ...(labelled && { sent: labelled.samples }),
    ...(cascade && { recorded: cascade.samples }),
    areGiven: records !== undefined,
  };
}

/** kindNotes says in what the requests of a simulation may differ from those that were sent. */
async function kindNotes({ plan, verdicts }: SimulationSetup, samples: KnownSamples): Promise<string[]> {
  const { planOf } = await import('../../plans/index.js');
  return planOf(plan).unlikeSent(plan, { verdicts: verdicts !== undefined, samples });
}

async function refuseOutputs({
  path,
  plan,
  output,
  targets,
}: {
  readonly path: string;
  readonly plan: readonly InputPath[];
  readonly output: string | undefined;
  readonly targets: readonly CorrectionTarget[];
}): Promise<void> {
  const inputs: InputPath[] = [{ what: 'the load report', path }, ...plan];
  const outputs: OutputPath[] = [
    ...outputFiles({ output }),
    ...targets.map((target) => ({ field: 'correct', path: target.output })),
  ];
  await refuseReplacing(`verify ${path}`, outputs, inputs);
  for (const target of targets) await checkWritable(target.output);
}

async function simulated(setup: SimulationSetup, signal: AbortSignal | undefined): Promise<SimulationReport> {
  const { SimulationPool, simulationReport } = await import('../../simulation/index.js');
  const pool = new SimulationPool(setup, { threads: 1, signal });
  try {
    const run = await pool.runOne({});
    signal?.throwIfAborted();
    return simulationReport(setup, run, { windowS: undefined, inputs: [] });
  } finally {
    await pool.close();
  }
}

interface Compared {
  readonly setup: SimulationSetup;
  readonly load: Loaded<'load-report'>;
  readonly pools: readonly MeasuredPool[];
  readonly served: readonly LoadServed[];
  readonly asPlanned: SimulationReport;
  readonly signal: AbortSignal | undefined;
}

/** verifiedCauses simulates the load twice more: with the executions as measured, and with earlier deadlines besides. */
async function verifiedCauses({ setup, load, pools, served, asPlanned, signal }: Compared) {
  const frontMs = frontMsOf(load.value, served, asPlanned.engine);
  if (frontMs === undefined) return undefined;
  const executed = { ...setup, execution: measuredExecution(pools) };
  const withExecutions = await simulated(executed, signal);
  const { planOf } = await import('../../plans/index.js');
  const earlier = planOf(setup.plan).withSlos(setup.plan, (sloMs) => Math.max(LEAST_SLO_MS, sloMs - frontMs));
  const withFront = await simulated({ ...executed, plan: earlier }, signal);
  return causesOf(load.value, frontMs, {
    asPlanned: asPlanned.overall,
    withExecutions: withExecutions.overall,
    withFront: withFront.overall,
  });
}

function notesOf({ value: load }: Loaded<'load-report'>, served: readonly LoadServed[]): string[] {
  const answered = served.reduce((sum, one) => sum + one.answered, 0);
  return [
    ...load.warnings,
    ...(load.served === undefined
      ? ['the server did not tell what it measured, so nothing is said of the causes']
      : []),
    ...(load.served !== undefined && answered > load.answered
      ? [
          `the server answered ${counted(answered, 'request')} and this client got ${load.answered}: others used the server too, which the simulation does not count`,
        ]
      : []),
    ...(isInterrupted(load)
      ? [
          `the load was interrupted after ${load.elapsedS.toFixed(1)} s; it was to send for ${load.durationS} s, and the figures are of the requests that were sent until then`,
        ]
      : []),
    ...(load.cancelled > 0
      ? [
          `${load.cancelled === 1 ? '1 request was' : `${load.cancelled} requests were`} cancelled when the load was interrupted; the simulation answers them`,
        ]
      : []),
  ];
}

/** isInterrupted tells it of reports before version 1.5 by their time: only an interrupted load ended before it. */
function isInterrupted({ complete, elapsedS, durationS }: LoadDocument): boolean {
  return complete === undefined ? elapsedS < durationS : !complete;
}
