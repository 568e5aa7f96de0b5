import { describe, expect, it } from 'vitest';
import { streamOf } from '../../../src/random/index.js';
import { type BatchPhases, handOverUs, phasesUs, timesOf } from '../../../src/runtime/live/request-times.js';
import { cases } from '../../cases.js';

const batch = (
  fromNs: number,
  stackedNs: number,
  inferFromNs: number,
  inferToNs: number,
  cameNs: number,
  toNs: number,
): BatchPhases => ({ fromNs, stackedNs, inferFromNs, inferToNs, cameNs, toNs });

const request = { cameNs: 1000, readNs: 2000, endNs: 20_000 };

describe('timesOf()', () => {
  it('divides the time of a request in one batch into reading, waiting, and the phases of the batch', () => {
    expect(timesOf(request, [batch(5000, 6000, 8000, 17_000, 18_000, 19_000)])).toEqual({
      tookUs: 19,
      queueUs: 3,
      inputUs: 1 + 3,
      inferUs: 9,
      outputUs: 2 + 1,
    });
  });

  it('counts time as waiting in which a request is in no batch', () => {
    expect(timesOf(request, [])).toEqual({ tookUs: 19, queueUs: 18, inputUs: 1, inferUs: 0, outputUs: 0 });
  });

  it('adds the phases of one batch after another, and the waits between them', () => {
    const batches = [
      batch(3000, 3000, 4000, 6000, 6000, 7000),
      batch(10_000, 10_000, 11_000, 15_000, 15_000, 20_000),
    ];
    expect(timesOf(request, batches)).toMatchObject({
      queueUs: 1 + 3,
      inputUs: 1 + 2,
      inferUs: 6,
      outputUs: 6,
    });
  });

  it('counts an instant once where rows are in several batches: executing before preparing before taking apart', () => {
    const batches = [
      batch(2000, 2000, 4000, 10_000, 10_000, 14_000),
      batch(8000, 8000, 12_000, 13_000, 13_000, 20_000),
    ];
    expect(timesOf(request, batches)).toMatchObject({
      queueUs: 0,
      inputUs: 1 + 2 + 2,
      inferUs: 6 + 1,
      outputUs: 7,
    });
  });

  it('divides every microsecond of a request as a list of all its instants does', () => {
    const stream = streamOf(3, 'request-times');
    for (let i = 0; i < cases(300, 5000); i++) {
      const sorted = (count: number, from: number) =>
        Array.from({ length: count }, () => from + 1000 * stream.integer(40)).sort((a, b) => a - b);
      const [cameNs = 0, readNs = 0] = sorted(2, 0);
      const batches = Array.from({ length: stream.integer(5) }, () => {
        const [a, b, c, d, e, f] = sorted(6, readNs) as [number, number, number, number, number, number];
        return batch(a, b, c, d, e, f);
      });
      const endNs = Math.max(readNs, ...batches.map(({ toNs }) => toNs)) + 1000 * stream.integer(5);
      const times = timesOf({ cameNs, readNs, endNs }, batches);
      expect(times).toEqual(counted({ cameNs, readNs, endNs }, batches));
    }
  });
});

/** counted looks at each microsecond by itself. */
function counted(
  { cameNs, readNs, endNs }: { cameNs: number; readNs: number; endNs: number },
  batches: readonly BatchPhases[],
) {
  const times = { tookUs: (endNs - cameNs) / 1000, queueUs: 0, inputUs: 0, inferUs: 0, outputUs: 0 };
  for (let at = cameNs; at < endNs; at += 1000) {
    const within = (from: number, to: number) => from <= at && at < to;
    const isLast = batches.length > 0 && batches.every(({ toNs }) => toNs <= at);
    if (batches.some((one) => within(one.inferFromNs, one.inferToNs))) times.inferUs += 1;
    else if (at < readNs || batches.some((one) => within(one.fromNs, one.inferFromNs))) times.inputUs += 1;
    else if (isLast || batches.some((one) => within(one.inferToNs, one.toNs))) times.outputUs += 1;
    else times.queueUs += 1;
  }
  return times;
}

it('the phases of a batch hold its way to the executor and back, which is reported apart too', () => {
  const one = batch(1000, 2000, 5000, 9000, 11_000, 12_000);
  expect(phasesUs(one)).toEqual({ inputUs: 4, inferUs: 4, outputUs: 3 });
  expect(handOverUs(one)).toBe(3 + 2);
});
