import { describe, expect, test } from 'vitest';
import {
  latencyUsOf,
  randomProfile,
  type Shape,
  stream,
} from '../../../bench/refute/pooled/random-problem.js';
import { unitsOf } from '../../../src/checks/pooled/check-units.js';
import {
  type DeviceProfile,
  layersBeforeBlocks,
  type PlannedPartition,
  type Profile,
} from '../../../src/formats/index.js';
import { blockRows } from '../../../src/milp/tables/block-rows.js';
import { layerRows } from '../../../src/milp/tables/layer-rows.js';
import type { ProfileRows } from '../../../src/milp/tables/profile-rows.js';
import {
  cutOverheads,
  leastSpanUs,
  type SpanLatencies,
  scaledSpans,
  spanLatencies,
  spanUs,
} from '../../../src/milp/tables/span-latencies.js';
import { cases } from '../../cases.js';

const SHAPE: Shape = {
  classes: 1,
  blocks: 5,
  batches: 2,
  virtual: [1, 2],
  models: 1,
  mostGpus: 1,
  timedSpans: true,
};

function eachSpan(units: number, visit: (first: number, end: number) => void): void {
  for (let first = 0; first < units; first++)
    for (let end = first + 1; end <= units; end++) visit(first, end);
}

function at(rows: ProfileRows, virtual = 1, batch = 1): SpanLatencies {
  return rows.latencies('C0', virtual, batch) as SpanLatencies;
}

/** Layers that take half of each block's time, less what all cuts add. */
function withLayers(profile: Profile): Profile {
  const layers = profile.blocks.flatMap(({ nodes = [] }) =>
    nodes.map((name) => ({ name, op: 'Conv', cutBytes: 1 })),
  );
  const device = profile.devices.C0 as DeviceProfile;
  const whole = device.wholeLatencyUs?.['1']?.['1'] as number;
  const layerLatencyUs = { 1: { 1: layers.map((_, i) => (whole * (i + 1)) / 55) } };
  return { ...profile, layers, devices: { C0: { ...device, layerLatencyUs } } };
}

describe('cutOverheads()', () => {
  test('takes from each cut what its two blocks take more apart than together', () => {
    expect([...cutOverheads({ blockUs: [10, 20, 30], pairUs: [25, 42] })]).toEqual([0, 5, 8, 0]);
  });

  test('shares out what is left to the whole model by the squares of the pairs', () => {
    // Pairs say 60 − 5 − 8 = 47; the whole takes 42, so 5 more are saved: 625 and 1764 parts of 2389.
    const [first, one, two, last] = cutOverheads({ blockUs: [10, 20, 30], pairUs: [25, 42], wholeUs: 42 });
    expect([first, last]).toEqual([0, 0]);
    expect(one).toBeCloseTo(5 + (5 * 625) / 2389, 12);
    expect(two).toBeCloseTo(8 + (5 * 1764) / 2389, 12);
  });

  test('is the same at every cut where no pair was timed, and 0 where the whole was not timed either', () => {
    expect([...cutOverheads({ blockUs: [10, 20, 30], wholeUs: 48 })]).toEqual([0, 6, 6, 0]);
    expect([...cutOverheads({ blockUs: [10, 20, 30] })]).toEqual([0, 0, 0, 0]);
    expect([...cutOverheads({ blockUs: [10], wholeUs: 5 })]).toEqual([0, 0]);
  });

  test('is negative where blocks take longer together', () => {
    expect([...cutOverheads({ blockUs: [10, 20], pairUs: [33] })]).toEqual([0, -3, 0]);
  });
});

