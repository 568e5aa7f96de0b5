import { describe, expect, it } from 'vitest';
import { DTYPES, randomTensor, type TensorData } from '../../src/execution/index.js';
import { asGiven, parseJson } from '../../src/protocol/json.js';
import { bytesOf, jsonOf, tensorFromBytes, tensorFromJson } from '../../src/protocol/wire.js';
import { streamOf } from '../../src/random/index.js';

const stream = streamOf(1, 'wire');
const words: TensorData = { dtype: 'string', dims: [3], data: ['', 'naïve', '日本 "x"'] };
const tensors = [
  ...Object.keys(DTYPES).map((dtype) =>
    randomTensor({ dtype, dims: [2, 3] }, stream.uniform, { low: 0, high: 2 }),
  ),
  words,
];

describe('tensors on the wire', () => {
  it.each(tensors.map((tensor) => [tensor.dtype, tensor] as const))(
    '%s is the same after encoding and decoding as bytes, aligned or not',
    (dtype, tensor) => {
      const bytes = bytesOf(tensor);
      for (let shift = 0; shift < 4; shift++) {
        const memory = new Uint8Array(bytes.length + shift);
        memory.set(bytes, shift);
        expect(tensorFromBytes(dtype, tensor.dims, memory.subarray(shift))).toEqual(tensor);
      }
      expect(() => tensorFromBytes(dtype, [7, 7], bytes)).toThrow(/needs|are needed/);
      expect(() => tensorFromBytes(dtype, tensor.dims, bytes.subarray(1))).toThrow(
        /needs|are needed|past the end/,
      );
    },
  );

  it.each(
    tensors.filter(({ dtype }) => dtype !== 'float16').map((tensor) => [tensor.dtype, tensor] as const),
  )('%s is the same after encoding and decoding as JSON, flat or nested', (dtype, tensor) => {
    const flat = JSON.parse(jsonOf(tensor)) as unknown[];
    expect(tensorFromJson(dtype, tensor.dims, asGiven(flat))).toEqual(tensor);
    if (tensor.dims.length === 1) return;
    expect(tensorFromJson(dtype, tensor.dims, asGiven([flat.slice(0, 3), flat.slice(3)]))).toEqual(tensor);
  });

  it.each([
    ['uint8', -1],
    ['uint8', 256],
    ['int8', 128],
    ['int8', 1.5],
    ['int32', 2 ** 31],
    ['int64', 2 ** 63],
    ['uint64', 2 ** 64],
    ['uint64', -1],
    ['bool', 2],
    ['bool', 'true'],
    ['float32', null],
    ['float32', '1'],
    ['float32', 1e39],
    ['float64', JSON.parse('1e999')],
    ['string', 1],
    ['int32', [[[1]]]],
  ])('%s refuses the JSON value %j', (dtype, value) => {
    expect(() => tensorFromJson(dtype, [1], asGiven([value]))).toThrow(/its data/);
  });

  it('FP16 in JSON is refused, and so is a list nested too deeply', () => {
    expect(() => tensorFromJson('float16', [1], asGiven([1]))).toThrow('send it as binary data');
    const deep = JSON.parse('['.repeat(50_000) + ']'.repeat(50_000)) as unknown;
    expect(() => tensorFromJson('float32', [1], asGiven(deep))).toThrow(/its data/);
  });

  it('INT64 and UINT64 in JSON are taken in the digits that were written, and refused beyond their range', () => {
    const read = (dtype: string, text: string) =>
      tensorFromJson(dtype, [2, 1], parseJson(Buffer.from(`[[${text}],[5]]`))).data[0];
    for (const [dtype, digits] of [
      ['int64', '9007199254740993'],
      ['int64', '-9007199254740993'],
      ['int64', '9223372036854775807'],
      ['int64', '-9223372036854775808'],
      ['int64', '9007199254740991'],
      ['uint64', '18446744073709551615'],
      ['uint64', '9007199254740992'],
    ] as const)
      expect(read(dtype, digits)).toBe(BigInt(digits));
    for (const [dtype, text] of [
      ['int64', '9223372036854775808'],
      ['int64', '-9223372036854775809'],
      ['uint64', '18446744073709551616'],
      ['uint64', '-1'],
      ['int64', '9007199254740993.5'],
      ['int64', '9007199254740991.4'],
      ['uint64', '4503599627370497.2'],
      ['int64', '-4503599627370497.2'],
      ['int64', '1e400'],
      ['int64', `1${'0'.repeat(5000)}`],
      ['int32', '9007199254740993'],
      ['float32', '1e999'],
      ['float64', '-1.0e309'],
    ] as const)
      expect(() => read(dtype, text)).toThrow(`its data at 0 is ${text}, not a valid`);
  });

  it('digits in quotation marks are no INT64, also beside others that are', () => {
    const json = parseJson(Buffer.from('["9007199254740993",9007199254740993]'));
    expect(() => tensorFromJson('int64', [2], json)).toThrow('its data at 0 is "9007199254740993"');
    const texts = parseJson(Buffer.from('["a",9007199254740993]'));
    expect(() => tensorFromJson('string', [2], texts)).toThrow('is 9007199254740993, not a string');
  });

  it('strings that are not UTF-8 are refused, and a byte order mark or a NUL is kept', () => {
    const sent = (bytes: number[]) =>
      tensorFromBytes('string', [1], Uint8Array.of(bytes.length, 0, 0, 0, ...bytes));
    for (const bytes of [[0xff], [0xc3], [0xed, 0xa0, 0x80], [0x61, 0xe9, 0x62], [0xc0, 0x80]])
      expect(() => sent(bytes)).toThrow('string 0 is not UTF-8');
    expect(sent([0xef, 0xbb, 0xbf, 0x61]).data).toEqual(['\ufeffa']);
    expect(sent([0x61, 0, 0x62]).data).toEqual(['a\0b']);
    for (const text of ['\ufeffa', 'a\0b', '\ufffd'])
      expect(
        tensorFromBytes('string', [1], bytesOf({ dtype: 'string', dims: [1], data: [text] })).data,
      ).toEqual([text]);
  });
});
