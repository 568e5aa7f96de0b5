import type { Stream } from '../../src/random/index.js';
import { DEFAULT_POLICY, type DropRule, type StageLocalPolicy } from '../../src/serving/index.js';
import { clashes } from '../../src/serving/stage-local/policy.js';

const SHARES = ['durations', 'worst-case', 'spare'] as const;

/** DROPS holds every kind of drop rule with every choice among words that it has. */
export const DROPS: readonly DropRule[] = [
  { kind: 'never' },
  { kind: 'expired' },
  { kind: 'hopeless' },
  { kind: 'timed-out', slos: 0.5 },
  { kind: 'timed-out', slos: 2 },
  { kind: 'full-batch', share: 0.5 },
  { kind: 'full-batch', share: 1 },
  { kind: 'nearly-full', share: 0, spares: 'all-waited' },
  { kind: 'nearly-full', share: 0.95, spares: 'last-waited' },
  { kind: 'queueing', share: 1, spares: 'all-waited' },
  { kind: 'queueing', share: 0.5, spares: 'last-waited' },
  { kind: 'end-to-end', queueing: true, execution: true, wait: 'quantile', quantile: 0.1, branches: 'worst' },
  { kind: 'end-to-end', queueing: true, execution: false, wait: 'most', quantile: 0, branches: 'worst' },
  { kind: 'end-to-end', queueing: false, execution: true, wait: 'none', quantile: 1, branches: 'learnt' },
  {
    kind: 'end-to-end',
    queueing: true,
    execution: true,
    wait: 'quantile',
    quantile: 0.1,
    branches: 'learnt',
  },
  ...SHARES.flatMap((shares): DropRule[] => [
    { kind: 'stage-budget', shares, until: 'start' },
    { kind: 'stage-budget', shares, until: 'end' },
  ]),
  { kind: 'window', within: 'slo' },
  { kind: 'window', within: 'stage' },
  { kind: 'overload', thresholdNs: 1e6, share: 0.4 },
];

export const ORDERS: readonly StageLocalPolicy['order'][] = [
  { kind: 'fifo' },
  { kind: 'deadline' },
  { kind: 'latest-deadline' },
  { kind: 'adaptive', transition: 'delayed' },
  { kind: 'adaptive', transition: 'instant' },
];

export const FORMATIONS: readonly StageLocalPolicy['formation'][] = [
  { kind: 'waiting' },
  { kind: 'delay', delayNs: 0 },
  { kind: 'delay', delayNs: 5e6 },
  { kind: 'gathered', gatherNs: 4e6 },
  { kind: 'sealed', timeoutNs: 0 },
  { kind: 'sealed', timeoutNs: 5e6 },
  { kind: 'eager' },
  { kind: 'ahead' },
  { kind: 'room-first', room: 1 / 3 },
  { kind: 'last-moment', leaves: 'transfer', stepNs: 1 },
  { kind: 'last-moment', leaves: 'nothing', stepNs: 1000 },
];

export const PLACEMENTS = ['on-arrival', 'earliest-free', 'per-device'] as const;

/**
 * randomPolicy draws any choice of each part of a policy, any with any that it can be combined with. Every second one
 * collects batches ahead.
 */
export function randomPolicy(stream: Stream): StageLocalPolicy {
  const pick = <T>(choices: readonly T[]): T => choices[stream.integer(choices.length)] as T;
  const isAhead = pick([true, false]);
  const policy: StageLocalPolicy = {
    ...DEFAULT_POLICY,
    order: pick(ORDERS),
    placement: isAhead ? 'per-device' : pick(PLACEMENTS),
    choice: pick([{ kind: 'proportional' }, { kind: 'least-loaded' }]),
    dispatch: pick([
      { kind: 'turns' },
      { kind: 'least-work' },
      { kind: 'two-choices' },
      { kind: 'two-ongoing' },
    ]),
    formation: isAhead ? { kind: 'ahead' } : pick(FORMATIONS),
    drop: pick(DROPS),
    late: pick([{ kind: 'drop' }, DEFAULT_POLICY.late]),
    correction: pick<StageLocalPolicy['correction']>([
      { kind: 'none' },
      { kind: 'average', weight: 0.1 },
      { kind: 'steps', weight: 0.1, deviations: 2 },
    ]),
    sharing: pick([{ kind: 'oldest-deadline' }, { kind: 'fullest' }, { kind: 'round-robin' }]),
    instant: pick(['told', 'by-place']),
    stateWindowNs: pick([1e6, 5e7, 5e9, Number.MAX_SAFE_INTEGER]),
    statePeriodNs: pick([0, 1e6, 5e7, 1e9, Number.MAX_SAFE_INTEGER]),
    waitSamples: pick([1, 7, 100]),
  };
  const weighed: StageLocalPolicy = {
    ...policy,
    weighing: { kind: 'levels', margin: pick([0, 0.25, 1]) },
  };
  if (pick([true, false]) && clashes(weighed).length === 0) return weighed;
  return clashes(policy).length === 0 ? policy : randomPolicy(stream);
}
