import { performance } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { MinMaxHeaps } from '../../src/collections/index.js';
import { streamOf } from '../../src/random/index.js';

const ITEMS_AT_ONCE = 1e4;

/** KINDS are the kinds of operations, and how often a round has them for each item. */
export const KINDS = { put: 2, 'put falling': 1, 'get first': 1, 'get last': 1, 'get any': 0.5 };
export const NAMES = Object.keys(KINDS) as (keyof typeof KINDS)[];

/** QueueTrial fills and empties heaps of one size; item 0 is the first of heap 0, item `size` the first of heap 1. */
export class QueueTrial {
  readonly items: number;
  readonly bytes: number;
  /** The milliseconds of each kind of operation. */
  readonly ms = new Float64Array(NAMES.length);
  checked = 0;
  private readonly heaps: MinMaxHeaps;
  private readonly keys: Float64Array;
  private readonly falling: Float64Array;
  private readonly sorted: Int32Array;
  private readonly shuffled: Int32Array;
  private readonly given: Int32Array;

  constructor(private readonly size: number) {
    const stream = streamOf(1, 'queue');
    const count = Math.max(1, Math.floor(ITEMS_AT_ONCE / size));
    this.items = count * size;
    // Of these keys, some are equal.
    this.keys = Float64Array.from({ length: this.items }, () => stream.integer(4 * size));
    this.falling = Float64Array.from({ length: this.items }, (_, item) => -item);
    this.sorted = Int32Array.from({ length: this.items }, (_, item) => item);
    for (let heap = 0; heap < count; heap++)
      this.part(this.sorted, heap).sort((a, b) => this.keyOf(a) - this.keyOf(b) || a - b);
    const draws = Float64Array.from({ length: this.items }, () => stream.uniform());
    this.shuffled = Int32Array.from(this.sorted).sort(
      (a, b) => (draws[a] as number) - (draws[b] as number) || a - b,
    );
    this.given = new Int32Array(this.items);
    const before = arrayBytes();
    this.heaps = new MinMaxHeaps(count);
    this.fill(this.keys);
    this.bytes = arrayBytes() - before;
    this.empty('first');
  }

  round(): void {
    for (const [kind, end] of [
      [2, 'first'],
      [3, 'last'],
    ] as const) {
      this.time(0, () => this.fill(this.keys));
      this.time(kind, () => this.empty(end));
      this.check(end);
    }
    this.time(1, () => this.fill(this.falling));
    this.time(4, () => this.takeAnyHalf());
    this.checkRest();
  }

  private time(kind: number, work: () => void): void {
    const start = performance.now();
    work();
    this.ms[kind]! += performance.now() - start;
  }

  private fill(keys: Float64Array): void {
    const { heaps, size } = this;
    for (let heap = 0, item = 0; heap < heaps.count; heap++)
      for (const end = item + size; item < end; item++) heaps.insert(heap, item, keys[item] as number);
  }

  private empty(end: 'first' | 'last'): void {
    const { heaps, given, size } = this;
    for (let heap = 0, at = 0; heap < heaps.count; heap++)
      for (const stop = at + size; at < stop; at++) {
        const item = end === 'first' ? heaps.first(heap) : heaps.last(heap);
        given[at] = item;
        heaps.remove(heap, item);
      }
  }

  private takeAnyHalf(): void {
    const { heaps, shuffled, size } = this;
    for (let at = 0; at < shuffled.length / 2; at++) {
      const item = shuffled[at] as number;
      heaps.remove(Math.floor(item / size), item);
    }
  }

  /** check compares the items that were given with the sorted ones. */
  private check(end: 'first' | 'last'): void {
    for (let heap = 0; heap < this.heaps.count; heap++) {
      const given = this.part(this.given, heap);
      if (end === 'last') given.reverse();
      given.forEach((item, at) => {
        this.expectItem(item, this.sorted[heap * this.size + at] as number);
      });
    }
  }

  /** checkRest empties all heaps of the items that were not taken: those of falling keys, whose order is reversed. */
  private checkRest(): void {
    const rest = this.shuffled
      .subarray(this.items / 2)
      .slice()
      .sort()
      .reverse();
    const found = Array.from({ length: this.heaps.count }, (_, heap) => this.heaps.takeAll(heap));
    found
      .reverse()
      .flat()
      .forEach((item, at) => {
        this.expectItem(item, rest[at] as number);
      });
  }

  private expectItem(found: number, expected: number): void {
    if (found !== expected) throw new Error(`The queue gave item ${found}, not ${expected}: it is wrong`);
    this.checked++;
  }

  private part(items: Int32Array, heap: number): Int32Array {
    return items.subarray(heap * this.size, (heap + 1) * this.size);
  }

  private keyOf(item: number): number {
    return this.keys[item] as number;
  }
}

/** arrayBytes are the bytes of all typed arrays that are still in use. */
function arrayBytes(): number {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  // Arrays that one collection finds unused are counted until the next.
  collect();
  collect();
  return process.memoryUsage().arrayBuffers;
}
