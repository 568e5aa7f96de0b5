import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { refuter } from '../../bench/refute/subjects/gear-overload.js';
import { Dice } from '../../bench/seeded/dice.js';
import { ToldFaults } from '../../src/formats/index.js';
import { plannedScheduler, planTopologyOf } from '../../src/plans/index.js';
import { streamOf, streamsOf } from '../../src/random/index.js';
import { makeCore } from '../../src/serving/index.js';
import { OutcomeCode, simulate } from '../../src/simulator/index.js';
import { seeds, whole } from '../cases.js';
import { type GivenGears, gearPlan } from '../gear-plans.js';

/** The share of Poisson arrivals in time, by a plan that is made by hand; a first step is sure of `sure` of them. */
function inTime(given: GivenGears, { rps, drop, sure }: { rps: number; drop: string; sure: number }): number {
  const plan = gearPlan(given);
  const { exponential, uniform } = streamOf(1, 'gear-overload');
  const topology = planTopologyOf(plan);
  const asked = { options: { policy: [`drop=${drop}`] }, leastSloNs: 1e6 * plan.sloMs, kind: plan.kind };
  const scheduler = plannedScheduler(plan.serving, asked, new ToldFaults());
  if (scheduler === undefined) throw new Error(`no scheduler drops by ${drop}`);
  const arrivals = { atNs: 0, model: 0, count: 0, next: () => false };
  arrivals.next = () => {
    arrivals.atNs += Math.round((1e9 * exponential()) / rps);
    arrivals.count += 1;
    return arrivals.count <= 6_000;
  };
  const certainty = Float64Array.from({ length: 6_000 }, () => (uniform() < sure ? 1 : 0));
  let kept = 0;
  const ended = (_at: number, _model: number, _request: number, _arrived: number, outcome: OutcomeCode) => {
    if (outcome === OutcomeCode.inTime) kept += 1;
  };
  simulate({
    topology,
    arrivals,
    observers: [{ ended }],
    verdict: (order) => certainty[order % 6_000] as number,
    makeCore: (decisions) => makeCore(scheduler, topology, { decisions, streams: streamsOf(1, 'core') }),
  });
  return kept / 6_000;
}

describe('A gear plan beyond its promise', () => {
  it.each(seeds(whole(0, 4), 60))(
    'keeps the promised rate in time at up to ten times it, and within it loses at most 0.2 points (case %i)',
    async (seed) => {
      const folder = await mkdtemp(join(tmpdir(), 'inferplan-overload-'));
      try {
        const { refutations, what } = await refuter(new Dice(seed, 'gear-overload'), folder);
        expect(refutations, what).toEqual([]);
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    },
    120_000,
  );

  // One model executes up to 8 in 2 ms and one more, and the latency is not much longer than its batch of 64.
  const one: GivenGears = {
    latencyUs: [Array.from({ length: 64 }, (_, b) => 1000 + 125 * b)],
    held: [[0]],
    gears: [{ toRps: 3_000, steps: [{ model: 0 }] }],
    sloMs: 10,
  };

  it('does not fill batches that would take longer than requests have', () => {
    const share = inTime(one, { rps: 30_000, drop: 'gear', sure: 1 });
    expect(10 * share).toBeGreaterThan(1);
    expect(10 * inTime(one, { rps: 30_000, drop: 'hopeless', sure: 1 })).toBeLessThan(0.5);
  });

  // The first model is sure of a tenth: dropping the others after it would lose nearly all.
  const two: GivenGears = {
    latencyUs: [Array(8).fill(1000), Array(8).fill(1000)],
    held: [[0, 1]],
    gears: [{ toRps: 3_500, steps: [{ model: 0, threshold: 0.5 }, { model: 1 }] }],
    sloMs: 20,
  };

  it('keeps time for the steps that most requests need', () => {
    expect(10 * inTime(two, { rps: 35_000, drop: 'gear', sure: 0.1 })).toBeGreaterThan(1);
    expect(10 * inTime(two, { rps: 35_000, drop: 'hopeless', sure: 0.1 })).toBeLessThan(0.5);
  });

  it('gives nothing up within the load of the plan that a first step may still answer in time', () => {
    const tight: GivenGears = {
      ...two,
      latencyUs: [[1000], [1500]],
      sloMs: 2.1,
      gears: [{ ...two.gears[0]!, toRps: 300 }],
    };
    const never = inTime(tight, { rps: 300, drop: 'never', sure: 0.9 });
    expect(inTime(tight, { rps: 300, drop: 'gear', sure: 0.9 })).toBeGreaterThanOrEqual(never - 0.002);
    expect(inTime(tight, { rps: 300, drop: 'hopeless', sure: 0.9 })).toBeGreaterThanOrEqual(never - 0.02);
  });
});