describe('spanUs()', () => {
  test('is the sum of blocks less what joining saves, and what was timed where a span was timed', () => {
    for (let seed = 1; seed <= cases(30, 300); seed++) {
      const profile = randomProfile(stream(seed), 'm', SHAPE);
      const rows = blockRows(profile);
      for (const virtual of [1, 2])
        for (const batch of [1, 2])
          eachSpan(SHAPE.blocks, (first, end) => {
            const us = latencyUsOf(profile.devices.C0 as DeviceProfile, [virtual, batch], [first, end]);
            expect(spanUs(at(rows, virtual, batch), first, end) / us).toBeCloseTo(1, 9);
          });
    }
  });

  test('is what the checker works out, for blocks and for layers', () => {
    for (let seed = 1; seed <= cases(30, 300); seed++) {
      const profile = withLayers(randomProfile(stream(seed), 'm', SHAPE));
      // Layers were measured at batch 1 only, and a block may have none.
      profile.blocks.splice(seed % 6, 0, { cutBytes: 1, nodes: [] });
      for (const byBatch of Object.values(profile.devices.C0?.blockLatencyUs ?? {}))
        for (const row of Object.values(byBatch)) row.splice(seed % 6, 0, 3);
      for (const byBatch of Object.values(profile.devices.C0?.pairLatencyUs ?? {}))
        for (const row of Object.values(byBatch)) row.splice(seed % 5, 0, 7);
      for (const [unit, rows] of [
        ['block', blockRows(profile)],
        ['layer', layerRows(profile)],
      ] as const)
        for (const batch of [1, 2])
          eachSpan(rows.units, (first, end) => {
            const partition = { [`${unit}s`]: [first, end], device: 'C0', virtual: 1 };
            const units = unitsOf(partition as unknown as PlannedPartition, profile, unit);
            const ratio = spanUs(at(rows, 1, batch), first, end) / (units.latencyUs(batch) as number);
            expect(ratio).toBeCloseTo(1, 9);
          });
    }
  });

  test('of layers is what their blocks took, where the layers were not measured and where they were', () => {
    for (let seed = 1; seed <= cases(30, 300); seed++) {
      const profile = withLayers(randomProfile(stream(seed), 'm', SHAPE));
      const before = layersBeforeBlocks(profile.blocks);
      const { blockLatencyUs, pairLatencyUs } = profile.devices.C0 as DeviceProfile;
      for (const batch of [1, 2]) {
        const latencies = at(layerRows(profile), 1, batch);
        const ofBlocks = (first: number, end: number) =>
          spanUs(latencies, before[first] as number, before[end] as number);
        const timed = at(blockRows(profile), 1, batch).timedUs;
        blockLatencyUs['1']?.[batch]?.forEach((us, k) => {
          expect(ofBlocks(k, k + 1)).toBe(timed[k]?.[k + 1] || us);
        });
        pairLatencyUs?.['1']?.[batch]?.forEach((us, k) => {
          expect(ofBlocks(k, k + 2)).toBe(timed[k]?.[k + 2] ?? us);
        });
      }
    }
  });

  test('of layers leaves pairs out where the blocks were not measured, as the checker does', () => {
    const profile = withLayers(randomProfile(stream(5), 'm', SHAPE));
    delete profile.devices.C0?.blockLatencyUs['1']?.['1'];
    eachSpan(profile.layers?.length ?? 0, (first, end) => {
      const partition = { layers: [first, end], device: 'C0', virtual: 1 } as unknown as PlannedPartition;
      const us = unitsOf(partition, profile, 'layer').latencyUs(1) as number;
      expect(spanUs(at(layerRows(profile)), first, end) / us).toBeCloseTo(1, 9);
    });
  });

  test('of layers that share a block with pairs adds up to what blocks take', () => {
    const layers = ['a', 'b', 'c', 'd'].map((name) => ({ name, op: 'Conv', cutBytes: 1 }));
    const device = {
      blockLatencyUs: { 1: { 4: [20, 30, 40] } },
      pairLatencyUs: { 1: { 4: [44, 60] } },
      layerLatencyUs: { 1: { 1: [1, 1, 2, 1] } },
    };
    const blocks = [['a'], ['b', 'c'], ['d']].map((nodes) => ({ nodes, cutBytes: 1 }));
    const profile = { blocks, layers, devices: { C0: device } } as unknown as Profile;
    // The cuts add 6 and 10, and one inside a block 8. Joined, the layers take 20, 24 / 3, 48 / 3 and 30.
    const latencies = at(layerRows(profile), 1, 4);
    expect(spanUs(latencies, 0, 4)).toBeCloseTo(20 + 24 + 30, 12);
    expect(spanUs(latencies, 2, 4)).toBeCloseTo(8 + 16 + 30, 12);
    expect(spanUs(latencies, 1, 2)).toBeCloseTo(6 + 8, 12);
  });

  test('of layers adds what the cut before them adds between blocks, and the mean of these inside a block', () => {
    const layers = ['a', 'b', 'c', 'd'].map((name) => ({ name, op: 'Conv', cutBytes: 1 }));
    const device = {
      blockLatencyUs: { 1: { 1: [20, 30, 40] } },
      pairLatencyUs: { 1: { 1: [44, 60] } },
      layerLatencyUs: { 1: { 1: [5, 10, 20, 30] } },
    };
    const blocks = [['a'], ['b', 'c'], ['d']].map((nodes) => ({ nodes, cutBytes: 1 }));
    const profile = { blocks, layers, devices: { C0: device } } as unknown as Profile;
    const latencies = at(layerRows(profile));
    // The cut before b adds 20 + 30 − 44 = 6, the one before d 10, and so one inside a block 8.
    expect([0, 2].map((i) => spanUs(latencies, i, 4))).toEqual([65, 58]);
    expect([1, 2].map((i) => spanUs(latencies, i, 3))).toEqual([30, 28]);
    expect(spanUs(latencies, 1, 2)).toBe(16);
    const slower = { ...device, pairLatencyUs: { 1: { 1: [60, 60] } } };
    const negative = at(layerRows({ ...profile, devices: { C0: slower } } as unknown as Profile));
    expect([1, 2, 3].map((i) => spanUs(negative, i, 4))).toEqual([60, 50, 40]);
  });

  test('of two blocks is what the pair took, and of more at least half of the longest block', () => {
    const device = {
      blockLatencyUs: { 1: { 1: [20, 100, 20, 20] } },
      pairLatencyUs: { 1: { 1: [30, 40, 35] } },
    };
    const blocks = ['a', 'b', 'c', 'd'].map((name) => ({ nodes: [name], cutBytes: 1 }));
    const latencies = at(blockRows({ blocks, devices: { C0: device } } as unknown as Profile));
    const spans = [2, 3, 4].map((end) => spanUs(latencies, 0, end));
    // The cuts add 90, 80 and 5, so three blocks would take −30, and four −15.
    expect(spans).toEqual([30, 50, 50]);
    expect([spanUs(latencies, 1, 3), spanUs(latencies, 2, 4)]).toEqual([40, 35]);
    expect(leastSpanUs(latencies, 0, 2)).toBeLessThanOrEqual(leastSpanUs(latencies, 0, 4));
  });

  test('keeps its digits behind a block that takes very much longer', () => {
    const joined = [1e17, 0.3, 7, 1e3];
    const latencies = spanLatencies(joined, new Float64Array(5), []);
    expect(spanUs(latencies, 1, 2)).toBeCloseTo(0.3, 12);
    expect(spanUs(latencies, 1, 4)).toBeCloseTo(1007.3, 9);
  });

  test('keeps to timed layers that end inside a block, and leaves out spans of blocks that do not', () => {
    const profile = withLayers(randomProfile(stream(7), 'm', SHAPE));
    const spans = [{ layers: [1, 4] as [number, number], us: 12_345 }];
    Object.assign(profile.devices.C0 as DeviceProfile, { spanLatencyUs: { 1: { 1: spans } } });
    expect(spanUs(at(layerRows(profile)), 1, 4)).toBe(12_345);
    expect(spanUs(at(blockRows(profile)), 0, 2)).toBe(profile.devices.C0?.pairLatencyUs?.['1']?.['1']?.[0]);
  });
});

