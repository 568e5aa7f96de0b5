import { describe, expect, it } from 'vitest';
import { PARD_POLICIES, ROOM_FIRST_POLICY } from '../../../src/serving/stage-local/pard-policies.js';
import { clashes, type StageLocalPolicy } from '../../../src/serving/stage-local/policy.js';

/**
 * The table of docs/pard.md once more, as the paper has it: which parts of Eq. 3 count of the later stages (queueing, durations,
 * waits), or which other rule drops, and the order.
 */
const TABLE = {
  pard: ['q d F', 'adaptive delayed'],
  'pard-back': ['- - none', 'adaptive delayed'],
  'pard-sf': ['- d none', 'adaptive delayed'],
  'pard-oc': ['overload 25 ms 0.4', 'adaptive delayed'],
  'pard-split': ['durations end', 'adaptive delayed'],
  'pard-wcl': ['worst-case end', 'adaptive delayed'],
  'pard-lower': ['q d none', 'adaptive delayed'],
  'pard-upper': ['q d most', 'adaptive delayed'],
  'pard-fcfs': ['q d F', 'fifo'],
  'pard-hbf': ['q d F', 'latest-deadline'],
  'pard-lbf': ['q d F', 'deadline'],
  'pard-instant': ['q d F', 'adaptive instant'],
  nexus: ['window slo', 'fifo'],
  'clipper++': ['durations start', 'fifo'],
  naive: ['never', 'fifo'],
} as const;

function dropOf({ drop }: StageLocalPolicy): string {
  switch (drop.kind) {
    case 'end-to-end': {
      expect([drop.quantile, drop.branches]).toEqual([0.1, 'worst']);
      const wait = drop.wait === 'quantile' ? 'F' : drop.wait;
      return `${drop.queueing ? 'q' : '-'} ${drop.execution ? 'd' : '-'} ${wait}`;
    }
    case 'overload':
      return `overload ${drop.thresholdNs / 1e6} ms ${drop.share}`;
    case 'stage-budget':
      return `${drop.shares} ${drop.until}`;
    case 'window':
      return `window ${drop.within}`;
    default:
      return drop.kind;
  }
}

const orderOf = ({ order }: StageLocalPolicy) =>
  order.kind === 'adaptive' ? `adaptive ${order.transition}` : order.kind;

describe('PARD_POLICIES', () => {
  it('differ in the drop rule and the order alone, as the table of docs/pard.md says', () => {
    const { drop: _drop, order: _order, ...runtime } = PARD_POLICIES.pard;
    const said = Object.entries(PARD_POLICIES).map(([name, policy]) => {
      const { drop: _own, order: _ownOrder, ...shared } = policy;
      expect(shared).toEqual(runtime);
      expect(clashes(policy)).toEqual([]);
      return [name, [dropOf(policy), orderOf(policy)]];
    });
    expect(Object.fromEntries(said)).toEqual(TABLE);
    expect(runtime).toMatchObject({
      placement: 'per-device',
      dispatch: { kind: 'turns' },
      formation: { kind: 'ahead' },
      late: { kind: 'drop' },
      correction: { kind: 'none' },
      choice: { kind: 'proportional' },
      stateWindowNs: 5e9,
      statePeriodNs: 1e9,
      waitSamples: 10_000,
      slackNs: 0,
    });
  });
});

describe('ROOM_FIRST_POLICY', () => {
  it('shares queues, starts at once, and estimates without batch waits', () => {
    expect([dropOf(ROOM_FIRST_POLICY), orderOf(ROOM_FIRST_POLICY)]).toEqual(['q d none', 'deadline']);
    expect(ROOM_FIRST_POLICY).toMatchObject({
      placement: 'on-arrival',
      formation: { kind: 'room-first', room: 1 / 3 },
      late: { kind: 'drop' },
    });
    expect(clashes(ROOM_FIRST_POLICY)).toEqual([]);
  });
});
