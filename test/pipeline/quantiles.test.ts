import { describe, expect, it } from 'vitest';
import type { DeviceProfile } from '../../src/formats/index.js';
import { resolveOpen } from '../../src/pipeline/index.js';
import { type Asked, example, faultLines, planned } from './example.js';

/** spread gives every class of a stage's profile 95th percentiles that are three times its medians. */
function spread({ files }: Asked, stage: number): Record<string, DeviceProfile> {
  const { devices } = files.profiles[stage]!.profile;
  for (const device of Object.values(devices)) {
    const text = JSON.stringify(device.blockLatencyUs);
    const tripled = JSON.parse(text, (_, value) => (typeof value === 'number' ? 3 * value : value));
    device.blockLatencyP95Us = tripled as DeviceProfile['blockLatencyUs'];
    device.wholeLatencyUs = { '1': { '1': 1234, '4': 2345 } };
  }
  return devices;
}

function open(change: (asked: Asked) => void) {
  const asked = example();
  asked.spec.planner = { method: 'exact' };
  asked.spec.load = { arrivals: 'poisson', rps: 10 };
  delete asked.spec.rps;
  for (const stage of asked.spec.stages) for (const key of ['device', 'batch'] as const) delete stage[key];
  change(asked);
  return resolveOpen(asked.spec, asked.files);
}

describe('a latency quantile', () => {
  it('of a spec gives each stage its 95th percentiles, but a stage that asks for medians, and the plan says so', () => {
    const asked = example();
    for (const stage of asked.spec.stages.keys()) spread(asked, stage);
    asked.spec.latencyQuantile = 'p95';
    asked.spec.stages[1]!.latencyQuantile = 'p50';
    asked.spec.sloMs = 100;
    asked.spec.rps = 50;
    const { stages, longestPath } = planned(asked);
    expect(stages.map(({ latencyUsByBatch }) => latencyUsByBatch)).toEqual([
      [3000, null, null, 6000],
      [1234, null, null, 2345],
      [9000, null, null, 18000],
      [1500, null, null, 2400],
    ]);
    expect(stages.map(({ latencyQuantile }) => latencyQuantile)).toEqual(['p95', undefined, 'p95', 'p95']);
    expect(longestPath.latencyUs).toBeGreaterThan(26_400);
  });

  it('of a stage counts for candidates of every class', () => {
    const { problem } = open((asked) => {
      spread(asked, 2);
      asked.spec.stages[2]!.latencyQuantile = 'p95';
    });
    const latencies = problem?.stages.map(({ candidates }) =>
      candidates.map(({ latencyUsByBatch }) => latencyUsByBatch.at(-1)),
    );
    expect(latencies).toEqual([
      [2000, 2000],
      [4000, 4000],
      [18000, 18000],
      [800, 800],
    ]);
  });

  it('is refused where a batch that may be chosen has none, on every class', () => {
    const without = (asked: Asked): void => {
      const { L4, T4 } = spread(asked, 2);
      delete L4!.blockLatencyP95Us;
      T4!.blockLatencyP95Us!['1']!['4'] = [null];
      asked.spec.stages[2]!.latencyQuantile = 'p95';
    };
    expect(open(without).faults?.map(({ path, message }) => `${path}: ${message}`)).toEqual([
      '/stages/2/latencyQuantile: is p95, and embedder.json has no 95th percentile on L4 at batch 1, 4; measure them, or plan with p50',
      '/stages/2/latencyQuantile: is p95, and embedder.json has no 95th percentile on T4 at batch 4; measure them, or plan with p50',
    ]);
    const { faults } = open((asked) => {
      without(asked);
      Object.assign(asked.spec.stages[2]!, { devices: ['T4'], batch: 1 });
    });
    expect(faults).toBeUndefined();
  });

  it('is refused of a model in several blocks, and where a plan that is given lacks one', () => {
    const asked = example();
    asked.spec.latencyQuantile = 'p95';
    for (const stage of [0, 1, 2]) spread(asked, stage);
    asked.files.profiles[0]!.profile.blocks.push({ cutBytes: 16 });
    expect(faultLines(asked)).toEqual([
      '/latencyQuantile: is p95, and detector.json has 2 blocks, whose 95th percentiles do not add up; measure the model in one block, or plan with p50',
      '/latencyQuantile: is p95, and merger.json has no 95th percentile on T4 at batch 1, 4; measure them, or plan with p50',
    ]);
  });
});
