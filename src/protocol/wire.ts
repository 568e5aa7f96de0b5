import {
  dtypeInfo,
  elementCount,
  isStrings,
  STRING_DTYPE,
  type TensorData,
  tensorBytes,
} from '../execution/index.js';

/** WireFault explains why something cannot be read as a tensor. The caller adds the place. */
export class WireFault extends Error {}

/**
 * bytesOf gives a tensor's elements as the binary extension sends them: row-major and little-endian, each string in
 * UTF-8 after its length in four bytes. The bytes of numbers are a view of the tensor's memory, those of strings a
 * copy.
 */
export function bytesOf(tensor: TensorData): Uint8Array {
  const { data } = tensor;
  if (!isStrings(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  const bytes = Buffer.alloc(tensorBytes(tensor));
  let at = 0;
  for (const text of data) {
    const length = bytes.write(text, at + 4);
    at = bytes.writeUInt32LE(length, at) + length;
  }
  return bytes;
}

/**
 * tensorFromBytes makes a tensor of its bytes. It is a view of them when they are aligned, so the caller must not
 * change them afterwards; otherwise, and for strings, it is a copy.
 * @throws WireFault where the size does not match the shape, the type is not known, or a bool is neither 0 nor 1
 */
export function tensorFromBytes(dtype: string, dims: readonly number[], bytes: Uint8Array): TensorData {
  if (dtype === STRING_DTYPE) return { dtype, dims, data: stringsFromBytes(elementCount(dims), bytes) };
  const info = dtypeInfo(dtype);
  if (info === undefined) throw new WireFault(`its datatype ${dtype} cannot be sent`);
  const expected = elementCount(dims) * info.bytes;
  if (bytes.byteLength !== expected) {
    throw new WireFault(`has ${bytes.byteLength} bytes; its shape [${dims.join(', ')}] needs ${expected}`);
  }
  if (dtype === 'bool' && bytes.some((bit) => bit > 1))
    throw new WireFault('is BOOL and holds bytes other than 0 and 1');
  const length = expected / info.bytes;
  if (bytes.byteOffset % info.bytes === 0) {
    return { dtype, dims, data: new info.array(bytes.buffer, bytes.byteOffset, length) };
  }
  const memory = new ArrayBuffer(expected);
  new Uint8Array(memory).set(bytes);
  return { dtype, dims, data: new info.array(memory, 0, length) };
}

function stringsFromBytes(count: number, bytes: Uint8Array): string[] {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const strings: string[] = [];
  let at = 0;
  while (at < buffer.length && strings.length < count) {
    const length = at + 4 <= buffer.length ? buffer.readUInt32LE(at) : Number.POSITIVE_INFINITY;
    if (at + 4 + length > buffer.length)
      throw new WireFault(`string ${strings.length} runs past the end of the data`);
    strings.push(buffer.toString('utf8', at + 4, at + 4 + length));
    at += 4 + length;
  }
  if (strings.length !== count || at !== buffer.length) {
    throw new WireFault(
      `holds ${strings.length} strings in ${at} of ${buffer.length} bytes; ${count} are needed`,
    );
  }
  return strings;
}

/**
 * tensorFromJson makes a tensor of JSON data, nested or flat. How it is nested does not matter, only the order.
 * Integers are exact up to 2^53 − 1, and larger ones are refused.
 * @throws WireFault where the number of elements is wrong, an element does not fit, or the type is float16 or not known
 */
export function tensorFromJson(dtype: string, dims: readonly number[], json: unknown): TensorData {
  if (dtype === 'float16') throw new WireFault('is FP16, which JSON cannot carry; send it as binary data');
  if (!Array.isArray(json)) throw new WireFault('its data is not a list');
  // Data nested deeper than the shape leaves lists among the elements, and those are refused below.
  const flat = json.some(Array.isArray) ? (json.flat(dims.length) as unknown[]) : json;
  const count = elementCount(dims);
  if (flat.length !== count) {
    throw new WireFault(
      `its data has ${flat.length} elements; its shape [${dims.join(', ')}] needs ${count}`,
    );
  }
  if (dtype === STRING_DTYPE) {
    const odd = flat.findIndex((value) => typeof value !== 'string');
    if (odd >= 0) throw new WireFault(`its data at ${odd} is ${shown(flat[odd])}, not a string`);
    return { dtype, dims, data: flat as string[] };
  }
  const info = dtypeInfo(dtype);
  if (info === undefined) throw new WireFault(`its datatype ${dtype} cannot be sent`);
  const data = new info.array(count);
  const read = reader(dtype);
  for (let i = 0; i < count; i++) {
    const value = read(flat[i]);
    if (value === undefined)
      throw new WireFault(`its data at ${i} is ${shown(flat[i])}, not a valid ${info.oip}`);
    (data as { [i: number]: number | bigint })[i] = value;
  }
  return { dtype, dims, data };
}

/**
 * shown quotes a value for a message. It does not spell out lists, because they may be nested beyond reason.
 */
function shown(value: unknown): string {
  if (typeof value === 'number') return String(value);
  return typeof value === 'object' && value !== null
    ? 'a list or an object'
    : (JSON.stringify(value) ?? 'absent');
}

function reader(dtype: string): (value: unknown) => number | bigint | undefined {
  const integer = /^(u?)int(\d+)$/.exec(dtype);
  if (integer !== null) {
    const bits = Number(integer[2]);
    const low = integer[1] === 'u' ? 0 : -(2 ** (bits - 1));
    const high = integer[1] === 'u' ? 2 ** bits : 2 ** (bits - 1);
    const fits = (value: unknown) =>
      Number.isSafeInteger(value) && (value as number) >= low && (value as number) < high;
    if (bits === 64) return (value) => (fits(value) ? BigInt(value as number) : undefined);
    return (value) => (fits(value) ? (value as number) : undefined);
  }
  if (dtype === 'bool') {
    return (value) => (value === true || value === 1 ? 1 : value === false || value === 0 ? 0 : undefined);
  }
  // JSON has no infinities, so a number beyond the range of its type is a mistake.
  const rounded = dtype === 'float32' ? Math.fround : Number;
  return (value) => (typeof value === 'number' && Number.isFinite(rounded(value)) ? value : undefined);
}

/**
 * jsonOf writes a tensor's elements as flat JSON text. NaN and infinities become null, because JSON has no number for
 * them. It is not for float16, whose bits it would write as integers.
 */
export function jsonOf(tensor: TensorData): string {
  const { data, dtype } = tensor;
  if (isStrings(data)) return JSON.stringify(data);
  if (dtype === 'bool') return `[${Array.from(data as Uint8Array, (bit) => bit !== 0).join(',')}]`;
  if (dtype === 'float32' || dtype === 'float64') return JSON.stringify(Array.from(data as Float32Array));
  return `[${(data as Int32Array).join(',')}]`;
}
