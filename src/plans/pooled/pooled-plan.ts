import { planFaults, pooledProfileFaults, sharingFaults } from '../../checks/index.js';
import { type Fault, InputError, type PooledPlan } from '../../formats/index.js';
import type { PlanPart, StagePlanOf } from '../plan-of.js';
import { servingFaults } from '../plan-scheduler.js';
import { diffPlans } from './diff.js';
import { pooledFieldChanges } from './diff-fields.js';
import { topologyOf } from './topology.js';
import { pooledWiring } from './wiring.js';

/** POOLED_PLAN says what a pooled plan is: its applications are models, and its parts are their partitions. */
export const POOLED_PLAN: StagePlanOf<'pooled-plan'> = {
  applications: ({ models }) => models,
  topology: topologyOf,
  contradictions,
  isReadDespiteFaults: true,
  isOfUsedDevices: false,
  profileFaults: pooledProfileFaults,
  recordFaults: () => [],
  parts,
  profiled: ({ models }) => models.map(({ name }) => name),
  profiledWhat: 'models',
  load: ({ hold }) => (hold === undefined ? undefined : { kind: 'held', runs: hold.runs }),
  withSlos: (plan, changed) => ({
    ...plan,
    models: plan.models.map((model) => ({ ...model, sloMs: changed(model.sloMs) })),
  }),
  world: () => ({}),
  served: ({ models }) =>
    models.map(({ name, inputs, outputs }) => ({
      name,
      ...(inputs === undefined ? {} : { inputs }),
      ...(outputs === undefined ? {} : { outputs }),
    })),
  wiring: pooledWiring,
  unlikeSent: () => [],
  uses: ({ classes }) => classes,
  title: ({ baseline, models }) => {
    const which = baseline === undefined ? 'pooled plan' : `plan of the baseline ${baseline}`;
    return `${which} of ${models.map(({ name }) => name).join(', ')}`;
  },
  models: ({ models }) => models,
  diff: (before, after) => ({ told: diffPlans(before, after), fields: pooledFieldChanges(before, after) }),
};

/** Where the placement contradicts the partitions, there is no topology, and nothing else is reported. */
function contradictions(plan: PooledPlan): readonly Fault[] {
  try {
    topologyOf(plan);
    return [...servingFaults(plan), ...planFaults(plan), ...sharingFaults(plan, plan)];
  } catch (error) {
    if (error instanceof InputError) return error.faults;
    throw error;
  }
}

function parts({ models }: PooledPlan): PlanPart[] {
  return models.flatMap(({ name, pipelines }, application) =>
    pipelines.flatMap(({ partitions }, pipeline) =>
      partitions.map(({ blocks, layers, device, virtual, batch, latencyUsByBatch }, partition) => ({
        application,
        name,
        pipeline,
        partition,
        model: name,
        profile: application,
        device,
        virtual,
        batch,
        latencyUsByBatch,
        bundled: { among: 'partitions', model: name, range: blocks ?? layers },
        ...(blocks === undefined ? {} : { blocks }),
        ...(layers === undefined ? {} : { layers }),
      })),
    ),
  );
}
