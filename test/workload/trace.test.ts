import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { InputError } from '../../src/formats/index.js';
import { streamOf } from '../../src/random/index.js';
import {
  type Arrivals,
  type CountTrace,
  meanRps,
  parseTrace,
  peakRpsTogether,
  rescaledTrace,
  type Trace,
  TraceReader,
  traceArrivals,
  traceDurationS,
} from '../../src/workload/index.js';
import { inWholeRun } from '../cases.js';

const SHARED = new URL('../../../shared/traces/', import.meta.url);

const faultsOf = (text: string) => {
  try {
    parseTrace(text);
  } catch (error) {
    if (error instanceof InputError) return error.faults.map(({ path, message }) => `${path}: ${message}`);
    throw error;
  }
  return [];
};

const timesOf = (trace: Trace) => (trace.kind === 'arrivals' ? Array.from(trace.timesNs) : undefined);
const countsOf = (trace: Trace) =>
  trace.kind === 'counts' ? { s: Array.from(trace.intervalS), n: Array.from(trace.counts) } : undefined;

const pulled = (arrivals: Arrivals): number[] => {
  const times: number[] = [];
  while (arrivals.next()) times.push(arrivals.atNs);
  return times;
};
const spread = (process: 'uniform' | 'poisson' | 'gamma', seed = 1) => ({
  process,
  stream: streamOf(seed, 'spread'),
});

