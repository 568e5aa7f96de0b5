import { describe, expect, it } from 'vitest';
import { ExactValues, Histogram } from '../../src/metrics/index.js';
// The count of live histograms is not exported by the library.
import { WindowFold } from '../../src/metrics/window-fold.js';
import { TWO_HALVES } from './two-halves.js';

const folded = (windowNs: number, shape = TWO_HALVES) =>
  new WindowFold(shape, windowNs, () => new ExactValues());

describe('WindowFold', () => {
  it('cuts the run into windows, the last as long as the rest', () => {
    const startsOf = (windowNs: number, spanNs = 10e9) =>
      folded(windowNs)
        .figures(spanNs)
        .map(({ fromS }) => fromS);
    expect(startsOf(5e9)).toEqual([0, 5]);
    expect(startsOf(4e9)).toEqual([0, 4, 8]);
    expect(startsOf(20e9)).toEqual([0]);
    expect(startsOf(4e9, 8e9)).toEqual([0, 4]);
    expect(startsOf(4e9, 8e9 + 1)).toEqual([0, 4, 8]);
    expect(startsOf(4e9, 1)).toEqual([0]);
    const fold = folded(4e9);
    for (const at of [0, 8e9, 9e9]) fold.arrived(at);
    expect(fold.figures(10e9).map(({ offeredRps }) => offeredRps)).toEqual([0.25, 0, 1]);
  });

  it('leaves out or nulls every share or mean over nothing', () => {
    expect(folded(10e9).figures(10e9)).toStrictEqual([
      {
        fromS: 0,
        arrived: 0,
        inTime: 0,
        late: 0,
        dropped: 0,
        failed: 0,
        offeredRps: 0,
        goodputRps: 0,
        batches: 0,
        utilisation: [0],
        attainments: [null],
      },
    ]);
  });

  it("assigns a request to the window of its arrival, from the window's first instant on, whenever it ends", () => {
    const fold = folded(2e9);
    for (const at of [0, 2e9 - 1, 2e9, 4e9]) fold.arrived(at);
    fold.answered(0, 0, false, 7e9, 1e9, 2e9);
    fold.answered(0, 2e9 - 1, true, 1e9, 5e8, 0);
    fold.unanswered(0, 2e9, 2);
    fold.unanswered(0, 4e9, 3);
    fold.used(2e9, 3e8, true);
    fold.used(2e9, 1e8, false);
    const windows = fold.figures(10e9);
    expect(windows.slice(0, 4).map((w) => [w.inTime, w.late, w.dropped, w.failed])).toEqual([
      [1, 1, 0, 0],
      [0, 0, 1, 0],
      [0, 0, 0, 1],
      [0, 0, 0, 0],
    ]);
    expect(windows[0]).toMatchObject({
      latencyMs: { mean: 4000, p50: 1000, p99: 7000, max: 7000 },
      splitMs: { queueing: 2250, transfer: 1000, compute: 750 },
      attainment: 0.5,
      goodputRps: 0.5,
      attainments: [0.5],
    });
    expect(windows[0]).not.toHaveProperty('invalidRate');
    expect(windows[1]).toMatchObject({ attainment: 0, invalidRate: 0.75, attainments: [0] });
    expect(windows[1]).not.toHaveProperty('latencyMs');
    expect(windows[1]).not.toHaveProperty('splitMs');
  });

  it('assigns a batch to the window it began in, and its device time to the windows that it spans', () => {
    const fold = folded(4e9);
    fold.executed(0, 3, 1e9, 9e9);
    fold.executed(1, 2, 4e9, 5e9);
    fold.executed(0, 1, 9.5e9, 20e9);
    fold.executed(1, 4, 10e9, 11e9);
    const windows = fold.figures(10e9);
    expect(windows.map(({ batches, meanBatch }) => [batches, meanBatch])).toEqual([
      [1, 3],
      [1, 2],
      [1, 1],
    ]);
    expect(windows.map(({ utilisation }) => utilisation)).toEqual([[3 / 8], [5 / 8], [1.5 / 4]]);
  });

  it('counts neither batches nor device time after an earlier end', () => {
    const fold = folded(4e9);
    fold.endAt(6e9);
    fold.executed(0, 3, 3e9, 9e9);
    fold.executed(1, 2, 6e9, 7e9);
    fold.executed(1, 2, 6e9 - 1, 7e9);
    const windows = fold.figures(6e9);
    expect(windows.map(({ batches }) => batches)).toEqual([1, 1]);
    expect(windows[1]?.utilisation[0]).toBeCloseTo(0.5, 6);
    expect(windows[0]?.utilisation[0]).toBe(1 / 8);
  });

  it('assigns arrivals at the end of the run or later to the last window', () => {
    const fold = folded(5e9);
    fold.arrived(10e9);
    expect(fold.figures(10e9).map(({ arrived }) => arrived)).toEqual([0, 1]);
  });

  it('keeps latencies only of windows with open requests, and of one more that has begun', () => {
    let made = 0;
    const fold = new WindowFold(TWO_HALVES, 1e8, () => {
      made += 1;
      return new ExactValues();
    });
    // There are 100 windows, and every request is answered within the next one.
    for (let i = 0; i < 1000; i++) {
      fold.arrived(i * 1e7);
      if (i >= 10) fold.answered(0, (i - 10) * 1e7, false, 1e8 + i, 0, 0);
    }
    expect(made).toBeLessThanOrEqual(3);
    const found = fold.figures(10e9).map(({ latencyMs }) => latencyMs?.max);
    expect(found.slice(0, 99)).toEqual(Array.from({ length: 99 }, (_, w) => (1e8 + 10 * w + 19) / 1e6));
  });

  it('keeps the newest window open while no request is in it, since more may come', () => {
    const fold = folded(5e9);
    for (const latencyNs of [5000, 1000, 2000]) {
      fold.arrived(1e9);
      fold.answered(0, 1e9, false, latencyNs, 0, 0);
    }
    expect(fold.figures(5e9)[0]?.latencyMs).toMatchObject({ p50: 0.002, p99: 0.005 });
  });

  it('closes a window that waited for one late request when that request ends', () => {
    let made = 0;
    const fold = new WindowFold(TWO_HALVES, 1e9, () => {
      made += 1;
      return new Histogram();
    });
    fold.arrived(0);
    fold.arrived(1);
    fold.answered(0, 1, false, 500, 0, 0);
    for (let i = 1; i < 9; i++) {
      fold.arrived(i * 1e9);
      fold.answered(0, i * 1e9, false, 100 * i, 0, 0);
    }
    fold.answered(0, 0, true, 300, 0, 0);
    fold.arrived(9e9);
    fold.answered(0, 9e9, false, 7, 0, 0);
    // One is made for the first window, and one for all the others; the first one is then used again.
    expect(made).toBe(2);
    expect(fold.figures(10e9).map(({ latencyMs }) => (latencyMs?.p50 as number) * 1e6)).toEqual([
      300, 100, 200, 300, 400, 500, 600, 700, 800, 7,
    ]);
  });
});
