import { describe, expect, test } from 'vitest';
import type { Profile } from '../../../src/formats/index.js';
import type { PooledProblem } from '../../../src/milp/index.js';
import { layerRows } from '../../../src/milp/tables/layer-rows.js';
import { fastestGpuRps, normalised, powerOfTwo } from '../../../src/milp/tables/normalised.js';
import type { ProfileRows } from '../../../src/milp/tables/profile-rows.js';
import { type SpanLatencies, spanUs } from '../../../src/milp/tables/span-latencies.js';
import {
  classesOf,
  fitsMemory,
  type ModelTable,
  modelTable,
  type Slot,
  slowerLink,
  transferUs,
  virtualGpuRps,
} from '../../../src/milp/tables/tables.js';
import { type ModelByHand, problemByHand } from '../by-hand.js';

const MODEL: ModelByHand = {
  name: 'm',
  sloMs: 10,
  cutBytes: [1000, 0],
  weightBytes: [2 ** 29, 2 ** 30],
  latencyUs: {
    A: { 1: { 1: [100, 200], 2: [150, 300] }, 2: { 1: [180, 0.25] } },
    B: { 1: { 1: [400, 500] } },
  },
};

const SLOT: Slot = {
  classIndex: 0,
  className: 'A',
  virtual: 2,
  perServer: 4,
  gbps: 8,
  memoryBytes: 2 ** 30,
};

describe('classesOf()', () => {
  test('counts the GPUs that are not taken, and the cost of one in the unit of the objective', () => {
    const devices = {
      A: { count: 5, taken: 2, perServer: 4, hourlyCost: 3, powerWatts: 70 },
      B: { count: 3, hourlyCost: 1, powerWatts: 50 },
    };
    const at = (objective: 'throughput' | 'cost' | 'power') =>
      classesOf(problemByHand(devices, [{ ...MODEL, rps: 1 }], { objective }));
    expect(at('throughput')).toEqual({
      names: ['A', 'B'],
      available: [3, 3],
      perServer: [4, 1],
      unitCost: [0, 0],
    });
    expect(at('cost').unitCost).toEqual([3, 1]);
    expect(at('power').unitCost).toEqual([70, 50]);
  });
});

describe('modelTable()', () => {
  const problem = (devices: PooledProblem['cluster']['devices'], more: Partial<ModelByHand> = {}) =>
    problemByHand(devices, [{ ...MODEL, ...more }]);

  test('has a slot for every class and size that is available, allowed and profiled', () => {
    const { slots, batches, units, cuts, cutBytes } = modelTable(
      problem({
        A: { count: 2, virtual: [2, 1], linkGbps: 3, memoryGiB: 2 },
        B: { count: 1, taken: 1 },
      }),
      0,
    );
    expect(slots).toEqual([
      { classIndex: 0, className: 'A', virtual: 1, perServer: 1, gbps: 3, memoryBytes: 2 ** 31 },
      { classIndex: 0, className: 'A', virtual: 2, perServer: 1, gbps: 3, memoryBytes: 2 ** 31 },
    ]);
    expect({ batches, units }).toEqual({ batches: [1, 2], units: 2 });
    expect([...cuts]).toEqual([0, 1, 2]);
    expect([...cutBytes]).toEqual([0, 1000, 0]);
  });

  test('adds up latencies and weights before each cut, and counts a block as at least 1 µs', () => {
    const table = modelTable(problem({ A: { count: 2, virtual: [1, 2] }, B: { count: 1 } }), 0);
    expect(table.slots.map(({ className, virtual, gbps }) => [className, virtual, gbps])).toEqual([
      ['A', 1, 8],
      ['A', 2, 8],
      ['B', 1, 8],
    ]);
    expect(table.latencies.map((one) => one && [...one.joinedUs])).toEqual([
      [0, 100, 300],
      [0, 150, 450],
      [0, 180, 181],
      undefined,
      [0, 400, 900],
      undefined,
    ]);
    expect([...table.weightPrefix]).toEqual([0, 2 ** 29, 2 ** 29 + 2 ** 30]);
  });

  test('leaves out classes that a model may not use', () => {
    const table = modelTable(problem({ A: { count: 2 }, B: { count: 1 } }, { not: ['A'] }), 0);
    expect(table.slots.map(({ className, classIndex }) => [className, classIndex])).toEqual([['B', 1]]);
    expect(table.batches).toEqual([1]);
  });

  test('subtracts the margin and the filling of batches from the SLO', () => {
    const filled = (batchFormation: NonNullable<ModelByHand['batchFormation']>, estimated?: number) => {
      const table = modelTable(problem({ A: { count: 2 } }, { batchFormation }), 0, estimated);
      return [table.allowedUs, ...table.budgetUs];
    };
    expect(filled('none')).toEqual([9000, 9000, 9000]);
    expect(filled({ factor: 2, estimatedRps: 4000 })).toEqual([9000, 9000, 8500]);
    expect(filled({ factor: 2, estimatedRps: 'no-partitioning' }, 2000)).toEqual([9000, 9000, 8000]);
    // At a rate of 0 a batch of two never fills; a batch of one does not wait.
    expect(filled({ factor: 2, estimatedRps: 'no-partitioning' })).toEqual([9000, 9000, -Infinity]);
    expect(filled({ factor: 2, estimatedRps: 'no-partitioning' }, 0)).toEqual([9000, 9000, -Infinity]);
    expect(filled({ factor: 0, estimatedRps: 'no-partitioning' })).toEqual([9000, 9000, 9000]);
  });

  test('holds the minimum share of every class', () => {
    const table = modelTable(problem({ A: { count: 2 }, B: { count: 1 } }, { minShare: { B: 0.3 } }), 0);
    expect([...table.minShare]).toEqual([0, 0.3]);
  });
});

