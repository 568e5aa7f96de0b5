import { describe, expect, it } from 'vitest';
import type { DeviceSet } from '../../src/pipeline/problem.js';
import { spreadUnits } from '../../src/pipeline/spread-placement.js';
import { streamOf } from '../../src/random/index.js';
import { cases } from '../cases.js';

const CASES = cases(200, 2000);

const setOf = (stage: number, replicas: number, standby = 0, virtual = 1): DeviceSet => ({
  device: 'g',
  virtual,
  stages: [stage],
  replicas,
  standby,
  shared: false,
});

describe('spreadUnits()', () => {
  it('puts senders on servers of their own while there are servers, and receivers beside them', () => {
    const sets = [setOf(0, 2), setOf(1, 2)];
    const uses = [
      { upS: 0.0048, downS: 0 },
      { upS: 0, downS: 0.0048 },
    ];
    const cluster = { devices: { g: { count: 16, perServer: 8 } } };
    const units = spreadUnits(sets, { cluster, uses });
    expect(units.map(({ set, server, gpu }) => [set, server, gpu])).toEqual([
      [0, 0, 0],
      [0, 1, 0],
      [1, 0, 1],
      [1, 1, 1],
    ]);
  });

  it('puts no two GPUs in one place, uses no GPU that is not free, and keeps the busiest uplink near the least possible', () => {
    for (let seed = 0; seed < CASES; seed++) {
      const stream = streamOf(seed, 'spread');
      const sets = Array.from({ length: 1 + stream.integer(3) }, (_, k) =>
        setOf(k, 1 + stream.integer(4), stream.integer(2), 1 + stream.integer(2)),
      );
      const uses = sets.map(() => ({ upS: stream.uniform() < 0.7 ? stream.uniform() : 0, downS: 0 }));
      const needed = sets.reduce(
        (sum, { replicas, standby, virtual }) =>
          sum + Math.ceil(replicas / virtual) + Math.ceil(standby / virtual),
        0,
      );
      const perServer = 1 + stream.integer(4);
      const count = needed + stream.integer(6);
      const device = stream.uniform() < 0.5 ? { perServer, count: count + 2, taken: 2 } : { perServer };
      const units = spreadUnits(sets, { cluster: { devices: { g: device } }, uses });
      expect(units).toHaveLength(needed);
      expect(new Set(units.map(({ server, gpu }) => `${server} ${gpu}`)).size).toBe(needed);
      for (const { server, gpu } of units) {
        expect(gpu).toBeLessThan(perServer);
        if (device.count !== undefined) expect(server * perServer + gpu, `seed ${seed}`).toBeLessThan(count);
      }
      const loads = units
        .filter(({ standby }) => !standby)
        .map(({ set, devices }) => (devices * uses[set]!.upS) / sets[set]!.replicas);
      const busy = new Map<number, number>();
      for (const [k, { server }] of units.filter(({ standby }) => !standby).entries())
        busy.set(server, (busy.get(server) ?? 0) + (loads[k] as number));
      const servers = device.count === undefined ? needed : Math.ceil(count / perServer);
      const all = loads.reduce((sum, one) => sum + one, 0);
      // The longest first are at most 4/3 of the best, which is no less than the mean and than the largest one (Graham).
      if (perServer >= needed || servers >= needed)
        expect(Math.max(...busy.values()), `seed ${seed}`).toBeLessThanOrEqual(
          (4 / 3) * Math.max(all / servers, ...loads, 0) * 2 + 1e-12,
        );
      if (servers >= needed) expect(Math.max(...busy.values())).toBeCloseTo(Math.max(...loads), 12);
    }
  });
});
