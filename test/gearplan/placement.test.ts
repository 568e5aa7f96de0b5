import { beforeAll, describe, expect, it } from 'vitest';
import {
  Balance,
  fullPlacement,
  maximalSets,
  placementsOf,
  prunedPlacement,
} from '../../src/gearplan/placement.js';
import { loadShares } from '../../src/gearplan/shares.js';
import { type HighsEngine, LinearModel, loadHighs, type Term } from '../../src/lp/index.js';
import { type Stream, streamOf } from '../../src/random/index.js';
import { cases, describeInWholeRun, seeds } from '../cases.js';
import { randomFamily } from './families.js';

let highs: HighsEngine;
beforeAll(async () => {
  highs = await loadHighs();
});

function randomLoad(stream: Stream, count: number): Float64Array {
  return Float64Array.from({ length: count }, () => (stream.uniform() < 0.3 ? 0 : stream.uniform()));
}

/** A placement on which every model is somewhere. */
function randomPlacement(stream: Stream, count: number): number[] {
  const placement = Array.from({ length: 1 + stream.integer(5) }, () => stream.integer(1 << count));
  for (let model = 0; model < count; model++) placement[stream.integer(placement.length)]! |= 1 << model;
  return placement;
}

/** prunedByDevice prunes as `prunedPlacement`, but looks at every device, and works out what is left anew each time. */
function prunedByDevice({
  models,
  devices,
  memoryBytes,
  loads,
  atLeast,
}: Parameters<typeof prunedPlacement>[0]): number[] | undefined {
  const bytesOf = (held: number) => models.reduce((sum, m, i) => sum + ((held >> i) & 1) * m.memoryBytes, 0);
  const placed = new Array<number>(devices).fill((1 << models.length) - 1);
  while (placed.some((held) => bytesOf(held) > memoryBytes)) {
    let most = 0;
    let best: number[] | undefined;
    for (const [device, held] of placed.entries())
      for (const [model, { memoryBytes: freed }] of models.entries()) {
        const over = bytesOf(held) - memoryBytes;
        if (over <= 0 || ((held >> model) & 1) === 0) continue;
        const after = placed.with(device, held & ~(1 << model));
        const balance = new Balance(after, models.length);
        const users = loads.filter((load) => load[model]! > 0);
        const shares = users.map((load) => balance.utilization(load).share);
        const lacks = users.length > 0 && balance.devicesWith(model) < Math.max(1, atLeast[model]!);
        if (lacks || shares.some((share) => share > 1)) continue;
        const utility = Math.min(over, freed) / Math.max(...shares, Number.MIN_VALUE);
        if (utility > most) [most, best] = [utility, after];
      }
    if (best === undefined) return undefined;
    placed.splice(0, devices, ...best);
  }
  const balance = new Balance(placed, models.length);
  const isServed = loads.every((load) => balance.utilization(load).share <= 1);
  return isServed ? placed.sort((a, b) => a - b) : undefined;
}

/** The least utilization of the busiest device, by CascadeServe's LP (Eqs. 1-3) with the utilization as a variable. */
function leastUtilization(placement: readonly number[], load: Float64Array): number {
  const model = new LinearModel();
  const busiest = model.addVariable('u');
  const onDevice = placement.map((): Term[] => [[busiest, -1]]);
  load.forEach((work, m) => {
    const parts = placement.flatMap((held, device): Term[] => {
      if (((held >> m) & 1) === 0) return [];
      const variable = model.addVariable(`q${m}/${device}`);
      onDevice[device]!.push([variable, 1]);
      return [[variable, 1]];
    });
    model.addConstraint(`load ${m}`, parts, { lower: work });
  });
  for (const [device, terms] of onDevice.entries())
    model.addConstraint(`device ${device}`, terms, { upper: 0 });
  model.addObjective('minimize', [[busiest, 1]]);
  const outcome = highs.solve(model);
  if (outcome.status !== 'optimal') throw new Error(outcome.status);
  return outcome.objective;
}

describeInWholeRun('The balance of loads', () => {
  it('has the utilization of the LP, and shares by which no device is busier than that', () => {
    for (const seed of seeds(100, 1000)) {
      const stream = streamOf(seed, 'balance');
      const count = 1 + stream.integer(5);
      const placement = randomPlacement(stream, count);
      const load = randomLoad(stream, count);
      const { share, bottleneck } = new Balance(placement, count).utilization(load);
      expect(share, `seed ${seed}`).toBeCloseTo(leastUtilization(placement, load), 6);
      if (share > 0) expect(load[bottleneck]).toBeGreaterThan(0);
      const shares = loadShares(placement, load);
      const busy = placement.map((_, device) =>
        shares.reduce((sum, of, model) => sum + of[device]! * load[model]!, 0),
      );
      expect(Math.max(...busy)).toBeCloseTo(share, 5);
      shares.forEach((of, model) => {
        expect(of.reduce((sum, one) => sum + one, 0)).toBeCloseTo(load[model] === 0 ? 0 : 1, 9);
        of.forEach((one, device) => {
          if (((placement[device]! >> model) & 1) === 0) expect(one).toBe(0);
        });
      });
    }
  });
});