describe('rates and transfers', () => {
  test('transferUs() is the time of a request over a link, and 0 where no link is known', () => {
    expect(transferUs(1000, 8)).toBe(1);
    expect(transferUs(1000, 2)).toBe(4);
    expect(transferUs(1000, undefined)).toBe(0);
  });

  test('slowerLink() is the slower of two links, as far as they are known, as it is in simulations', () => {
    expect(slowerLink({ ...SLOT, gbps: 3 }, SLOT)).toBe(3);
    expect(slowerLink(SLOT, { ...SLOT, gbps: 3 })).toBe(3);
    expect(slowerLink({ ...SLOT, gbps: undefined }, SLOT)).toBe(SLOT.gbps);
    expect(slowerLink(SLOT, { ...SLOT, gbps: undefined })).toBe(SLOT.gbps);
  });

  test('virtualGpuRps() is bounded by its share of the link, by the larger of the incoming and outgoing bytes', () => {
    // 1000 bytes take 1 µs on the link, of which each of the server's eight virtual GPUs has an eighth.
    expect(virtualGpuRps(SLOT, 2, 4, 0, 0, true)).toBe(500_000);
    expect(virtualGpuRps(SLOT, 2, 4, 1000, 0, true)).toBe(125_000);
    expect(virtualGpuRps(SLOT, 2, 4, 0, 1000, true)).toBe(125_000);
    expect(virtualGpuRps(SLOT, 2, 4, 2000, 1000, true)).toBe(62_500);
    expect(virtualGpuRps(SLOT, 2, 4, 2000, 1000, false)).toBe(500_000);
    expect(virtualGpuRps(SLOT, 2, 400, 1000, 1000, true)).toBe(5000);
  });

  test('fitsMemory() accepts weights up to the virtual share of the memory', () => {
    expect(fitsMemory(SLOT, 2 ** 29)).toBe(true);
    expect(fitsMemory(SLOT, 2 ** 29 + 1)).toBe(false);
    expect(fitsMemory({ ...SLOT, memoryBytes: undefined }, 2 ** 60)).toBe(true);
  });
});

/** What each unit takes as a partition of its own, at v = 1. */
function unitsUs(rows: ProfileRows, className: string, batch: number): number[] | undefined {
  const latencies = rows.latencies(className, 1, batch);
  return latencies && Array.from({ length: rows.units }, (_, i) => spanUs(latencies, i, i + 1));
}

describe('layerRows()', () => {
  const layer = (name: string, cutBytes?: number) => ({
    name,
    op: 'Conv',
    ...(cutBytes === undefined ? { noCut: 'inside a loop' } : { cutBytes }),
  });
  const profile: Profile = {
    kind: 'profile',
    version: '1.0',
    model: { name: 'm' },
    blocks: [
      { cutBytes: 7, nodes: ['a', 'b'] },
      { cutBytes: 0, nodes: ['c', 'd'] },
    ],
    layers: [layer('a'), layer('b', 7), { ...layer('c', 5), weightBytes: 9 }, layer('d', 0)],
    devices: {
      A: {
        blockLatencyUs: { '1': { '1': [40, 60], '2': [80, 0.5] } },
        layerLatencyUs: { '1': { '1': [10, 30, 0, 0], '4': [1, 2, 3, 4] } },
      },
      B: { blockLatencyUs: { '1': { '1': [40, 60] } } },
    },
  } as Profile;

  test('takes measured layers, and shares out the time of the others', () => {
    const rows = layerRows(profile);
    expect(rows.units).toBe(4);
    expect([...rows.cutBytes]).toEqual([0, Number.NaN, 7, 5, 0]);
    expect(rows.weightBytes).toEqual([0, 0, 9, 0]);
    expect(unitsUs(rows, 'A', 1)).toEqual([10, 30, 0, 0]);
    expect(unitsUs(rows, 'A', 4)).toEqual([1, 2, 3, 4]);
    // A block counts as at least 1 µs, and layers without time share it evenly.
    expect(unitsUs(rows, 'A', 2)).toEqual([20, 60, 0.5, 0.5]);
    expect(rows.latencies('A', 1, 8)).toBeUndefined();
    expect(unitsUs(rows, 'B', 1)).toEqual([20, 20, 30, 30]);
    expect(rows.latencies('C', 1, 1)).toBeUndefined();
  });

  test('shares out the time of a block that was measured only in part', () => {
    const holey = structuredClone(profile) as Profile;
    Object.assign(holey.devices.A!.layerLatencyUs!['1']!, { '2': [5, null, 5, 5] });
    expect(unitsUs(layerRows(holey), 'A', 2)).toEqual([20, 60, 0.5, 0.5]);
  });

  test('is empty where there are no layers', () => {
    const { layers: _, ...blocks } = profile;
    expect(layerRows(blocks).units).toBe(0);
    expect(unitsUs(layerRows(blocks), 'B', 1)).toEqual([]);
  });
});

