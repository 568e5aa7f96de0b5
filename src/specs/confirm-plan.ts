import { FilesRead, ofBundleAdvice, pathFrom, unreadable } from '../artifacts/index.js';
import { pushAll } from '../collections/index.js';
import {
  CHANGED_ADVICE,
  type CheckedInput,
  CheckFailedError,
  type Fault,
  fault,
  INPUTS_CHANGED,
  InputError,
  type InputFile,
  MissingError,
  type OpenCluster,
  option,
  type PlanChecks,
  planChecks,
  ToldFaults,
} from '../formats/index.js';
import type { CheckedBundle } from '../runtime/index.js';
import type { PreparedSimulation, PreparedWorkflows } from '../simulation/index.js';
import { askedFaults } from './asked-faults.js';
import { asPlannedFor, madeWith } from './for-engine.js';
import { sharedDevices } from './shared-devices.js';
import type { SpecKind } from './spec-kind.js';
import type { Confirmation, KindTypes, Repeated, SpecOf } from './spec-of.js';
import { type AnySpecTypes, specOf } from './specs.js';

const CONTRADICTION_ADVICE = 'Solve it again, or mend the edit.';

/** AnyPlan is a plan of any kind. */
type AnyPlan = KindTypes['plan'];

/** SPEC_OF_PLAN says of which kind the spec is that a plan of a kind is made from. */
const SPEC_OF_PLAN: { readonly [K in AnyPlan['kind']]: SpecKind } = {
  'pooled-plan': 'pooled',
  'pipeline-plan': 'pipeline',
  'gear-plan': 'cascade',
  'workflow-plan': 'workflow',
};

/** PlanPlace says where a plan is, and what was read of its inputs. */
interface PlanPlace {
  /** The plan's file, from which its inputs are found. */
  readonly path: string;
  /** How errors name the plan; its path where it is absent. */
  readonly named?: string;
  /** The files that were read before, and are not read again. */
  readonly files?: FilesRead;
  /** The checks that take seconds and are to be repeated: by default all. */
  readonly repeats?: readonly Repeated[];
}

const EVERYTHING: readonly Repeated[] = ['search', 'promise'];

/** PlanConfirmation says how a plan was confirmed, and against what. */
export interface PlanConfirmation {
  readonly how: Confirmation;
  readonly checks: PlanChecks;
  /** The fields, by their JSON pointers, that only the search knows, so that nothing confirms them. */
  readonly unconfirmed: readonly string[];
  /** Why it was not compared with all that it was made from. */
  readonly reasons: readonly Fault[];
  /** The worst of these. */
  readonly lack?: Lack | undefined;
}

/**
 * LACKS are why a plan is not compared with all that it was made from, the worst first: a file has changed, one cannot be read,
 * the plan names no spec, a file is missing.
 */
const LACKS = ['changed', 'unreadable', 'unnamed', 'missing'] as const;
type Lack = (typeof LACKS)[number];

/** refusalOf makes the error that refuses a plan for what it lacks. */
function refusalOf(
  task: string,
  { reasons, lack }: Pick<PlanConfirmation, 'reasons' | 'lack'>,
  advice: string,
): InputError {
  if (lack === 'missing') return new MissingError(task, reasons, advice);
  if (lack === 'unreadable') return new InputError(task, reasons, advice);
  return new CheckFailedError(task, reasons, { advice, checks: INPUTS_CHANGED });
}

/**
 * confirmPlan checks that a plan does not contradict itself, and recomputes its figures and placement from the spec and
 * the profiles that it names. These must be the files it was made from, by their digests. It searches no pooled plan and no
 * pipeline's anew; the search for a gear plan is repeated, which gives the same plan again. Where that is not to be repeated, or
 * an interruption ended that search, what follows from the plan's gears and placement is worked out instead.
 * @returns `unnamed` where the plan names no spec, so that only what the other inputs give is compared, which must be there too
 * @throws InputError where the plan contradicts itself, or a figure or a placement of it is not right; CheckFailedError where an
 *   input has changed; MissingError where inputs are only missing
 */
export async function confirmPlan(plan: AnyPlan, place: PlanPlace): Promise<PlanConfirmation> {
  const confirmed = await confirmedWhereThere(plan, place);
  const isNamed = plan.inputs?.some(({ role }) => role === 'spec') === true;
  // A plan that names no spec gets a remark on that, and is not refused for it.
  const reasons = confirmed.reasons.slice(isNamed ? 0 : 1);
  if (reasons.length === 0) return confirmed;
  const lack = confirmed.lack === 'unnamed' ? 'missing' : confirmed.lack;
  const advice = (await ofBundleAdvice(place.path)) ?? CHANGED_ADVICE;
  throw refusalOf(`check ${place.named ?? place.path} against its inputs`, { reasons, lack }, advice);
}