describe('parseTrace()', () => {
  it('reads arrival times with and without a header, with any line ends, and with or without the last one', () => {
    for (const text of [
      'arrival_s\n0.5\n1\n1\n2.25e0\n',
      '0.5\r\n1\r\n1\r\n2.25',
      '\uFEFFarrival_s\n0.5\n1\n1\n2.25',
    ])
      expect(timesOf(parseTrace(text))).toEqual([5e8, 1e9, 1e9, 2.25e9]);
  });

  it('reads counts per interval, with and without a header', () => {
    for (const text of ['interval_s,count\n1,52\n0.5,0\n', '1,52\n0.5,0'])
      expect(countsOf(parseTrace(text))).toEqual({ s: [1, 0.5], n: [52, 0] });
  });

  it('recognizes published formats by their headers', () => {
    const llm = 'TIMESTAMP,ContextTokens,GeneratedTokens\r\n';
    const stamps = '2023-11-16 23:59:59.9799600,1,2\r\n2023-11-17 00:00:01.0000001,3,4';
    expect(timesOf(parseTrace(llm + stamps))).toEqual([0, 1_020_040_100]);
    const later = '2024-05-10 00:00:00.009930+00:00,1,2\n2024-05-10T00:00:00.019930Z,3,4';
    expect(timesOf(parseTrace(llm + later))).toEqual([0, 1e7]);
    const lmm = `TIMESTAMP,NumImages,ContextTokens,GeneratedTokens\n2025-01-01 00:00:00,1,1,1`;
    expect(timesOf(parseTrace(lmm))).toEqual([0]);
    const vidur = 'arrived_at,num_prefill_tokens,num_decode_tokens\n0.1,5,6\n0.2,5,6\n';
    expect(timesOf(parseTrace(vidur))).toEqual([1e8, 2e8]);
    const functions2021 = 'app,func,end_timestamp,duration\na,b,2.5,2\na,b,2,0.25\na,b,0.1,0.2\n';
    expect(timesOf(parseTrace(functions2021))).toEqual([5e8, 1.75e9]);
    const functions2019 =
      'HashOwner,HashApp,HashFunction,Trigger,1,2,3\na,b,c,http,1,0,2\na,b,d,timer,0,3,1\n';
    expect(countsOf(parseTrace(functions2019))).toEqual({ s: [60, 60, 60], n: [1, 3, 3] });
    expect(timesOf(parseTrace('{"data":[{"timestamp":[1.5],"text":"x"},{"timestamp":[2]}]}'))).toEqual([
      1.5e6, 2e6,
    ]);
  });

  it('reads bare intervals only where that is asked for, since arrival times look alike', () => {
    expect(timesOf(parseTrace('10\n20\n20\n', { format: 'perf-analyzer-intervals' }))).toEqual([
      1e4, 3e4, 5e4,
    ]);
    expect(timesOf(parseTrace('10\n20\n20\n'))).toEqual([10e9, 20e9, 20e9]);
  });

  it('reports every fault at once, each with its line', () => {
    expect(faultsOf('arrival_s\n1\nNaN\n\n-2\n0.5\n0x10\n1e400\n1,2\n3\n')).toEqual([
      'line 3: arrival_s is "NaN"; it must be a number',
      'line 4: it is empty',
      'line 5: arrival_s is "-2"; it must not be negative',
      'line 6: its arrival at 0.5 s comes after one at 1 s: arrivals must ascend',
      'line 7: arrival_s is "0x10"; it must be a number',
      'line 8: arrival_s is "1e400"; it must be a number',
      'line 9: it has 2 fields, the first line has 1',
    ]);
    expect(faultsOf('interval_s,count\n0,5\n1,-1\n1,2.5\n-1,3\n,1\n1,\n9e7,1\n1.7e9,1\n')).toEqual([
      'line 2: interval_s is 0; it must be above 0',
      'line 3: count is "-1"; it must not be negative',
      'line 4: count is "2.5"; it must be a whole number',
      'line 5: interval_s is "-1"; it must not be negative',
      'line 6: interval_s is ""; it must be a number',
      'line 7: count is ""; it must be a number',
      'line 9: interval_s is 1700000000, which is no length but a stamp since 1970; it must be the seconds of the interval, less than 100000000',
    ]);
    expect(faultsOf('NaN\n-1\n')).toEqual([
      'line 1: arrival_s is "NaN"; it must be a number',
      'line 2: arrival_s is "-1"; it must not be negative',
    ]);
  });

  it('names at most 20 faults and counts the rest', () => {
    const faults = faultsOf(`arrival_s\n${'x\n'.repeat(60)}`);
    expect(faults.length).toBe(21);
    expect(faults.at(-1)).toBe(': … and 40 more faults');
  });

  it('refuses text of no known format, and text that holds nothing', () => {
    expect(faultsOf('when,what\n1,2\n')).toHaveLength(1);
    expect(faultsOf('when,what\n1,2\n')[0]).toContain(
      'the known formats are arrival_s, one arrival per line; interval_s,count',
    );
    for (const text of ['', '\uFEFF', 'arrival_s\n', 'interval_s,count\n1,0\n', '{"data":[]}'])
      expect(faultsOf(text)).toEqual([': it holds no requests']);
    expect(faultsOf('\n1\n')).toEqual(['line 1: it is empty']);
    expect(faultsOf('1\n\n')).toEqual(['line 2: it is empty']);
    expect(faultsOf('arrival_s\n9007200\n')[0]).toContain('line 2: it is more than 104 days');
    expect(faultsOf('{"data":[{"timestamp":[-1]},{},{"timestamp":[2]},{"timestamp":[1]}]}')).toEqual([
      '/data/0/timestamp: is [-1]; it must be a list of one number of milliseconds',
      '/data/1/timestamp: is absent; it must be a list of one number of milliseconds',
      '/data/3/timestamp: is earlier than the one before it',
    ]);
    for (const ms of ['9007199254.75', '1e300', '1e308'])
      expect(faultsOf(`{"data":[{"timestamp":[0]},{"timestamp":[${ms}]}]}`)[0]).toContain(
        '/data/1/timestamp: it is more than 104 days',
      );
    expect(faultsOf('{"data":[')).toEqual([': it is no JSON: a list is not closed (line 1, column 9)']);
    expect(faultsOf('interval_s,count\n1,9007199254740993\n')).toEqual([
      'line 2: count is "9007199254740993"; whole numbers beyond 9007199254740991 (2^53 - 1) are not told apart; give one nearer to 0',
    ]);
    const llm = 'TIMESTAMP,ContextTokens,GeneratedTokens\n';
    expect(faultsOf(`${llm}2023-02-30 00:00:00,1,2\n`)[0]).toContain('line 2: TIMESTAMP is "2023-02-30');
    expect(() => parseTrace('x', { name: 'requests.csv' })).toThrow('Cannot read the trace requests.csv:');
  });

  it('gives the same wherever the text is cut into pieces', () => {
    const text = 'arrival_s\r\n0.5\r\n1\r\n1.75\r\n2';
    for (let cut = 0; cut <= text.length; cut++) {
      const reader = new TraceReader();
      reader.push(text.slice(0, cut));
      reader.push(text.slice(cut));
      expect(timesOf(reader.end())).toEqual([5e8, 1e9, 1.75e9, 2e9]);
    }
    const reader = new TraceReader();
    for (const letter of text) reader.push(letter);
    expect(timesOf(reader.end())).toEqual([5e8, 1e9, 1.75e9, 2e9]);
  });

  it('reads long generated traces of each published kind', () => {
    const stream = streamOf(1, 'trace');
    const gapsMs = Array.from({ length: 2000 }, () => Math.floor(800 * stream.exponential()));
    const timesMs: number[] = [];
    for (const gap of gapsMs) timesMs.push((timesMs.at(-1) ?? 0) + gap);
    const from = Date.parse('2023-11-16T18:15:46.000Z');
    const stamp = (ms: number) => new Date(from + ms).toISOString().replace('T', ' ').replace('Z', '0000');
    const llm = `TIMESTAMP,ContextTokens,GeneratedTokens\n${timesMs.map((ms) => `${stamp(ms)},9,3`).join('\n')}`;
    expect(timesOf(parseTrace(llm))).toEqual(timesMs.map((ms) => (ms - timesMs[0]!) * 1e6));
    const counts = Array.from({ length: 10_000 }, () => stream.integer(100));
    const seconds = countsOf(parseTrace(`interval_s,count\n${counts.map((n) => `1,${n}`).join('\n')}\n`))!;
    expect(seconds.n).toEqual(counts);
    expect(seconds.s.every((s) => s === 1)).toBe(true);
    const perMinute = Array.from({ length: 5 }, () => Array.from({ length: 1440 }, () => stream.integer(5)));
    const head = `HashOwner,HashApp,HashFunction,Trigger,${Array.from({ length: 1440 }, (_, i) => i + 1).join()}`;
    const rows = perMinute.map((row, f) => `o,a,f${f},http,${row.join()}`);
    const functions = countsOf(parseTrace([head, ...rows].join('\n')))!;
    expect(functions.n).toEqual(
      Array.from({ length: 1440 }, (_, i) => perMinute.reduce((sum, row) => sum + row[i]!, 0)),
    );
  });

  it.skipIf(!existsSync(SHARED))('reads the published traces', () => {
    const read = (file: string) => parseTrace(readFileSync(new URL(file, SHARED), 'utf8'));
    const llm = read('azure-llm-2023-code.csv');
    expect(timesOf(llm)?.slice(0, 3)).toEqual([0, 52_000_000, 98_189_000]);
    expect(timesOf(llm)).toHaveLength(8819);
    const twitter = countsOf(read('twitter-2018-04-per-second-day1.csv'))!;
    expect([twitter.n.length, twitter.n[0], twitter.s[0]]).toEqual([86_400, 52, 1]);
    const cup = read('worldcup98-june-per-minute.csv');
    expect(countsOf(cup)?.s.every((s) => s === 60)).toBe(true);
    const functions = countsOf(read('azure-functions-2019-100-functions-per-minute.csv'))!;
    expect(functions.n.length).toBe(1440);
  });
});

