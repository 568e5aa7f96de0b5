import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ToldFaults } from '../../src/formats/index.js';
import { type BegunLoadOptions, resolvedWorkload } from '../../src/simulation/load.js';
import type { Workload } from '../../src/simulation/workload.js';
import { arrivalsOf, describedWorkload } from '../../src/simulation/workload.js';

const MODELS = [
  { name: 'a', throughputRps: 100, weight: 1 },
  { name: 'b', throughputRps: 300, weight: 3 },
];

let folder: string;
const at = (name: string): string => join(folder, name);
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-load-'));
  await writeFile(at('counts.csv'), 'interval_s,count\n2,20\n2,60\n');
  await writeFile(at('times.csv'), 'arrival_s\n0.5\n1\n1.5\n2\n');
  await writeFile(at('functions.csv'), 'HashFunction,1,2\nf,30,0\ng,0,60\nh,6,6\n');
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function loadOf(options: BegunLoadOptions): Promise<Workload> {
  const told = new ToldFaults();
  const found = await resolvedWorkload(MODELS, options, told);
  expect(told.count, told.count === 0 ? '' : told.error('load').message).toBe(0);
  return (found as { workload: Workload }).workload;
}

async function faultsOf(options: BegunLoadOptions, models = MODELS): Promise<string> {
  const told = new ToldFaults();
  expect(await resolvedWorkload(models, options, told)).toBeUndefined();
  return told.error('load').message;
}

/** countsOf draws all requests of a load, and counts those of each model. */
function countsOf(workload: Workload, from = 0, to = Number.POSITIVE_INFINITY): number[] {
  const counts = [0, 0];
  for (const all = arrivalsOf(workload, MODELS, 1); all.next(); )
    if (all.atNs >= from * 1e9 && all.atNs < to * 1e9) counts[all.model]! += 1;
  return counts;
}

describe('resolvedWorkload() without traces', () => {
  it('takes 0.9 times the planned rates for 30 s, or another multiple', async () => {
    expect(await loadOf({})).toEqual({ kind: 'drawn', process: 'poisson', durationNs: 30e9, rps: [90, 270] });
    expect(await loadOf({ load: 0.5, duration: 2.5 })).toMatchObject({ durationNs: 2.5e9, rps: [50, 150] });
  });

  it('shares one rate by weight, or takes that of each model, of which others get none', async () => {
    expect(await loadOf({ rps: ['40'] })).toMatchObject({ rps: [10, 30] });
    expect(await loadOf({ rps: ['b=7'] })).toMatchObject({ rps: [0, 7] });
    expect(await loadOf({ rps: ['a=2', 'b=7'] })).toMatchObject({ rps: [2, 7] });
  });

  it('keeps the process, its variation and how the load begins', async () => {
    const warmUp = { fillNs: [1e9, 2e9], settleNs: 3e9 };
    expect(await loadOf({ arrivals: 'gamma', cv: 3, warmUp })).toMatchObject({
      process: 'gamma',
      cv: 3,
      warmUp,
    });
  });

  it.each<[what: string, options: BegunLoadOptions, message: string]>([
    ['a rate and a load', { rps: ['5'], load: 0.5 }, 'give one'],
    ['no number', { rps: ['a='] }, 'is not a rate above 0'],
    ['nothing', { rps: ['0'] }, 'is not a rate above 0'],
    ['an endless rate', { rps: ['Infinity'] }, 'is not a rate above 0'],
    ['a model twice', { rps: ['a=1', 'a=2'] }, 'is given twice'],
    ['a rate for all beside others', { rps: ['5', 'a=2'] }, 'must be the only one'],
    ['the format of no trace', { traceFormat: 'counts' as never }, 'is for `traces`'],
    ['the window of no trace', { from: 3 }, 'is for `traces`'],
  ])('refuses %s', async (_what, options, message) => {
    expect(await faultsOf(options)).toContain(message);
  });

  it('refuses a plan that serves no model', async () => {
    expect(await faultsOf({}, [{ name: 'a', throughputRps: 0, weight: 0 }])).toContain('serves no model');
  });
});

