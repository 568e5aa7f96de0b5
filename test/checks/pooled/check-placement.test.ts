import { describe, expect, test } from 'vitest';
import { placementFaults } from '../../../src/checks/pooled/check-placement.js';
import type { Placement } from '../../../src/formats/index.js';
import type { PlanBody, PooledProblem, WholeGpusPer } from '../../../src/milp/problem.js';
import { streamOf } from '../../../src/random/index.js';
import { counted } from '../../milp/counted.js';

/**
 * The plan has two pipelines of two partitions on class A, which has four servers of two GPUs, one GPU taken.
 * Partitions are on halves and on whole GPUs.
 */
const MODELS = [
  {
    pipelines: [{ partitions: [part(2, 4), part(1, 1)] }, { partitions: [part(2, 1), part(1, 1)] }],
  },
];
const DEVICES = { A: { count: 8, perServer: 2, taken: 1 }, B: { count: 1 } };

function part(virtual: number, virtualGpus: number) {
  return { device: 'A', virtual, virtualGpus };
}

function on(at: string, pipeline: number, partition: number, virtual: number): Placement {
  const [server, gpu] = at.split('/') as [string, string];
  return { server, gpu: Number(gpu), class: 'A', virtual, model: 0, pipeline, partition };
}

/** This placement keeps every rule. */
const GOOD: readonly Placement[] = [
  on('A-0/0', 0, 0, 2),
  on('A-0/0', 0, 0, 2),
  on('A-0/1', 0, 0, 2),
  on('A-0/1', 0, 0, 2),
  on('A-1/0', 1, 0, 2),
  on('A-2/0', 0, 1, 1),
  on('A-2/1', 1, 1, 1),
];

function told(
  placement: readonly Placement[],
  wholeGpusPer: WholeGpusPer,
  virtualPer: 'gpu' | 'server' = 'gpu',
  used = 5,
): string[] {
  const classes = { A: { used, count: 7 }, B: { used: 0, count: 1 } };
  const plan = { models: MODELS, placement, classes } as unknown as PlanBody;
  const problem = { cluster: { devices: DEVICES }, planner: { wholeGpusPer, virtualPer } };
  const faults = placementFaults(plan, problem as unknown as PooledProblem);
  return faults.map(({ path, message }) => `${path} ${message}`);
}

function moved(...changes: readonly [index: number, to: Partial<Placement>][]): Placement[] {
  const placement = GOOD.map((seat) => ({ ...seat }));
  for (const [i, to] of changes) Object.assign(placement[i] as Placement, to);
  return placement;
}

describe('placementFaults() of rows of GPUs', () => {
  test.each(['pool', 'position', 'class'] as const)(
    'finds the same faults in a row as in its GPUs listed one by one, under %s',
    (rule) => {
      const { uniform } = streamOf(1, rule);
      const upTo = (n: number) => Math.floor(uniform() * n);
      const seen = { sound: 0, faulty: 0 };
      for (let round = 0; round < 300; round++) {
        const placement = GOOD.map((seat) => ({ ...seat }));
        const changes = [
          () => ({ server: `A-${upTo(5)}`, gpu: upTo(2) }),
          () => ({ virtual: 1 + upTo(2) }),
          () => ({ pipeline: upTo(2), partition: upTo(2) }),
        ];
        for (let i = upTo(3); i > 0; i--) Object.assign(placement[upTo(GOOD.length)]!, changes[upTo(3)]!());
        for (const virtualPer of ['gpu', 'server'] as const) {
          const listed = told(placement, rule, virtualPer);
          const rows = told(counted(placement, 2), rule, virtualPer);
          expect(rows.length === 0, JSON.stringify({ listed, rows, placement })).toBe(listed.length === 0);
          const uses = (faults: readonly string[]) =>
            faults.filter((text) => /used|unplaced|too many/.test(text));
          expect(uses(rows)).toEqual(uses(listed));
          seen[listed.length === 0 ? 'sound' : 'faulty'] += 1;
        }
      }
      expect(Math.min(seen.sound, seen.faulty)).toBeGreaterThan(50);
    },
  );

  test('names a row by its first GPU, and says how many of its GPUs do not exist', () => {
    const row = { ...on('A-0/0', 0, 0, 2), count: 2 };
    const rest = GOOD.slice(4);
    expect(told([row, row, ...rest], 'pool')).toEqual([]);
    expect(told([row, row, row, ...rest], 'pool')).toEqual(
      [
        "/placement GPU A-0/0 and each of the 1 after it holds 1.5 GPUs' worth",
        '/placement model/pipeline/partition 0/0/0 has 2 virtual GPUs too many placed',
      ].toSorted((a, b) => b.localeCompare(a)),
    );
    expect(told([row, row, ...rest.slice(0, -1), { ...on('A-2/1', 1, 1, 1), count: 3 }], 'pool')[1]).toBe(
      '/placement/4 is on 3 GPUs, of which the last 1 do not exist or are taken',
    );
  });
});

