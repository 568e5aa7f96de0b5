import { describe, expect, it } from 'vitest';
import { Lists, NONE } from '../../src/collections/index.js';
import { type Stream, streamOf } from '../../src/random/index.js';

const COUNT = 3;

const MOST_ITEMS = 100;

/** A list read forwards and backwards by its links, for no more items than any list here has. */
function readBoth(lists: Lists, list: number): [forwards: number[], backwards: number[]] {
  const forwards: number[] = [];
  for (let item = lists.first(list); item !== NONE && forwards.length < MOST_ITEMS; item = lists.next(item))
    forwards.push(item);
  const backwards: number[] = [];
  for (
    let item = lists.last(list);
    item !== NONE && backwards.length < MOST_ITEMS;
    item = lists.previous(item)
  )
    backwards.unshift(item);
  return [forwards, backwards];
}

function expectSame(lists: Lists, expected: readonly (readonly number[])[]): void {
  const found = expected.map((_, list) => [...readBoth(lists, list), lists.size(list)]);
  expect(found).toEqual(expected.map((items) => [items, items, items.length]));
}

/** Makes one random change to the lists, and the same change to arrays. */
function step(stream: Stream, lists: Lists, model: number[][], unused: number[]): void {
  const list = stream.integer(COUNT);
  const items = model[list] as number[];
  const draw = stream.uniform();
  if (draw < 0.45 && unused.length > 0) {
    const [item] = unused.splice(stream.integer(unused.length), 1) as [number];
    if (draw < 0.25) {
      lists.push(list, item);
      items.push(item);
      return;
    }
    const at = stream.integer(items.length + 1);
    lists.insertAfter(list, at === 0 ? NONE : (items[at - 1] as number), item);
    items.splice(at, 0, item);
  } else if (draw < 0.97 && items.length > 0) {
    const [item] = items.splice(stream.integer(items.length), 1) as [number];
    lists.remove(list, item);
    unused.push(item);
  } else if (draw >= 0.97) {
    expect(lists.takeAll(list)).toEqual(items);
    unused.push(...items.splice(0));
  }
}

describe('Lists', () => {
  it('agrees with arrays when items are pushed, inserted, removed and taken at random', () => {
    for (let seed = 1; seed <= 4; seed++) {
      const stream = streamOf(seed, 'lists');
      const lists = new Lists(COUNT);
      const model = Array.from({ length: COUNT }, (): number[] => []);
      // At first there are few items, so that lists are often empty or hold one. Later there are more than the first
      // capacity holds.
      const unused = Array.from({ length: seed % 2 === 0 ? 4 : 40 }, (_, item) => item);
      for (let i = 0; i < 200; i++) {
        step(stream, lists, model, unused);
        expectSame(lists, model);
      }
    }
  });

  it('is empty at first, and says how many lists it has', () => {
    const lists = new Lists(COUNT);
    expect(lists.count).toBe(COUNT);
    expectSame(lists, [[], [], []]);
    expect(lists.takeAll(1)).toEqual([]);
  });

  it('keeps the links of all items when it grows for a large one', () => {
    const lists = new Lists(1);
    for (const item of [15, 16, 0, 1000, 31, 32]) lists.push(0, item);
    expectSame(lists, [[15, 16, 0, 1000, 31, 32]]);
  });
});