/**
 * confirmedWhereThere confirms a plan as `confirmPlan` does, where what it was made from is as it was. Elsewhere it compares
 * the plan with the profiles and records that are, and says what it was not compared with.
 */
async function confirmedWhereThere(
  plan: AnyPlan,
  { path, named = path, files = new FilesRead(), repeats = EVERYTHING }: PlanPlace,
): Promise<PlanConfirmation> {
  const { planOf } = await import('../plans/index.js');
  const own = planOf(plan);
  const contradictions = own.contradictions(plan);
  const spec = plan.inputs?.find(({ role }) => role === 'spec');
  const { changed, reasons, lacks } = await changedInputs(plan.inputs ?? [], path, files);
  const kind = SPEC_OF_PLAN[plan.kind];
  const isWhole = spec !== undefined && reasons.length === 0;
  // A comparison with the plan made again says more than its contradictions, where the plan can be made again
  // all the same.
  if (contradictions.length > 0 && !(isWhole && own.isReadDespiteFaults))
    throw new InputError(`use ${named}`, contradictions, CONTRADICTION_ADVICE);
  if (!isWhole) {
    const compared = await comparedInputs(plan, { path, changed, files });
    if (compared.faults.length > 0) throw new InputError(`confirm ${named}`, compared.faults);
    const unnamed = spec === undefined ? [fault('names no spec', named)] : [];
    return {
      how: 'unnamed',
      checks: planChecks(plan, (input) => compared.inputs.includes(input)),
      unconfirmed: [],
      reasons: [...unnamed, ...reasons],
      lack: LACKS.find((one) => lacks.has(one) || (one === 'unnamed' && unnamed.length > 0)),
    };
  }
  const at = { path: pathFrom(path, spec.path), holder: path, repeats };
  // A plan of a kind is made from specs of one kind.
  const made = plan as AnySpecTypes['plan'];
  const asked: SpecOf<AnySpecTypes> = await specOf(kind);
  const engine = plan.inputs?.find(({ role }) => role === 'engine-profile');
  const profile = engine && (await files.load(pathFrom(path, engine.path), ['engine-profile']));
  const planned = await asPlannedFor(await files.load(at.path, [kind]), plan.serving, profile);
  const loaded = madeWith(await asked.load(planned, files), profile);
  const confirming = await asked.confirming();
  const found = await confirming.faults(made, loaded, at);
  const faults = found.length > 0 ? found : contradictions;
  if (faults.length > 0) throw new InputError(`confirm ${named}`, faults);
  const how = confirming.confirmed(made, repeats);
  const unconfirmed = confirming.unconfirmed(made, repeats);
  const checks = planChecks(plan, () => true);
  return { how, checks, unconfirmed, reasons: [] };
}

/**
 * comparedInputs compares a plan with its cluster, with its profiles and with its records, where all of these are as they were,
 * although something else is not, or no spec is named.
 */
async function comparedInputs(
  plan: AnyPlan,
  { path, changed, files }: Pick<PlanPlace, 'path'> & { changed: ReadonlySet<InputFile>; files: FilesRead },
): Promise<{ readonly inputs: readonly CheckedInput[]; readonly faults: readonly Fault[] }> {
  const { planOf, planProfileFaults } = await import('../plans/index.js');
  const own = planOf(plan);
  const named = plan.inputs ?? [];
  const inputs: CheckedInput[] = [];
  const faults: Fault[] = [];
  const isThere = (role: string): boolean =>
    !named.some((input) => input.role === role && changed.has(input));
  const [ofCluster] = named.filter(({ role }) => role === 'cluster');
  if (ofCluster !== undefined && isThere('cluster')) {
    const { value } = await files.load(pathFrom(path, ofCluster.path), ['cluster']);
    pushAll(faults, clusterFaults(plan, value, own.isOfUsedDevices));
    inputs.push('cluster');
  }
  const ofProfiles = named.filter(({ role }) => role === 'profile');
  if (isThere('profile') && ofProfiles.length === own.profiled(plan).length) {
    const profiles = await Promise.all(
      ofProfiles.map((input) => files.load(pathFrom(path, input.path), ['profile'])),
    );
    pushAll(faults, planProfileFaults(plan, profiles));
    inputs.push('profiles');
  }
  const { cascade } = own.world(plan);
  if (cascade !== undefined && named.some(({ role }) => role === 'records') && isThere('records')) {
    const { familyRecords } = await import('../simulation/index.js');
    const told = new ToldFaults();
    const family = await familyRecords({ value: plan, path, ...cascade }, undefined, told);
    if (family === undefined) throw told.error(`read the records of ${path}`);
    pushAll(faults, own.recordFaults(plan, family.records));
    inputs.push('records');
  }
  return { inputs, faults };
}

