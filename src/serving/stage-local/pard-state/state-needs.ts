import type { QueueOrder } from '../../state/index.js';
import type { DropRule, StageLocalPolicy } from '../policy.js';
import type { Transition } from './load-factors.js';
import type { StatePlannerOptions } from './state-planner.js';

/** Needs is what a rule needs to be observed. */
type Needs = Partial<Pick<StatePlannerOptions, 'estimate' | 'divides' | 'thresholdNs' | 'transition'>>;

/** stateNeeds says what is to be observed for a policy, undefined where nothing is. */
export function stateNeeds(policy: StageLocalPolicy): StatePlannerOptions | undefined {
  const dropping = dropNeeds(policy.drop);
  const transition = transitionOf(policy.order);
  if (dropping === undefined && transition === undefined) return undefined;
  return {
    ...dropping,
    transition,
    windowNs: policy.stateWindowNs,
    periodNs: policy.statePeriodNs,
    samples: policy.waitSamples,
  };
}

function dropNeeds(rule: DropRule): Needs | undefined {
  switch (rule.kind) {
    case 'never':
    case 'expired':
    case 'timed-out':
    case 'hopeless':
    case 'gear':
    case 'full-batch':
    case 'nearly-full':
    case 'queueing':
      return undefined;
    case 'end-to-end':
      return { estimate: rule };
    case 'stage-budget':
      return { divides: DIVIDES[rule.shares] };
    case 'window':
      return {};
    case 'overload':
      return { thresholdNs: rule.thresholdNs };
  }
}

const DIVIDES: { readonly [K in Extract<DropRule, { kind: 'stage-budget' }>['shares']]: boolean } = {
  durations: false,
  'worst-case': true,
  spare: false,
};

function transitionOf(order: QueueOrder): Transition | undefined {
  switch (order.kind) {
    case 'fifo':
    case 'deadline':
    case 'latest-deadline':
      return undefined;
    case 'adaptive':
      return order.transition;
  }
}
