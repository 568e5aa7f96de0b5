import { gearPlanFaults, gearPromiseFaults, recountFaults } from '../../checks/index.js';
import type { PlanOf } from '../plan-of.js';
import { servingFaults } from '../plan-scheduler.js';
import { stageModels, stageParts } from '../stages/index.js';
import { diffGears, gearFieldChanges } from './diff.js';
import { servedCascadeOf } from './served-cascade.js';
import { gearTopologyOf } from './topology.js';

/** GEAR_PLAN says what a gear plan is: one application, whose parts are the models of its cascades. */
export const GEAR_PLAN: PlanOf<'gear-plan'> = {
  applications: ({ name, sloMs, maxRps }) => [{ name, sloMs, throughputRps: maxRps, weight: 1 }],
  topology: gearTopologyOf,
  contradictions: (plan) => {
    const faults = [...servingFaults(plan), ...gearPlanFaults(plan), ...gearPromiseFaults(plan)];
    return faults.length > 0 ? faults : recountFaults(plan);
  },
  isReadDespiteFaults: false,
  profileFaults: () => [],
  parts: stageParts,
  profiled: stageModels,
  profiledWhat: 'stages',
  load: () => undefined,
  withSlos: (plan, changed) => ({ ...plan, sloMs: changed(plan.sloMs) }),
  // What its models say of samples is in its records, which the plan does not hold.
  world: (cascade) => ({ cascade }),
  served: (plan) => [{ name: plan.name, ...servedCascadeOf(plan) }],
  unlikeSent: (_, { samples }) =>
    samples
      ? []
      : [
          'the simulation answers by the records of the plan; the load sent other samples, or did not say which',
        ],
  title: ({ stages }) => `gear plan of ${stages.map(({ name }) => name).join(', ')}`,
  models: ({ stages }) => stages,
  diff: (before, after) => ({ told: diffGears(before, after), fields: gearFieldChanges(before, after) }),
};
