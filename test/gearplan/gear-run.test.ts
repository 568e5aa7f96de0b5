import { describe, expect, it } from 'vitest';
import { GearRun, GearRunRoom } from '../../src/gearplan/gear-run.js';
import type { FamilyModel } from '../../src/gearplan/index.js';
import { planTopologyOf } from '../../src/plans/index.js';
import { type Stream, streamOf } from '../../src/random/index.js';
import { GEAR_POLICY, StageLocalCore } from '../../src/serving/index.js';
import { simulate } from '../../src/simulator/index.js';
import { cases, inWholeRun } from '../cases.js';
import { gearPlan } from '../gear-plans.js';

const SAMPLES = 97;

/** A gear on a load, as chance has it. */
function randomTrial(seed: number, stepNs = 1) {
  const stream = streamOf(seed, 'gear-run');
  const count = 1 + stream.integer(4);
  const models = Array.from({ length: count }, (_, i) => randomModel(stream, i, stepNs));
  const chosen = models
    .flatMap((_, i) => (stream.uniform() < 0.7 ? [{ i, key: stream.uniform() }] : []))
    .sort((a, b) => (seed % 2 === 0 ? a.key - b.key : a.i - b.i))
    .map(({ i }) => i);
  const steps = chosen.length === 0 ? [0] : chosen;
  // Certainties are tenths, so that some are exactly a threshold.
  const thresholds = steps.slice(1).map(() => (1 + stream.integer(9)) / 10);
  const devices = Array.from({ length: 1 + stream.integer(4) }, () => randomSet(stream, count));
  for (const model of steps)
    if (devices.every((held) => ((held >> model) & 1) === 0))
      devices[stream.integer(devices.length)]! |= 1 << model;
  // Shares are halves, so that several devices are equally far behind, and some have no share.
  const shares = models.map(() => Float64Array.from(devices, () => stream.integer(3) / 2));
  const minQueues = steps.map(() => 1 + stream.integer(4));
  const timeoutNs = stepNs * (1 + stream.integer(30e6 / stepNs));
  const gapNs = 1e6 * (1 + 20 * stream.uniform());
  let atNs = 0;
  const arrivalsNs = Float64Array.from({ length: 150 }, () => {
    atNs += stepNs * Math.round((gapNs * stream.exponential()) / stepNs);
    return atNs;
  });
  const trial = {
    cascade: { models: steps, thresholds },
    placement: devices,
    shares,
    minQueues,
    timeoutNs,
    arrivalsNs,
  };
  return { models, trial };
}

function randomModel(stream: Stream, i: number, stepNs: number): FamilyModel {
  const base = 1e6 * (1 + i) * (1 + 5 * stream.uniform());
  return {
    name: `m${i}`,
    latencyNs: Float64Array.from(
      { length: 1 + stream.integer(6) },
      (_, b) => stepNs * Math.max(1, Math.round((base * (1 + 0.3 * b + 0.1 * stream.uniform())) / stepNs)),
    ),
    memoryBytes: 1,
    correct: new Uint8Array(SAMPLES),
    certainty: Float64Array.from({ length: SAMPLES }, () => stream.integer(11) / 10),
  };
}

function randomSet(stream: Stream, count: number): number {
  return stream.integer(1 << count) | (1 << stream.integer(count));
}

/** served gives when each request is answered by the core that serves gears, in virtual time. */
function served({ models, trial }: ReturnType<typeof randomTrial>): number[] {
  const { cascade, placement, shares, minQueues, timeoutNs, arrivalsNs } = trial;
  const plan = gearPlan({
    latencyUs: models.map(({ latencyNs }) => Array.from(latencyNs, (ns) => ns / 1e3)),
    held: placement.map((held) => models.flatMap((_, model) => ((held >> model) & 1 ? [model] : []))),
    gears: [
      {
        toRps: 1e6,
        timeoutMs: timeoutNs / 1e6,
        steps: cascade.models.map((model, step) => ({
          model,
          minQueue: minQueues[step] as number,
          shares: placement.flatMap((held, device) =>
            (held >> model) & 1 ? [(shares[model] as Float64Array)[device] as number] : [],
          ),
          ...(step < cascade.thresholds.length ? { threshold: cascade.thresholds[step] as number } : {}),
        })),
      },
    ],
    sloMs: 1e6,
  });
  const topology = planTopologyOf(plan, { transfers: 'none' });
  const ended: number[] = [];
  const order: number[] = [];
  let arrived = 0;
  let next = -1;
  simulate({
    topology,
    arrivals: {
      model: 0,
      get atNs() {
        return arrivalsNs[next] as number;
      },
      next: () => ++next < arrivalsNs.length,
    },
    observers: [
      {
        arrived: (_at, _model, request) => {
          order[request] = arrived++;
        },
        ended: (at, _model, request) => {
          ended[order[request] as number] = at;
        },
      },
    ],
    makeCore: (decisions) => new StageLocalCore(topology, decisions, GEAR_POLICY),
    verdict: (request, _row, pool) => models[pool]?.certainty[request % SAMPLES] as number,
  });
  return ended;
}

describe('A gear that is tried', () => {
  inWholeRun(
    'answers each request when the core that serves gears does, on any devices, queues and timeouts',
    () => {
      let escalated = 0;
      for (let seed = 1; seed <= cases(400, 5000); seed++) {
        const random = randomTrial(seed);
        const tried = new GearRun(random.models, random.trial).run();
        expect(Array.from(tried as Float64Array), `seed ${seed}`).toEqual(served(random));
        escalated += random.trial.cascade.models.length > 1 ? 1 : 0;
      }
      expect(escalated).toBeGreaterThan(cases(200, 2500));
    },
  );

  inWholeRun('does so too where arrivals, ends of batches and timeouts are often at the same time', () => {
    for (let seed = 1; seed <= cases(600, 8000); seed++) {
      const random = randomTrial(seed, [5e6, 2e6, 1e6][seed % 3]);
      const tried = new GearRun(random.models, random.trial).run();
      expect(Array.from(tried as Float64Array), `seed ${seed}`).toEqual(served(random));
    }
  });

  it('ends early where too many requests take longer than the limit, and only there', () => {
    for (let seed = 1; seed <= cases(200, 1000); seed++) {
      const { models, trial } = randomTrial(seed);
      const ended = new GearRun(models, trial).run() as Float64Array;
      const times = ended.map((at, i) => at - (trial.arrivalsNs[i] as number)).sort();
      const limitNs = times[100] as number;
      const late = times.filter((ns) => ns > limitNs).length;
      expect(new GearRun(models, { ...trial, limitNs, mostLate: late }).run()).toEqual(ended);
      if (late > 0)
        expect(new GearRun(models, { ...trial, limitNs, mostLate: late - 1 }).run()).toBeUndefined();
    }
  });

  it('answers alike in the room of another run, whatever that left there', () => {
    const room = new GearRunRoom();
    for (let seed = 1; seed <= cases(100, 1000); seed++) {
      const { models, trial } = randomTrial(seed);
      const arrivalsNs = trial.arrivalsNs.subarray(0, 1 + ((seed * 37) % 150));
      const some = { ...trial, arrivalsNs };
      new GearRun(models, { ...trial, limitNs: 1, mostLate: 3 }, room).run();
      expect(new GearRun(models, some, room).run(), `seed ${seed}`).toEqual(new GearRun(models, some).run());
    }
  });
});
