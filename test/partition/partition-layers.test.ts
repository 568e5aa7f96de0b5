import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { balanceOf, crossingBytes, type PartitionInput, partitionLayers } from '../../src/partition/index.js';
import { cases } from '../cases.js';

/** seeded is a linear congruential generator, for small cases that are the same every time. */
function seeded(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

function randomCase(seed: number): PartitionInput {
  const below = seeded(seed);
  const layers = 2 + below(9);
  const list = () => Array.from({ length: layers }, () => (below(4) === 0 ? 0 : 1 + below(20)));
  return {
    layerLatencyUs: below(2) === 0 ? { A: list() } : { A: list(), B: list() },
    cutBytes: Array.from({ length: layers }, () => (below(4) === 0 ? undefined : below(6) * 10)),
  };
}

/** allCuts lists every way to cut into blocks, as lists of ends. */
function allCuts(input: PartitionInput): number[][] {
  const layers = input.cutBytes.length;
  const cuts = input.cutBytes.flatMap((bytes, i) => (bytes !== undefined && i < layers - 1 ? [i + 1] : []));
  return Array.from({ length: 2 ** cuts.length }, (_, mask) => [
    ...cuts.filter((_cut, k) => (mask >> k) & 1),
    layers,
  ]);
}

function sum(values: readonly number[], from = 0, to = values.length): number {
  return values.slice(from, to).reduce((a, b) => a + b, 0);
}

/**
 * ratios gives the runtime of each block as a multiple of the average block, on every device. A layer counts as 1 where
 * all layers take 0.
 */
function ratios(input: PartitionInput, ends: number[]): number[] {
  return Object.values(input.layerLatencyUs).flatMap((given) => {
    const latencies = given.some((us) => us > 0) ? given : given.map(() => 1);
    const average = sum(latencies) / ends.length;
    return ends.map((end, k) => sum(latencies, ends[k - 1] ?? 0, end) / average);
  });
}

function within(input: PartitionInput, ends: number[], lower: number, upper: number): boolean {
  return ratios(input, ends).every((ratio) => ratio >= lower - 1e-7 && ratio <= upper + 1e-7);
}

function deviation(input: PartitionInput, ends: number[]): number {
  return sum(ratios(input, ends).map((ratio) => (ratio - 1) ** 2));
}

const LADDER = [
  ...[1.5, 2, 2.5, 3, 3.5, 4].map((upper) => [0.5, upper] as const),
  ...[0.4, 0.3, 0.2, 0.1, 0].map((lower) => [lower, 4] as const),
];

describe('min-transfer', () => {
  test('partitionLayers() moves the fewest bytes of all cuts within the first possible bounds', () => {
    for (let seed = 1; seed <= 300; seed++) {
      const input = randomCase(seed);
      const wanted = 1 + (seed % 5);
      const found = partitionLayers(input, { method: 'min-transfer', blocks: wanted });
      const cuts = allCuts(input);
      const blocks = Math.min(wanted, Math.max(...cuts.map((ends) => ends.length)));
      const exact = cuts.filter((ends) => ends.length === blocks);
      const rung = LADDER.findIndex(([lower, upper]) => exact.some((e) => within(input, e, lower, upper)));
      const least = Math.min(...exact.map((ends) => Math.max(...ratios(input, ends))));
      const [lower, upper] = LADDER[rung] ?? [0, least];
      const allowed = exact.filter((ends) => within(input, ends, lower, upper));
      const bytes = Math.min(...allowed.map((ends) => crossingBytes(input, ends)));
      const best = allowed.filter((ends) => crossingBytes(input, ends) === bytes);
      const hint = `seed ${seed}`;
      expect(found.ends.length, hint).toBe(blocks);
      expect(within(input, found.ends, lower, upper), hint).toBe(true);
      expect(crossingBytes(input, found.ends), hint).toBe(bytes);
      const smallest = Math.min(...best.map((e) => deviation(input, e)));
      expect(deviation(input, found.ends), hint).toBeCloseTo(smallest, 6);
      if (rung === 0) expect(found.relaxation, hint).toBeUndefined();
      else expect(found.relaxation?.upper, hint).toBeCloseTo(upper, 9);
    }
  });

  test('partitionLayers() keeps the bounds on every device, not only on the first', () => {
    const input = {
      layerLatencyUs: { A: [1, 1, 1, 1], B: [1, 1, 8, 8] },
      cutBytes: [0, 9, 5, undefined],
    };
    const onlyA = { ...input, layerLatencyUs: { A: input.layerLatencyUs.A } };
    expect(partitionLayers(onlyA, { method: 'min-transfer', blocks: 2 }).ends).toEqual([1, 4]);
    expect(partitionLayers(input, { method: 'min-transfer', blocks: 2 }).ends).toEqual([3, 4]);
  });

  test('partitionLayers() reports the smallest possible bound when one layer takes most of the time', () => {
    const input = { layerLatencyUs: { A: [1, 1, 1, 1, 96, 1, 1, 1, 1, 1] }, cutBytes: Array(10).fill(4) };
    const found = partitionLayers(input, { method: 'min-transfer', blocks: 8 });
    expect(found.ends).toHaveLength(8);
    expect(found.relaxation).toEqual({ lower: 0, upper: (96 / 105) * 8 });
    expect(found.notes.join()).toMatch(/bounds used: 0 and 7\.314/);
  });
});

/** greedyByHand follows the rule of greedyEnds, written in the slow way. */
function greedyByHand(input: PartitionInput, device: string, blocks: number): number[] {
  const given = input.layerLatencyUs[device]!;
  const latencies = given.some((us) => us > 0) ? given : given.map(() => 1);
  const layers = latencies.length;
  const share = sum(latencies) / blocks;
  const ends: number[] = [];
  while ((ends.at(-1) ?? 0) < layers) {
    const from = ends.at(-1) ?? 0;
    const options = Array.from({ length: layers - from }, (_, k) => from + k + 1)
      .filter((end) => end === layers || input.cutBytes[end - 1] !== undefined)
      .map((end) => ({
        end,
        bytes: end === layers ? 0 : input.cutBytes[end - 1]!,
        distance: Math.abs(sum(latencies, from, end) - share),
      }));
    const near = options.filter(({ distance }) => distance <= 0.1 * share);
    const byDistance = [...options].sort((a, b) => a.distance - b.distance || a.bytes - b.bytes);
    const byBytes = near.sort((a, b) => a.bytes - b.bytes || a.distance - b.distance);
    ends.push(ends.length === blocks - 1 ? layers : (byBytes[0] ?? byDistance[0]!).end);
  }
  return ends;
}

describe('greedy', () => {
  test('partitionLayers() follows the rule of the paper on random cases', () => {
    for (let seed = 1; seed <= 300; seed++) {
      const input = randomCase(seed);
      const blocks = 1 + (seed % 6);
      const found = partitionLayers(input, { blocks });
      expect(found.ends, `seed ${seed}`).toEqual(greedyByHand(input, 'A', blocks));
      expect(found.device).toBe('A');
    }
  });

  test('partitionLayers() takes the cheapest cut among those within ±10 % of the share', () => {
    const latencies = [46, 4, 4, 46];
    const even = { layerLatencyUs: { A: latencies }, cutBytes: [90, 100, 80, 0] };
    expect(partitionLayers(even, { blocks: 2 }).ends).toEqual([3, 4]);
    const cheapButFar = { layerLatencyUs: { A: [40, 10, 10, 40] }, cutBytes: [1, 100, 1, 0] };
    expect(partitionLayers(cheapButFar, { blocks: 2 }).ends).toEqual([2, 4]);
  });

  test('partitionLayers() gives a long layer its own block, and notes that there are fewer blocks', () => {
    const input = { layerLatencyUs: { A: [10, 80, 10] }, cutBytes: [4, 4, 4] };
    const found = partitionLayers(input, { blocks: 10 });
    expect(found.ends).toEqual([1, 2, 3]);
    expect(found.notes.join()).toMatch(/3 layers and 2 valid cuts/);
  });

  test('partitionLayers() divides layers by number when none of them takes time', () => {
    const found = partitionLayers(
      { layerLatencyUs: { A: [0, 0, 0, 0] }, cutBytes: [1, 1, 1, 1] },
      { blocks: 2 },
    );
    expect(found.ends).toEqual([2, 4]);
    expect(found.notes.join()).toMatch(/0 µs/);
  });
});

test('partitionLayers() makes one block when no cut is valid', () => {
  const input = { layerLatencyUs: { A: [1, 2, 3] }, cutBytes: [undefined, undefined, undefined] };
  for (const method of ['greedy', 'min-transfer'] as const) {
    const found = partitionLayers(input, { method });
    expect(found.ends).toEqual([3]);
    expect(found.notes.join()).toMatch(/0 valid cuts/);
  }
});

test('partitionLayers() refuses with every fault at once when the input is not usable', () => {
  const input = { layerLatencyUs: { A: [1, Number.NaN], B: [1, 2, -3] }, cutBytes: [1, -2, 3] };
  const run = () => partitionLayers(input, { blocks: 0, device: 'C' });
  expect(run).toThrow(/2 latencies for 3 layers/);
  expect(run).toThrow(/layer 2 is -3/);
  expect(run).toThrow(/0 blocks are wanted/);
  expect(run).toThrow(/"C"; there are A, B/);
});

interface Published {
  layers: { block: number; cutBytes: number | null; us: Record<string, number> | null }[];
}

const FOLDER = new URL('../../../shared/data/ppipe/models/', import.meta.url);
const present = existsSync(new URL('../../../shared/', import.meta.url));

function published(): { name: string; input: PartitionInput; ends: number[] }[] {
  return readdirSync(fileURLToPath(FOLDER)).flatMap((name) => {
    const { layers } = JSON.parse(readFileSync(new URL(name, FOLDER), 'utf8')) as Published;
    if (layers.some(({ us, cutBytes }) => us === null || cutBytes === null)) return [];
    const classes = Object.keys(layers[0]!.us!);
    const input = {
      layerLatencyUs: Object.fromEntries(classes.map((c) => [c, layers.map(({ us }) => us![c]!)])),
      cutBytes: layers.map(({ cutBytes }) => cutBytes ?? undefined),
    };
    const ends = layers.flatMap(({ block }, i) => (block !== layers[i + 1]?.block ? [i + 1] : []));
    return [{ name, input, ends }];
  });
}

test.runIf(present)('partitionLayers() finds the published blocks, or cuts that fewer bytes cross', () => {
  const all = published();
  expect(all.length).toBe(28);
  const models = all.filter((_, i) => i % cases(3, 1) === 0);
  let same = 0;
  for (const { name, input, ends } of models) {
    const found = partitionLayers(input, { method: 'min-transfer', blocks: ends.length });
    const { shortest, longest } = balanceOf(input, found.ends);
    expect(longest, name).toBeLessThanOrEqual((found.relaxation?.upper ?? 1.5) + 1e-6);
    expect(shortest, name).toBeGreaterThanOrEqual((found.relaxation?.lower ?? 0.5) - 1e-6);
    const ours = crossingBytes(input, found.ends);
    const theirs = crossingBytes(input, ends);
    if (ends.length === 10 && found.relaxation === undefined) expect(ours, name).toBeLessThanOrEqual(theirs);
    if (ours === theirs) same += 1;
  }
  expect(same).toBeGreaterThanOrEqual(cases(6, 20));
});
