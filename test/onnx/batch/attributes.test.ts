import onnxProto from 'onnx-proto';
import { describe, expect, it } from 'vitest';
import { attributesOf } from '../../../src/onnx/batch/attributes.js';
import { tensorHead, tensorNumbers } from '../../../src/onnx/wire/index.js';
import { type Stream, streamOf } from '../../../src/random/index.js';
import { seeds } from '../../cases.js';
import { attribute, node } from '../writer.js';

const { onnx } = onnxProto;

/** attributesIn reads the attributes of an encoded node. */
function attributesIn(encoded: Uint8Array) {
  return attributesOf({ encoded } as Parameters<typeof attributesOf>[0]);
}

function list<T>(random: Stream, make: () => T): T[] {
  return Array.from({ length: random.integer(5) }, make);
}

function signed(random: Stream): number {
  const digits = 2 ** (1 + random.integer(52));
  return Math.trunc((2 * random.uniform() - 1) * digits);
}

/** randomTensor makes a tensor of one axis whose numbers are raw bytes or in the field of their type. */
function randomTensor(random: Stream) {
  const dataType = [1, 6, 7, 11][random.integer(4)] as number;
  const values = list(random, () => Math.trunc(signed(random) / 2 ** 22));
  const head = { dataType, dims: [values.length] };
  if (random.uniform() < 0.5) {
    const arrays = { 1: Float32Array, 6: Int32Array, 11: Float64Array };
    const typed =
      dataType === 7 ? BigInt64Array.from(values.map(BigInt)) : arrays[dataType as 1 | 6 | 11].from(values);
    return onnx.TensorProto.create({ ...head, rawData: new Uint8Array(typed.buffer) });
  }
  const field = { 1: 'floatData', 6: 'int32Data', 7: 'int64Data', 11: 'doubleData' }[dataType] as string;
  return onnx.TensorProto.create({ ...head, [field]: values });
}

function randomAttribute(random: Stream) {
  const name = ['axis', 'perm', 'mode', 'value', ''][random.integer(5)] as string;
  switch (random.integer(5)) {
    case 0:
      return { name, type: 2, i: signed(random) };
    case 1:
      return { name, type: 7, ints: list(random, () => signed(random)) };
    case 2:
      return { name, type: 3, s: new TextEncoder().encode('größe'.slice(random.integer(5))) };
    case 3:
      return { name, type: 4, t: randomTensor(random) };
    default:
      return { name, type: 1, f: random.uniform(), floats: list(random, () => random.uniform()) };
  }
}

/** decoded reads a node's attributes by onnx-proto, in the shape that attributesOf() gives. */
function decoded(encoded: Uint8Array) {
  const found = new Map<string, object>();
  for (const one of onnx.NodeProto.decode(encoded).attribute ?? []) {
    if (found.has(one.name ?? '')) continue;
    const ints = (one.ints ?? []).map(Number);
    const tensor = one.t ? { t: onnx.TensorProto.encode(one.t).finish() } : {};
    found.set(one.name ?? '', { i: Number(one.i), ints, s: Array.from(one.s ?? []), ...tensor });
  }
  return [...found].map(([name, { t, ...rest }]: [string, { t?: Uint8Array }]) => [
    name,
    { ...rest, ...(t === undefined ? {} : { t: described(t) }) },
  ]);
}

/** NUMBERS says for an element type which field holds its numbers, and which array its raw bytes are. */
const NUMBERS = {
  1: { dtype: 'float32', field: 'floatData', array: Float32Array },
  6: { dtype: 'int32', field: 'int32Data', array: Int32Array },
  7: { dtype: 'int64', field: 'int64Data', array: BigInt64Array },
} as const;

/** described gives the head and the numbers of a tensor, by onnx-proto. */
function described(encoded: Uint8Array) {
  const tensor = onnx.TensorProto.decode(encoded);
  const dims = (tensor.dims ?? []).map(Number);
  const known = NUMBERS[tensor.dataType as keyof typeof NUMBERS];
  if (known === undefined) return { dims, dtype: 'float64', numbers: [] };
  const raw = Array.from(new known.array(Uint8Array.from(tensor.rawData ?? []).buffer) as ArrayLike<unknown>);
  const numbers = raw.length > 0 ? raw : (tensor[known.field] ?? []);
  return { dims, dtype: known.dtype, numbers: numbers.map(Number) };
}

describe('attributesOf()', () => {
  it('gives the values that onnx-proto decodes', () => {
    for (const seed of seeds(100, 2000)) {
      const random = streamOf(seed, 'attributes');
      const attributes = list(random, () => onnx.AttributeProto.create(randomAttribute(random)));
      const encoded = onnx.NodeProto.encode({ opType: 'Any', attribute: attributes }).finish();
      const found = [...(attributesIn(encoded) ?? [])].map(([name, { t, s, ...rest }]) => {
        if (t === undefined) return [name, { ...rest, s: Array.from(s) }];
        const { dtype, dims } = tensorHead(t);
        const numbers = tensorNumbers(t, dtype);
        return [name, { ...rest, s: Array.from(s), t: { dims, dtype, numbers } }];
      });
      expect(found, `seed ${seed}`).toEqual(decoded(encoded));
    }
  });

  it('takes the first of two attributes of one name', () => {
    const encoded = node('Any', [], [], { attributes: [attribute.int('axis', 3), attribute.int('axis', 4)] });
    expect(attributesIn(encoded)?.get('axis')?.i).toBe(3);
  });

  it('gives 0 and nothing for an attribute of another type', () => {
    const encoded = node('Any', [], [], { attributes: [attribute.strings('axis', ['x'])] });
    expect(attributesIn(encoded)?.get('axis')).toEqual({ i: 0, ints: [], s: new Uint8Array() });
  });

  it('knows no attributes of a node whose bytes are cut off', () => {
    const encoded = node('Any', [], [], { attributes: [attribute.int('axis', 3)] });
    expect(attributesIn(encoded.subarray(0, -1))).toBeUndefined();
  });
});

describe('tensorNumbers()', () => {
  it('is undefined where the numbers are of another wire type', () => {
    // Field 4 holds floats, and here it holds a varint.
    expect(tensorNumbers(Uint8Array.of(0x20, 1), 'float32')).toBeUndefined();
    expect(tensorNumbers(Uint8Array.of(0x3d, 0, 0, 0, 0), 'int64')).toBeUndefined();
  });
});
