import { describe, expect, it } from 'vitest';
import { asGiven, parseJson, partOf, quotedJson } from '../../src/protocol/json.js';

const read = (text: string) => parseJson(Buffer.from(text));

describe('parseJson()', () => {
  it('gives each number that JavaScript may hold otherwise as its own text, and nothing else', () => {
    const { value, written } = read(
      '{"a\\"9007199254740993":[9007199254740993,-1e400,1.50,0.1,12345678901234567890.5],"b":"\\\\","c":"x 9007199254740993 \\\\\\" 1e400","d":1E2,"e":true}',
    );
    expect(written()).toEqual({
      'a"9007199254740993': ['9007199254740993', '-1e400', 1.5, 0.1, '12345678901234567890.5'],
      b: '\\',
      c: 'x 9007199254740993 \\" 1e400',
      d: '1E2',
      e: true,
    });
    expect((value as { e: boolean }).e).toBe(true);
  });

  it('refuses what is no JSON or no UTF-8, without quoting bytes', () => {
    expect(() => read('')).toThrow('is not JSON: it is empty');
    expect(() => parseJson(Buffer.from('{"id":"\xe9"}', 'latin1'))).toThrow(
      'is not JSON: its text is not UTF-8',
    );
    expect(() => parseJson(Buffer.from([0x1f, 0x8b, 8, 0]))).toThrow(/^is not JSON: its text is not UTF-8$/);
    expect(() => read('{"a":')).toThrow(
      /^is not JSON: the text ends where a value belongs \(line 1, column 6\)$/,
    );
    // Nobody else is answered while a place is looked for.
    expect(() => read(`[${' '.repeat(2 ** 20)}`)).toThrow(/^is not JSON: it cannot be read$/);
  });
});

describe('quotedJson()', () => {
  it('quotes numbers as they were written, and cuts what is long or nested', () => {
    const shape = partOf(read('{"shape":[1e400,9007199254740993,[1],"x"]}'), 'shape');
    expect(quotedJson(shape)).toBe('[1e400,9007199254740993,a list or an object,"x"]');
    expect(quotedJson(partOf(shape, 7))).toBe('absent');
    expect(quotedJson(asGiven(new Array(100).fill(1)))).toMatch(/^\[(1,){16}…\]$/);
    expect(quotedJson(asGiven('x'.repeat(1000))).length).toBeLessThan(100);
    const deep = JSON.parse('['.repeat(50_000) + ']'.repeat(50_000)) as unknown;
    expect(quotedJson(asGiven(deep))).toBe('[a list or an object]');
  });
});
