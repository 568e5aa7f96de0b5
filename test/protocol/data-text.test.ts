import { describe, expect, it, vi } from 'vitest';
import { atOnce, type Steps } from '../../src/collections/steps.js';
import { parseJson } from '../../src/protocol/json.js';
import { requestParts } from '../../src/protocol/request-parts.js';
import { dataTextBytes, jsonOf, jsonTexts, tensorFromJson, tensorOfText } from '../../src/protocol/wire.js';
import { streamOf } from '../../src/random/index.js';
import { inWholeRun } from '../cases.js';

const BATCH = 64 * 1024;

function textOf(list: string) {
  const limits = { restBytes: 1000, restValues: 100, inputs: 1 };
  return atOnce(requestParts(Buffer.from(`{"inputs":[{"data":${list}}]}`), limits)).data[0]!;
}

function outcome<Result>(read: () => Result): Result | string {
  try {
    return read();
  } catch (error) {
    return (error as Error).message;
  }
}

/** bothWays reads a list as values, and as text that is parsed piece by piece. */
function bothWays(dtype: string, dims: readonly number[], list: string) {
  const whole = outcome(() => tensorFromJson(dtype, dims, parseJson(Buffer.from(list))));
  const inSteps = outcome(() => atOnce(tensorOfText(dtype, dims, textOf(list))));
  return { whole, inSteps };
}

function stepsOf(steps: Steps<unknown>): number {
  let count = 1;
  while (!steps.next().done) count += 1;
  return count;
}

