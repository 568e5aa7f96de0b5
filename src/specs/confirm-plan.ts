import {
  type Fault,
  FilesRead,
  fault,
  fieldChanges,
  type GearPlan,
  InputError,
  type InputFile,
  MissingError,
  type PipelinePlan,
  type PooledPlan,
  type PooledSpec,
  pathFrom,
  unreadable,
} from '../artifacts/index.js';
import type { OpenedBundle } from '../runtime/index.js';
import type { PreparedSimulation } from '../simulation/index.js';
import {
  evaluatedGearFaults,
  gearServing,
  loadCascade,
  repeatedGearPromiseFaults,
  replannedGears,
} from './cascade/index.js';
import { figureFaults, loadPipeline, pipelineServing, replanned } from './pipeline/index.js';
import { loadProblem, repeatedPromiseFaults } from './pooled/index.js';

const CHANGED_ADVICE = 'Put the files back where they were when it was solved, or solve again.';

const CONTRADICTION_ADVICE = 'Solve it again, or mend the edit.';

/** AnyPlan is a plan of any kind. */
type AnyPlan = PooledPlan | PipelinePlan | GearPlan;

/** PlanPlace says where a plan is, and what was read of its inputs. */
interface PlanPlace {
  /** The plan's file, from which its inputs are found. */
  readonly path: string;
  /** How errors name the plan; its path where it is absent. */
  readonly named?: string;
  /** What was read before, and is not read again. */
  readonly files?: FilesRead;
  /** What is repeated of that which takes seconds: by default all of it. */
  readonly repeats?: readonly Repeated[];
}

/** Repeated is what takes seconds: the search for a gear plan, and the simulations that confirm a promise. */
type Repeated = 'search' | 'promise';

const EVERYTHING: readonly Repeated[] = ['search', 'promise'];

/** Confirmation says how a plan was confirmed: `evaluated` is recomputed from what it chose, without a search. */
export type Confirmation = 'recomputed' | 'evaluated' | 'unnamed';

/** Recomputing is a plan that is made again from the spec at `path`. */
interface Recomputing {
  readonly path: string;
  /** The plan's file, from which its inputs are named. */
  readonly holder: string;
  readonly files: FilesRead;
  readonly repeats: readonly Repeated[];
}

/**
 * confirmPlan checks that a plan does not contradict itself, and recomputes its figures and placement from the spec and
 * the profiles that it names. These must be the files it was made from, by their digests. It searches no pooled plan and no
 * pipeline's anew; the search for a gear plan is repeated, which gives the same plan again. Where that is not to be repeated, or
 * an interruption ended that search, what follows from the plan's gears and placement is worked out instead.
 * @returns `unnamed` where the plan names no spec, so that nothing can be recomputed
 * @throws InputError where the plan contradicts itself, an input has changed, or a figure or a placement of the plan is not
 *   right; MissingError where inputs are only missing
 */
export async function confirmPlan(
  plan: AnyPlan,
  { path, named = path, files = new FilesRead(), repeats = EVERYTHING }: PlanPlace,
): Promise<Confirmation> {
  const { planOf } = await import('../plans/index.js');
  const own = planOf(plan);
  const contradictions = own.contradictions(plan);
  const spec = plan.inputs?.find(({ role }) => role === 'spec');
  // What a plan should say tells more than that it contradicts itself, where it can be made again all the same.
  if (contradictions.length > 0 && (spec === undefined || !own.isReadDespiteFaults))
    throw new InputError(`use ${named}`, contradictions, CONTRADICTION_ADVICE);
  if (spec === undefined) return 'unnamed';
  const { faults: changed, areMissing } = await changedInputs(plan.inputs ?? [], path, files);
  if (changed.length > 0) {
    const Kind = areMissing ? MissingError : InputError;
    throw new Kind(`check ${named} against its inputs`, changed, CHANGED_ADVICE);
  }
  const found = await recomputed(plan, { path: pathFrom(path, spec.path), holder: path, files, repeats });
  const faults = found.length > 0 ? found : contradictions;
  if (faults.length > 0) throw new InputError(`confirm ${named}`, faults);
  return plan.kind === 'gear-plan' && !isSearched(plan, repeats) ? 'evaluated' : 'recomputed';
}

/** isSearched says whether the search for a gear plan is to be repeated, and gives the same plan again. */
function isSearched({ reproducible = true }: GearPlan, repeats: readonly Repeated[]): boolean {
  return reproducible && repeats.includes('search');
}

