import { describe, expect, it } from 'vitest';
import { loadShares, writtenShares } from '../../src/gearplan/shares.js';

const rounded = (shares: readonly Float64Array[]) =>
  shares.map((of) => [...of].map((share) => Number(share.toFixed(9))));

describe('The shares of loads', () => {
  it('have the devices evenly busy that hold a model', () => {
    // The second model keeps the first device busy for 0.5; both are busy for 0.75 in the end.
    expect(rounded(loadShares([0b11, 0b01], Float64Array.of(1, 0.5)))).toEqual([
      [0.25, 0.75],
      [1, 0],
    ]);
  });

  it('fill the least busy devices to one level, and leave out those above it', () => {
    // Others keep the devices busy for 0, 0.2 and 0.6, so that 0.3 more fill the first two to 0.25.
    const placement = [0b001, 0b011, 0b101];
    const load = Float64Array.of(0.3, 0.2, 0.6);
    expect(rounded(loadShares(placement, load))[0]).toEqual(
      [0.25 / 0.3, 0.05 / 0.3, 0].map((x) => Number(x.toFixed(9))),
    );
    expect(writtenShares(placement, load).map((of) => [...of])).toEqual([
      [0.8333, 0.1667, 0],
      [0, 1, 0],
      [0, 0, 1],
    ]);
  });

  it('are 0 for a model without a load', () => {
    expect(rounded(loadShares([0b11, 0b11], Float64Array.of(0, 1)))).toEqual([
      [0, 0],
      [0.5, 0.5],
    ]);
  });
});
