import { describe, expect, it } from 'vitest';
import { DTYPES, randomTensor, type TensorData } from '../../src/execution/index.js';
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
  it.each(
    tensors.map((tensor) => [tensor.dtype, tensor] as const),
  )('%s is the same after encoding and decoding as bytes, aligned or not', (dtype, tensor) => {
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
  });

  it.each(
    tensors.filter(({ dtype }) => dtype !== 'float16').map((tensor) => [tensor.dtype, tensor] as const),
  )('%s is the same after encoding and decoding as JSON, flat or nested', (dtype, tensor) => {
    const flat = JSON.parse(jsonOf(tensor)) as unknown[];
    expect(tensorFromJson(dtype, tensor.dims, flat)).toEqual(tensor);
    if (tensor.dims.length === 1) return;
    expect(tensorFromJson(dtype, tensor.dims, [flat.slice(0, 3), flat.slice(3)])).toEqual(tensor);
  });

  it.each([
    ['uint8', -1],
    ['uint8', 256],
    ['int8', 128],
    ['int8', 1.5],
    ['int32', 2 ** 31],
    ['int64', 2 ** 53],
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
    expect(() => tensorFromJson(dtype, [1], [value])).toThrow(/its data/);
  });

  it('FP16 in JSON is refused, and so is a list nested too deeply', () => {
    expect(() => tensorFromJson('float16', [1], [1])).toThrow('send it as binary data');
    const deep = JSON.parse('['.repeat(50_000) + ']'.repeat(50_000)) as unknown;
    expect(() => tensorFromJson('float32', [1], deep)).toThrow(/its data/);
  });
});