describe('Placements', () => {
  it('of largest sets are at least as good as any other placement that fits', () => {
    for (const seed of seeds(40, 400)) {
      const stream = streamOf(seed, 'placements');
      const models = randomFamily(stream, 3, 10);
      const memoryBytes = Math.max(...models.map((model) => model.memoryBytes)) + stream.integer(6);
      const devices = 1 + stream.integer(3);
      const load = randomLoad(stream, 3);
      const bytes = (held: number) =>
        models.reduce((sum, m, i) => sum + ((held >> i) & 1) * m.memoryBytes, 0);
      const sets = Array.from({ length: 8 }, (_, held) => held).filter((held) => bytes(held) <= memoryBytes);
      const all = (n: number): number[][] =>
        n === 0 ? [[]] : all(n - 1).flatMap((before) => sets.map((held) => [...before, held]));
      const best = (placements: readonly (readonly number[])[]) =>
        Math.min(...placements.map((placement) => new Balance(placement, 3).utilization(load).share));
      const listed = placementsOf(models, { devices, memoryBytes })!;
      expect(best(listed)).toBe(best(all(devices)));
      for (const placement of listed)
        for (const held of placement) expect(bytes(held)).toBeLessThanOrEqual(memoryBytes);
      const keys = listed.map((placement) => [...placement].sort().join());
      expect(new Set(keys).size).toBe(keys.length);
      expect(maximalSets(models, memoryBytes).every((held) => sets.includes(held))).toBe(true);
    }
  });

  it('are not listed where there are more than 20,000', () => {
    const models = randomFamily(streamOf(1, 'many'), 5, 10).map((model) => ({ ...model, memoryBytes: 2 }));
    expect(placementsOf(models, { devices: 40, memoryBytes: 4 })).toBeUndefined();
    expect(placementsOf(models, { devices: 40, memoryBytes: 10 })).toEqual([fullPlacement(5, 40)]);
  });

  it('that are pruned fit, keep what each model needs, and serve every range, or say which they do not', () => {
    const seen = { placed: 0, refused: 0 };
    for (const seed of seeds(100, 1000)) {
      const stream = streamOf(seed, 'pruned');
      const models = randomFamily(stream, 2 + stream.integer(3), 10);
      const count = models.length;
      const memoryBytes = Math.max(...models.map((model) => model.memoryBytes)) + stream.integer(6);
      const devices = 1 + stream.integer(5);
      const loads = Array.from({ length: 1 + stream.integer(3) }, () => randomLoad(stream, count));
      const atLeast = models.map(() => stream.integer(2));
      const placed = prunedPlacement({ models, devices, memoryBytes, loads, atLeast });
      if ('error' in placed) {
        seen.refused += 1;
        expect(loads[placed.error.range]).toBeDefined();
        continue;
      }
      seen.placed += 1;
      const balance = new Balance(placed, count);
      for (const held of placed)
        expect(models.reduce((sum, m, i) => sum + ((held >> i) & 1) * m.memoryBytes, 0)).toBeLessThanOrEqual(
          memoryBytes,
        );
      for (const load of loads) {
        expect(balance.utilization(load).share).toBeLessThanOrEqual(1);
        load.forEach((work, model) => {
          if (work > 0)
            expect(balance.devicesWith(model)).toBeGreaterThanOrEqual(Math.max(1, atLeast[model]!));
        });
      }
    }
    expect(Math.min(seen.placed, seen.refused)).toBeGreaterThan(cases(10, 100));
  });

  it('that are pruned are those of pruning device by device, of equally good ones the first', () => {
    const seen = { placed: 0, refused: 0 };
    for (const seed of seeds(300, 3000)) {
      const stream = streamOf(seed, 'prune');
      const models = randomFamily(stream, 2 + stream.integer(3), 5);
      const devices = 1 + stream.integer(9);
      const memoryBytes = Math.max(...models.map((model) => model.memoryBytes)) + stream.integer(4);
      // Loads are alike, so that many steps are equally good.
      const load = () =>
        Float64Array.from(models, () =>
          stream.integer(3) === 0 ? 0 : ((1 + stream.integer(5)) * devices) / 20,
        );
      const loads = Array.from({ length: 1 + stream.integer(3) }, load);
      const atLeast = models.map(() => stream.integer(3));
      const placed = prunedPlacement({ models, devices, memoryBytes, loads, atLeast });
      const expected = prunedByDevice({ models, devices, memoryBytes, loads, atLeast });
      expect('error' in placed ? undefined : placed, `seed ${seed}`).toEqual(expected);
      seen[expected === undefined ? 'refused' : 'placed'] += 1;
    }
    expect(Math.min(seen.placed, seen.refused)).toBeGreaterThan(cases(30, 300));
  });

  it('that are pruned lose first what frees most memory for the work that is left', () => {
    const [small, large] = randomFamily(streamOf(2, 'prune'), 2, 10).map((model, i) => ({
      ...model,
      memoryBytes: [1, 3][i]!,
    }));
    const placed = prunedPlacement({
      models: [small!, large!],
      devices: 2,
      memoryBytes: 3,
      atLeast: [0, 0],
      loads: [Float64Array.of(0.4, 0.4)],
    });
    // One device has to give up the large model; on the other the small one has to go.
    expect(placed).toEqual([1, 2]);
  });

  it('that are pruned count no more memory as freed than a device has too much', () => {
    const [small, large] = randomFamily(streamOf(2, 'prune'), 2, 10).map((model, i) => ({
      ...model,
      memoryBytes: [1, 3][i]!,
    }));
    const placed = prunedPlacement({
      models: [small!, large!],
      devices: 3,
      memoryBytes: 3,
      atLeast: [0, 0],
      loads: [Float64Array.of(0.1, 0.8)],
    });
    // Each device has 1 too much, so that giving up the large model frees no more than giving up the small one.
    expect(placed).toEqual([1, 2, 2]);
  });
});
