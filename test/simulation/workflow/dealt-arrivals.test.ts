import { describe, expect, it } from 'vitest';
import { dealtArrivals, type GroupArrivals } from '../../../src/simulation/workflow/dealt-arrivals.js';

/** numbered gives requests whose times and models follow from their order. */
function numbered(count: number) {
  let order = -1;
  return {
    next: () => ++order < count,
    get atNs() {
      return 10 * order;
    },
    get model() {
      return order % 3;
    },
  };
}

function all(arrivals: GroupArrivals): number[] {
  const orders: number[] = [];
  while (arrivals.next()) {
    expect([arrivals.atNs, arrivals.model]).toEqual([10 * arrivals.order, arrivals.order % 3]);
    orders.push(arrivals.order);
  }
  return orders;
}

describe('dealtArrivals()', () => {
  it('gives like groups their requests in turn', () => {
    const [a, b, c] = dealtArrivals(numbered(7), [2, 2, 2]) as [GroupArrivals, GroupArrivals, GroupArrivals];
    // Whichever is read first.
    expect(all(c)).toEqual([2, 5]);
    expect(all(a)).toEqual([0, 3, 6]);
    expect(all(b)).toEqual([1, 4]);
    expect(a.next()).toBe(false);
  });

  it('gives a group with twice the devices twice the requests, to the one with the fewest for its devices each', () => {
    const [large, small] = dealtArrivals(numbered(9), [4, 2]) as [GroupArrivals, GroupArrivals];
    expect(all(large)).toEqual([0, 2, 3, 5, 6, 8]);
    expect(all(small)).toEqual([1, 4, 7]);
  });
});
