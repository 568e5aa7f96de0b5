import { isDeepStrictEqual } from 'node:util';
import {
  type Fault,
  fault,
  fieldChanges,
  type GearPlan,
  InputError,
  type InputFile,
  loadArtifact,
  type PipelinePlan,
  type PooledPlan,
  pathFrom,
  sha256OfFile,
  unreadable,
} from '../artifacts/index.js';
import type { OpenedBundle } from '../runtime/index.js';
import {
  gearServing,
  loadCascade,
  loadPipeline,
  loadProblem,
  pipelineServing,
  replanned,
  replannedGears,
} from './solve/index.js';

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
  const { problem: asked, serving, inputs } = await loadProblem(pathFrom(path, spec.path));
  const { heldProblem, promiseFaults } = await import('../hold/index.js');
  const problem = heldProblem(asked, plan);
  const { baselineProblem, checkPlan } = await import('../milp/index.js');
  const answered = plan.baseline === undefined ? problem : baselineProblem(problem, plan.baseline);
  const recomputed = [
    ...checkPlan(plan, answered),
    ...promiseFaults(plan),
    ...askedFaults({ serving: plan.serving, planner: plan.planner }, { serving, planner: answered.planner }),
    ...inputFaults(plan.inputs, inputs(path)),
  ];
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
  const loaded = await loadPipeline(pathFrom(path, spec.path));
  const outcome = await replanned(plan, loaded);
  const { load } = loaded.spec.value;
  const faults =
    outcome.status === 'feasible'
      ? [
          ...figureFaults(plan, outcome.plan),
          ...askedFaults({ serving: plan.serving }, { serving: pipelineServing(loaded.spec.value) }),
          // A trace is compared by its digest, as its path is relative to another file.
          ...(load !== undefined && 'trace' in load ? [] : askedFaults({ load: plan.load }, { load })),
          ...inputFaults(plan.inputs, loaded.inputs(path)),
        ]
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
  const loaded = await loadCascade(pathFrom(path, spec.path));
  const again = await replannedGears(loaded);
  if (again === undefined) throw new InputError(`confirm ${named}`, [fault('has no plan', spec.path)]);
  const faults = [
    ...Object.entries(again).flatMap(([field, value]) =>
      field === 'notes' || isDeepStrictEqual(plan[field as keyof typeof again], value)
        ? []
        : [fault('is not what its spec, profiles and records give', `/${field}`)],
    ),
    ...askedFaults({ serving: plan.serving }, { serving: gearServing(loaded.spec.value) }),
    ...inputFaults(
      plan.inputs,
      loaded.inputs(
        path,
        plan.stages.map(({ name }) => name),
      ),
    ),
  ];
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

/**
 * confirmSimulated recomputes a plan that is to be simulated as `confirmPlan` does, where what it was made from is unchanged.
 * Elsewhere it checks nothing, as a plan needs nothing else to be simulated. The search for a gear plan is not repeated:
 * of one, what was asked for is compared.
 * @param path a plan or a bundle
 * @throws InputError where a figure or a placement of the plan is not right
 */
export async function confirmSimulated(path: string): Promise<void> {
  const { planAt } = await import('../simulation/index.js');
  const { plan, madeAt } = await planAt(path);
  const { inputs = [] } = plan.value;
  const spec = inputs.find(({ role }) => role === 'spec');
  if (spec === undefined || (await changedInputs(inputs, madeAt)).length > 0) return;
  if (plan.value.kind === 'pooled-plan') await confirmPlan(plan.value, madeAt, plan.path);
  else if (plan.value.kind === 'pipeline-plan') await confirmPipelinePlan(plan.value, madeAt, plan.path);
  else {
    const { value } = await loadArtifact(pathFrom(madeAt, spec.path), ['cascade']);
    const { serving, slo } = plan.value;
    const faults = askedFaults({ serving, slo }, { serving: gearServing(value), slo: value.slo });
    if (faults.length > 0) throw new InputError(`confirm ${plan.path}`, faults);
  }
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
