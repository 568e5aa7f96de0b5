import { describe, expect, it } from 'vitest';
import {
  byGroup,
  cheapestDevices,
  devicesInGroups,
  freeDevices,
  usedCluster,
} from '../../src/dyorc/devices.js';
import { placeByWork, placeEach } from '../../src/dyorc/initial-placement.js';
import { type PlacingProblem, placedAsGiven, placedByTime, placedByWork } from '../../src/dyorc/placing.js';
import { DeviceRooms } from '../../src/dyorc/rooms.js';
import type { OpenCluster, PlannedComponent } from '../../src/formats/index.js';
import { streamOf } from '../../src/random/index.js';

const GIB = 1024 ** 3;

/** component makes one that takes some GiB, and executes a row in so many milliseconds on each class. */
const component = (
  name: string,
  memoryGiB: number,
  ms: Readonly<Record<string, number>>,
): PlannedComponent => ({
  name,
  model: name,
  memoryBytes: memoryGiB * GIB,
  classes: Object.entries(ms).map(([device, one]) => ({
    device,
    batch: 1,
    latencyUsByBatch: [1000 * one],
    loadUs: 1,
    diskUs: 0,
  })),
});

const problemOf = (
  components: readonly PlannedComponent[],
  devices: OpenCluster['devices'],
  { rows, groups = 1 }: { readonly rows: readonly number[]; readonly groups?: number },
): PlacingProblem => {
  const cluster = { devices };
  const none = components.map(() => 0);
  return {
    components,
    cluster,
    devices: devicesInGroups(cluster, freeDevices(cluster), groups),
    rowsPerNs: rows,
    taskInputBytes: none,
    batchInputBytes: none,
  };
};

const holdsOf = ({ placement }: ReturnType<typeof placedByWork>) =>
  placement.map(({ holds }) => holds.join(' '));

describe('placedByWork()', () => {
  it('gives more devices to what has more work, and each component one', () => {
    const components = [
      component('a', 10, { A: 10 }),
      component('b', 10, { A: 10 }),
      component('c', 10, { A: 10 }),
    ];
    const placed = placedByWork(
      problemOf(components, { A: { count: 6, memoryGiB: 10 } }, { rows: [4, 1, 1] }),
    );
    expect(placed.lacking).toEqual([]);
    expect(holdsOf(placed).toSorted()).toEqual(['a', 'a', 'a', 'a', 'b', 'c']);
  });

  it('counts work by the time that it takes on each class', () => {
    const components = [component('a', 10, { A: 10, B: 40 }), component('b', 10, { A: 40, B: 40 })];
    const placed = placedByWork(
      problemOf(
        components,
        { A: { count: 2, memoryGiB: 10 }, B: { count: 2, memoryGiB: 10 } },
        { rows: [1, 1] },
      ),
    );
    // Rows of b take four times as long, so that three devices have it, and a one.
    expect(holdsOf(placed).toSorted()).toEqual(['a', 'b', 'b', 'b']);
  });

  it('puts every component somewhere that fits only where little memory is left over', () => {
    const sizes = [6, 5, 4, 3, 2];
    const components = sizes.map((size, i) => component(`c${i}`, size, { A: 1 }));
    // 6 + 4 and 5 + 3 + 2: spread by free memory, 2 finds no room.
    const placed = placedByWork(problemOf(components, { A: { count: 2, memoryGiB: 10 } }, { rows: sizes }));
    expect(placed.lacking).toEqual([]);
    expect(holdsOf(placed)).toEqual(['c0 c2', 'c1 c3 c4']);
  });

  it('names what finds no room, and places what is called before what is not', () => {
    const components = ['a', 'b', 'c'].map((name) => component(name, 6, { A: 1 }));
    const placed = placedByWork(
      problemOf(components, { A: { count: 1, memoryGiB: 10 } }, { rows: [0, 0, 1] }),
    );
    expect(placed).toMatchObject({ lacking: ['a', 'b'], placement: [{ holds: ['c'] }] });
  });

  it('keeps room for the inputs of a batch, unless that leaves none for a component', () => {
    const components = ['a', 'b'].map((name) => component(name, 5, { A: 1 }));
    const problem = problemOf(components, { A: { count: 2, memoryGiB: 10 } }, { rows: [1, 1] });
    const batchInputBytes = [GIB, 0];
    expect(holdsOf(placedByWork({ ...problem, batchInputBytes }))).toEqual(['a', 'b']);
    const one = problemOf(components, { A: { count: 1, memoryGiB: 10 } }, { rows: [1, 1] });
    expect(holdsOf(placedByWork({ ...one, batchInputBytes }))).toEqual(['a b']);
  });

  it('lets each group hold every component', () => {
    const components = ['a', 'b'].map((name) => component(name, 10, { A: 1 }));
    const devices = { A: { count: 6, perServer: 2, memoryGiB: 10 } };
    const problem = problemOf(components, devices, { rows: [1, 1], groups: 3 });
    const { placement } = placedByWork(problem);
    for (const places of byGroup(problem.devices))
      expect(places.map((d) => placement[d]?.holds).toSorted()).toEqual([['a'], ['b']]);
  });

  it('exceeds no memory in random problems, and leaves no room for what is called and could be held once more', () => {
    for (let seed = 1; seed <= 200; seed++) {
      const stream = streamOf(seed, 'placing');
      const classes = ['A', 'B'].slice(0, 1 + stream.integer(2));
      const components = Array.from({ length: 1 + stream.integer(5) }, (_, i) => {
        const on = classes.filter((_, c) => c === i % classes.length || stream.integer(2) === 0);
        return component(
          `c${i}`,
          1 + stream.integer(8),
          Object.fromEntries(on.map((name) => [name, 1 + stream.integer(9)])),
        );
      });
      const devices = Object.fromEntries(
        classes.map((name) => [name, { count: 1 + stream.integer(4), memoryGiB: 8 + stream.integer(12) }]),
      );
      const problem = problemOf(components, devices, { rows: components.map(() => stream.integer(5)) });
      const { placement, lacking } = placedByWork(problem);
      const free = placement.map(
        ({ class: name, holds }) => (devices[name]?.memoryGiB ?? 0) - sizeOf(holds, components),
      );
      expect(Math.min(...free)).toBeGreaterThanOrEqual(0);
      const canHold = ({ memoryBytes, classes: own, name }: PlannedComponent, d: number) =>
        memoryBytes / GIB <= (free[d] ?? 0) &&
        own.some(({ device }) => device === placement[d]?.class) &&
        placement[d]?.holds.includes(name) === false;
      for (const [c, one] of components.entries()) {
        const isHeld = placement.some(({ holds }) => holds.includes(one.name));
        expect({ seed, isHeld }).toEqual({ seed, isHeld: !lacking.includes(one.name) });
        if (isHeld && (problem.rowsPerNs[c] ?? 0) > 0)
          expect({ seed, more: placement.some((_, d) => canHold(one, d)) }).toEqual({ seed, more: false });
      }
    }
  });
});

