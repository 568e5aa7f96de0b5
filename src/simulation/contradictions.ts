import { type Fault, InputError } from '../artifacts/index.js';
import { gearPlanFaults, planFaults, recountFaults } from '../checks/index.js';
import { type ServedPlan, servingFaults, topologyOf } from '../plans/index.js';

/**
 * planContradictions finds where a plan of any kind contradicts itself, so that it cannot be what a planner made or cannot
 * be simulated. It needs nothing but the plan, and is the same for all commands.
 */
export async function planContradictions(plan: ServedPlan): Promise<readonly Fault[]> {
  switch (plan.kind) {
    case 'pipeline-plan': {
      const { pipelinePlanFaults } = await import('../plans/index.js');
      return counted(plan, [...servingFaults(plan), ...pipelinePlanFaults(plan)]);
    }
    case 'gear-plan': {
      const { gearPromiseFaults } = await import('../gearplan/index.js');
      return counted(plan, [...servingFaults(plan), ...gearPlanFaults(plan), ...gearPromiseFaults(plan)]);
    }
    case 'pooled-plan': {
      const { sharingFaults } = await import('../checks/index.js');
      try {
        topologyOf(plan);
        return [...servingFaults(plan), ...planFaults(plan), ...sharingFaults(plan, plan)];
      } catch (error) {
        if (error instanceof InputError) return error.faults;
        throw error;
      }
    }
  }
}

/** counted counts the devices of a plan that does not contradict itself otherwise. */
function counted(plan: Exclude<ServedPlan, { kind: 'pooled-plan' }>, faults: readonly Fault[]) {
  return faults.length > 0 ? faults : recountFaults(plan);
}