describe('rescaledTrace()', () => {
  it('keeps the shape and has the given rate', () => {
    const arrivals = rescaledTrace(parseTrace('0\n1\n4\n'), { meanRps: 100 });
    expect(timesOf(arrivals)).toEqual([0, 5e6, 2e7]);
    expect(meanRps(arrivals)).toBeCloseTo(100, 9);
    const counts = parseTrace('interval_s,count\n1,10\n3,90\n');
    expect(meanRps(counts)).toBe(25);
    expect(countsOf(rescaledTrace(counts, { meanRps: 50 }))!.n).toEqual([20, 180]);
    const peaked = rescaledTrace(counts, { peakRps: 300 });
    expect(peaked.kind === 'counts' && peakRpsTogether([peaked])).toBe(300);
  });

  it('rounds times to whole nanoseconds and leaves its argument unchanged', () => {
    const trace = parseTrace('0\n0.000000001\n0.000000003\n');
    expect(timesOf(rescaledTrace(trace, { meanRps: 2e9 }))).toEqual([0, 0, 1]);
    expect(timesOf(trace)).toEqual([0, 1, 3]);
    expect(rescaledTrace(trace, { meanRps: 1 })).toMatchObject({ kind: 'arrivals', format: 'arrivals' });
  });

  it('uses the gaps between the first and the last arrival for a mean, and the busiest interval for a peak', () => {
    expect(meanRps(parseTrace('5\n6\n7\n9\n'))).toBe(0.75);
    expect(meanRps(parseTrace('5\n'))).toBeUndefined();
    const peakOf = (text: string) => peakRpsTogether([parseTrace(text) as CountTrace]);
    expect(peakOf('1,3\n2,8\n10,9')).toBe(4);
    expect(peakOf('2,8\n1,3')).toBe(4);
  });

  it('adds up the rates of traces that run at once, at the instant with the most', () => {
    const traceOf = (...intervals: [number, number][]): CountTrace => ({
      kind: 'counts',
      format: 'made',
      intervalS: Float64Array.from(intervals, ([s]) => s),
      counts: Float64Array.from(intervals, ([, n]) => n),
    });
    const early = traceOf([1, 8], [3, 3]);
    const late = traceOf([2, 2], [1, 6]);
    // In the first second 8 + 1, in the third 1 + 6; the peaks, 8 and 6, never meet.
    expect(peakRpsTogether([early, late])).toBe(9);
    expect(peakRpsTogether([late, traceOf([2, 0], [0.5, 6])])).toBe(18);
    expect(peakRpsTogether([])).toBe(0);
    const stream = streamOf(7, 'traces');
    for (let run = 0; run < 50; run++) {
      const traces = Array.from({ length: 1 + stream.integer(3) }, () =>
        traceOf(
          ...Array.from({ length: 1 + stream.integer(5) }, (): [number, number] => [
            1 + stream.integer(4),
            stream.integer(20),
          ]),
        ),
      );
      // Every length is a whole number of seconds, so the rates second by second are all that there are.
      const seconds = new Float64Array(32);
      for (const { counts, intervalS } of traces) {
        let at = 0;
        counts.forEach((n, i) => {
          const s = intervalS[i] as number;
          for (let k = 0; k < s; k++) seconds[at++]! += n / s;
        });
      }
      expect(peakRpsTogether(traces)).toBeCloseTo(Math.max(...seconds), 9);
    }
  });

  it('knows ends of intervals as one instant where their sums differ by rounding alone', () => {
    const traceOf = (lengths: number[], counts: number[]): CountTrace => ({
      kind: 'counts',
      format: 'made',
      intervalS: Float64Array.from(lengths),
      counts: Float64Array.from(counts),
    });
    for (const [lengthS, count] of [
      [0.1, 10],
      [0.1, 100_000],
      [1 / 3, 3],
      [1 / 3, 30_000],
      [0.007, 70_000],
    ] as const) {
      const endS = Math.round(lengthS * count);
      // The one trace has 5 requests/s up to an instant, and the other 7 requests/s from it on.
      const until = traceOf([endS, 1], [5 * endS, 0]);
      const from = traceOf([...Array<number>(count).fill(lengthS), 1], [...Array<number>(count).fill(0), 7]);
      expect(peakRpsTogether([until, from])).toBe(7);
      expect(peakRpsTogether([from, until])).toBe(7);
      expect(traceDurationS(from)).toBeCloseTo(endS + 1, 8);
    }
    // The rate of an interval of a nanosecond still counts.
    expect(peakRpsTogether([traceOf([1, 1e-9, 1], [1, 1, 1]), traceOf([1, 1], [2, 3])])).toBeCloseTo(
      1e9 + 3,
      3,
    );
  });

  inWholeRun('adds up the lengths of intervals without a rest', () => {
    for (const [lengthS, count, sumS] of [
      [0.1, 10, 1],
      [0.1, 100_000, 10_000],
      [0.007, 100_000, 700],
    ] as const) {
      const trace = parseTrace(`${lengthS},3\n`.repeat(count)) as CountTrace;
      expect(traceDurationS(trace)).toBe(sumS);
      expect(meanRps(trace)).toBe((3 * count) / sumS);
    }
  });

  it('throws an input error about the whole trace', () => {
    const infinite = Number.POSITIVE_INFINITY;
    for (const rescale of [
      () => rescaledTrace(parseTrace('1,2\n'), { peakRps: infinite }),
      () => rescaledTrace(parseTrace('1\n2\n'), { peakRps: 5 }),
      () => rescaledTrace(parseTrace('1\n1\n'), { meanRps: 5 }),
      () => rescaledTrace(parseTrace('1\n2\n'), { meanRps: 1e300 }),
      // Two nanoseconds between three requests are the nearest to 1.5, and the rate would be 1e9 instead of 1.33e9.
      () => rescaledTrace(parseTrace('0\n1\n2\n'), { meanRps: 4e9 / 3 }),
    ]) {
      expect(rescale).toThrow(InputError);
      expect(rescale).toThrow('rescale the trace: ');
    }
  });

  it('refuses rates that are infinite', () => {
    const infinite = Number.POSITIVE_INFINITY;
    for (const to of [{ meanRps: infinite }, { peakRps: infinite }])
      expect(() => rescaledTrace(parseTrace('1,2\n'), to)).toThrow('the rate Infinity is not positive');
  });

  it('refuses traces without a rate', () => {
    expect(() => rescaledTrace(parseTrace('1\n1\n'), { meanRps: 5 })).toThrow(
      'rescale the trace: all its requests come at one instant',
    );
    expect(() => rescaledTrace(parseTrace('1\n2\n'), { meanRps: 0 })).toThrow('the rate 0 is not positive');
    expect(() => rescaledTrace(parseTrace('1\n2\n'), { peakRps: 5 })).toThrow(
      'rescale the trace: it has arrival times; a peak rate',
    );
  });
});