describe('placedByTime()', () => {
  const components = ['a', 'b', 'c'].map((name) => component(name, 5, { A: 1 }));
  const problem = problemOf(components, { A: { count: 2, memoryGiB: 10 } }, { rows: [1, 1, 1] });
  const held = (times: readonly (readonly number[])[]) => (device: number, one: number) =>
    times[device]?.[one] ?? 0;

  it('lets devices hold what they held longest, as far as it fits', () => {
    expect(
      holdsOf(
        placedByTime(
          problem,
          held([
            [9, 5, 7],
            [1, 9, 8],
          ]),
        ),
      ),
    ).toEqual(['a c', 'b c']);
  });

  it('lets no device hold what its group has and another group has no room for', () => {
    // Nobody calls b. The group of A has room for it beside a, and that of B has not.
    const classes = { A: { count: 1, memoryGiB: 10 }, B: { count: 1, memoryGiB: 5 } };
    const two = ['a', 'b'].map((name) => component(name, 5, { A: 1, B: 1 }));
    const grouped = problemOf(two, classes, { rows: [1, 0], groups: 2 });
    const times = held([
      [9, 8],
      [9, 8],
    ]);
    expect(placedByTime(grouped, times)).toMatchObject({
      lacking: [],
      placement: [{ holds: ['a'] }, { holds: ['a'] }],
    });
    const roomy = problemOf(two, { A: { count: 2, memoryGiB: 10 } }, { rows: [1, 0], groups: 2 });
    expect(holdsOf(placedByTime(roomy, times))).toEqual(['a b', 'a b']);
  });

  it('makes room for what would be nowhere, where it was held longest, in place of what is elsewhere too', () => {
    expect(
      holdsOf(
        placedByTime(
          problem,
          held([
            [9, 8, 3],
            [9, 8, 4],
          ]),
        ),
      ),
    ).toEqual(['a b', 'a c']);
    expect(
      holdsOf(
        placedByTime(
          problem,
          held([
            [9, 8, 4],
            [9, 8, 3],
          ]),
        ),
      ),
    ).toEqual(['a c', 'a b']);
  });

  it('lets what nothing calls be nowhere, unless there is room', () => {
    const uncalled = { ...problem, rowsPerNs: [1, 1, 0] };
    expect(
      placedByTime(
        uncalled,
        held([
          [9, 8, 0],
          [0, 9, 0],
        ]),
      ),
    ).toMatchObject({
      lacking: [],
      placement: [{ holds: ['a', 'b'] }, { holds: ['b', 'c'] }],
    });
  });

  it('names what finds no room for ever', () => {
    const one = problemOf(components, { A: { count: 1, memoryGiB: 10 } }, { rows: [1, 1, 1] });
    expect(placedByTime(one, held([[9, 8, 4]])).lacking).toHaveLength(1);
  });

  it('holds every called component in random problems in which there is memory for each on a device of its own', () => {
    for (let seed = 1; seed <= 200; seed++) {
      const stream = streamOf(seed, 'held');
      const count = 1 + stream.integer(4);
      const many = Array.from({ length: count }, (_, i) =>
        component(`c${i}`, 3 + stream.integer(6), { A: 1 }),
      );
      const asked = problemOf(many, { A: { count, memoryGiB: 8 } }, { rows: many.map(() => 1) });
      const times = many.map(() => many.map(() => stream.integer(4)));
      const { placement, lacking } = placedByTime(asked, held(times));
      expect({ seed, lacking }).toEqual({ seed, lacking: [] });
      for (const { name } of many) expect(placement.some(({ holds }) => holds.includes(name))).toBe(true);
      for (const { holds } of placement) expect(sizeOf(holds, many)).toBeLessThanOrEqual(8);
    }
  });
});

