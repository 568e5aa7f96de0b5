import { isDeepStrictEqual } from 'node:util';
import {
  type Fault,
  fault,
  type GearPlan,
  InputError,
  type PipelinePlan,
  type PooledPlan,
  pathFrom,
  sha256OfFile,
  unreadable,
} from '../artifacts/index.js';
import type { OpenedBundle } from '../runtime/index.js';
import { loadCascade, loadPipeline, loadProblem, replanned, replannedGears } from './solve/index.js';

const CHANGED_ADVICE = 'Put the files back where they were when it was solved, or solve again.';

const CONTRADICTION_ADVICE = 'Solve it again, or mend the edit.';

/**
 * confirmPlan checks that a plan does not contradict itself, and recomputes its figures and placement from the spec and
 * the profiles that it names. These must be the files it was made from, by their digests. It searches no plan anew.
 * @param path the plan's file, from which its inputs are found
 * @param named how errors name the plan
 * @returns `unnamed` where the plan names no spec, so that nothing can be recomputed
 * @throws InputError where the plan contradicts itself, an input has changed or is missing, or a figure or a placement
 *   of the plan is not right
 */
export async function confirmPlan(
  plan: PooledPlan,
  path: string,
  named = path,
): Promise<'recomputed' | 'unnamed'> {
  const { checkPlacement, planFaults } = await import('../serving/index.js');
  checkPlacement(plan);
  const contradictions = planFaults(plan);
  const spec = plan.inputs?.find(({ role }) => role === 'spec');
  if (spec === undefined) {
    if (contradictions.length > 0) throw new InputError(`use ${named}`, contradictions, CONTRADICTION_ADVICE);
    return 'unnamed';
  }
  const changed = await changedInputs(plan.inputs ?? [], path);
  if (changed.length > 0) throw new InputError(`check ${named} against its inputs`, changed, CHANGED_ADVICE);
  const { problem: asked } = await loadProblem(pathFrom(path, spec.path));
  const { heldProblem } = await import('../hold/index.js');
  const problem = heldProblem(asked, plan);
  const { baselineProblem, checkPlan } = await import('../milp/index.js');
  const answered = plan.baseline === undefined ? problem : baselineProblem(problem, plan.baseline);
  const recomputed = checkPlan(plan, answered);
  const faults = recomputed.length > 0 ? recomputed : contradictions;
  if (faults.length > 0) throw new InputError(`confirm ${named}`, faults);
  return 'recomputed';
}

/**
 * confirmPipelinePlan checks a plan of a pipeline as `confirmPlan` does a pooled one: that it does not contradict itself,
 * and that it is what its spec and profiles give.
 * @throws InputError as `confirmPlan` does
 */
export async function confirmPipelinePlan(
  plan: PipelinePlan,
  path: string,
  named = path,
): Promise<'recomputed' | 'unnamed'> {
  const { figureFaults, pipelinePlanFaults } = await import('../pipeline/index.js');
  const { servingFaults } = await import('../serving/index.js');
  const contradictions = [...pipelinePlanFaults(plan), ...servingFaults(plan)];
  if (contradictions.length > 0) throw new InputError(`use ${named}`, contradictions, CONTRADICTION_ADVICE);
  const spec = plan.inputs?.find(({ role }) => role === 'spec');
  if (spec === undefined) return 'unnamed';
  const changed = await changedInputs(plan.inputs ?? [], path);
  if (changed.length > 0) throw new InputError(`check ${named} against its inputs`, changed, CHANGED_ADVICE);
  const outcome = await replanned(plan, await loadPipeline(pathFrom(path, spec.path)));
  const faults =
    outcome.status === 'feasible'
      ? figureFaults(plan, outcome.plan)
      : outcome.reasons.map(({ text }) => fault(`has no plan: ${text}`, spec.path));
  if (faults.length > 0) throw new InputError(`confirm ${named}`, faults);
  return 'recomputed';
}

/**
 * confirmGearPlan checks a gear plan as `confirmPlan` does a pooled one. Its search is repeated, which gives the same plan
 * again.
 * @throws InputError as `confirmPlan` does
 */
export async function confirmGearPlan(
  plan: GearPlan,
  path: string,
  named = path,
): Promise<'recomputed' | 'unnamed'> {
  const { gearPlanFaults, servingFaults } = await import('../serving/index.js');
  const contradictions = [...servingFaults(plan), ...gearPlanFaults(plan)];
  if (contradictions.length > 0) throw new InputError(`use ${named}`, contradictions, CONTRADICTION_ADVICE);
  const spec = plan.inputs?.find(({ role }) => role === 'spec');
  if (spec === undefined) return 'unnamed';
  const changed = await changedInputs(plan.inputs ?? [], path);
  if (changed.length > 0) throw new InputError(`check ${named} against its inputs`, changed, CHANGED_ADVICE);
  const again = await replannedGears(await loadCascade(pathFrom(path, spec.path)));
  if (again === undefined) throw new InputError(`confirm ${named}`, [fault('has no plan', spec.path)]);
  const faults = Object.entries(again).flatMap(([field, value]) =>
    isDeepStrictEqual(plan[field as keyof typeof again], value)
      ? []
      : [fault('is not what its spec, profiles and records give', `/${field}`)],
  );
  if (faults.length > 0) throw new InputError(`confirm ${named}`, faults);
  return 'recomputed';
}

/**
 * confirmBundledPlan recomputes the plan of a bundle as `confirmPlan` does, where the plan's inputs are unchanged at
 * the paths from which it was deployed. Elsewhere it checks nothing, because a bundle is complete without them.
 * @throws InputError where a figure or a placement of the plan is not right
 */
export async function confirmBundledPlan({ plan, manifest }: OpenedBundle): Promise<void> {
  const deployed = manifest.value.inputs?.find(({ role }) => role === 'plan');
  if (deployed === undefined) return;
  const path = pathFrom(manifest.path, deployed.path);
  if ((await changedInputs(plan.inputs ?? [], path)).length > 0) return;
  const named = pathFrom(manifest.path, manifest.value.plan.path);
  if (plan.kind === 'pooled-plan') await confirmPlan(plan, path, named);
  else if (plan.kind === 'pipeline-plan') await confirmPipelinePlan(plan, path, named);
  else await confirmGearPlan(plan, path, named);
}

async function changedInputs(
  files: readonly { path: string; sha256: string }[],
  holder: string,
): Promise<Fault[]> {
  const faults: Fault[] = [];
  for (const { path, sha256 } of files) {
    const there = await digestAt(pathFrom(holder, path));
    if (typeof there !== 'string') faults.push(...there.map(({ message }) => fault(message, path)));
    else if (there !== sha256)
      faults.push({
        path,
        message: `has changed: its digest is ${there.slice(0, 12)}…, not ${sha256.slice(0, 12)}…`,
      });
  }
  return faults;
}

/** digestAt gives a file's digest, or the reason why it cannot be read. */
async function digestAt(path: string): Promise<string | readonly Fault[]> {
  try {
    return await sha256OfFile(path);
  } catch (error) {
    const told = unreadable(path, error);
    if (told instanceof InputError) return told.faults;
    throw error;
  }
}
