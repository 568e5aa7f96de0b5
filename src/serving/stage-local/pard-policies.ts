import { DEFAULT_POLICY, type DropRule, type StageLocalPolicy } from './policy.js';

/** RUNTIME is what PARD and all that it is compared with have in common (§4.1, §4.2): they differ in `drop` and `order`. */
const RUNTIME: StageLocalPolicy = {
  ...DEFAULT_POLICY,
  order: { kind: 'fifo' },
  placement: 'per-device',
  choice: { kind: 'proportional' },
  dispatch: { kind: 'turns' },
  formation: { kind: 'ahead' },
  drop: { kind: 'never' },
  late: { kind: 'drop' },
  correction: { kind: 'none' },
};

const EQUATION_3: Extract<DropRule, { kind: 'end-to-end' }> = {
  kind: 'end-to-end',
  queueing: true,
  execution: true,
  wait: 'quantile',
  quantile: 0.1,
  branches: 'worst',
};

const PARD: StageLocalPolicy = {
  ...RUNTIME,
  order: { kind: 'adaptive', transition: 'delayed' },
  drop: EQUATION_3,
};

/** dropsBy is PARD with another estimate of the later stages. */
function dropsBy(estimate: Partial<typeof EQUATION_3>): StageLocalPolicy {
  return { ...PARD, drop: { ...EQUATION_3, ...estimate } };
}

/**
 * ROOM_FIRST_POLICY drops by PARD's estimate where stages share their queues, and gives devices whatever waits at once. While
 * more waits than a batch holds, it takes requests first that have a third of the later stages' time to spare. Its estimates
 * follow what executions take, since those of a server may take longer than planned.
 */
export const ROOM_FIRST_POLICY: StageLocalPolicy = {
  ...RUNTIME,
  order: { kind: 'deadline' },
  placement: 'on-arrival',
  choice: DEFAULT_POLICY.choice,
  formation: { kind: 'room-first', room: 1 / 3 },
  drop: { ...EQUATION_3, wait: 'none' },
  correction: DEFAULT_POLICY.correction,
};

/**
 * PARD_POLICIES holds PARD, the systems that it is compared with, and its ablations (PARD §5.1, Table 1). docs/pard.md has a line
 * on each.
 */
export const PARD_POLICIES = {
  pard: PARD,
  'pard-back': dropsBy({ queueing: false, execution: false, wait: 'none' }),
  'pard-sf': dropsBy({ queueing: false, wait: 'none' }),
  'pard-oc': { ...PARD, drop: { kind: 'overload', thresholdNs: 25e6, share: 0.4 } },
  'pard-split': { ...PARD, drop: { kind: 'stage-budget', shares: 'durations', until: 'end' } },
  'pard-wcl': { ...PARD, drop: { kind: 'stage-budget', shares: 'worst-case', until: 'end' } },
  'pard-lower': dropsBy({ wait: 'none' }),
  'pard-upper': dropsBy({ wait: 'most' }),
  'pard-fcfs': { ...PARD, order: { kind: 'fifo' } },
  'pard-hbf': { ...PARD, order: { kind: 'latest-deadline' } },
  'pard-lbf': { ...PARD, order: { kind: 'deadline' } },
  'pard-instant': { ...PARD, order: { kind: 'adaptive', transition: 'instant' } },
  nexus: { ...RUNTIME, drop: { kind: 'window', within: 'slo' } },
  'clipper++': { ...RUNTIME, drop: { kind: 'stage-budget', shares: 'durations', until: 'start' } },
  naive: RUNTIME,
} as const satisfies Record<string, StageLocalPolicy>;