describe('devicesInGroups()', () => {
  it('deals servers to groups in turn, and devices where there are fewer servers', () => {
    const cluster = { devices: { A: { count: 4, perServer: 2 }, B: { count: 2, perServer: 2 } } };
    const shown = (groups: number) =>
      devicesInGroups(cluster, freeDevices(cluster), groups).map(
        ({ server, gpu, subcluster }) => `${server}/${gpu}:${subcluster ?? ''}`,
      );
    expect(shown(1)).toEqual(['A-0/0:', 'A-0/1:', 'A-1/0:', 'A-1/1:', 'B-0/0:', 'B-0/1:']);
    expect(shown(2)).toEqual(['A-0/0:0', 'A-0/1:0', 'A-1/0:1', 'A-1/1:1', 'B-0/0:0', 'B-0/1:0']);
    expect(shown(4)).toEqual(['A-0/0:0', 'A-0/1:1', 'A-1/0:2', 'A-1/1:3', 'B-0/0:0', 'B-0/1:1']);
  });
});

describe('cheapestDevices()', () => {
  it('takes those of the cheapest class first, and of a class without a price last', () => {
    const cluster = {
      devices: { A: { count: 2, hourlyCost: 3 }, B: { count: 2 }, C: { count: 3, taken: 1, hourlyCost: 1 } },
    };
    const counts = (wanted: number) =>
      cheapestDevices(cluster, freeDevices(cluster), wanted).map(({ count }) => count);
    expect([1, 3, 5].map(counts)).toEqual([
      [0, 0, 1],
      [1, 0, 2],
      [2, 1, 2],
    ]);
    expect(usedCluster(cluster, cheapestDevices(cluster, freeDevices(cluster), 3)).devices).toEqual({
      A: { count: 1, hourlyCost: 3 },
      C: { count: 2, hourlyCost: 1 },
    });
  });
});

describe('placedAsGiven()', () => {
  it('gives the devices of a class the entries for it, in their order', () => {
    const cluster = { devices: { A: { count: 3 }, B: { count: 1 } } };
    const given = [
      { device: 'B', count: 1, holds: ['b'] },
      { device: 'A', count: 2, holds: ['a'] },
      { device: 'A', count: 1, holds: ['a', 'b'] },
    ];
    const placed = placedAsGiven(devicesInGroups(cluster, freeDevices(cluster), 1), given);
    expect(placed.map(({ holds }) => holds.join(' '))).toEqual(['a', 'a', 'a b', 'b']);
  });
});

function sizeOf(holds: readonly string[], components: readonly PlannedComponent[]): number {
  return components.reduce(
    (sum, { name, memoryBytes }) => sum + (holds.includes(name) ? memoryBytes / GIB : 0),
    0,
  );
}

describe('placeByWork()', () => {
  it('adds what adding up all work anew for each step adds', () => {
    for (let seed = 1; seed <= 200; seed++) {
      const stream = streamOf(seed, 'steps');
      const components = Array.from({ length: 3 + stream.integer(3) }, (_, i) =>
        component(`c${i}`, 1 + stream.integer(4), { A: 1 + stream.integer(9) }),
      );
      const rows = components.map(() => 1 + 8 * stream.uniform());
      const problem = problemOf(components, { A: { count: 3 + stream.integer(3), memoryGiB: 10 } }, { rows });
      const none = components.map(() => 0);
      const [rooms, again] = [new DeviceRooms(problem, none), new DeviceRooms(problem, none)];
      placeByWork(rooms, rows);
      placeEach(again, [...components.keys()]);
      const needOf = (c: number) =>
        (rows[c] as number) / again.holders(c).reduce((sum, d) => sum + again.rowsPerNs(d, c), 0);
      const loadOf = (d: number) => again.heldBy(d).reduce((sum, c) => sum + needOf(c), 0);
      const left = new Set(components.keys());
      while (left.size > 0) {
        const most = [...left].toSorted((a, b) => needOf(b) - needOf(a))[0] as number;
        const able = [...problem.devices.keys()].filter((d) => again.canTake(d, most));
        // Loads that are added up in another order differ in their last digits, so that like devices may change places.
        const [least] = able.toSorted(
          (a, b) => Number(loadOf(a).toPrecision(9)) - Number(loadOf(b).toPrecision(9)) || a - b,
        );
        if (least === undefined) left.delete(most);
        else again.take(least, most);
      }
      const held = (one: DeviceRooms) => problem.devices.map((_, d) => one.heldBy(d).join(' ')).toSorted();
      expect({ seed, held: held(rooms) }).toEqual({ seed, held: held(again) });
    }
  });
});
