import { describe, expect, it } from 'vitest';
import {
  allowedShare,
  batchToleranceOption,
  dimension,
  namedNumber,
  namedText,
} from '../../src/cli/options.js';

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

describe('--batch-tolerance', () => {
  const parse = (text: string): unknown => batchToleranceOption().parseArg?.(text, undefined);

  it('takes numbers between 0 and 1', () => {
    expect(parse('0.005')).toBe(0.005);
    expect(parse('4.5e-3')).toBe(0.0045);
    for (const text of ['0', '1', '-0.1', 'x', '']) expect(() => parse(text), text).toThrow(/is not/);
  });
});

describe('allowedShare()', () => {
  it('takes a share, or the same as a percentage', () => {
    expect([allowedShare('5%'), allowedShare('0.05'), allowedShare('100 %'), allowedShare('0')]).toEqual([
      ...[0.05, 0.05, 1, 0],
    ]);
  });

  it.each(['5', '101%', '-1%', '%', '', 'x%'])('refuses %j', (text) => {
    expect(() => allowedShare(text)).toThrow(/is not/);
  });
});
