import { describe, expect, it } from 'vitest';
import { atOnce } from '../../src/collections/steps.js';
import { requestParts } from '../../src/protocol/request-parts.js';

const LIMITS = { restBytes: 1000, restValues: 100, inputs: 3 };
const cut = (text: string, limits = LIMITS) => atOnce(requestParts(Buffer.from(text), limits));
const textOf = (bytes: Uint8Array | undefined) => bytes && Buffer.from(bytes).toString();
const dataOf = (text: string) => cut(`{"inputs":[{"data":${text}}]}`).data[0];

describe('requestParts()', () => {
  it('cuts the data of inputs out, and leaves all else as it was written', () => {
    const { rest, data, entries } = cut(
      '{"id":"[1]","inputs":[{"name":"x","data": [1,[2, 3]] ,"a":[4]},{"data":["]",5]}],"outputs":[{"data":[6]}]}',
    );
    expect(textOf(rest)).toBe(
      '{"id":"[1]","inputs":[{"name":"x","data": [0] ,"a":[4]},{"data":[1]}],"outputs":[{"data":[6]}]}',
    );
    expect(data.map(({ bytes }) => textOf(bytes))).toEqual(['[1,[2, 3]]', '["]",5]']);
    expect(entries).toEqual({ inputs: 2, outputs: 1 });
  });

  it.each([
    ['[]', 0, 1],
    ['[ ]', 0, 1],
    ['[[],[]]', 0, 2],
    ['[1]', 1, 1],
    ['[1, -2e5 ,true]', 3, 1],
    ['[[[1,2],[3,4]],[]]', 4, 3],
    ['["a,b","\\"]",""]', 3, 1],
    ['["\\\\",[1]]', 2, 2],
  ])('counts the elements of %s, and how deep they are nested', (text, count, depth) => {
    expect(dataOf(text)).toMatchObject({ count, depth });
  });

  it('says where the first object among the data is', () => {
    expect(dataOf('[1,{"a":[1,"}"],"b":{}},2,{}]')).toMatchObject({ count: 4, objectAt: 1 });
  });

  it.each([
    '[1 2]',
    '[1,,2]',
    '[,1]',
    '[1,]',
    '[1[2]]',
    '[[1]2]',
    '[[1][2]]',
    '["a""b"]',
    '[1"a"]',
    '[1}',
    '[{}{}]',
  ])('says that the data %s are no JSON', (text) => {
    expect(() => dataOf(text)).toThrow('is not JSON: there is no place for');
  });

  it.each(['{"inputs":[{"data":[1', '{"inputs":[{"data":["a]}]}', '{"id":"a', '{"id":"a\\'])(
    'says that %s ends early',
    (text) => {
      expect(() => cut(text)).toThrow('is not JSON: it ends early');
    },
  );

  it('finds keys that are written with escapes, the last of two, and none elsewhere', () => {
    expect(cut('{"in\\u0070uts":[{"d\\u0061ta":[7]}]}').data).toHaveLength(1);
    const twice = cut('{"inputs":[{},{},{}],"inputs":[{"data":[1],"data":[2]}]}');
    expect([twice.entries.inputs, twice.data.length]).toEqual([1, 2]);
    expect(textOf(twice.rest)).toBe('{"inputs":[{},{},{}],"inputs":[{"data":[0],"data":[1]}]}');
    for (const text of [
      '{"x":[{"data":[1]}]}',
      '[{"data":[1]}]',
      '{"inputs":{"data":[1]}}',
      '{"inputs":[[{"data":[1]}]]}',
    ])
      expect(cut(text).data).toEqual([]);
  });

  it('counts entries without end, and keeps the data of the first alone', () => {
    const { entries, data } = cut(
      `{"inputs":[${'{"data":[1]},'.repeat(9)}1],"outputs":[${'1,'.repeat(20)}1]}`,
    );
    expect([entries, data.length]).toEqual([{ inputs: 10, outputs: 21 }, 3]);
  });

  it.each([
    ['bytes', '"id":"'.padEnd(1200, 'x').concat('"')],
    ['values', `"id":[${'1,'.repeat(200)}1]`],
  ])('keeps no rest with too many %s', (_what, members) => {
    const { rest, restBytes, restValues } = cut(`{${members}}`);
    expect(rest).toBeUndefined();
    expect(restBytes + restValues).toBeGreaterThan(300);
  });

  it('takes lists 64 deep and no deeper, within the data or not', () => {
    const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
    expect(dataOf(nested(64))).toMatchObject({ depth: 64 });
    expect(() => dataOf(nested(65))).toThrow('nests lists and objects more than 64 deep');
    expect(cut(`{"id":${nested(63)}}`).restValues).toBe(64);
    expect(() => cut(`{"id":${nested(64)}}`)).toThrow('nests lists and objects more than 64 deep');
  });

  it('stops after a quarter of a mebibyte each time, wherever that is', () => {
    const long = ' '.repeat(100_000);
    const list = `[${'1,'.repeat(200_000)}"${'x'.repeat(300_000)}"]`;
    const steps = requestParts(Buffer.from(`${long}{"id":"${long}","inputs":[{"data":${list}}]}`), {
      ...LIMITS,
      restBytes: 300_000,
    });
    let stops = 0;
    let step = steps.next();
    for (; !step.done; step = steps.next()) stops += 1;
    expect(stops).toBe(Math.floor(900_036 / 2 ** 18));
    expect(step.value.data[0]).toMatchObject({ count: 200_001 });
  });
});
