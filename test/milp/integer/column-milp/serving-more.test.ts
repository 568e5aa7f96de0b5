import { beforeAll, describe, expect, test } from 'vitest';
import { checkPlan } from '../../../../src/checks/index.js';
import { type HighsEngine, loadHighs } from '../../../../src/lp/index.js';
import { planPooled } from '../../../../src/milp/index.js';
import { servingMore } from '../../../../src/milp/integer/column-milp/serving-more.js';
import { usedRps } from '../../../../src/milp/plan/plan-model.js';
import { problemByHand } from '../../by-hand.js';
import { searchFor } from '../search-by-hand.js';

let highs: HighsEngine;
beforeAll(async () => {
  highs = await loadHighs();
});

/** A GPU of A or B serves 1000 requests per second. Half of n's must go through A, of which m needs one as well. */
const latencyUs = { A: { 1: { 1: [1000] } }, B: { 1: { 1: [1000] } } };
const models = [
  { name: 'm', sloMs: 9, latencyUs, only: ['A'] },
  { name: 'n', sloMs: 9, latencyUs, minShare: { A: 0.5 } },
];
const problem = () =>
  problemByHand({ A: { count: 2 }, B: { count: 6 } }, models, { maxPartitions: 1, wholeGpusPer: 'pool' });

describe('servingMore()', () => {
  test('serves with idle GPUs what the least throughput/weight does not need', () => {
    const search = searchFor(problem(), highs, { gap: 0 });
    const used = search.master.columns.flatMap((column) => {
      const isA = search.tables[column.model]?.slots[column.parts[0]?.slot ?? 0]?.className === 'A';
      return isA ? [{ column, virtualGpus: [1], rps: 1000 }] : [];
    });
    expect(used).toHaveLength(2);
    const more = servingMore(search, { used, value: 1000, nodes: 0 });
    expect(more.value).toBeCloseTo(1000, 3);
    expect(more.used.reduce((sum, one) => sum + usedRps(one), 0)).toBeCloseTo(3000, 1);
    // It knows no sum for a price, and none once it is interrupted.
    const stopped = { ...search, options: { ...search.options, interrupted: () => true } };
    expect(servingMore(stopped, { used, value: 1000, nodes: 0 }).used).toBe(used);
  });

  test('is the second objective of a plan with minimum shares', () => {
    const outcome = planPooled(problem(), { highs });
    if (!('plan' in outcome)) throw new Error(outcome.status);
    expect(checkPlan(outcome.plan, problem())).toEqual([]);
    expect(outcome.plan.models.map(({ throughputRps }) => throughputRps)).toEqual([
      expect.closeTo(1000, 2),
      expect.closeTo(2000, 2),
    ]);
  });
});
