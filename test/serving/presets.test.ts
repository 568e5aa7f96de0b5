import { describe, expect, it } from 'vitest';
import { planTopologyOf, topologyOf } from '../../src/plans/index.js';
import { streamOf, streamsOf } from '../../src/random/index.js';
import { ROOM_FIRST_POLICY, StageLocalCore, type StageLocalPolicy } from '../../src/serving/index.js';
import { ENGINE_POLICIES, PARD_POLICIES } from '../../src/serving/stage-local/index.js';
import { fewOf, seeds, WHOLE, whole } from '../cases.js';
import { gearPlan } from '../gear-plans.js';
import { surviveDagStorm } from './dag-storm.js';
import { planOf } from './plans.js';
import { surviveStorm } from './storm.js';
import { type Ended, type Run, runVirtual } from './virtual-driver.js';

const MS = 1e6;
const PRESETS: Record<string, StageLocalPolicy> = {
  ...PARD_POLICIES,
  ...ENGINE_POLICIES,
  'room-first': ROOM_FIRST_POLICY,
};

/** Two pipelines of one model, and a second model. Their stages have several devices. */
const pooled = topologyOf(
  planOf([
    {
      sloMs: 100,
      pipelines: [
        { throughputRps: 200, parts: [partOf(4, 2, 6000, 3000), partOf(4, 3, 9000, 4000)] },
        { throughputRps: 100, parts: [partOf(2, 2, 9000, 6000)] },
      ],
    },
    {
      sloMs: 60,
      pipelines: [{ throughputRps: 100, parts: [partOf(3, 1, 5000, 2000), partOf(3, 1, 3000, 3000)] }],
    },
  ]),
);

function partOf(batch: number, virtualGpus: number, fixedUs: number, rowUs: number) {
  return { batch, virtualGpus, latencyUs: (size: number) => fixedUs + size * rowUs, transferBytes: 20_000 };
}

/** Two gears over three models, of which devices hold several. Certainties are drawn, so that a third of the rows go on. */
const cascade = planTopologyOf(
  gearPlan({
    latencyUs: [[4000, 5000, 6000], [12_000, 16_000], [30_000]],
    held: [[0, 1], [0], [1, 2], [2]],
    sloMs: 120,
    intervalMs: 50,
    alpha: 8,
    gears: [
      {
        toRps: 150,
        steps: [{ model: 0, threshold: 0.6, minQueue: 2 }, { model: 1, threshold: 0.4 }, { model: 2 }],
      },
      { toRps: 1e6, steps: [{ model: 0, threshold: 0.3 }, { model: 1 }] },
    ],
  }),
  { transfers: 'none' },
);

/** coreOf makes the core of a preset, with streams by the seed. */
function coreOf(policy: StageLocalPolicy, seed: number): NonNullable<Run['makeCore']> {
  return (topology, decisions) =>
    new StageLocalCore(topology, decisions, { ...policy, streams: streamsOf(seed, 'core') });
}

/** served serves a gear plan while devices are lost, batches fail and clients leave, and gives what became of requests. */
function served(seed: number, policy: StageLocalPolicy): Ended[] {
  const stream = streamOf(seed, 'cascade');
  const fates = streamOf(seed, 'fates');
  const certainties = Array.from({ length: 150 * 9 }, () => fates.uniform());
  let at = 0;
  const arrivals = Array.from({ length: 150 }, () => {
    at += Math.ceil(stream.exponential() * 5 * MS);
    return {
      at,
      rows: 1 + stream.integer(3),
      ...(stream.uniform() < 0.1 ? { cancelAt: at + stream.integer(80) * MS } : {}),
    };
  });
  const { ended } = runVirtual({
    topology: cascade,
    arrivals,
    makeCore: coreOf(policy, seed),
    verdict: (arrival, row, pool) => certainties[arrival * 9 + row * 3 + pool]!,
    fails: () => stream.uniform() < 0.02,
    outages: cascade.devices.map((_, device) => {
      const from = stream.integer(700) * MS;
      return { device, at: from, until: from + (1 + stream.integer(200)) * MS };
    }),
    ...(seed % 4 === 0 ? { drainAt: 500 * MS } : {}),
  });
  for (const { outcome, at: endedAt, arrivedAt } of ended) {
    if (outcome === 'inTime') expect(endedAt - arrivedAt).toBeLessThanOrEqual(120 * MS);
    if (outcome === 'late') expect(endedAt - arrivedAt).toBeGreaterThan(120 * MS);
  }
  return ended;
}

describe.each(fewOf(Object.entries(PRESETS), 5))('%s', (name, policy) => {
  it('breaks no rule on random DAGs in which anything goes wrong', () => {
    for (const seed of seeds(whole(1, 6), 400)) surviveDagStorm(1000 * (seed % 7) + seed, policy);
  });

  it('breaks no rule on the chains of a pooled plan whose devices are lost, some for good', () => {
    // What is never dropped waits for devices that never come.
    const isOver = policy.drop.kind !== 'never';
    for (const seed of seeds(whole(1, 2), 60))
      surviveStorm(seed, pooled, [150, 400, 900][seed % 3]!, {
        makeCore: coreOf(policy, seed),
        ...(isOver ? {} : { comesBack: true }),
      });
  });

  it('breaks no rule on a cascade whose gears are switched', () => {
    const outcomes = new Set(
      seeds(whole(1, 3), 150).flatMap((seed) => served(seed, policy).map(({ outcome }) => outcome)),
    );
    expect(outcomes.has('inTime')).toBe(true);
    if (WHOLE && name !== 'naive') expect(outcomes.has('dropped')).toBe(true);
  });
});
