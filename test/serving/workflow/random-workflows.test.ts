import { describe, expect, it } from 'vitest';
import { type Stream, streamOf } from '../../../src/random/index.js';
import {
  DYORC_POLICY,
  DynamicCore,
  GREEDY_POLICY,
  ROUND_ROBIN_POLICY,
  type WorkflowPolicy,
} from '../../../src/serving/index.js';
import { cases, fewOf, whole } from '../../cases.js';
import { randomTroubles, type Trial, tried } from './trial.js';
import { randomRun, randomShape, type Shape } from './workflows.js';

/** Spreading at the times of these tests. */
const SPREADING: Partial<WorkflowPolicy> = {
  halfLifeNs: 2000,
  spreading: { kind: 'by-work', least: 0.01, ratio: 0.9 },
  sparing: { kind: 'reloads', most: 2 },
};

const POLICIES: Readonly<Record<string, WorkflowPolicy>> = {
  dyorc: DYORC_POLICY,
  exact: { ...DYORC_POLICY, placing: { kind: 'dynamic-program' }, prediction: { kind: 'sampled', most: 2 } },
  likeliest: { ...DYORC_POLICY, prediction: { kind: 'likeliest', most: 8 } },
  'that drops what is late': { ...DYORC_POLICY, dropping: { kind: 'expired' } },
  'that drops ahead': { ...DYORC_POLICY, dropping: { kind: 'end-to-end', quantile: 0.3, draws: 16 } },
  'that moves no tasks': { ...DYORC_POLICY, moving: { kind: 'never' } },
  'that evicts what was used longest ago': {
    ...DYORC_POLICY,
    evicting: { kind: 'least-recent' },
    sparing: { kind: 'none' },
  },
  'that spreads components': { ...DYORC_POLICY, ...SPREADING },
  'that counts expected calls as work': { ...DYORC_POLICY, reserving: { kind: 'work' } },
  'that does all of it': {
    ...DYORC_POLICY,
    ...SPREADING,
    reserving: { kind: 'work' },
    dropping: { kind: 'end-to-end', quantile: 0.3, draws: 16 },
  },
  greedy: GREEDY_POLICY,
  'round-robin': ROUND_ROBIN_POLICY,
};

/** coreOf makes the core of a policy. */
function coreOf(policy: WorkflowPolicy): Trial['coreOf'] {
  return (topology, { decisions, table, streams }) =>
    new DynamicCore(topology, decisions, { table, policy, streams });
}

/** tight gives devices little more than what a task and its component take, or just the largest component. */
function tight(shape: Shape, stream: Stream): Shape {
  const largest = Math.max(...shape.components.map(({ bytes }) => bytes));
  const isFull = stream.uniform() < 0.3;
  const devices = shape.devices.map((device) => ({
    ...device,
    bytes: isFull ? largest : 120 + stream.integer(150),
  }));
  return { ...shape, devices };
}

describe('a core of dynamic workflows', () => {
  it.each(fewOf(Object.keys(POLICIES), 5))('ends every request once and breaks no rule, as %s', (name) => {
    for (let seed = 0; seed < cases(whole(2, 20), 300); seed++) {
      const stream = streamOf(seed, 'shape');
      const shape = randomShape(stream);
      const runs = Array.from({ length: 30 }, () => randomRun(stream, shape));
      const { summary, broken, core } = tried({
        shape,
        runs,
        coreOf: coreOf(POLICIES[name]!),
        gaps: streamOf(seed, 'gaps'),
      });
      expect({ seed, broken: broken.slice(0, 3) }).toEqual({ seed, broken: [] });
      const { requests, inTime, late, dropped, failed } = summary;
      expect({ seed, requests, ended: inTime + late + dropped }).toEqual({ seed, requests: 30, ended: 30 });
      expect(failed).toBe(0);
      if (POLICIES[name]!.dropping.kind === 'never') expect(dropped).toBe(0);
      expect(core.inUse).toEqual({ requests: 0, tasks: 0, batches: 0, fetches: 0 });
    }
  });

  it.each(fewOf(Object.keys(POLICIES), 5))('ends every request once whatever goes wrong, as %s', (name) => {
    const all = { dropped: 0, failed: 0, left: 0 };
    for (let seed = 0; seed < cases(whole(2, 20), 300); seed++) {
      const stream = streamOf(seed, 'shape');
      const shape = randomShape(stream);
      const runs = Array.from({ length: 30 }, () => randomRun(stream, shape));
      const troubles = randomTroubles(stream, shape.devices.length);
      const failing = streamOf(seed, 'failing');
      const { summary, broken, core } = tried({
        shape,
        runs,
        coreOf: coreOf(POLICIES[name]!),
        gaps: streamOf(seed, 'gaps'),
        troubles,
        fails: () => failing.uniform() < 0.03,
        failsToLoad: () => failing.uniform() < 0.1,
        loses: () => failing.uniform() < 0.3,
      });
      expect({ seed, broken: broken.slice(0, 3) }).toEqual({ seed, broken: [] });
      const { requests, inTime, late, dropped, failed, left } = summary;
      expect({ seed, requests, ended: inTime + late + dropped + failed + left }).toEqual({
        seed,
        requests: 30,
        ended: 30,
      });
      expect({ seed, ...core.inUse }).toEqual({ seed, requests: 0, tasks: 0, batches: 0, fetches: 0 });
      all.dropped += dropped;
      all.failed += failed;
      all.left += left;
    }
    for (const count of Object.values(all)) expect(count).toBeGreaterThan(whole(0, 5));
  });

  it.each(fewOf(Object.keys(POLICIES), 5))(
    'lets no request wait for ever where memory is scarce, as %s',
    (name) => {
      for (let seed = 0; seed < cases(whole(3, 30), 400); seed++) {
        const stream = streamOf(seed, 'shape');
        const shape = tight(randomShape(stream), stream);
        const runs = Array.from({ length: 30 }, () => randomRun(stream, shape));
        const { summary, broken, core } = tried({
          shape,
          runs,
          coreOf: coreOf(POLICIES[name]!),
          gaps: streamOf(seed, 'gaps'),
        });
        expect({ seed, broken: broken.slice(0, 3) }).toEqual({ seed, broken: [] });
        const { requests, inTime, late, dropped, failed } = summary;
        // A task that fits on its device not even alone is dropped.
        expect({ seed, requests, ended: inTime + late + dropped, failed }).toEqual({
          seed,
          requests: 30,
          ended: 30,
          failed: 0,
        });
        expect(core.inUse).toEqual({ requests: 0, tasks: 0, batches: 0, fetches: 0 });
      }
    },
  );

  it('does the same again, with the same seeds', () => {
    const stream = streamOf(3, 'shape');
    const shape = randomShape(stream);
    const runs = Array.from({ length: 60 }, () => randomRun(stream, shape));
    const [one, other] = [1, 2].map(() =>
      tried({ shape, runs, coreOf: coreOf(DYORC_POLICY), gaps: streamOf(3, 'gaps') }),
    );
    expect(one!.ends).toEqual(other!.ends);
    expect(one!.summary).toEqual(other!.summary);
  });
});