describe('resolvedWorkload() of traces', () => {
  it('keeps the counts of each interval, and says how its requests are placed', async () => {
    const workload = await loadOf({ traces: [at('counts.csv')], arrivals: 'uniform' });
    expect(workload).toMatchObject({ kind: 'trace', durationNs: 4e9, whole: true });
    const [first, second] = [countsOf(workload, 0, 2), countsOf(workload, 2, 4)];
    expect([first, second].map(([a = 0, b = 0]) => a + b)).toEqual([20, 60]);
    expect(describedWorkload(workload, MODELS)).toMatchObject({ arrivals: 'trace', spread: 'uniform' });
  });

  it('has requests when the trace says so, which are not placed anew', async () => {
    const workload = await loadOf({ traces: [`a=${at('times.csv')}`] });
    expect(countsOf(workload)).toEqual([4, 0]);
    expect(describedWorkload(workload, MODELS)).not.toHaveProperty('spread');
  });

  it('gives a trace another mean rate, for all models or for its own', async () => {
    const all = await loadOf({ traces: [at('counts.csv')], rps: ['40'], arrivals: 'uniform' });
    // Twice as much comes as the trace has, which is 80 requests in 4 s, and all of it in the same parts.
    expect(countsOf(all).reduce((sum, count) => sum + count)).toBe(160);
    expect(countsOf(all, 0, 2).reduce((sum, count) => sum + count)).toBe(40);
    const own = await loadOf({ traces: [`b=${at('counts.csv')}`], rps: ['b=10'], arrivals: 'uniform' });
    expect(countsOf(own)).toEqual([0, 40]);
    const shared = await loadOf({ traces: [`b=${at('counts.csv')}`], rps: ['40'], arrivals: 'uniform' });
    // The model's part of a rate for all is by its weight, 3 of 4.
    expect(countsOf(shared)).toEqual([0, 120]);
  });

  it('cuts a trace to a length, and to a window of it', async () => {
    const cut = await loadOf({ traces: [at('counts.csv')], duration: 2, arrivals: 'uniform' });
    expect(cut).toMatchObject({ durationNs: 2e9, whole: false });
    expect(countsOf(cut).reduce((sum, count) => sum + count)).toBe(20);
    const window = await loadOf({ traces: [at('counts.csv')], from: 2, to: 4, arrivals: 'uniform' });
    expect(countsOf(window).reduce((sum, count) => sum + count)).toBe(60);
  });

  it.each<[what: string, options: () => BegunLoadOptions, message: string]>([
    [
      'a process for arrival times',
      () => ({ traces: [at('times.csv')], arrivals: 'poisson' }),
      'the trace says when each request came',
    ],
    [
      'a rate of a model whose trace there is not',
      () => ({ traces: [`a=${at('counts.csv')}`], rps: ['a=5', 'b=5'] }),
      'b has no trace, but others do',
    ],
    [
      'a trace without a rate beside rates',
      () => ({ traces: [`a=${at('counts.csv')}`, `b=${at('counts.csv')}`], rps: ['a=5'] }),
      'a model with a trace has no rate',
    ],
    [
      'rates of models for a trace of all',
      () => ({ traces: [at('counts.csv')], rps: ['a=5'] }),
      'a trace for all models takes one rate for all',
    ],
    [
      'two traces of a model',
      () => ({ traces: [`a=${at('counts.csv')}`, `a=${at('times.csv')}`] }),
      'that model has a trace already',
    ],
    [
      'two traces of all',
      () => ({ traces: [at('counts.csv'), at('times.csv')] }),
      'there is a trace for all models',
    ],
    [
      'a trace of all beside one of a model',
      () => ({ traces: [at('counts.csv'), `a=${at('times.csv')}`] }),
      'a trace for all models must be the only one',
    ],
    ['a trace that is not there', () => ({ traces: [at('none.csv')] }), 'none.csv'],
    [
      'a trace of no functions where models have theirs',
      () => ({ traces: [at('counts.csv')], groups: 2 }),
      'counts no functions',
    ],
  ])('refuses %s', async (_what, options, message) => {
    expect(await faultsOf(options())).toContain(message);
  });
});