describe('traceArrivals()', () => {
  it('gives every interval its count where requests are spread uniformly', () => {
    const times = pulled(traceArrivals(parseTrace('interval_s,count\n1,4\n2,0\n1,1\n'), spread('uniform')));
    expect(times).toEqual([0.125e9, 0.375e9, 0.625e9, 0.875e9, 3.5e9]);
  });

  it('gives every interval of a long trace its count', () => {
    const stream = streamOf(4, 'counts');
    const counts = Array.from({ length: 20_000 }, () => stream.integer(7));
    const trace = parseTrace(`interval_s,count\n${counts.map((n) => `0.7,${n}`).join('\n')}`);
    const seen = new Array<number>(counts.length).fill(0);
    for (const at of pulled(traceArrivals(trace, spread('uniform')))) seen[Math.floor(at / 0.7e9)]! += 1;
    expect(seen).toEqual(counts);
  });

  it('has the counts as means where requests are spread memorylessly', () => {
    const trace = parseTrace('interval_s,count\n100,50000\n100,0\n100,10000\n');
    const times = pulled(traceArrivals(trace, spread('poisson')));
    const within = (from: number, to: number) => times.filter((t) => t >= from * 1e9 && t < to * 1e9).length;
    expect(Math.abs(within(0, 100) - 50_000)).toBeLessThan(4 * Math.sqrt(50_000));
    expect(within(100, 200)).toBe(0);
    expect(Math.abs(within(200, 300) - 10_000)).toBeLessThan(400);
    expect(traceDurationS(trace)).toBe(300);
  });

  it('has the given model, and the first by default', () => {
    const modelOf = (text: string, model?: number) => {
      const arrivals = traceArrivals(parseTrace(text), spread('uniform'), model);
      arrivals.next();
      return arrivals.model;
    };
    for (const text of ['1\n2', '1,5\n2,5']) {
      expect(modelOf(text)).toBe(0);
      expect(modelOf(text, 4)).toBe(4);
    }
  });

  it('draws gamma gaps of the given variation, 1 by default', () => {
    const shapes: number[] = [];
    const stream = {
      exponential: () => 1,
      gamma: (shape: number) => {
        shapes.push(shape);
        return shape;
      },
    };
    const trace = parseTrace('1,2\n1,2\n');
    expect(pulled(traceArrivals(trace, { process: 'gamma', stream }))).toEqual([0.75e9, 1.25e9, 1.75e9]);
    expect(pulled(traceArrivals(trace, { process: 'gamma', stream, cv: 0.5 }))).toHaveLength(3);
    expect(shapes).toEqual([1, 1, 1, 1, 4, 4, 4, 4]);
  });

  it('replays arrival times unchanged', () => {
    const trace = parseTrace('0.5\n0.5\n2\n');
    expect(pulled(traceArrivals(trace, spread('uniform')))).toEqual([5e8, 5e8, 2e9]);
    expect(traceDurationS(trace)).toBe(2);
  });
});
