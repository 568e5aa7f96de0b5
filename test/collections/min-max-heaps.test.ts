import { describe, expect, it } from 'vitest';
import { MinMaxHeaps, NONE } from '../../src/collections/index.js';
import { type Stream, streamOf } from '../../src/random/index.js';
import { fewOf, whole } from '../cases.js';

const COUNT = 3;

interface Entry {
  readonly item: number;
  readonly key: number;
}

/** The heaps, and sorted arrays that are to hold the same. */
class Pair {
  readonly heaps = new MinMaxHeaps(COUNT);
  readonly sorted: Entry[][] = Array.from({ length: COUNT }, () => []);
  readonly unused: number[];
  largest = 0;

  constructor(items: number) {
    this.unused = Array.from({ length: items }, (_, item) => item);
  }

  insert(heap: number, item: number, key: number): void {
    this.heaps.insert(heap, item, key);
    const entries = this.sorted[heap] as Entry[];
    const at = entries.findIndex((entry) => entry.key > key);
    entries.splice(at === -1 ? entries.length : at, 0, { item, key });
    this.largest = Math.max(this.largest, entries.length);
  }

  removeAt(heap: number, at: number): void {
    const [entry] = (this.sorted[heap] as Entry[]).splice(at, 1) as [Entry];
    this.heaps.remove(heap, entry.item);
    this.unused.push(entry.item);
  }

  takeAll(heap: number): void {
    const items = (this.sorted[heap] as Entry[]).splice(0).map((entry) => entry.item);
    expect(this.heaps.takeAll(heap)).toEqual(items);
    this.unused.push(...items);
  }

  expectSame(): void {
    const { heaps, sorted } = this;
    const found = sorted.map((_, heap) => [heaps.first(heap), heaps.last(heap), heaps.size(heap)]);
    expect(found).toEqual(
      sorted.map((entries) => [entries[0]?.item ?? NONE, entries.at(-1)?.item ?? NONE, entries.length]),
    );
  }
}

/** Makes one random change. Heaps grow while `growing`, and shrink otherwise. */
function step(stream: Stream, pair: Pair, growing: boolean, keys: number): void {
  const heap = stream.integer(COUNT);
  const { length } = pair.sorted[heap] as Entry[];
  const draw = stream.uniform();
  if (draw < 0.005) pair.takeAll(heap);
  else if (draw < (growing ? 0.75 : 0.3) && pair.unused.length > 0) {
    const [item] = pair.unused.splice(stream.integer(pair.unused.length), 1) as [number];
    pair.insert(heap, item, stream.integer(keys) - keys / 2);
  } else if (length > 0) {
    const ends = [0, length - 1, stream.integer(length)];
    pair.removeAt(heap, ends[stream.integer(3)] as number);
  }
}

/** All that is between the levels of one heap, read from its private tree: every item against all above it. */
function expectLevels(heaps: MinMaxHeaps, heap: number, entries: readonly Entry[]): void {
  const tree = (heaps as unknown as { trees: Int32Array[] }).trees[heap] as Int32Array;
  const rank = new Map(entries.map((entry, at) => [entry.item, at]));
  const rankAt = (position: number) => rank.get(tree[position] as number) as number;
  for (let position = 1; position < entries.length; position++)
    for (let above = position; above > 0; ) {
      above = Math.floor((above - 1) / 2);
      const isLeast = Math.floor(Math.log2(above + 1)) % 2 === 0;
      expect(rankAt(above) < rankAt(position)).toBe(isLeast);
    }
}

describe('MinMaxHeaps', () => {
  it.each(fewOf([1, 4, 1e6], 2))(
    'agrees with sorted arrays over random changes, with %d different keys',
    (keys) => {
      let largest = 0;
      for (let seed = 1; seed <= whole(2, 6); seed++) {
        const stream = streamOf(seed, 'min-max-heaps');
        const pair = new Pair(seed % 2 === 0 ? 5 : 300);
        for (let i = 0; i < 1500; i++) {
          step(stream, pair, i % 500 < 250, keys);
          pair.expectSame();
          if (i % 25 === 0)
            pair.sorted.forEach((entries, heap) => {
              expectLevels(pair.heaps, heap, entries);
            });
        }
        for (let heap = 0; heap < COUNT; heap++) pair.takeAll(heap);
        largest = Math.max(largest, pair.largest);
      }
      expect(largest).toBeGreaterThan(40);
    },
  );

  it('keeps all levels in order whichever item is removed, at every size up to 40', () => {
    const stream = streamOf(1, 'min-max-heaps');
    for (let size = 1; size <= whole(20, 40); size++)
      for (let at = 0; at < size; at++) {
        const pair = new Pair(0);
        for (let item = 0; item < size; item++) pair.insert(0, item, stream.integer(size));
        pair.removeAt(0, at);
        expectLevels(pair.heaps, 0, pair.sorted[0] as Entry[]);
        pair.takeAll(0);
      }
  });

  it('gives items from both ends in order, those of equal keys as they were inserted', () => {
    const heaps = new MinMaxHeaps(1);
    const keys = [2, 1, 2, -Infinity, 1, 2, Infinity, -0, 0];
    keys.forEach((key, item) => {
      heaps.insert(0, item, key);
    });
    const taken: number[] = [];
    for (let item = heaps.last(0); item !== NONE; item = heaps.last(0)) {
      heaps.remove(0, item);
      taken.unshift(item);
    }
    expect(taken).toEqual([3, 7, 8, 1, 4, 0, 2, 5, 6]);
    for (const item of [4, 1]) heaps.insert(0, item, 1);
    expect([heaps.first(0), heaps.last(0)]).toEqual([4, 1]);
  });

  it('is empty at first, and says how many heaps it has', () => {
    const heaps = new MinMaxHeaps(COUNT);
    expect([heaps.count, heaps.size(2), heaps.first(2), heaps.last(2)]).toEqual([COUNT, 0, NONE, NONE]);
    expect(heaps.takeAll(1)).toEqual([]);
  });

  it('keeps the keys of all items when it grows for a large one', () => {
    const heaps = new MinMaxHeaps(1);
    const items = [15, 16, 0, 1000, 31, 32];
    for (const item of items) heaps.insert(0, item, 10 - items.indexOf(item));
    expect(heaps.takeAll(0)).toEqual([32, 31, 1000, 0, 16, 15]);
  });
});
