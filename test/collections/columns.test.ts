import { describe, expect, it } from 'vitest';
import { grownCapacity, grownColumn, Slots } from '../../src/collections/index.js';
import { streamOf } from '../../src/random/index.js';

describe('grownCapacity()', () => {
  it('doubles the present capacity, or 16 at first, until it holds what is needed', () => {
    for (const capacity of [0, 1, 15, 16, 17, 24, 100]) {
      const needed = Array.from({ length: 300 }, (_, i) => i);
      const doublings = Array.from({ length: 10 }, (_, i) => 2 ** i * Math.max(capacity, 16));
      expect(needed.map((n) => grownCapacity(capacity, n))).toEqual(
        needed.map((n) => doublings.find((size) => size >= n)),
      );
    }
  });
});

describe('grownColumn()', () => {
  it.each([Int32Array, Float64Array, Uint8Array])('keeps kind and items, and adds zeros (%o)', (Column) => {
    const grown = grownColumn(Column.of(3, 1, 2), 5);
    expect(grown).toEqual(Column.of(3, 1, 2, 0, 0));
    expect(grown).toBeInstanceOf(Column);
  });
});

describe('Slots', () => {
  it('hands out new numbers in order, and returned numbers first, the last returned before the others', () => {
    const slots = new Slots();
    expect([slots.take(), slots.take(), slots.take(), slots.used]).toEqual([0, 1, 2, 3]);
    slots.giveBack(0);
    slots.giveBack(2);
    expect([slots.used, slots.take(), slots.take(), slots.take(), slots.used]).toEqual([1, 2, 0, 3, 4]);
  });

  it('is a stack of returned numbers, however many come and go', () => {
    for (let seed = 1; seed <= 5; seed++) {
      const stream = streamOf(seed, 'slots');
      const slots = new Slots();
      const returned: number[] = [];
      const taken: number[] = [];
      let fresh = 0;
      for (let i = 0; i < 600; i++) {
        // The number in use rises and falls in waves that pass the first capacity.
        const takes = stream.uniform() < (i % 250 < 125 ? 0.8 : 0.2);
        if (takes || taken.length === 0) {
          const expected = returned.length > 0 ? returned.pop() : fresh++;
          const slot = slots.take();
          expect(slot).toBe(expected);
          taken.push(slot);
        } else {
          const [slot] = taken.splice(stream.integer(taken.length), 1) as [number];
          slots.giveBack(slot);
          returned.push(slot);
        }
        expect(slots.used).toBe(taken.length);
      }
      expect(fresh).toBeGreaterThan(32);
    }
  });
});