/** recomputed finds what in a plan is not what its spec gives. */
function recomputed(plan: AnyPlan, from: Recomputing): Promise<readonly Fault[]> {
  switch (plan.kind) {
    case 'pooled-plan':
      return pooledFaults(plan, from);
    case 'pipeline-plan':
      return pipelineFaults(plan, from);
    case 'gear-plan':
      return gearFaults(plan, from);
  }
}

async function pooledFaults(
  plan: PooledPlan,
  { path, holder, files, repeats }: Recomputing,
): Promise<Fault[]> {
  const { spec, problem: asked, serving, inputs } = await loadProblem(path, undefined, files);
  const { heldProblem, promiseFaults } = await import('../hold/index.js');
  const problem = heldProblem(asked, plan);
  const { baselineProblem } = await import('../milp/index.js');
  const { checkPlan } = await import('../checks/index.js');
  const answered = plan.baseline === undefined ? problem : baselineProblem(problem, plan.baseline);
  const faults = [
    ...checkPlan(plan, answered),
    ...promiseFaults(plan),
    ...promisedFaults(plan, spec),
    ...askedFaults({ serving: plan.serving, planner: plan.planner }, { serving, planner: answered.planner }),
    ...inputFaults(plan.inputs, inputs(holder)),
  ];
  // Simulations of a plan that is not right say nothing more.
  if (faults.length > 0 || !repeats.includes('promise')) return faults;
  return repeatedPromiseFaults(plan, { problem: asked, serving });
}

type Runs = NonNullable<PooledPlan['hold']>['runs'];

/** promisedFaults finds where a plan was confirmed by other arrivals, or for another share of a model, than its spec gives. */
function promisedFaults({ hold }: PooledPlan, { planner, models }: PooledSpec): Fault[] {
  if (hold === undefined) return [];
  const asked: Partial<Pick<Runs, 'arrivals' | 'cv'>> = typeof planner?.hold === 'object' ? planner.hold : {};
  const { arrivals = 'poisson', cv } = asked;
  const { arrivals: is, cv: isCv } = hold.runs;
  return [
    ...askedFaults({ hold: { runs: { arrivals: is, cv: isCv } } }, { hold: { runs: { arrivals, cv } } }),
    ...hold.models.flatMap(({ attainment }, m) => {
      const own = models[m]?.hold;
      if (own === undefined || own === attainment) return [];
      return [fault(`is ${attainment}; its spec gives ${own}`, `/hold/models/${m}/attainment`)];
    }),
  ];
}

async function pipelineFaults(
  plan: PipelinePlan,
  { path, holder, files, repeats }: Recomputing,
): Promise<Fault[]> {
  const loaded = await loadPipeline(path, undefined, files);
  const outcome = await replanned(plan, loaded, repeats.includes('promise'));
  if (outcome.status !== 'feasible')
    return outcome.reasons.map(({ text }) => fault(`has no plan: ${text}`, path));
  const { load } = loaded.spec.value;
  return [
    ...figureFaults(plan, outcome.plan),
    ...askedFaults({ serving: plan.serving }, { serving: pipelineServing(loaded.spec.value) }),
    // A trace is compared by its digest, as its path is relative to another file.
    ...(load !== undefined && 'trace' in load ? [] : askedFaults({ load: plan.load }, { load })),
    ...inputFaults(plan.inputs, loaded.inputs(holder)),
  ];
}

async function gearFaults(
  plan: GearPlan,
  { path, holder, files, repeats }: Recomputing,
): Promise<readonly Fault[]> {
  const loaded = await loadCascade(path, undefined, files);
  const { slo, load, certainty = 'top-2' } = loaded.spec.value;
  const asked = { serving: gearServing(loaded.spec.value), slo, maxRps: load.maxRps, certainty };
  const { serving, maxRps } = plan;
  const given = { serving, slo: plan.slo, maxRps, certainty: plan.certainty };
  const faults = [
    ...askedFaults(given, asked),
    ...inputFaults(
      plan.inputs,
      loaded.inputs(
        holder,
        plan.stages.map(({ name }) => name),
      ),
    ),
  ];
  // A plan that was asked for something else has other gears too, which tells nothing more.
  if (faults.length > 0) return faults;
  const isPromised = slo.latencyMs !== undefined || plan.objective.kind === 'latency';
  if (isPromised && plan.promise === undefined)
    return [fault('is missing: nothing confirms the latency; solve the spec again', '/promise')];
  // What contradicts its gears needs no search to be told, and simulations of a plan that is not right say nothing more.
  const evaluated = await evaluatedGearFaults(plan, loaded);
  if (evaluated.length > 0) return evaluated;
  if (!isSearched(plan, repeats))
    return repeats.includes('promise') ? repeatedGearPromiseFaults(plan, loaded) : [];
  const again = await replannedGears(plan, loaded);
  if (again === undefined) return [fault('has no plan', path)];
  const { gearChanges } = await import('../gearplan/index.js');
  return gearChanges(plan, again, ['notes']);
}

