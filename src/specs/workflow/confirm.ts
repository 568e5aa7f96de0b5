import { type Fault, fault, fieldChanges, type WorkflowPlan } from '../../artifacts/index.js';
import { askedFaults, lackedInputs } from '../asked-faults.js';
import type { Confirming, ConfirmingOf, Repeated } from '../spec-of.js';
import { unconfirmedIn } from '../unconfirmed.js';
import type { WorkflowTypes } from './kind.js';
import { workflowPlanOf } from './plan-file.js';
import { planOnThread } from './plan-workflows.js';
import type { LoadedWorkflows } from './workflow.js';

/** What only a search knows that is not repeated. */
const SEARCHED: readonly string[] = [
  ...['/status', '/reproducible', '/objective', '/placement', '/sample', '/bounds', '/cluster'],
  '/workflows/*/frequencies',
];

/** confirmingWorkflows is how plans of workflows are made again from their spec. */
export const confirmingWorkflows: ConfirmingOf<WorkflowTypes> = {
  unconfirmed: (plan, repeats) => unconfirmedIn(plan, isSearched(plan, repeats) ? [] : SEARCHED),
  confirmed: (plan, repeats) => (isSearched(plan, repeats) ? 'recomputed' : 'evaluated'),
  async faults(plan, loaded, { path, holder, repeats }) {
    const asked = askedOf(plan, loaded, { path, holder, repeats });
    // A plan that was asked for something else is another one too, which tells nothing more.
    if (asked.length > 0 || !isSearched(plan, repeats)) return asked;
    const planned = await planOnThread(loaded, {});
    if (planned?.answer.status !== 'planned') return [fault('has no plan', path)];
    const again = workflowPlanOf(planned.answer.plan, loaded, { holder, notes: [], sha256: planned.sha256 });
    return changesIn(plan, again);
  },
};

/** isSearched says whether the search for a plan is to be repeated, and gives the same plan again. */
function isSearched({ reproducible = true }: WorkflowPlan, repeats: readonly Repeated[]): boolean {
  return reproducible && repeats.includes('search');
}

/** askedOf finds what a plan has that its spec does not give, as far as no search is needed. */
function askedOf(plan: WorkflowPlan, loaded: LoadedWorkflows, { holder }: Confirming): Fault[] {
  const { resolved, spec } = loaded;
  const { method, serving, attainment, rps, subclusters } = resolved;
  const kind = spec.value.planner?.objective ?? 'latency';
  const asked = { method, serving, attainment, rps, subclusters, kind };
  const given = {
    ...{ method: plan.method, serving: plan.serving, attainment: plan.attainment },
    ...{ rps: plan.rps, subclusters: plan.subclusters, kind: plan.objective.kind },
  };
  const used = plan.components.map(({ name }) => name);
  return [...askedFaults(given, asked), ...lackedInputs(plan.inputs, loaded.inputs(holder, used))];
}

/** changesIn finds where a plan is not what was found again. Notes follow from what is compared, and from other files. */
function changesIn(plan: WorkflowPlan, again: WorkflowPlan): Fault[] {
  const { notes: _, inputs: __, tool: ___, $schema: ____, ...has } = plan;
  const { notes: _1, inputs: _2, tool: _3, $schema: _4, ...found } = again;
  return fieldChanges(has, found).map(({ path, before = 'absent', after = 'absent' }) =>
    fault(`is ${before}; the search gives ${after}`, path),
  );
}