describe('leastSpanUs()', () => {
  test('never falls as a partition grows, and no latency is less', () => {
    for (let seed = 1; seed <= cases(30, 300); seed++) {
      const latencies = at(blockRows(randomProfile(stream(seed), 'm', SHAPE)));
      eachSpan(SHAPE.blocks, (first, end) => {
        const least = leastSpanUs(latencies, first, end);
        for (let longer = end; longer <= SHAPE.blocks; longer++)
          expect(spanUs(latencies, first, longer)).toBeGreaterThanOrEqual(least - 1e-9);
        if (end > first + 1)
          expect(least).toBeGreaterThanOrEqual(leastSpanUs(latencies, first, end - 1) - 1e-9);
      });
    }
  });
});

describe('scaledSpans()', () => {
  test('scales every figure', () => {
    const entry = Float64Array.from([0, 4, 0]);
    const latencies = spanLatencies([10, 20], entry, [{ first: 0, end: 2, us: 16 }]);
    const scaled = scaledSpans(latencies, 2);
    eachSpan(2, (first, end) => {
      expect(spanUs(scaled, first, end)).toBe(2 * spanUs(latencies, first, end));
      expect(leastSpanUs(scaled, first, end)).toBe(2 * leastSpanUs(latencies, first, end));
    });
    expect(spanUs(latencies, 0, 2)).toBe(16);
    expect(leastSpanUs(latencies, 0, 1)).toBe(-4);
  });
});
