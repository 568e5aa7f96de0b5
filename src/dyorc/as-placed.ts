import type { OpenCluster, PlannedComponent, WorkflowDevice, WorkflowPlan } from '../formats/index.js';
import { type BoundedSample, boundSample, leastTimes } from './bounds.js';
import { countsOf } from './planner.js';
import type { SampleFigures, WorkflowPlanBody, WorkflowQuestion } from './problem.js';
import { PlacementTrials, WORKFLOW_SEED } from './trials.js';

/** AsPlaced is all of a plan that follows from its spec and from what its devices hold. */
export interface AsPlaced
  extends Pick<WorkflowPlanBody, 'cluster' | 'components' | 'workflows' | 'placement'> {
  /** The figures of the sample, where it was served. */
  readonly figures?: SampleFigures;
  readonly bounds: BoundedSample;
  /** The components on all classes that have room for them, and the cluster with all devices that are free: what bounds are of. */
  readonly bounded: { readonly components: readonly PlannedComponent[]; readonly cluster: OpenCluster };
}

/**
 * planAsPlaced makes a plan again from how many devices it has and what they hold, without a search: the devices
 * themselves, of the classes that the search takes, the components, what was counted of the workflows, and the bounds;
 * and the figures of the sample where it is to be served again, which takes a simulation.
 */
export function planAsPlaced(
  question: WorkflowQuestion,
  { placement: held }: Pick<WorkflowPlan, 'placement'>,
  { serves }: { readonly serves: boolean },
): AsPlaced {
  const { serving, workflows, attainment, spec } = question.resolved;
  const trials = new PlacementTrials(question);
  const free = countsOf(question, trials.components);
  const isAll = (spec.planner?.objective ?? 'latency') === 'latency';
  const chosen = free.map(({ device }) => ({
    device,
    count: held.filter((one) => one.class === device).length,
  }));
  const problem = trials.problemOf(isAll ? free : chosen);
  const placement = problem.devices.map((device, d): WorkflowDevice => {
    const { holds = [], static: stays } = held[d] ?? {};
    return { ...device, holds: [...holds], ...(stays === undefined ? {} : { static: [...stays] }) };
  });
  const all = trials.problemOf(free).cluster;
  return {
    cluster: problem.cluster,
    placement,
    workflows: [...trials.planned()],
    components: trials.componentsFor(placement, serving),
    ...(serves ? { figures: trials.served(problem, placement).figures } : {}),
    bounds: boundSample(trials.requests(WORKFLOW_SEED), {
      workflows,
      attainment,
      least: leastTimes(trials.components, all),
    }),
    bounded: { components: trials.components, cluster: all },
  };
}