/**
 * confirmBundledPlan recomputes the plan of a bundle as `confirmPlan` does, where the plan's inputs are unchanged at
 * the paths from which it was deployed. Elsewhere it checks nothing, because a bundle is complete without them.
 * @throws InputError where a figure or a placement of the plan is not right
 */
export async function confirmBundledPlan(
  { plan, manifest }: OpenedBundle,
  { repeats = EVERYTHING }: Pick<PlanPlace, 'repeats'> = {},
): Promise<void> {
  const deployed = manifest.value.inputs?.find(({ role }) => role === 'plan');
  if (deployed === undefined) return;
  const path = pathFrom(manifest.path, deployed.path);
  const files = new FilesRead();
  if ((await changedInputs(plan.inputs ?? [], path, files)).faults.length > 0) return;
  const named = pathFrom(manifest.path, manifest.value.plan.path);
  await confirmPlan(plan, { path, named, files, repeats });
}

/**
 * confirmSimulated recomputes a plan that is to be simulated as `confirmPlan` does, without repeating what takes seconds,
 * where what it was made from is unchanged. Elsewhere it checks nothing, as a plan needs nothing else to be simulated.
 * @param prepared the plan and the profiles as they were read for the simulation
 * @throws InputError where a figure or a placement of the plan is not right
 */
export async function confirmSimulated({
  found: { plan, madeAt },
  profiles,
}: Pick<PreparedSimulation, 'found' | 'profiles'>): Promise<void> {
  const files = new FilesRead(profiles);
  const { inputs = [] } = plan.value;
  if (!inputs.some(({ role }) => role === 'spec')) return;
  if ((await changedInputs(inputs, madeAt, files)).faults.length > 0) return;
  await confirmPlan(plan.value, { path: madeAt, named: plan.path, files, repeats: [] });
}

/** askedFaults finds what a plan has that its spec does not give. */
function askedFaults(plan: object, asked: object): Fault[] {
  return fieldChanges(plan, asked).map(({ path, before = 'absent', after = 'absent' }) =>
    fault(`is ${before}; its spec gives ${after}`, path),
  );
}

/** inputFaults finds files that a plan was made from and does not name. Those that it names are not changed. */
function inputFaults(named: readonly InputFile[] | undefined, needed: readonly InputFile[]): Fault[] {
  const digests = new Set(named?.map(({ role, sha256 }) => `${role} ${sha256}`));
  return needed
    .filter(({ role, sha256 }) => !digests.has(`${role} ${sha256}`))
    .map(({ role, path }) => fault(`lacks ${path}, the ${role} that it was made from`, '/inputs'));
}

/** changedInputs finds inputs that are not as they were, and says whether all of these are only missing. */
async function changedInputs(
  named: readonly { path: string; sha256: string }[],
  holder: string,
  files: FilesRead,
): Promise<{ readonly faults: readonly Fault[]; readonly areMissing: boolean }> {
  const faults: Fault[] = [];
  let areMissing = true;
  for (const { path, sha256 } of named) {
    const there = await digestAt(pathFrom(holder, path), files);
    if (there === sha256) continue;
    areMissing &&= there instanceof MissingError;
    if (typeof there === 'string')
      faults.push({
        path,
        message: `has changed: its digest is ${there.slice(0, 12)}…, not ${sha256.slice(0, 12)}…`,
      });
    else faults.push(...there.faults.map(({ message }) => fault(message, path)));
  }
  return { faults, areMissing };
}

/** digestAt gives a file's digest, or the reason why it cannot be read. */
async function digestAt(path: string, files: FilesRead): Promise<string | InputError> {
  try {
    return await files.digestOf(path);
  } catch (error) {
    const told = unreadable(path, error);
    if (told instanceof InputError) return told;
    throw error;
  }
}
