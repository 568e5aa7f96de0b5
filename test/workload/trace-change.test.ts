import { describe, expect, test } from 'vitest';
import { atOnce } from '../../src/collections/index.js';
import { streamOf } from '../../src/random/index.js';
import {
  type ArrivalTrace,
  arrivalTimes,
  type CountTrace,
  countedTrace,
  drawnTrace,
  meanRps,
  parseTrace,
  rescaledTrace,
  reshapedTrace,
  summarizeTrace,
  traceArrivals,
  traceDurationS,
  traceText,
} from '../../src/workload/index.js';
import { inWholeRun } from '../cases.js';

const reshaped = (...args: Parameters<typeof reshapedTrace>) => atOnce(reshapedTrace(...args));
const stream = (seed = 1) => streamOf(seed, 'change');
const secondsOf = (trace: object): number[] => Array.from((trace as ArrivalTrace).timesNs, (ns) => ns / 1e9);
const textOf = (...args: Parameters<typeof traceText>): string => [...traceText(...args)].join('');

const POISSON: ArrivalTrace = {
  kind: 'arrivals',
  format: 'arrivals',
  timesNs: arrivalTimes({ process: 'poisson', rps: 100, durationS: 100, stream: streamOf(1, 'arrivals') }),
};

describe('reshapedTrace()', () => {
  test('changes a rate as a simulation does', () => {
    expect(reshaped(POISSON, { rps: 7 }, stream())).toEqual(rescaledTrace(POISSON, { meanRps: 7 }));
  });

  test('stretches time to a duration', () => {
    const trace = parseTrace('1\n2\n4\n');
    expect(secondsOf(reshaped(trace, { durationS: 10 }, stream()))).toEqual([2.5, 5, 10]);
    const counted = reshaped(parseTrace('1,5\n3,7\n'), { durationS: 2 }, stream()) as CountTrace;
    expect([...counted.intervalS]).toEqual([0.5, 1.5]);
    expect([...counted.counts]).toEqual([5, 7]);
  });

  test('keeps counts whole, and loses none to rounding', () => {
    const trace = parseTrace(`${'1,1\n'.repeat(10)}1,0\n`);
    const third = reshaped(trace, { rps: 10 / 11 / 3 }, stream()) as CountTrace;
    expect([...third.counts]).toEqual([0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 0]);
    const more = reshaped(trace, { rps: 25 / 11 }, stream()) as CountTrace;
    expect(more.counts.reduce((sum, count) => sum + count, 0)).toBe(25);
    const both = reshaped(trace, { rps: 5, durationS: 22 }, stream()) as CountTrace;
    expect([traceDurationS(both), meanRps(both)]).toEqual([22, 5]);
  });

  test.each([
    ['fewer', 40],
    ['more', 250],
  ])('has %s requests where both rate and duration are given, and keeps the shape', (_, rps) => {
    const first = POISSON.timesNs[0] as number;
    const last = POISSON.timesNs.at(-1) as number;
    const made = reshaped(POISSON, { rps, durationS: 50 }, stream()) as ArrivalTrace;
    expect(traceDurationS(made)).toBe(50);
    expect(made.timesNs[0]).toBe(Math.round((first / last) * 50e9));
    expect(meanRps(made)).toBeCloseTo(rps, 1);
    expect([...made.timesNs].every((ns, i) => i === 0 || ns >= (made.timesNs[i - 1] as number))).toBe(true);
    // Poisson arrivals stay about as bursty, and every tenth of the time has about a tenth of them.
    expect(Math.abs((summarizeTrace(made, 1).gaps?.cv as number) - 1)).toBeLessThan(0.2);
    const tenths = [...countedTrace(made, 5).counts].slice(0, 10);
    for (const count of tenths) expect(Math.abs(count / (5 * rps) - 1)).toBeLessThan(0.2);
  });

  test('leaves out requests of the trace, or adds requests to it', () => {
    const whole = new Set(secondsOf(POISSON));
    const durationS = traceDurationS(POISSON);
    const fewer = secondsOf(reshaped(POISSON, { rps: 30, durationS }, stream()));
    expect(fewer.every((second) => whole.has(second))).toBe(true);
    const more = new Set(secondsOf(reshaped(POISSON, { rps: 130, durationS }, stream())));
    expect([...whole].every((second) => more.has(second))).toBe(true);
  });

  inWholeRun('leaves every request out equally often', () => {
    const trace = parseTrace('0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n');
    const kept = new Array<number>(10).fill(0);
    for (let seed = 0; seed < 2000; seed++) {
      const made = secondsOf(reshaped(trace, { rps: 4 / 9, durationS: 9 }, stream(seed)));
      expect(made).toHaveLength(5);
      for (const second of made) kept[second]! += 1;
    }
    expect([kept[0], kept[9]]).toEqual([2000, 2000]);
    for (const count of kept.slice(1, 9)) expect(Math.abs(count / 2000 - 3 / 8)).toBeLessThan(0.05);
  });

  test('gives the same trace under the same seed, and another under another', () => {
    const made = (seed: number) => textOf(reshaped(POISSON, { rps: 50, durationS: 60 }, stream(seed)));
    expect(made(1)).toBe(made(1));
    expect(made(2)).not.toBe(made(1));
  });

  test.each([
    ['0\n0\n', { durationS: 5 }, 'it has no duration'],
    ['3\n', { rps: 5 }, 'it has no rate'],
    ['3\n3\n', { rps: 5, durationS: 5 }, 'it has no rate'],
    ['1\n2\n', { rps: 0.1, durationS: 3 }, 'fewer than two requests'],
    ['1\n2\n', { rps: 1e9, durationS: 1e3 }, 'at most 1e+7 can be written'],
    ['1\n2\n', { durationS: 1e8 }, 'more than 104 days'],
    ['1\n2\n', { rps: 1e-8 }, 'more than 104 days'],
    ['1\n2\n', { rps: 1e300 }, 'its 2 requests cannot have the rate 1e+300'],
    ['1,1\n', { rps: 0.1 }, 'it would have no requests'],
  ])('refuses %j to %j', (text, to, said) => {
    expect(() => reshaped(parseTrace(text), to, stream())).toThrow(said);
  });
});

