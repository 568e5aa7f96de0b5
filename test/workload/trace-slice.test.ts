import { describe, expect, it } from 'vitest';
import { atOnce } from '../../src/collections/index.js';
import { streamOf } from '../../src/random/index.js';
import {
  busiestSpan,
  countedTrace,
  meanRps,
  parseTrace,
  rescaledTrace,
  reshapedTrace,
  slicedTrace,
  summarizeTrace,
  type Trace,
  traceDurationS,
} from '../../src/workload/index.js';

const arrivals = (...seconds: number[]): Trace => parseTrace(`arrival_s\n${seconds.join('\n')}`);
const counts = (...lines: [number, number][]): Trace =>
  parseTrace(`interval_s,count\n${lines.map((line) => line.join()).join('\n')}`);
const plain = (trace: Trace) =>
  trace.kind === 'arrivals'
    ? [...trace.timesNs].map((ns) => ns / 1e9)
    : Array.from(trace.counts, (count, i) => [trace.intervalS[i], count]);

describe('slicedTrace()', () => {
  it('takes the requests from the begin to before the end, which then begin at 0', () => {
    const trace = arrivals(0, 1, 2, 2, 3.5, 9);
    expect(plain(slicedTrace(trace, { fromS: 1, toS: 3.5 }))).toEqual([0, 1, 1]);
    expect(plain(slicedTrace(trace, { fromS: 0.5 }))).toEqual([0.5, 1.5, 1.5, 3, 8.5]);
    expect(plain(slicedTrace(trace, { toS: 2 }))).toEqual([0, 1]);
    expect(slicedTrace(trace, {})).toBe(trace);
  });

  it('takes whole intervals of counts, and of those that it cuts the share of the time', () => {
    const trace = counts([60, 120], [60, 0], [60, 30]);
    expect(plain(slicedTrace(trace, { fromS: 60 }))).toEqual([
      [60, 0],
      [60, 30],
    ]);
    expect(plain(slicedTrace(trace, { fromS: 45, toS: 140 }))).toEqual([
      [15, 30],
      [60, 0],
      [20, 10],
    ]);
    // Parts of requests go to the next interval.
    expect(plain(slicedTrace(counts([2, 1], [2, 1], [2, 1]), { fromS: 1, toS: 5 }))).toEqual([
      [1, 1],
      [2, 1],
      [1, 0],
    ]);
    // Ten lengths of 0.1 s are 1 s, and leave no interval of nothing.
    const tenths = counts(...Array.from({ length: 20 }, (_, i): [number, number] => [0.1, i]));
    expect(plain(slicedTrace(tenths, { fromS: 1, toS: 1.2 }))).toEqual([
      [0.1, 10],
      [0.1, 11],
    ]);
  });

  it('says that requests began before the trace only where the window may hold the begin', () => {
    const trace = parseTrace('app,func,end_timestamp,duration\na,b,1,3\na,b,4,1\na,b,9,1');
    expect(trace).toHaveProperty('begunBefore', 1);
    expect(slicedTrace(trace, { fromS: 5 })).not.toHaveProperty('begunBefore');
    expect(trace).toHaveProperty('begunBefore', 1);
  });

  it('has the length that was asked for, up to the end of the trace, also where it is rescaled', () => {
    const trace = arrivals(0.1, 0.2, 0.3, 1, 61);
    const figuresOf = (fromS: number, toS?: number) => {
      const sliced = slicedTrace(trace, { fromS, toS });
      return [traceDurationS(sliced), meanRps(sliced)];
    };
    expect(figuresOf(0, 60)).toEqual([60, 4 / 60]);
    expect(figuresOf(1, 1000)).toEqual([60, 2 / 60]);
    expect(figuresOf(51)).toEqual([10, 0.1]);
    expect(figuresOf(61)).toEqual([0, undefined]);
    expect(slicedTrace(trace, { fromS: 0, toS: 62 })).toBe(trace);

    const minute = slicedTrace(trace, { toS: 60 });
    const half = slicedTrace(minute, { toS: 30 });
    expect([traceDurationS(half), meanRps(half)]).toEqual([30, 4 / 30]);
    expect(slicedTrace(minute, { fromS: 1 })).toMatchObject({ windowNs: 59e9 });
    const faster = rescaledTrace(minute, { meanRps: 4 });
    expect(plain(faster)).toEqual([1 / 600, 2 / 600, 3 / 600, 1 / 60].map((s) => Math.round(1e9 * s) / 1e9));
    expect([traceDurationS(faster), meanRps(faster)]).toEqual([1, 4]);
    const { durationS, windows } = summarizeTrace(minute, 1);
    expect([durationS, windows.count, windows.empty]).toEqual([60, 60, 58]);
    expect(plain(countedTrace(minute, 20))).toEqual([
      [20, 4],
      [20, 0],
      [20, 0],
    ]);
    const stretched = atOnce(reshapedTrace(minute, { durationS: 120 }, streamOf(0, 'window')));
    expect([plain(stretched), traceDurationS(stretched)]).toEqual([[0.2, 0.4, 0.6, 2], 120]);
    const filled = atOnce(reshapedTrace(minute, { durationS: 120, rps: 0.1 }, streamOf(0, 'window')));
    expect([plain(filled).length, meanRps(filled)]).toEqual([12, 0.1]);
  });

  it('refuses windows that hold nothing', () => {
    const trace = arrivals(0, 1, 9);
    expect(() => slicedTrace(trace, { fromS: 2, toS: 8 })).toThrow('no request comes from 2 s to 8 s');
    expect(() => slicedTrace(trace, { fromS: 10 })).toThrow(
      'it would begin at 10 s, but the trace ends at 9 s',
    );
    expect(() => slicedTrace(trace, { fromS: 5, toS: 5 })).toThrow('it would begin at 5 s and end at 5 s');
    expect(() => slicedTrace(counts([60, 1], [60, 0]), { fromS: 60 })).toThrow(
      'no request comes from 60 s on',
    );
  });
});

