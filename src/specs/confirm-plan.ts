import {
  type Fault,
  FilesRead,
  fault,
  InputError,
  MissingError,
  pathFrom,
  unreadable,
} from '../artifacts/index.js';
import type { OpenedBundle } from '../runtime/index.js';
import type { PreparedSimulation } from '../simulation/index.js';
import type { SpecKind } from './spec-kind.js';
import type { Confirmation, KindTypes, Repeated, SpecOf } from './spec-of.js';
import { type AnySpecTypes, specOf } from './specs.js';

const CHANGED_ADVICE = 'Put the files back where they were when it was solved, or solve again.';

const CONTRADICTION_ADVICE = 'Solve it again, or mend the edit.';

/** AnyPlan is a plan of any kind. */
type AnyPlan = KindTypes['plan'];

/** SPEC_OF_PLAN says of which kind the spec is that a plan of a kind is made from. */
const SPEC_OF_PLAN: { readonly [K in AnyPlan['kind']]: SpecKind } = {
  'pooled-plan': 'pooled',
  'pipeline-plan': 'pipeline',
  'gear-plan': 'cascade',
};

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

const EVERYTHING: readonly Repeated[] = ['search', 'promise'];

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
  const kind = SPEC_OF_PLAN[plan.kind];
  const at = { path: pathFrom(path, spec.path), holder: path, repeats };
  // A plan of a kind is made from specs of one kind.
  const asked: SpecOf<AnySpecTypes> = await specOf(kind);
  const loaded = await asked.load(await files.load(at.path, [kind]), files);
  const confirming = await asked.confirming();
  const found = await confirming.faults(plan, loaded, at);
  const faults = found.length > 0 ? found : contradictions;
  if (faults.length > 0) throw new InputError(`confirm ${named}`, faults);
  return confirming.confirmed(plan, repeats);
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
