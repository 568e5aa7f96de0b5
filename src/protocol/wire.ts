import { isUtf8 } from 'node:buffer';
import { atOnce, type Steps } from '../collections/index.js';
import {
  bytesOfStrings,
  dtypeInfo,
  elementCount,
  isStrings,
  type NumericArray,
  STRING_DTYPE,
  type TensorData,
} from '../execution/index.js';
import { beginningOf, elementTexts, longText } from './element-texts.js';
import { Elements } from './elements.js';
import { type Json, parseJson } from './json.js';
import type { DataText } from './request-parts.js';
import { WireFault } from './wire-fault.js';

/**
 * bytesOf gives a tensor's elements as the binary extension sends them: row-major and little-endian, each string in
 * UTF-8 after its length in four bytes. The bytes of numbers are a view of the tensor's memory, those of strings a
 * copy.
 */
export function bytesOf(tensor: TensorData): Uint8Array {
  const { data } = tensor;
  return isStrings(data)
    ? bytesOfStrings(data)
    : new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
}

/**
 * tensorFromBytes makes a tensor of its bytes. It is a view of them when they are aligned, so the caller must not
 * change them afterwards; otherwise, and for strings, it is a copy.
 * @throws WireFault where the size does not match the shape, the type is not known, a bool is neither 0 nor 1, or a
 *   string is not UTF-8
 */
export function tensorFromBytes(dtype: string, dims: readonly number[], bytes: Uint8Array): TensorData {
  return atOnce(tensorOfBytes(dtype, dims, bytes));
}

/** tensorOfBytes makes the tensor that `tensorFromBytes` gives, in steps, since bytes may hold millions of strings. */
export function* tensorOfBytes(dtype: string, dims: readonly number[], bytes: Uint8Array): Steps<TensorData> {
  if (dtype === STRING_DTYPE) return { dtype, dims, data: yield* stringsOfBytes(elementCount(dims), bytes) };
  const info = dtypeInfo(dtype);
  if (info === undefined) throw new WireFault(`its datatype ${dtype} cannot be sent`);
  const expected = elementCount(dims) * info.bytes;
  if (bytes.byteLength !== expected) {
    throw new WireFault(`has ${bytes.byteLength} bytes; its shape [${dims.join(', ')}] needs ${expected}`);
  }
  if (dtype === 'bool' && !areBits(bytes)) throw new WireFault('is BOOL and holds bytes other than 0 and 1');
  const length = expected / info.bytes;
  if (bytes.byteOffset % info.bytes === 0) {
    return { dtype, dims, data: new info.array(bytes.buffer, bytes.byteOffset, length) };
  }
  const memory = new ArrayBuffer(expected);
  new Uint8Array(memory).set(bytes);
  return { dtype, dims, data: new info.array(memory, 0, length) };
}

function areBits(bytes: Uint8Array): boolean {
  for (let i = 0; i < bytes.length; i++) if (bytes[i]! > 1) return false;
  return true;
}

/** This many strings are read between two stops. */
const STEP_STRINGS = 4096;

function* stringsOfBytes(count: number, bytes: Uint8Array): Steps<string[]> {
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
    if (strings.length % STEP_STRINGS === 0) yield;
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
  if (dtype === 'float16') throw new WireFault(NO_HALVES);
  if (!Array.isArray(json.value)) throw new WireFault('its data is not a list');
  const flat = flattened(json.value, dims);
  checkCount(flat.length, dims);
  const elements = new Elements(dtype, dims);
  let asWritten: readonly unknown[] | undefined;
  elements.add(flat, (i) => {
    asWritten ??= flattened(json.written() as unknown[], dims);
    return asWritten[i];
  });
  return elements.tensor;
}

const NO_HALVES = 'is FP16, which JSON cannot carry; send it as binary data';

function checkCount(count: number, dims: readonly number[]): void {
  const needed = elementCount(dims);
  if (count !== needed)
    throw new WireFault(`its data has ${count} elements; its shape [${dims.join(', ')}] needs ${needed}`);
}

/**
 * dataTextBytes gives the memory that a tensor takes at most which `tensorOfText` makes: of its elements, and while it
 * is made.
 */
export function dataTextBytes(dtype: string, { bytes, count }: DataText): number {
  const ofElement = dtype === STRING_DTYPE ? STRING_BYTES : (dtypeInfo(dtype)?.bytes ?? 0);
  return ofElement * count + (dtype === STRING_DTYPE ? 2 * bytes.byteLength : 0);
}

