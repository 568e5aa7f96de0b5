import { describe, expect, it } from 'vitest';
import {
  batchToleranceOption,
  dimension,
  gap,
  namedNumber,
  namedText,
  notNegative,
  openShare,
  positiveNumber,
  seconds,
  share,
} from '../../src/cli/options.js';
import { buildProgram } from '../../src/cli/program.js';
import { writtenSeconds } from '../../src/formats/index.js';

describe('options that are given more than once', () => {
  it.each([
    ['dimension', dimension, ['seq=128', 'x.0=batch'], { seq: 128, 'x.0': 'batch' }],
    ['namedNumber', namedNumber, ['sr=16000', 'a=b=-0.5'], { sr: 16000, 'a=b': -0.5 }],
    ['namedText', namedText, ['m=a.onnx', 'n=x=y'], { m: 'a.onnx', n: 'x=y' }],
  ])('%s collects its pairs by name', (_, parse, texts, wanted) => {
    let all: Record<string, never> | undefined;
    for (const text of texts) all = parse(text, all) as Record<string, never>;
    expect(all).toEqual(wanted);
  });

  it.each([
    ['dimension', dimension, ['seq=0', 'seq=', '=3', 'seq', 'x.0=Batch', '=batch']],
    ['namedNumber', namedNumber, ['sr= ', 'sr=', '=1', 'sr', 'sr=NaN', 'sr=Infinity']],
    ['namedText', namedText, ['m=', '=a', 'm']],
  ])('%s refuses what is no pair', (_, parse, texts) => {
    for (const text of texts) expect(() => parse(text, {}), text).toThrow(/is not/);
  });

  it('refuse a name that was given before, and take names that every object has', () => {
    expect(() => dimension('a=1', { a: 2 })).toThrow('"a" is given twice');
    expect(() => namedNumber('a=1', { a: 1 })).toThrow('"a" is given twice');
    expect(() => namedText('a=b', { a: 'c' })).toThrow('"a" is given twice');
    expect(namedNumber('toString=1', {})).toEqual({ toString: 1 });
  });
});

it.each([
  ['positiveNumber', positiveNumber, ''],
  ['notNegative', notNegative, ''],
  ['namedNumber', namedNumber, 'sr='],
])(
  '%s refuses a whole number that a double may not hold, and takes it with an exponent',
  (_, parse, before) => {
    expect(() => parse(`${before}9007199254740993`)).toThrow(
      '"9007199254740993" is a whole number beyond 9007199254740991 (2^53 - 1)',
    );
    expect(() => parse(`${before}9007199254740991`)).not.toThrow();
    expect(() => parse(`${before}1e300`)).not.toThrow();
  },
);

describe('seconds()', () => {
  it.each([
    ['500ms', 0.5],
    ['10s', 10],
    ['15m', 900],
    ['15min', 900],
    ['1.5h', 5400],
    ['7', 7],
  ])('reads %s as files do', (text, wanted) => {
    expect([seconds(text), writtenSeconds(text)]).toEqual([wanted, wanted]);
  });

  it('refuses other text, as files do', () => {
    for (const text of ['', '5 min', '-1s', '1d', 'min', '5M', 'Infinity']) {
      expect(() => seconds(text), text).toThrow('is not a time above 0, such as 10s, 500ms or 2min.');
      expect(writtenSeconds(text), text).toBeUndefined();
    }
    expect(() => seconds('0min')).toThrow('is not a time above 0');
  });
});

describe('--batch-tolerance', () => {
  const parse = (text: string): unknown => batchToleranceOption().parseArg?.(text, undefined);

  it('takes numbers between 0 and 1', () => {
    expect(parse('0.005')).toBe(0.005);
    expect(parse('4.5e-3')).toBe(0.0045);
    for (const text of ['0', '1', '-0.1', 'x', '']) expect(() => parse(text), text).toThrow(/is not/);
  });
});

describe('shares', () => {
  it.each([
    ['5%', 0.05],
    ['0.05', 0.05],
    ['4.5e-3', 0.0045],
    ['99.9%', 0.999],
    ['.5 %', 0.005],
    ['99.99%', 0.9999],
  ])('%s is taken as %d by every option of a share', (text, wanted) => {
    for (const parse of [share, openShare, gap]) expect(parse(text), parse.name).toBe(wanted);
    expect(batchToleranceOption().parseArg?.(text, undefined)).toBe(wanted);
  });

  it('may be 0 and all where nothing else is said, and a gap may be more', () => {
    expect([share('100 %'), share('1'), share('0'), share('0%')]).toEqual([1, 1, 0, 0]);
    expect([gap('150%'), gap('2'), gap('0')]).toEqual([1.5, 2, 0]);
    for (const text of ['0', '0%', '1', '100%'])
      expect(() => openShare(text), text).toThrow('both excluded, such as 0.99 or 99%');
    for (const text of ['5', '101%']) {
      expect(() => share(text), text).toThrow(`"${text}" is not a share from 0 to 1, such as 0.99 or 99%.`);
      expect(() => openShare(text), text).toThrow(/is not/);
    }
  });

  it.each(['-1%', '%', '', ' ', 'x%', 'x', '1%%', '-0.1', 'Infinity', '1e1%'])('refuse %j', (text) => {
    for (const parse of [share, openShare, gap]) expect(() => parse(text), parse.name).toThrow(/is not/);
  });
});

describe('plan', () => {
  const names = ['solve', 'compare', 'verify', 'simulate', 'load'];
  it('takes a percentage wherever an option has a share', () => {
    const taken = names.flatMap((name) => {
      const command = buildProgram().commands.find((one) => one.name() === name)!;
      const options = command.options.filter(({ flags }) => flags.includes('<share>'));
      return options.map(({ long, parseArg }) => [name, long, parseArg?.('25%', undefined)]);
    });
    expect(taken).toHaveLength(7);
    for (const [name, long, value] of taken) expect(value, `${name} ${long}`).toBe(0.25);
  });
});
