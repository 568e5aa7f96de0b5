import { describe, expect, test } from 'vitest';
import type { Cluster } from '../../src/artifacts/index.js';
import { type PlacementRules, type PoolToPlace, placeVirtualGpus } from '../../src/milp/index.js';
import { stream } from './random-problem.js';

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

  test('lets a position share GPUs, and leaves taken ones alone', () => {
    const pools = [pool(0, 2, 1), pool(1, 2, 1), pool(2, 2, 1, 1)];
    expect(seats(pools, cluster(3, 1, 1), { wholeGpusPer: 'position', virtualPer: 'gpu' })).toEqual([
      'A-0.0 p0',
      'A-0.0 p1',
      'A-1.0 p2',
    ]);
    expect(seats(pools, cluster(3, 1, 2), { wholeGpusPer: 'position', virtualPer: 'gpu' })).toBeUndefined();
  });

  test('keeps one virtual size per server, the last server being smaller', () => {
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
