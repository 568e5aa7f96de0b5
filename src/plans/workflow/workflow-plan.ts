import { workflowPlanFaults, workflowProfileFaults } from '../../checks/index.js';
import type { WorkflowPlan } from '../../formats/index.js';
import { chainFaults } from '../../workload/index.js';
import type { PlanOf, PlanPart } from '../plan-of.js';
import { diffWorkflows, usesOf, workflowFieldChanges } from './diff.js';
import { placedPools } from './placed.js';
import { workflowServingFaults } from './serving.js';
import { workflowTopologyOf } from './topology.js';

/** All workflows share one load, of which each request belongs to one. */
const ALL = 'workflows';

/** WORKFLOW_PLAN says what a workflow plan is: an application for each workflow, whose parts are the components on each class. */
export const WORKFLOW_PLAN: PlanOf<'workflow-plan'> = {
  // The rates that the plan was made for; the rates that it can serve are not known.
  applications: ({ workflows, rps }) =>
    workflows.map(({ name, sloMs, share }) => ({
      name,
      sloMs,
      weight: share,
      throughputRps: share * rps,
      heldRps: share * rps,
      loadOf: ALL,
    })),
  topology: (plan) => workflowTopologyOf(plan),
  contradictions: (plan) => {
    const faults = [...workflowServingFaults(plan), ...chainsFaults(plan)];
    return [...faults, ...workflowPlanFaults(plan)];
  },
  isReadDespiteFaults: false,
  isOfUsedDevices: true,
  profileFaults: workflowProfileFaults,
  recordFaults: () => [],
  parts: partsOf,
  profiled: ({ components }) => components.map(({ model }) => model),
  profiledWhat: 'components',
  // A rate alone is that of random arrivals.
  load: ({ rps, load = { arrivals: 'poisson', rps }, functionsInTurn = false, workflows }) => {
    if (!('trace' in load)) return { kind: 'drawn', load };
    return { kind: 'trace', load, ...(functionsInTurn ? { groups: workflows.length } : {}) };
  },
  withSlos: ({ workflows, ...plan }, changed) => ({
    ...plan,
    workflows: workflows.map(({ sloMs, ...one }) => ({
      ...one,
      ...(sloMs === undefined ? {} : { sloMs: changed(sloMs) }),
    })),
  }),
  world: () => ({}),
  served: ({ workflows }) => workflows.map(({ name }) => ({ name })),
  unlikeSent: () => [],
  uses: usesOf,
  title: ({ workflows }) => `workflow plan of ${workflows.map(({ name }) => name).join(', ')}`,
  models: ({ components }) => components,
  diff: (before, after) => ({
    told: diffWorkflows(before, after),
    fields: workflowFieldChanges(before, after),
  }),
};

function chainsFaults({ workflows, components }: WorkflowPlan) {
  const names = components.map(({ name }) => name);
  return workflows.flatMap(({ chain }, w) =>
    chain === undefined ? [] : chainFaults(chain, { components: names, at: `/workflows/${w}/chain` }),
  );
}

function partsOf(plan: WorkflowPlan): PlanPart[] {
  return placedPools(plan).map(({ component, name, onClass: { device, batch, latencyUsByBatch } }) => {
    const { model = name } = plan.components[component] ?? {};
    return {
      application: 0,
      name,
      pipeline: component,
      partition: 0,
      stage: name,
      model,
      profile: model,
      device,
      virtual: 1,
      batch,
      latencyUsByBatch,
      bundled: { among: 'stages', stage: name },
    };
  });
}