describe('normalised()', () => {
  test('powerOfTwo() is the largest power of two that is not larger, and 1 where there is none', () => {
    for (let e = -1000; e <= 1023; e += 7) {
      const around = [2 ** e * (1 - 2 ** -53), 2 ** e, 2 ** e * (1 + 2 ** -52)].map(powerOfTwo);
      expect(around).toEqual([2 ** (e - 1), 2 ** e, 2 ** e]);
    }
    expect(powerOfTwo(2 ** -1074)).toBe(2 ** -1074);
    for (const figure of [0, -3, Number.NaN, Infinity]) expect(powerOfTwo(figure)).toBe(1);
  });

  test('fastestGpuRps() is the rate of the best class, size and batch size', () => {
    const one = problemByHand({ A: { count: 2, virtual: [1, 2] }, B: { count: 1 } }, [MODEL]);
    // Two halves of A at 181 µs a request serve more than one A at 450 µs for two.
    expect(fastestGpuRps(modelTable(one, 0))).toBeCloseTo(2e6 / 181, 6);
    const whole = problemByHand({ A: { count: 2 }, B: { count: 1 } }, [MODEL]);
    expect(fastestGpuRps(modelTable(whole, 0))).toBeCloseTo(2e6 / 450, 6);
    expect(fastestGpuRps({ ...modelTable(whole, 0), slots: [] })).toBe(0);
  });

  test('brings rates, weights and prices near 1 and changes no digit', () => {
    const devices = { A: { count: 2, hourlyCost: 1e-9 }, B: { count: 1, hourlyCost: 7e-9 } };
    const models = [
      { ...MODEL, weight: 3e9, rps: 20 },
      { ...MODEL, name: 'n', weight: 5, rps: 1e6 },
    ];
    for (const objective of ['throughput', 'cost'] as const) {
      const one = problemByHand(devices, models, { objective });
      const tables = [modelTable(one, 0), modelTable(one, 1)];
      const classes = classesOf(one);
      const kind = objective === 'cost' ? 'price' : 'throughput';
      const { scale, ...made } = normalised(classes, tables, kind);
      const near = (figure: number) => expect(figure >= 1 && figure < 2, `${figure}`).toBe(true);
      tables.forEach((table, m) => {
        const unit = scale.rps[m] as number;
        const own = made.tables[m]!;
        if (kind === 'price') near(own.rps as number);
        else near(fastestGpuRps(own));
        expect((own.rps as number) * unit).toBe(table.rps);
        expect(own.allowedUs / unit).toBe(table.allowedUs);
        expect([...own.budgetUs].map((us) => us / unit)).toEqual([...table.budgetUs]);
        expect([...own.cutBytes].map((bytes) => bytes / unit)).toEqual([...table.cutBytes]);
        const allUs = ({ latencies, units }: ModelTable) => spanUs(latencies[0] as SpanLatencies, 0, units);
        expect(allUs(own) / unit).toBe(allUs(table));
        // Throughput/weight in the search's unit, times the unit of the value, is that of the spec.
        if (kind === 'throughput') expect((own.weight * unit) / scale.value).toBe(table.weight);
      });
      if (kind === 'price') near(Math.max(...made.classes.unitCost));
      else near(Math.max(...made.tables.map(({ weight }) => weight)));
      if (kind === 'price')
        expect(made.classes.unitCost.map((cost) => cost * scale.value)).toEqual(classes.unitCost);
      else expect(made.classes.unitCost).toEqual([0, 0]);
    }
  });
});