describe('placementFaults()', () => {
  test.each(['pool', 'position', 'class'] as const)('accepts whole GPUs per pool under %s', (rule) => {
    expect(told(GOOD, rule)).toEqual([]);
    expect(told(GOOD, rule, 'server')).toEqual([]);
  });

  test('lets pipelines share a GPU by position, and unlike sizes by class', () => {
    const shared = moved([1, { server: 'A-1' }]);
    expect(told(shared, 'position')).toEqual([]);
    expect(told(shared, 'pool')).toEqual(['/placement GPU A-1/0 is shared by unlike pools']);
    const thirds = moved([1, { server: 'A-2', gpu: 0 }]);
    expect(told(thirds, 'class')).toEqual(["/placement GPU A-2/0 holds 1.5 GPUs' worth"]);
    expect(told(thirds, 'position')).toEqual([
      "/placement GPU A-2/0 holds 1.5 GPUs' worth",
      '/placement GPU A-2/0 is shared by unlike positions',
    ]);
  });

  test('demands one virtual size on a GPU where pools fill whole GPUs, and on a server where the rule says so', () => {
    const beside = moved([6, { server: 'A-1', gpu: 1 }]);
    expect(told(beside, 'pool')).toEqual([]);
    expect(told(beside, 'pool', 'server')).toEqual(['/placement A-1 has unlike virtual sizes']);
    const onTop = moved([6, { server: 'A-1', gpu: 0 }]);
    expect(told(onTop, 'pool', 'gpu', 4)).toEqual([
      "/placement GPU A-1/0 holds 1.5 GPUs' worth",
      '/placement GPU A-1/0 is shared by unlike pools',
      '/placement A-1/0 has unlike virtual sizes',
    ]);
  });

  test('finds an unlike entry even between like ones', () => {
    const first = moved([4, { server: 'A-0' }]);
    const between = [first[0], first[4], first[1], ...first.slice(2, 4), ...first.slice(5)] as Placement[];
    expect(told(between, 'pool', 'gpu', 4)).toEqual([
      "/placement GPU A-0/0 holds 1.5 GPUs' worth",
      '/placement GPU A-0/0 is shared by unlike pools',
    ]);
    const sizes = moved([0, { server: 'A-2' }], [1, { server: 'A-2' }]);
    const around = [0, 5, 6, 2, 3, 4, 1].map((i) => sizes[i] as Placement);
    expect(told(around, 'class', 'server', 4)).toContain('/placement A-2 has unlike virtual sizes');
  });

  test.each([
    [{ server: 'A-1', gpu: 2 }, 'is on A-1 GPU 2, which does not exist or is taken'],
    [{ server: 'A-3', gpu: 1 }, 'is on A-3 GPU 1, which does not exist or is taken'],
    [{ server: 'A--1' }, 'is on A--1 GPU 0, which does not exist or is taken'],
    [{ server: 'A-0.5' }, 'is on A-0.5 GPU 0, which does not exist or is taken'],
    [{ server: 'B-0' }, 'is on B-0 GPU 0, which does not exist or is taken'],
    [{ class: 'C' }, 'is on C, which the cluster does not have'],
    [{ server: 'B-0', class: 'B' }, 'is B 1/2; its partition is on A 1/2'],
    [{ virtual: 1 }, 'is A 1/1; its partition is on A 1/2'],
  ])('refuses a place that is %j', (to, message) => {
    expect(told(moved([4, to]), 'class')).toContain(`/placement/4 ${message}`);
  });

  test('accepts the last GPU that is not taken', () => {
    expect(told(moved([4, { server: 'A-3', gpu: 0 }]), 'pool')).toEqual([]);
  });

  test('counts the virtual GPUs of every partition, and refuses unknown partitions', () => {
    expect(told(GOOD.slice(1), 'pool')).toEqual([
      '/placement model/pipeline/partition 0/0/0 has 1 virtual GPUs unplaced',
    ]);
    expect(told([...GOOD, on('A-1/0', 1, 0, 2)], 'pool')).toEqual([
      '/placement model/pipeline/partition 0/1/0 has 1 virtual GPUs too many placed',
    ]);
    expect(told([...GOOD, on('A-1/0', 1, 2, 2)], 'class')).toEqual([
      '/placement/7 is of 0/1/2, which the plan does not have',
    ]);
  });

  test('compares the number of GPUs in use', () => {
    expect(told(GOOD, 'pool', 'gpu', 4)).toEqual(['/classes/A/used is 4; the placement uses 5']);
  });
});