/** A string takes its place in a list and what V8 keeps beside its characters, of which each takes one byte or two. */
const STRING_BYTES = 32;
/** This many bytes of data are parsed at once, which takes about a millisecond. */
const BATCH_BYTES = 64 * 1024;

/**
 * tensorOfText makes the tensor that `tensorFromJson` gives of data that are not parsed yet, in steps. Elements are parsed
 * some at a time, so that it takes little more memory than the tensor. It costs about 20 ns a byte.
 * @throws WireFault as `tensorFromJson` does, and where an element is no JSON
 */
export function* tensorOfText(dtype: string, dims: readonly number[], text: DataText): Steps<TensorData> {
  if (dtype === 'float16') throw new WireFault(NO_HALVES);
  // A list of fewer levels than the shape is taken, as a flat one is.
  const isTooDeep = text.depth > dims.length + 1;
  if (!isTooDeep) checkCount(text.count, dims);
  if (isTooDeep || text.objectAt !== undefined) {
    const where = text.objectAt === undefined ? 'its data' : `its data at ${text.objectAt}`;
    const what = text.objectAt === undefined ? `nested ${text.depth} deep` : 'a list or an object';
    throw new WireFault(`${where} is ${what}, not valid for the shape [${dims.join(', ')}]`);
  }
  const elements = new Elements(dtype, dims);
  for (const part of elementTexts(text.bytes, BATCH_BYTES)) {
    if (part === undefined) yield;
    else if (part.kind === 'batch') {
      const json = parsedData(part.bytes);
      elements.add(json.value as unknown[], (i) => (json.written() as unknown[])[i]);
    } else if (part.kind === 'text' && dtype === STRING_DTYPE)
      elements.add([yield* longText(part.bytes)], () => '');
    else throw elements.refuse(beginningOf(part.bytes));
  }
  return elements.tensor;
}

function parsedData(bytes: Uint8Array): Json {
  try {
    return parseJson(bytes);
  } catch (error) {
    throw error instanceof WireFault ? new WireFault(`its data ${error.message}`) : error;
  }
}

/** Data nested deeper than the shape leaves lists among the elements, and those are refused. */
function flattened(data: unknown[], dims: readonly number[]): unknown[] {
  return data.some(Array.isArray) ? (data.flat(dims.length) as unknown[]) : data;
}

/** This many elements, or characters of one text, are written between two stops. */
const STEP_ELEMENTS = 4096;
const STEP_CHARACTERS = 128 * 1024;

/**
 * jsonOf writes a tensor's elements as flat JSON text. NaN and infinities become null, because JSON has no number for
 * them. It is not for float16, whose bits it would write as integers.
 */
export function jsonOf(tensor: TensorData): string {
  return [...jsonTexts(tensor)].join('');
}

/** jsonTexts gives the text of `jsonOf` in pieces, each of which takes about a millisecond to write. */
export function* jsonTexts({ data, dtype }: TensorData): Generator<string> {
  yield '[';
  if (isStrings(data)) yield* jsonOfStrings(data);
  else
    for (let from = 0; from < data.length; from += STEP_ELEMENTS)
      yield `${from === 0 ? '' : ','}${jsonOfNumbers(data.subarray(from, from + STEP_ELEMENTS), dtype)}`;
  yield ']';
}

function jsonOfNumbers(data: NumericArray, dtype: string): string {
  if (dtype === 'bool') return Array.from(data as Uint8Array, (bit) => bit !== 0).join(',');
  if (dtype === 'float32' || dtype === 'float64')
    return JSON.stringify(Array.from(data as Float32Array)).slice(1, -1);
  return (data as Int32Array).join(',');
}

function* jsonOfStrings(texts: readonly string[]): Generator<string> {
  let piece = '';
  for (const [i, text] of texts.entries()) {
    if (i > 0) piece += ',';
    if (text.length <= STEP_CHARACTERS) piece += JSON.stringify(text);
    else {
      yield `${piece}"`;
      piece = '"';
      yield* jsonOfLongText(text);
    }
    if (piece.length < STEP_CHARACTERS) continue;
    yield piece;
    piece = '';
  }
  yield piece;
}

/** jsonOfLongText writes a text without its marks. It cuts no pair of surrogates, half of which would be written otherwise. */
function* jsonOfLongText(text: string): Generator<string> {
  for (let from = 0; from < text.length; ) {
    let to = Math.min(text.length, from + STEP_CHARACTERS);
    if (isHighSurrogate(text.charCodeAt(to - 1))) to = Math.min(text.length, to + 1);
    yield JSON.stringify(text.slice(from, to)).slice(1, -1);
    from = to;
  }
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit < 0xdc00;
}
