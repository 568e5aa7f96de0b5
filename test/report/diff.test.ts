import { expect, it } from 'vitest';
import { emittedHead } from '../../src/artifacts/index.js';
import { diffGears } from '../../src/plans/index.js';
import { diffHeadline, diffTable } from '../../src/report/index.js';
import { gearDiffTable } from '../../src/report/kinds/gears.js';
import { stageDiffTable } from '../../src/report/kinds/pipeline.js';
import { gearPlan } from '../gear-plans.js';

const gearOf = (toRps: number) => ({ toRps, steps: [{ model: 0, shares: [1] }] });

it('differences of gear plans show what changes, and nothing that stays', () => {
  const given = { latencyUs: [[1000]], held: [[0]], gears: [gearOf(100)] };
  const before = gearPlan(given);
  const after = {
    ...gearPlan({ ...given, held: [[0], [0]], gears: [gearOf(100), gearOf(200)] }),
    accuracy: 0.625,
    switching: { intervalMs: 100, alpha: 4 },
  };
  const diff = { ...emittedHead('plan-diff', []), ...diffGears(before, after) };
  expect(diffHeadline(diff)).toBe(
    'accuracy 50.00 % → 50.00 % (+0.00 points); 1 device would serve something else',
  );
  expect(diffTable(diff).rows).toEqual([
    ['cascade', 'requests/s', '100', '200', '+100.0 %'],
    ['cascade', 'accuracy', '50.00 %', '62.50 %', '+12.50 points'],
    [
      'cascade',
      'served by',
      'certainty top-2, arrivals over 100 ms, alpha 8, scheduler gears',
      'certainty top-2, arrivals over 100 ms, alpha 4, scheduler gears',
      '—',
    ],
    ['V100', 'devices in use', '1', '2', '+100.0 %'],
  ]);
  expect(gearDiffTable(diff).rows).toEqual([
    ['100 to 200', 'cascade', '—', 'm0'],
    ['100 to 200', 'batches of', '—', '1'],
    ['100 to 200', 'accuracy', '—', '50.00 %'],
    ['100 to 200', 'p95 ms', '—', '1.00'],
  ]);
  const [gear] = diff.gears ?? [];
  const alike = { before: 'm0', after: 'm0' };
  const shared = { ...gear!, cascade: alike, batching: alike, accuracy: {}, p95Ms: {}, sharesDiffer: true };
  expect(gearDiffTable({ gears: [shared] }).rows).toEqual([
    ['100 to 200', 'shares of devices', 'one division', 'another'],
  ]);
  expect(stageDiffTable(diff).rows).toEqual([['m0', 'replicas', '1 → 2']]);
});

it('differences of prices in two currencies stand side by side, without a share', () => {
  const given = { latencyUs: [[1000]], held: [[0]], gears: [gearOf(100)] };
  const told = { ...emittedHead('plan-diff', []), ...diffGears(gearPlan(given), gearPlan(given)) };
  const objective = { kind: 'cost', before: 2, after: 3 } as const;
  const diff = { ...told, objective, hourlyCost: { before: 2, after: 3 }, same: false };
  expect(diffHeadline(diff)).toBe('cost 2.00 → 3.00 (+50.0 %); 0 devices would serve something else');
  expect(diffTable(diff).rows).toEqual([['plan', 'cost per hour', '2.00', '3.00', '+50.0 %']]);
  const other = { ...diff, currency: { before: 'EUR', after: 'USD' } };
  expect(diffHeadline(other)).toBe(
    'cost 2.00 EUR per hour → 3.00 USD per hour, which do not compare; 0 devices would serve something else',
  );
  expect(diffTable(other).rows).toEqual([['plan', 'cost', '2.00 EUR per hour', '3.00 USD per hour', '—']]);
  expect(diffTable({ ...other, currency: { after: 'USD' } }).rows).toEqual([
    ['plan', 'cost', '2.00 per hour', '3.00 USD per hour', '—'],
  ]);
});
