import { isUtf8 } from 'node:buffer';
import {
  dtypeInfo,
  elementCount,
  isStrings,
  STRING_DTYPE,
  type TensorData,
  tensorBytes,
} from '../execution/index.js';
import { type Json, quotedJson } from './json.js';
import { WireFault } from './wire-fault.js';

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
 * @throws WireFault where the size does not match the shape, the type is not known, a bool is neither 0 nor 1, or a
 *   string is not UTF-8
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
    const text = buffer.subarray(at + 4, at + 4 + length);
    if (!isUtf8(text)) throw new WireFault(`string ${strings.length} is not UTF-8, and only text is taken`);
    strings.push(text.toString('utf8'));
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
 * Integers are taken as they were written, also beyond 2^53, where JavaScript has other numbers.
 * @throws WireFault where the number of elements is wrong, an element does not fit, or the type is float16 or not known
 */
export function tensorFromJson(dtype: string, dims: readonly number[], json: Json): TensorData {
  if (dtype === 'float16') throw new WireFault('is FP16, which JSON cannot carry; send it as binary data');
  if (!Array.isArray(json.value)) throw new WireFault('its data is not a list');
  const flat = flattened(json.value, dims);
  const count = elementCount(dims);
  if (flat.length !== count) {
    throw new WireFault(
      `its data has ${flat.length} elements; its shape [${dims.join(', ')}] needs ${count}`,
    );
  }
  let asWritten: readonly unknown[] | undefined;
  const written = (i: number): unknown => {
    asWritten ??= flattened(json.written() as unknown[], dims);
    return asWritten[i];
  };
  const at = (i: number): string => quotedJson({ value: flat[i], written: () => written(i) });
  if (dtype === STRING_DTYPE) {
    const odd = flat.findIndex((value) => typeof value !== 'string');
    if (odd >= 0) throw new WireFault(`its data at ${odd} is ${at(odd)}, not a string`);
    return { dtype, dims, data: flat as string[] };
  }
  const info = dtypeInfo(dtype);
  if (info === undefined) throw new WireFault(`its datatype ${dtype} cannot be sent`);
  const data = new info.array(count);
  const read = reader(dtype);
  for (let i = 0; i < count; i++) {
    const value = read(flat[i], i, written);
    if (value === undefined) throw new WireFault(`its data at ${i} is ${at(i)}, not a valid ${info.oip}`);
    (data as { [i: number]: number | bigint })[i] = value;
  }
  return { dtype, dims, data };
}

/** Data nested deeper than the shape leaves lists among the elements, and those are refused. */
function flattened(data: unknown[], dims: readonly number[]): unknown[] {
  return data.some(Array.isArray) ? (data.flat(dims.length) as unknown[]) : data;
}

/** Reader gives the element of a value, or undefined where it does not fit. It may ask what was written at its place. */
type Reader = (value: unknown, at: number, written: (at: number) => unknown) => number | bigint | undefined;

function reader(dtype: string): Reader {
  const integer = /^(u?)int(\d+)$/.exec(dtype);
  if (integer !== null) {
    const bits = Number(integer[2]);
    const low = integer[1] === 'u' ? 0 : -(2 ** (bits - 1));
    const high = integer[1] === 'u' ? 2 ** bits : 2 ** (bits - 1);
    if (bits === 64) return longReader(integer[1] === 'u' ? BigInt.asUintN : BigInt.asIntN);
    return (value) =>
      Number.isSafeInteger(value) && (value as number) >= low && (value as number) < high
        ? (value as number)
        : undefined;
  }
  if (dtype === 'bool') {
    return (value) => (value === true || value === 1 ? 1 : value === false || value === 0 ? 0 : undefined);
  }
  // JSON has no infinities, so a number beyond the range of its type is a mistake.
  const rounded = dtype === 'float32' ? Math.fround : Number;
  return (value) => (typeof value === 'number' && Number.isFinite(rounded(value)) ? value : undefined);
}

/** From here on JavaScript has no numbers between two whole ones, so that a fraction that was written is not seen. */
const NO_FRACTIONS = 2 ** 52;

/**
 * longReader reads integers of 64 bits. Those beyond 2^53 are read in the digits that were written, and those beyond 2^52 are
 * looked up there for a fraction that was rounded away.
 */
function longReader(within: (bits: number, value: bigint) => bigint): Reader {
  const fitting = (value: bigint) => (within(64, value) === value ? value : undefined);
  return (value, at, written) => {
    if (typeof value !== 'number') return undefined;
    if (Number.isSafeInteger(value) && Math.abs(value) < NO_FRACTIONS) return fitting(BigInt(value));
    const digits = String(written(at));
    if (Number.isSafeInteger(value) && !/\.\d*[1-9]\d*$/.test(digits)) return fitting(BigInt(value));
    return /^-?\d{1,20}$/.test(digits) ? fitting(BigInt(digits)) : undefined;
  };
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
