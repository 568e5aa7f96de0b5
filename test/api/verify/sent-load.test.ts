import { expect, it } from 'vitest';
import { sentLoad, type VerifiedPlan } from '../../../src/api/verify/sent-load.js';
import { type LoadDocument, type Loaded, ToldFaults } from '../../../src/formats/index.js';
import { arrivalsOf, type RatedModel } from '../../../src/simulation/index.js';
import { planOf } from '../../serving/plans.js';

const part = { batch: 1, latencyUs: () => 1000 };
const pipelines = [{ throughputRps: 100, parts: [part] }];
const plan: VerifiedPlan = {
  applications: planOf([
    { sloMs: 50, pipelines },
    { sloMs: 80, pipelines },
  ]).models,
  path: 'plan.json',
  sha256: 'a'.repeat(64),
};

const report = (fields: Partial<LoadDocument>): Loaded<'load-report'> => ({
  kind: 'load-report',
  path: 'load.json',
  sha256: '',
  value: {
    rows: 1,
    sent: 5,
    durationS: 2,
    elapsedS: 2.1,
    planSha256: plan.sha256,
    models: [
      { name: 'm1', sloMs: 80 },
      { name: 'm0', sloMs: 50 },
    ],
    sends: [
      { model: 'm1', gapsNs: '5 10 1' },
      { model: 'm0', gapsNs: '7 1999999000' },
    ],
    ...fields,
  } as LoadDocument,
});

it('sentLoad() gives the requests of each model of the plan at their times', () => {
  const told = new ToldFaults();
  const workload = sentLoad(report({}), plan, told)!;
  expect(told.count).toBe(0);
  expect(workload.durationNs).toBe(2e9);
  const arrivals = arrivalsOf(workload, plan.applications as unknown as readonly RatedModel[], 9);
  const found: [number, number][] = [];
  while (arrivals.next()) found.push([arrivals.atNs, arrivals.model]);
  expect(found).toEqual([
    [5, 1],
    [7, 0],
    [15, 1],
    [16, 1],
    [1_999_999_007, 0],
  ]);
});

it('sentLoad() lasts as long as requests were sent where the load was interrupted', () => {
  const sends = [{ model: 'm0', gapsNs: '7 399999000' }];
  const cut = { sent: 2, cancelled: 1, sends, durationS: 30 };
  const durationNs = (elapsedS: number) =>
    sentLoad(report({ ...cut, elapsedS }), plan, new ToldFaults())!.durationNs;
  expect(durationNs(0.5)).toBe(5e8);
  // No request is left out, even where the report says that the load ended before it.
  expect(durationNs(0.3)).toBe(399_999_008);
});

it('sentLoad() names each model that was judged by another SLO', () => {
  const told = new ToldFaults();
  const models = [
    { name: 'm1', sloMs: 50 },
    { name: 'm0', sloMs: 80 },
  ] as NonNullable<LoadDocument['models']>;
  expect(sentLoad(report({ models }), plan, told)).toBeUndefined();
  const { message } = told.error('verify load.json');
  expect(message).toContain("judged m1 by an SLO of 50 ms; the plan's is 80 ms");
  expect(message).toContain("judged m0 by an SLO of 80 ms; the plan's is 50 ms");
});
