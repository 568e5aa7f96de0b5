import { describe, expect, it } from 'vitest';
import { PlannedBatches } from '../../../../src/serving/stage-local/forming/planned-batches.js';
import { Durations, PlanColumns } from '../../../../src/serving/state/index.js';
import { BYTES_PER_MS, chainOf, MS, stage } from '../../by-hand.js';

/** Each row takes 1 ms to send. The later stages take full batches of 2 and 1 in 8 and 3 ms, with 2 ms between them. */
const topology = chainOf(
  100,
  stage([10, 14, 18, 22], { transferBytes: BYTES_PER_MS }),
  stage([4, 8], { transferBytes: BYTES_PER_MS }),
  stage([3]),
);
const planned = new PlannedBatches(new PlanColumns(topology), new Durations(topology, { kind: 'none' }));
const REST = 8 + 2 + 3;

describe('PlannedBatches', () => {
  it('largest() is the largest batch in time if the later stages take full ones, to the nanosecond', () => {
    for (const [size, takesMs] of [
      [4, 22 + 4],
      [3, 18 + 3],
      [2, 14 + 2],
      [1, 10 + 1],
    ] as const) {
      const latest = (60 - REST - takesMs) * MS;
      expect(planned.largest(0, latest, 60 * MS, Number.POSITIVE_INFINITY)).toBe(size);
      expect(planned.largest(0, latest + 1, 60 * MS, Number.POSITIVE_INFINITY)).toBe(size - 1);
    }
  });

  it('largest() is no more than was asked for, nor than the planned batch', () => {
    expect([0, 1, 3, 4, 5].map((most) => planned.largest(0, 0, 60 * MS, most))).toEqual([0, 1, 3, 4, 4]);
    expect(planned.largest(2, 57 * MS, 60 * MS, 9)).toBe(1);
    expect(planned.largest(2, 57 * MS + 1, 60 * MS, 9)).toBe(0);
  });

  it('lastStart() leaves time for full batches later, and for its own transfer where asked', () => {
    expect(planned.lastStart(0, 3, 60 * MS, 'transfer')).toBe((60 - REST - 18 - 3) * MS);
    expect(planned.lastStart(0, 3, 60 * MS, 'nothing')).toBe((60 - REST - 18) * MS);
    expect(planned.lastStart(2, 1, 60 * MS, 'transfer')).toBe(57 * MS);
  });
});