/** clusterFaults finds what a plan's cluster has that the file it is from does not give. */
function clusterFaults(plan: AnyPlan, { $schema: _, ...cluster }: OpenCluster, isOfUsed: boolean): Fault[] {
  const { $schema: __, ...own } = plan.cluster as OpenCluster;
  const { share } = plan as { readonly share?: unknown };
  const devices = share !== undefined || isOfUsed ? sharedDevices(own, cluster) : cluster.devices;
  const used = Object.entries(devices).filter(([name]) => !isOfUsed || Object.hasOwn(own.devices, name));
  return askedFaults(
    { cluster: own },
    { cluster: { ...cluster, devices: Object.fromEntries(used) } },
    'cluster',
  );
}

/** Strictness says whether a plan is refused that is not compared with all that it was made from. */
export interface Strictness {
  readonly strict?: boolean | undefined;
}

/**
 * refuseUnchecked refuses a plan that was not compared with all that it was made from, where that is asked for.
 * @throws CheckFailedError where an input has changed or the spec is not named; InputError where one cannot be read; MissingError
 *   where files are only missing
 */
export function refuseUnchecked(
  task: string,
  confirmed: PlanConfirmation,
  { strict = false }: Strictness,
): void {
  const { unchecked = [] } = confirmed.checks;
  if (!strict || unchecked.length === 0) return;
  const refused = `${task} with ${option('strict')}, as it is not checked against its ${unchecked.join(', ')}`;
  const advice = `${CHANGED_ADVICE.slice(0, -1)}; or leave out ${option('strict')} to use it unchecked.`;
  throw refusalOf(refused, confirmed, advice);
}

/**
 * confirmBundledPlan recomputes the plan of a bundle as `confirmPlan` does, where the plan's inputs are unchanged at
 * the paths from which it was deployed. Elsewhere it checks less and says so, because a bundle is complete without them.
 * @throws InputError where a figure or a placement of the plan is not right
 */
export async function confirmBundledPlan(
  { plan, manifest }: Pick<CheckedBundle, 'plan' | 'manifest'>,
  { repeats = EVERYTHING }: Pick<PlanPlace, 'repeats'> = {},
): Promise<PlanConfirmation> {
  const deployed = manifest.value.inputs?.find(({ role }) => role === 'plan');
  const named = pathFrom(manifest.path, manifest.value.plan.path);
  const path = deployed === undefined ? named : pathFrom(manifest.path, deployed.path);
  return confirmedWhereThere(plan, { path, named, repeats });
}

/** SimulatedFiles are a plan of any kind that is simulated, and its profiles, as they were read. */
type SimulatedFiles =
  | Pick<PreparedSimulation, 'found' | 'profiles'>
  | Pick<PreparedWorkflows, 'found' | 'profiles'>;

/**
 * confirmSimulated recomputes a plan that is to be simulated as `confirmPlan` does, without repeating what takes seconds,
 * where what it was made from is unchanged. Elsewhere it checks less and says so, as a plan needs nothing else to be
 * simulated.
 * @param prepared the plan and the profiles as they were read for the simulation
 * @param task what errors say cannot be done
 * @throws InputError where a figure or a placement of the plan is not right; CheckFailedError where the plan is to be checked
 *   against all that it was made from and is not; MissingError where files are only missing
 */
export async function confirmSimulated(
  { found: { plan, madeAt }, profiles }: SimulatedFiles,
  task: string,
  strictness: Strictness,
): Promise<PlanChecks> {
  const files = new FilesRead(profiles);
  const confirmed = await confirmedWhereThere(plan.value, {
    path: madeAt,
    named: plan.path,
    files,
    repeats: [],
  });
  refuseUnchecked(task, confirmed, strictness);
  return confirmed.checks;
}

/** changedInputs finds inputs that are not as they were, and why. */
async function changedInputs(
  named: readonly InputFile[],
  holder: string,
  files: FilesRead,
): Promise<{
  readonly changed: ReadonlySet<InputFile>;
  readonly reasons: readonly Fault[];
  readonly lacks: ReadonlySet<Lack>;
}> {
  const reasons: Fault[] = [];
  const lacks = new Set<Lack>();
  const changed = new Set<InputFile>();
  for (const input of named) {
    const { path, sha256 } = input;
    const there = await digestAt(pathFrom(holder, path), files);
    if (there === sha256) continue;
    changed.add(input);
    if (typeof there === 'string') {
      lacks.add('changed');
      reasons.push({
        path,
        message: `has changed: its digest is ${there.slice(0, 12)}…, not ${sha256.slice(0, 12)}…`,
      });
    } else {
      lacks.add(there instanceof MissingError ? 'missing' : 'unreadable');
      pushAll(
        reasons,
        there.faults.map(({ message }) => fault(message, path)),
      );
    }
  }
  return { changed, reasons, lacks };
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
