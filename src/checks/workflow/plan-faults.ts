import { type Fault, fault, type PlannedWorkflow } from '../../formats/index.js';
import { addedUp } from '../figures.js';
import { type CheckedWorkflows, twiceFaults } from './checked-workflows.js';
import { componentFaults } from './component-faults.js';
import { workflowDeviceFaults } from './device-faults.js';
import { frequencyFaults } from './frequency-faults.js';
import { sampleFaults } from './sample-faults.js';

/** Shares that are written in decimals sum to 1 no more exactly than this. */
const SHARE_ROUNDING = 1e-6;
const ROUNDING = 1e-9;

/**
 * workflowPlanFaults finds where a plan contradicts itself. A figure is checked where all that it is computed
 * from has no fault. The rules of chains and of schedulers are not here.
 */
export function workflowPlanFaults(plan: CheckedWorkflows): Fault[] {
  const faults = [
    ...componentFaults(plan),
    ...workflowDeviceFaults(plan),
    ...twiceFaults(plan.workflows, '/workflows'),
    ...shareSumFaults(plan.workflows),
    ...plan.workflows.flatMap((workflow, w) => [
      ...originFaults(workflow, `/workflows/${w}`),
      ...frequencyFaults(workflow, plan, `/workflows/${w}/frequencies`),
    ]),
    ...loadFaults(plan),
  ];
  return faults.length > 0 ? faults : sampleFaults(plan);
}

function shareSumFaults(workflows: readonly PlannedWorkflow[]): Fault[] {
  const sum = addedUp(workflows.map(({ share }) => share));
  if (Math.abs(sum - 1) <= SHARE_ROUNDING) return [];
  return [fault(`have shares that sum to ${Number(sum.toPrecision(8))}, and not to 1`, '/workflows')];
}

/** originFaults finds that requests of a workflow come from two places, or from none. */
function originFaults({ runs, chain }: PlannedWorkflow, at: string): Fault[] {
  if (runs === undefined && chain === undefined)
    return [fault('has neither runs nor a chain, so that nobody knows what its requests do', at)];
  if (runs !== undefined && chain !== undefined)
    return [fault('has runs and a chain; its requests come from one of them', at)];
  return [];
}

/** loadFaults finds a mean rate that is not that of the load, where the load has one, and functions of a load that is no trace. */
function loadFaults({ load, rps, functionsInTurn = false }: CheckedWorkflows): Fault[] {
  const own = load !== undefined && 'rps' in load ? load.rps : undefined;
  const isTrace = load !== undefined && 'trace' in load;
  return [
    ...(own === undefined || Math.abs(own - rps) <= ROUNDING * rps
      ? []
      : [fault(`is ${rps}; the load has ${own}`, '/rps')]),
    ...(functionsInTurn && !isTrace
      ? [fault('is true, and the load is no trace, so that it counts no functions', '/functionsInTurn')]
      : []),
  ];
}
