import { describe, expect, it } from 'vitest';
import { judged, lowered } from '../../scripts/ratchet/ratchet.js';

const told = (figure: number): string => `has ${figure}`;

describe('judged()', () => {
  it('accepts offenders that are listed with their figure or a larger one', () => {
    expect(judged({ a: 5, b: 6 }, { a: 5, b: 7 }, told)).toEqual({ faults: [], fallen: ['b'] });
  });

  it('refuses an offender that is new or has grown', () => {
    expect(judged({ a: 5, b: 6 }, { a: 4 }, told)).toEqual({
      faults: ['a has 5, and was listed with 4', 'b has 6'],
      fallen: [],
    });
  });

  it('refuses an entry that no longer offends', () => {
    expect(judged({}, { a: 4 }, told).faults).toEqual(['a no longer offends: take it off the list']);
  });
});

describe('lowered()', () => {
  it('lowers figures, removes entries that no longer offend, and neither adds nor raises any', () => {
    expect(lowered({ fallen: 3, grown: 9, fresh: 5 }, { fallen: 4, grown: 8, mended: 7 })).toEqual({
      fallen: 3,
      grown: 8,
    });
  });
});
