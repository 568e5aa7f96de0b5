import { describe, expect, test } from 'vitest';
import { stream } from '../../../bench/refute/pooled/random-problem.js';
import { type Cluster, seatsOf } from '../../../src/formats/index.js';
import {
  canPlace,
  type PlacementRules,
  type PoolToPlace,
  placeVirtualGpus,
} from '../../../src/milp/plan/placement.js';

function pool(pipeline: number, virtual: number, virtualGpus: number, partition = 0): PoolToPlace {
  return { model: 0, pipeline, partition, class: 'A', virtual, virtualGpus };
}

function cluster(count: number, perServer: number, taken = 0): Cluster {
  return { devices: { A: { count, perServer, taken } } };
}

function seats(pools: readonly PoolToPlace[], where: Cluster, rules: PlacementRules): string[] | undefined {
  return placeVirtualGpus(pools, where, rules)?.map((s) => `${s.server}.${s.gpu} p${s.pipeline}`);
}

describe('placeVirtualGpus()', () => {
  test('gives each pool GPUs of its own', () => {
    const pools = [pool(0, 2, 3), pool(1, 1, 1)];
    expect(seats(pools, cluster(3, 2), { wholeGpusPer: 'pool', virtualPer: 'gpu' })).toEqual([
      'A-0.0 p0',
      'A-0.0 p0',
      'A-0.1 p0',
      'A-1.0 p1',
    ]);
    expect(seats(pools, cluster(2, 2), { wholeGpusPer: 'pool', virtualPer: 'gpu' })).toBeUndefined();
  });

  test('lets a position share GPUs, and leaves taken GPUs alone', () => {
    const pools = [pool(0, 2, 1), pool(1, 2, 1), pool(2, 2, 1, 1)];
    expect(seats(pools, cluster(3, 1, 1), { wholeGpusPer: 'position', virtualPer: 'gpu' })).toEqual([
      'A-0.0 p0',
      'A-0.0 p1',
      'A-1.0 p2',
    ]);
    expect(seats(pools, cluster(3, 1, 2), { wholeGpusPer: 'position', virtualPer: 'gpu' })).toBeUndefined();
  });

  test('keeps one virtual size per server, even on a smaller last server', () => {
    const rules: PlacementRules = { wholeGpusPer: 'pool', virtualPer: 'server' };
    expect(seats([pool(0, 1, 2), pool(1, 2, 2)], cluster(3, 2), rules)).toEqual([
      'A-0.0 p0',
      'A-0.1 p0',
      'A-1.0 p1',
      'A-1.0 p1',
    ]);
    expect(seats([pool(0, 1, 1), pool(1, 2, 2)], cluster(2, 2), rules)).toBeUndefined();
  });

  test('packs fractions of unlike sizes into whole GPUs whenever their sum fits', () => {
    for (let seed = 1; seed <= 300; seed++) {
      const next = stream(seed);
      const pools = [1, 2, 3, 4]
        .map((v, i) => pool(i, v, Math.floor(6 * next())))
        .filter((p) => p.virtualGpus > 0);
      const sum = pools.reduce((total, p) => total + p.virtualGpus / p.virtual, 0);
      const placed = placeVirtualGpus(pools, cluster(Math.ceil(sum - 1e-9), 1), {
        wholeGpusPer: 'class',
        virtualPer: 'gpu',
      });
      expect({ seed, placed: placed?.length }).toEqual({
        seed,
        placed: pools.reduce((n, p) => n + p.virtualGpus, 0),
      });
    }
  });
});

describe('placeVirtualGpus() on large clusters', () => {
  test.each(['gpu', 'server'] as const)(
    'gives one entry to more than 1,000 like GPUs, with sizes per %s',
    (virtualPer) => {
      // The last of the servers of three has one of the 4,000 GPUs.
      const devices = { A: { count: 4000, perServer: 3 } };
      const pools = [pool(0, 2, 2 * 1501 + 1), pool(1, 1, 1000), pool(2, 1, 1001)];
      const placed = placeVirtualGpus(pools, { devices }, { wholeGpusPer: 'pool', virtualPer })!;
      expect(placed.length).toBeLessThan(1020);
      const seen = new Map<number, number[]>();
      for (const { place, server, gpu } of seatsOf(placed, devices)) {
        const number = 3 * Number(server.slice(2)) + gpu;
        seen.set(number, [...(seen.get(number) ?? []), place.pipeline]);
      }
      for (const { pipeline, virtual, virtualGpus } of pools) {
        const on = [...seen].filter(([, held]) => held.includes(pipeline));
        expect(on.every(([, held]) => held.every((one) => one === pipeline) && held.length <= virtual)).toBe(
          true,
        );
        expect(on.reduce((sum, [, held]) => sum + held.length, 0)).toBe(virtualGpus);
      }
      expect(Math.max(...seen.keys())).toBeLessThan(4000);
      expect(seen.size).toBe(1502 + 1000 + 1001);
    },
  );
});

describe('canPlace()', () => {
  test('agrees with placeVirtualGpus(), which uses only places that exist, each once', () => {
    const seen = { can: 0, cannot: 0 };
    for (let seed = 1; seed <= 500; seed++) {
      const next = stream(seed);
      const upTo = (n: number) => Math.floor(n * next());
      const pools = Array.from({ length: 1 + upTo(4) }, (_, i) => pool(i, 1 + upTo(3), 1 + upTo(7), upTo(2)));
      const [perServer, count] = [1 + upTo(4), 4 + upTo(12)];
      const taken = upTo(3);
      const rules: PlacementRules = {
        wholeGpusPer: (['pool', 'position', 'class'] as const)[upTo(3)] as 'pool',
        virtualPer: next() < 0.5 ? 'gpu' : 'server',
      };
      const where = cluster(count, perServer, taken);
      const placed = placeVirtualGpus(pools, where, rules);
      expect(canPlace(pools, where, rules)).toBe(placed !== undefined);
      seen[placed === undefined ? 'cannot' : 'can'] += 1;
      const worth = new Map<number, number>();
      for (const { server, gpu, virtual } of placed ?? []) {
        const number = Number(server.slice(2)) * perServer + gpu;
        expect(gpu).toBeLessThan(perServer);
        expect(number).toBeLessThan(count - taken);
        worth.set(number, (worth.get(number) ?? 0) + 1 / virtual);
      }
      for (const sum of worth.values()) expect(sum).toBeLessThan(1 + 1e-9);
    }
    expect(Math.min(seen.can, seen.cannot)).toBeGreaterThan(50);
  });
});