describe('tensorOfText()', () => {
  it.each([
    ['float32', [3], '[1.5,-2e-3,4]'],
    ['float32', [2, 2], '[[1,2],[3,4]]'],
    ['float32', [2, 2], ' [ [ 1 ,\n2] , 3 , [\t4 ] ] '],
    ['float64', [1], '[[0.1]]'],
    ['float32', [], '[7]'],
    ['float32', [0], '[[],[]]'],
    ['bool', [3], '[true,0,1]'],
    ['uint8', [2], '[0,255]'],
    ['int64', [2], '[9007199254740993,-9223372036854775808]'],
    ['uint64', [1], '[18446744073709551615]'],
    ['string', [4], '["a,b]","\\u00e9\\n","", "😀"]'],
    ['string', [2], '["\\ud83d\\ude00","\\ud800"]'],
    ['float32', [2], '[1]'],
    ['float32', [2], '[1,"a"]'],
    ['float32', [1], '[1e39]'],
    ['float32', [2], '[1,null]'],
    ['int64', [1], '[9007199254740993.5]'],
    ['int64', [1], '["9007199254740993"]'],
    ['uint8', [1], '[256]'],
    ['string', [2], '["a",9007199254740993]'],
    ['float16', [1], '[1]'],
    ['bfloat16', [1], '[1]'],
  ])('gives of %s%j what the values of %s give, and the same faults', (dtype, dims, list) => {
    const { whole, inSteps } = bothWays(dtype, dims, list);
    expect(inSteps).toEqual(whole);
  });

  inWholeRun('gives the same of random data, however they are nested and spaced, across batches', () => {
    const stream = streamOf(3, 'data');
    const pick = <Item>(items: readonly Item[]) => items[stream.integer(items.length)]!;
    const space = () => pick(['', '', '', ' ', '\n\t']);
    const number = () => pick([String(stream.integer(1000)), String(stream.uniform()), '-1e-7', '3.25E2']);
    const word = () => JSON.stringify(pick(['', 'a', 'é,"]', '\\', '日本'.repeat(stream.integer(30)), '[[']));
    for (let i = 0; i < 30; i++) {
      const dtype = pick(['float32', 'float64', 'string']);
      const dims = [1 + stream.integer(40), 1 + stream.integer(i < 20 ? 20 : 900)];
      const rows = Array.from({ length: dims[0]! }, () => {
        const row = Array.from(
          { length: dims[1]! },
          () => (dtype === 'string' ? word() : number()) + space(),
        );
        return stream.uniform() < 0.5 ? row.join(`,${space()}`) : `[${row.join(',')}]${space()}`;
      });
      const list = `[${space()}${rows.join(',')}]`;
      const { whole, inSteps } = bothWays(dtype, dims, list);
      expect(typeof whole, list.slice(0, 200)).toBe('object');
      expect(inSteps).toEqual(whole);
    }
  });

  it.each(['[01]', '[1.]', '[.5]', '[+1]', '[tru]', '[1e]', '["\\x"]', '["\u0001"]', '[NaN]'])(
    'says that %s is no JSON',
    (list) => {
      expect(outcome(() => atOnce(tensorOfText('float32', [1], textOf(list))))).toMatch(
        /^its data is not JSON/,
      );
    },
  );

  it('refuses objects, lists that are too deep, and texts and numbers that are too long for their type', () => {
    const said = (dtype: string, list: string) => bothWays(dtype, [1], list).inSteps;
    expect(said('float32', '[{}]')).toBe('its data at 0 is a list or an object, not valid for the shape [1]');
    expect(said('float32', '[[[1]]]')).toBe('its data is nested 3 deep, not valid for the shape [1]');
    const long = 'x'.repeat(BATCH);
    expect(said('float32', `["${long}"]`)).toMatch(/^its data at 0 is "x{70,80}.{1,3}, not a valid FP32$/);
    expect(said('float32', `[1${'0'.repeat(BATCH)}]`)).toMatch(
      /^its data at 0 is "10+.{1,3}, not a valid FP32$/,
    );
    expect(said('string', `[1${'0'.repeat(BATCH)}]`)).toMatch(/not a string$/);
  });

  it('parses no more than 64 KiB at once, and counts before it parses anything', () => {
    const parse = vi.spyOn(JSON, 'parse');
    const longest = () => Math.max(0, ...parse.mock.calls.map(([text]) => text.length));
    try {
      const list = `[${'0.123456,'.repeat(100_000)}1]`;
      expect(stepsOf(tensorOfText('float32', [100_001], textOf(list)))).toBeGreaterThan(list.length / BATCH);
      expect(longest()).toBeLessThanOrEqual(BATCH);
      expect(longest()).toBeGreaterThan(BATCH / 2);
      parse.mockClear();
      expect(outcome(() => atOnce(tensorOfText('float32', [7], textOf(list))))).toContain(
        'has 100001 elements',
      );
      expect(outcome(() => atOnce(tensorOfText('float32', [1e15], textOf(list))))).toContain(
        'has 100001 elements',
      );
      expect(parse.mock.calls.length).toBe(0);
    } finally {
      parse.mockRestore();
    }
  });

  it('parses a long text piece by piece, and cuts no escape or character', () => {
    for (const piece of ['\\u00e9', '\\n', '日本', 'a"'.replace('"', '\\"'), '\\ud83d\\ude00']) {
      const written = `"${piece.repeat(1_100_000 / piece.length)}"`;
      const text = textOf(`[${written}]`);
      const parse = vi.spyOn(JSON, 'parse');
      const tensor = atOnce(tensorOfText('string', [1], text));
      const longest = Math.max(...parse.mock.calls.map(([one]) => one.length));
      parse.mockRestore();
      expect(longest).toBeLessThan(300_000);
      expect(tensor.data[0] === JSON.parse(written)).toBe(true);
    }
  });

  it('is counted with the memory that its elements take', () => {
    expect(dataTextBytes('float32', textOf('[1,2,3]'))).toBe(12);
    expect(dataTextBytes('int64', textOf('[1,2,3]'))).toBe(24);
    expect(dataTextBytes('string', textOf('["ab"]'))).toBe(32 + 2 * 6);
  });
});

describe('jsonTexts()', () => {
  it('gives the text of JSON.stringify() in pieces, and cuts no pair of surrogates', () => {
    const stream = streamOf(5, 'answer');
    const numbers = Float64Array.from({ length: 20_000 }, () => stream.uniform() - 0.5);
    const pieces = [...jsonTexts({ dtype: 'float64', dims: [20_000], data: numbers })];
    expect(pieces.join('') === JSON.stringify([...numbers])).toBe(true);
    expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThan(30 * 4096);
    for (const text of [
      'x'.repeat(300_000),
      '"\n'.repeat(200_000),
      `a${'😀'.repeat(200_000)}`,
      '\ud800'.repeat(140_000),
    ]) {
      const data = ['a', text, text.slice(0, 200_000), ''];
      const tensor = { dtype: 'string', dims: [4], data };
      expect(jsonOf(tensor) === JSON.stringify(data)).toBe(true);
      expect(Math.max(...[...jsonTexts(tensor)].map(({ length }) => length))).toBeLessThan(800_000);
    }
  });
});
