import { type Fault, fault, fieldChanges, type WorkflowPlan } from '../../formats/index.js';
import { askedFaults, lackedInputs } from '../asked-faults.js';
import type { Confirming, ConfirmingOf, Repeated } from '../spec-of.js';
import { unconfirmedIn } from '../unconfirmed.js';
import type { WorkflowTypes } from './kind.js';
import { workflowPlanOf } from './plan-file.js';
import { placeOnThread, planOnThread } from './plan-workflows.js';
import type { PlacedAgain } from './planning-job.js';
import type { LoadedWorkflows } from './workflow.js';

/** The fields that only a search knows and that are not computed again. */
const SEARCHED: readonly string[] = [
  ...['/status', '/reproducible', '/objective/value', '/objective/gap'],
  ...['/placement/*/holds', '/placement/*/static'],
];

/** The fields that only a simulation of the sample knows. */
const SERVED = [
  ...['requests', 'tasks', 'meanMs', 'p50Ms', 'p95Ms', 'p99Ms', 'dropped', 'workflows', 'deviceTime'],
  ...['loads', 'evictions', 'rightGuesses'],
] as const satisfies (keyof WorkflowPlan['sample'])[];

/** confirmingWorkflows is how plans of workflows are made again from their spec. */
export const confirmingWorkflows: ConfirmingOf<WorkflowTypes> = {
  unconfirmed: (plan, repeats) =>
    unconfirmedIn(plan, [
      ...(isSearched(plan, repeats) ? [] : SEARCHED),
      ...(repeats.includes('promise') ? [] : SERVED.map((name) => `/sample/${name}`)),
    ]),
  confirmed: (plan, repeats) => (isSearched(plan, repeats) ? 'recomputed' : 'evaluated'),
  async faults(plan, loaded, confirming) {
    const { path, holder, repeats } = confirming;
    const asked = askedOf(plan, loaded, confirming);
    // A plan that was asked for something else is another one too, which says nothing more.
    if (asked.length > 0) return asked;
    const isRepeated = isSearched(plan, repeats);
    const serves = repeats.includes('promise') && !isRepeated;
    const again = await placeOnThread(loaded, { placed: plan, serves });
    const changed = changesIn(plan, asPlaced(plan, loaded, { again, holder }), 'its spec gives');
    const faults = changed.length > 0 ? changed : again.faults;
    if (faults.length > 0 || !isRepeated) return faults;
    const planned = await planOnThread(loaded, {});
    if (planned?.answer.status !== 'planned') return [fault('has no plan', path)];
    const found = workflowPlanOf(planned.answer.plan, loaded, { holder, notes: [], sha256: planned.sha256 });
    return changesIn(plan, found, 'the search gives');
  },
};

/** isSearched says whether the search for a plan is to be repeated, and gives the same plan again. */
function isSearched({ reproducible = true }: WorkflowPlan, repeats: readonly Repeated[]): boolean {
  return reproducible && repeats.includes('search');
}

/** askedOf finds what a plan has that its spec does not give, as far as nothing has to be drawn or simulated. */
function askedOf(plan: WorkflowPlan, loaded: LoadedWorkflows, { holder }: Confirming): Fault[] {
  const { resolved, spec } = loaded;
  const { method, serving, attainment, rps, subclusters } = resolved;
  const kind = spec.value.planner?.objective ?? 'latency';
  const asked = { method, serving, attainment, rps, subclusters, objective: { kind } };
  const given = {
    method: plan.method,
    serving: plan.serving,
    attainment: plan.attainment,
    rps: plan.rps,
    subclusters: plan.subclusters,
    objective: { kind: plan.objective.kind },
  };
  const used = plan.components.map(({ name }) => name);
  return [...askedFaults(given, asked), ...lackedInputs(plan.inputs, loaded.inputs(holder, used))];
}

/** asPlaced makes a plan again from what its devices hold, with what only a search or a simulation knows as the plan has it. */
function asPlaced(
  plan: WorkflowPlan,
  loaded: LoadedWorkflows,
  { again: { placed, sha256 }, holder }: { readonly again: PlacedAgain; readonly holder: string },
): WorkflowPlan {
  const { method, serving, attainment, rps, subclusters } = loaded.resolved;
  const { seed: _, sha256: __, ...figures } = plan.sample;
  const { cluster, components, workflows, placement, bounds } = placed;
  const { status, reproducible, objective } = plan;
  const body = {
    method,
    status,
    ...(reproducible === undefined ? {} : { reproducible }),
    objective,
    serving,
    cluster,
    attainment,
    rps,
    subclusters,
    components,
    workflows,
    placement,
    sample: placed.figures ?? figures,
    bounds: { devices: bounds.devices, meanMs: bounds.meanMs },
  };
  return workflowPlanOf(body, loaded, { holder, notes: [], sha256 });
}

/** changesIn finds where a plan is not what was found again. Notes follow from what is compared, and from other files. */
function changesIn(plan: WorkflowPlan, again: WorkflowPlan, by: string): Fault[] {
  const { notes: _, inputs: __, tool: ___, $schema: ____, ...has } = plan;
  const { notes: _1, inputs: _2, tool: _3, $schema: _4, ...found } = again;
  return fieldChanges(has, found).map(({ path, before = 'absent', after = 'absent' }) =>
    fault(`is ${before}; ${by} ${after}`, path),
  );
}
