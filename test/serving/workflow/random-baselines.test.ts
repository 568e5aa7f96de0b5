import { describe, expect, it } from 'vitest';
import { type Stream, streamOf } from '../../../src/random/index.js';
import { type RayLikePolicy, workflowCore } from '../../../src/serving/index.js';
import type { RecordedRun } from '../../../src/simulator/index.js';
import { cases, fewOf, inWholeRun, whole } from '../../cases.js';
import { randomTroubles, type Trial, tried } from './trial.js';
import { randomRun, randomShape, type Shape } from './workflows.js';

/** RAY is Ray's policy with times as short as those of random workflows. */
const RAY: Partial<RayLikePolicy> = {
  metricsIntervalNs: 100,
  lookBackNs: 300,
  upscaleDelayNs: 300,
  downscaleDelayNs: 1500,
  batchWaitNs: 30,
};

const CORES: Readonly<Record<string, Trial['coreOf']>> = {
  static: (topology, parts) => workflowCore('static', topology, parts),
  'ray-like': (topology, parts) => workflowCore('ray-like', topology, { ...parts, rayLike: RAY }),
  'ray-like from none': (topology, parts) =>
    workflowCore('ray-like', topology, { ...parts, rayLike: { ...RAY, leastReplicas: 0, mostOngoing: 2 } }),
};

/**
 * heldShape draws a cluster on which some device holds each component at the start, and devices have little room beside
 * in half the cases.
 */
function heldShape(stream: Stream): Shape {
  const shape = randomShape(stream);
  const all = shape.components.map((_, component) => component);
  const holds = shape.devices.map(({ class: own }) =>
    all.filter((c) => shape.components[c]!.latencyNs[own] !== undefined && stream.uniform() < 0.5),
  );
  for (const component of all) {
    if (holds.some((held) => held.includes(component))) continue;
    const able = shape.devices.findIndex(
      ({ class: own }) => shape.components[component]!.latencyNs[own] !== undefined,
    );
    holds[able]!.push(component);
  }
  const isTight = stream.uniform() < 0.5;
  const devices = shape.devices.map((device, d) => {
    const heldBytes = holds[d]!.reduce((sum, component) => sum + shape.components[component]!.bytes, 0);
    const bytes = heldBytes + 60 + stream.integer(100);
    return isTight ? { ...device, bytes } : device;
  });
  return { ...shape, holds, devices };
}

/** fitsSomewhere tells whether each call of a run fits on some device beside all that the device holds. */
function fitsSomewhere({ requestBytes, calls }: RecordedRun, { components, devices, holds }: Shape): boolean {
  return calls.every(({ component, rows, inputs }) => {
    const inputBytes = [...new Set(inputs)].reduce(
      (sum, input) => sum + (input === -1 ? requestBytes : calls[input]!.outputBytes),
      0,
    );
    return devices.some(({ bytes, class: own }, device) => {
      const held = holds![device]!;
      const heldBytes = held.reduce((sum, other) => sum + components[other]!.bytes, 0);
      const most = components[component]!.latencyNs[own]?.length ?? 0;
      return held.includes(component) && rows <= most && heldBytes + inputBytes <= bytes;
    });
  });
}

