import { describe, expect, it } from 'vitest';
import { stateNeeds } from '../../../../src/serving/stage-local/pard-state/state-needs.js';
import { DEFAULT_POLICY, type StageLocalPolicy } from '../../../../src/serving/stage-local/policy.js';
import { DROPS, ORDERS } from '../../random-policies.js';

const needsOf = (policy: Partial<StageLocalPolicy>) => stateNeeds({ ...DEFAULT_POLICY, ...policy });

describe('stateNeeds()', () => {
  it('asks for nothing where neither the drop rule nor the order looks at stages', () => {
    const observing = DROPS.filter((drop) => needsOf({ drop }) !== undefined).map(({ kind }) => kind);
    expect([...new Set(observing)].sort()).toEqual(['end-to-end', 'overload', 'stage-budget', 'window']);
    expect(ORDERS.filter((order) => needsOf({ order }) !== undefined).map(({ kind }) => kind)).toEqual([
      'adaptive',
      'adaptive',
    ]);
  });

  it('asks for what each rule decides by, and for no more', () => {
    const settings = { windowNs: 3e9, periodNs: 7e8, samples: 11 };
    const of = (policy: Partial<StageLocalPolicy>) =>
      needsOf({ stateWindowNs: 3e9, statePeriodNs: 7e8, waitSamples: 11, ...policy });
    for (const drop of DROPS) {
      const needs = of({ drop });
      if (drop.kind === 'end-to-end') expect(needs).toEqual({ ...settings, estimate: drop });
      if (drop.kind === 'overload') expect(needs).toEqual({ ...settings, thresholdNs: drop.thresholdNs });
      if (drop.kind === 'window') expect(needs).toEqual(settings);
      if (drop.kind === 'stage-budget')
        expect(needs).toEqual({ ...settings, divides: drop.shares === 'worst-case' });
    }
    for (const transition of ['delayed', 'instant'] as const)
      expect(of({ drop: { kind: 'never' }, order: { kind: 'adaptive', transition } })).toEqual({
        ...settings,
        transition,
      });
  });
});