describe('countedTrace()', () => {
  test('counts arrivals, and spreads counts, in whole requests', () => {
    expect([...countedTrace(parseTrace('0\n0.5\n3\n'), 1).counts]).toEqual([2, 0, 0, 1]);
    const halves = countedTrace(parseTrace('2,3\n2,3\n'), 1);
    expect([...halves.counts]).toEqual([2, 1, 2, 1]);
    expect(() => countedTrace(parseTrace('9e6\n'), 1e-3)).toThrow('at most 1e+7 can be written');
  });
});

describe('drawnTrace()', () => {
  test('keeps the arrivals that counts stand for', () => {
    const trace = parseTrace('1,2\n1,0\n1,1\n');
    const drawn = atOnce(drawnTrace(traceArrivals(trace, { process: 'uniform', stream: stream() })));
    expect(secondsOf(drawn)).toEqual([0.25, 0.75, 2.5]);
    const none = parseTrace('1e-9,1\n');
    const drawNone = () => atOnce(drawnTrace(traceArrivals(none, { process: 'uniform', stream: stream() })));
    expect(drawNone).toThrow('no requests were drawn');
  });
});

describe('traceText()', () => {
  test('writes arrivals to the nanosecond, in a text that reads as the same trace', () => {
    const timesNs = Float64Array.of(0, 1, 999_999_999, 1e9, 1_000_000_010, 60e9, 4e15 + 7);
    const text = textOf({ kind: 'arrivals', format: 'arrivals', timesNs });
    expect(text).toBe('arrival_s\n0\n0.000000001\n0.999999999\n1\n1.00000001\n60\n4000000.000000007\n');
    expect(parseTrace(text)).toEqual({ kind: 'arrivals', format: 'arrivals', timesNs });
  });

  test('gives long traces in pieces that read as the same trace', () => {
    const pieces = [...traceText(POISSON)];
    expect(pieces.length).toBeGreaterThan(1);
    expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThan(70_000);
    expect(textOf(parseTrace(pieces.join('')))).toBe(pieces.join(''));
    expect((parseTrace(pieces.join('')) as ArrivalTrace).timesNs.at(-1)).toBe(POISSON.timesNs.at(-1));
    const counted = countedTrace(POISSON, 0.1);
    expect(parseTrace(textOf(counted))).toEqual(counted);
  });
});
