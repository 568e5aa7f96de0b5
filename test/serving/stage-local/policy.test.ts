import { describe, expect, it } from 'vitest';
import { planTopologyOf } from '../../../src/plans/index.js';
import { DEFAULT_POLICY, SCHEDULER_NAMES, type StageLocalPolicy } from '../../../src/serving/index.js';
import { SCHEDULERS } from '../../../src/serving/schedulers.js';
import { clashes } from '../../../src/serving/stage-local/policy.js';
import { gearPlan } from '../../gear-plans.js';
import { chainOf, MS, stage } from '../by-hand.js';
import { DROPS, FORMATIONS, ORDERS, PLACEMENTS } from '../random-policies.js';
import { runVirtual } from '../virtual-driver.js';

const GEARS = {
  latencyUs: [[10_000, 12_000], [20_000]],
  held: [[0, 1], [0]],
  gears: [{ toRps: 10, steps: [{ model: 0, threshold: 0.5 }, { model: 1 }] }],
};

const TOPOLOGIES = [chainOf(100, stage([10, 12]), stage([5])), planTopologyOf(gearPlan(GEARS))];

/** Serves a few requests on a chain, and on devices of several stages. */
function serveSome(policy: StageLocalPolicy): void {
  for (const topology of TOPOLOGIES)
    runVirtual({
      topology,
      arrivals: [0, 0, 10, 20].map((ms) => ({ at: ms * MS, rows: 2 })),
      policy,
      handsAhead: policy.placement === 'earliest-free',
      verdict: () => 0,
    });
}

describe('clashes()', () => {
  it('finds every combination of choices that no core can serve by', () => {
    for (const order of ORDERS)
      for (const placement of PLACEMENTS)
        for (const formation of [...FORMATIONS, { kind: 'gear' } as const])
          for (const drop of DROPS) {
            const policy: StageLocalPolicy = { ...DEFAULT_POLICY, order, placement, formation, drop };
            if (clashes(policy).length === 0) serveSome(policy);
          }
  });

  it('says what each choice needs', () => {
    const of = (choices: Partial<StageLocalPolicy>) => clashes({ ...DEFAULT_POLICY, ...choices });
    expect(of({})).toEqual([]);
    expect(of({ formation: { kind: 'ahead' } })).toMatchObject([{ choice: 'formation' }]);
    expect(of({ order: { kind: 'latest-deadline' } })).toMatchObject([{ choice: 'order' }]);
    const ahead = { placement: 'per-device', formation: { kind: 'ahead' } } as const;
    expect(of({ ...ahead, order: { kind: 'latest-deadline' } })).toEqual([]);
    expect(
      of({ ...ahead, order: { kind: 'latest-deadline' }, drop: { kind: 'window', within: 'slo' } }),
    ).toMatchObject([{ choice: 'drop' }]);
  });

  it('finds nothing in the policy of any scheduler', () => {
    for (const name of SCHEDULER_NAMES) {
      const { policy, clashes: find } = SCHEDULERS[name];
      expect([name, find(policy)]).toEqual([name, []]);
    }
  });
});