describe('busiestSpan()', () => {
  it('finds the first window with the most requests', () => {
    expect(busiestSpan(arrivals(0, 1, 5, 5.5, 6, 9, 9.1, 9.2, 10), 1)).toEqual({ fromS: 9, toS: 10 });
    expect(busiestSpan(arrivals(0, 1, 5, 5.5, 5.9, 9, 9.1, 9.2, 20), 1)).toEqual({ fromS: 5, toS: 6 });
    expect(busiestSpan(counts([60, 120], [60, 0], [60, 130], [60, 10]), 60)).toEqual({
      fromS: 120,
      toS: 180,
    });
    expect(busiestSpan(counts([60, 120], [60, 0], [60, 130], [60, 10]), 90)).toEqual({
      fromS: 120,
      toS: 210,
    });
    expect(busiestSpan(counts([60, 120], [60, 60], [60, 130]), 90)).toEqual({ fromS: 90, toS: 180 });
  });

  it('ends with the trace at the latest, just after its last arrival', () => {
    const trace = arrivals(0, 10, 100, 100.1, 100.2);
    const span = busiestSpan(trace, 60);
    expect(span).toEqual({ fromS: 40.200000001, toS: 100.200000001 });
    const sliced = slicedTrace(trace, span);
    expect([plain(sliced).length, traceDurationS(sliced)]).toEqual([3, 60]);
    // Evenly spaced requests have no busiest window, so that the first one is taken.
    expect(busiestSpan(arrivals(0, 1, 2, 3, 4, 5, 6), 2)).toEqual({ fromS: 0, toS: 2 });
    expect(busiestSpan(arrivals(0, 1, 2), 2)).toEqual({ fromS: 0, toS: 2 });
  });

  it('has as many requests as the best of many windows that are counted one by one', () => {
    const stream = streamOf(1, 'busiest');
    for (let round = 0; round < 60; round++) {
      const lines = Array.from({ length: 12 }, (): [number, number] => [
        1 + stream.integer(4),
        stream.integer(9),
      ]);
      const trace = counts(...lines, [1, 1]);
      const lengthS = 1 + stream.integer(8);
      const within = (fromS: number) => {
        let at = 0;
        return lines.concat([[1, 1]]).reduce((sum, [length, count]) => {
          const inside = Math.min(at + length, fromS + lengthS) - Math.max(at, fromS);
          at += length;
          return sum + (Math.max(0, inside) / length) * count;
        }, 0);
      };
      const endS = lines.reduce((sum, [length]) => sum + length, 1);
      const starts = Array.from({ length: 4 * (endS - lengthS) + 1 }, (_, i) => i / 4);
      const most = Math.max(...starts.map(within));
      const { fromS, toS } = busiestSpan(trace, lengthS);
      expect([within(fromS), toS - fromS]).toEqual([expect.closeTo(most, 9), lengthS]);
    }
  });
});