describe('a baseline of dynamic workflows', () => {
  it.each(Object.keys(CORES))('ends every request once whatever goes wrong, as %s', (name) => {
    const all = { dropped: 0, failed: 0, left: 0 };
    for (let seed = 0; seed < cases(whole(8, 30), 400); seed++) {
      const stream = streamOf(seed, 'shape');
      const shape = heldShape(stream);
      const runs = Array.from({ length: 30 }, () => randomRun(stream, shape));
      const troubles = randomTroubles(stream, shape.devices.length);
      const failing = streamOf(seed, 'failing');
      const { summary, broken, core } = tried({
        shape,
        runs,
        coreOf: CORES[name]!,
        gaps: streamOf(seed, 'gaps'),
        troubles,
        fails: () => failing.uniform() < 0.03,
        failsToLoad: () => failing.uniform() < 0.1,
        loses: () => failing.uniform() < 0.3,
      });
      expect({ seed, broken: broken.slice(0, 3) }).toEqual({ seed, broken: [] });
      const { inTime, late, dropped, failed, left } = summary;
      expect({ seed, ended: inTime + late + dropped + failed + left }).toEqual({ seed, ended: 30 });
      expect({ seed, ...core.inUse }).toEqual({ seed, requests: 0, tasks: 0, batches: 0, fetches: 0 });
      all.dropped += dropped;
      all.failed += failed;
      all.left += left;
    }
    for (const count of Object.values(all)) expect(count).toBeGreaterThan(whole(4, 20));
  });

  inWholeRun(
    'drops no request where nothing goes wrong but those of which a call fits nowhere, as static',
    () => {
      let sum = 0;
      for (let seed = 0; seed < cases(whole(8, 30), 400); seed++) {
        const stream = streamOf(seed, 'shape');
        const shape = heldShape(stream);
        const runs = Array.from({ length: 30 }, () => randomRun(stream, shape));
        const { summary, broken } = tried({
          shape,
          runs,
          coreOf: CORES.static!,
          gaps: streamOf(seed, 'gaps'),
        });
        const hopeless = runs.filter((run) => !fitsSomewhere(run, shape)).length;
        sum += hopeless;
        const { dropped, failed, loads, evictions } = summary;
        expect({ seed, broken: broken.slice(0, 3) }).toEqual({ seed, broken: [] });
        expect({ seed, dropped, failed, loads, evictions }).toEqual({
          seed,
          dropped: hopeless,
          failed: 0,
          loads: 0,
          evictions: 0,
        });
      }
      expect(sum).toBeGreaterThan(whole(4, 20));
    },
  );

  it.each(fewOf(['ray-like', 'ray-like from none'], 1))(
    'answers all where devices are large, as %s',
    (name) => {
      const all = { loads: 0, evictions: 0 };
      for (let seed = 0; seed < cases(whole(8, 30), 400); seed++) {
        const stream = streamOf(seed, 'shape');
        const { components, devices, ...rest } = randomShape(stream);
        const shape = {
          ...rest,
          components: components.map((one) => {
            // A batch is as large on one class as on another.
            const times = one.latencyNs.find((some) => some !== undefined);
            return { ...one, latencyNs: one.latencyNs.map((some) => some && times) };
          }),
          devices: devices.map((device) => ({ ...device, bytes: 800 + stream.integer(400) })),
        };
        const runs = Array.from({ length: 30 }, () => randomRun(stream, shape));
        const { summary, broken, core } = tried({
          shape,
          runs,
          coreOf: CORES[name]!,
          gaps: streamOf(seed, 'gaps'),
          mostGapNs: 1500,
        });
        expect({ seed, broken: broken.slice(0, 3) }).toEqual({ seed, broken: [] });
        const { inTime, late, loads, evictions } = summary;
        expect({ seed, answered: inTime + late }).toEqual({ seed, answered: 30 });
        expect({ seed, ...core.inUse }).toEqual({ seed, requests: 0, tasks: 0, batches: 0, fetches: 0 });
        all.loads += loads;
        all.evictions += evictions;
      }
      for (const count of Object.values(all)) expect(count).toBeGreaterThan(whole(2, 10));
    },
  );

  it.each(Object.keys(CORES))('does the same again, with the same seeds, as %s', (name) => {
    const stream = streamOf(3, 'shape');
    const shape = heldShape(stream);
    const runs = Array.from({ length: 60 }, () => randomRun(stream, shape));
    const [one, other] = [1, 2].map(() =>
      tried({ shape, runs, coreOf: CORES[name]!, gaps: streamOf(3, 'gaps') }),
    );
    expect(one!.ends).toEqual(other!.ends);
    expect(one!.summary).toEqual(other!.summary);
  });
});
