/**
 * WireError is thrown for bytes that are not protobuf, or not the expected message. `readModel` makes it a fault of
 * the file.
 */
export class WireError extends Error {
  override readonly name = 'WireError';
}

/** Field is one field of a message, as it lies in the message's bytes. */
export interface Field {
  readonly number: number;
  readonly wireType: WireType;
  /** The offset of the tag. */
  readonly start: number;
  /** The offset of the value: past the tag and, for length-delimited fields, past the length. */
  readonly from: number;
  /** The offset past the value. */
  readonly end: number;
}

export type WireType = 0 | 1 | 2 | 5;

export const VARINT = 0;
export const LENGTH_DELIMITED = 2;

/** A 64-bit varint takes at most ten bytes: 9 × 7 + 1 bits. */
const MOST_VARINT_BYTES = 10;
/** Seven bytes carry 49 bits, which a double adds up exactly; longer varints go through BigInt. */
const EXACT_VARINT_BYTES = 7;
/** The largest field number the wire format has room for (29 bits). */
const MOST_FIELD_NUMBER = 2 ** 29 - 1;

const decoder = new TextDecoder('utf-8', { fatal: true });
const encoder = new TextEncoder();

/**
 * fieldsOf lists the fields of a message in file order. It reads tags and lengths only, never inside a value.
 * @throws WireError, on the way, where the bytes are no fields
 */
export function* fieldsOf(message: Uint8Array): Generator<Field> {
  let at = 0;
  while (at < message.length) {
    const start = at;
    const tagEnd = varintEnd(message, start);
    const tag = varintAt(message, start);
    const number = Math.floor(tag / 8);
    if (number < 1 || number > MOST_FIELD_NUMBER)
      throw new WireError(`has a field numbered ${number} at byte ${start}`);
    const field = fieldAt(message, number, tag % 8, start, tagEnd);
    yield field;
    at = field.end;
  }
}

function fieldAt(
  message: Uint8Array,
  number: number,
  wireType: number,
  start: number,
  tagEnd: number,
): Field {
  switch (wireType) {
    case 0:
      return { number, wireType, start, from: tagEnd, end: varintEnd(message, tagEnd) };
    case 1:
      return { number, wireType, start, from: tagEnd, end: within(message, tagEnd, 8, number) };
    case 5:
      return { number, wireType, start, from: tagEnd, end: within(message, tagEnd, 4, number) };
    case 2: {
      const from = varintEnd(message, tagEnd);
      return { number, wireType, start, from, end: within(message, from, varintAt(message, tagEnd), number) };
    }
    default:
      throw new WireError(
        `has a field ${number} of wire type ${wireType} at byte ${start}, which ONNX does not use`,
      );
  }
}

function within(message: Uint8Array, from: number, length: number, number: number): number {
  const left = message.length - from;
  if (length < 0 || length > left) {
    throw new WireError(`is cut off: field ${number} says ${length} bytes where ${left} are left`);
  }
  return from + length;
}

function varintEnd(message: Uint8Array, from: number): number {
  for (let at = from; at < message.length; at++) {
    if (at - from >= MOST_VARINT_BYTES)
      throw new WireError(`has a number of more than 64 bits at byte ${from}`);
    if ((message[at] as number) < 0x80) return at + 1;
  }
  throw new WireError(`is cut off inside a number at byte ${from}`);
}

/** varintAt reads the signed 64-bit varint at `from`: exactly up to 2^53, else as the nearest double (never safe). */
export function varintAt(message: Uint8Array, from: number): number {
  const end = varintEnd(message, from);
  if (end - from > EXACT_VARINT_BYTES) return longVarint(message, from, end);
  let value = 0;
  for (let at = end - 1; at >= from; at--) value = value * 128 + ((message[at] as number) & 0x7f);
  return value;
}

function longVarint(message: Uint8Array, from: number, end: number): number {
  let value = 0n;
  for (let at = end - 1; at >= from; at--) value = (value << 7n) | BigInt((message[at] as number) & 0x7f);
  return Number(BigInt.asIntN(64, value));
}

/**
 * payloadOf gives the value of a length-delimited field: a view into the message, not a copy.
 * @throws WireError where the field is of another wire type, as `numberOf`, `textOf` and `numbersOf` do
 */
export function payloadOf(message: Uint8Array, field: Field): Uint8Array {
  if (field.wireType !== LENGTH_DELIMITED) throw new WireError(mistyped(field));
  return message.subarray(field.from, field.end);
}

/** rawField gives the whole field, tag included, to be copied as it is. */
export function rawField(message: Uint8Array, field: Field): Uint8Array {
  return message.subarray(field.start, field.end);
}

/** numberOf reads a varint field as a signed number (`varintAt`). @throws WireError for another wire type */
export function numberOf(message: Uint8Array, field: Field): number {
  if (field.wireType !== VARINT) throw new WireError(mistyped(field));
  return varintAt(message, field.from);
}

/** textOf reads a field as text. @throws WireError for another wire type, or bytes that are not UTF-8 */
export function textOf(message: Uint8Array, field: Field): string {
  return decodeText(payloadOf(message, field));
}

/** decodeText reads bytes as UTF-8. @throws WireError where they are none */
export function decodeText(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch {
    throw new WireError('has a name that is not UTF-8');
  }
}

/**
 * numbersOf reads the numbers of one occurrence of a repeated integer field, packed or not.
 * @throws WireError for another wire type
 */
export function numbersOf(message: Uint8Array, field: Field): number[] {
  if (field.wireType === VARINT) return [numberOf(message, field)];
  const packed = payloadOf(message, field);
  const numbers: number[] = [];
  for (let at = 0; at < packed.length; at = varintEnd(packed, at)) numbers.push(varintAt(packed, at));
  return numbers;
}

/** countVarints counts the varints in a packed field: one for each byte that ends one. */
export function countVarints(packed: Uint8Array): number {
  let count = 0;
  for (const byte of packed) if (byte < 0x80) count++;
  return count;
}

function mistyped(field: Field): string {
  return `has a field ${field.number} of wire type ${field.wireType} at byte ${field.start}, which is not what ONNX has there`;
}

/**
 * merged joins the parts of a message field that may be split. Protobuf merges repeated occurrences of one message, and
 * joining their bytes is that merge.
 */
export function merged(parts: readonly Uint8Array[]): Uint8Array | undefined {
  return parts.length <= 1 ? parts[0] : concat(parts);
}

/** concat joins bytes into new ones. */
export function concat(parts: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

/** varintBytes writes an integer as a varint: a negative one as its 64-bit two's complement. */
export function varintBytes(value: number): Uint8Array {
  const bytes: number[] = [];
  let left = BigInt.asUintN(64, BigInt(value));
  while (left >= 0x80n) {
    bytes.push(Number(left & 0x7fn) | 0x80);
    left >>= 7n;
  }
  bytes.push(Number(left));
  return Uint8Array.from(bytes);
}

/** delimited gives a length-delimited field as head and payload, so that a large payload is copied once, at the end. */
export function delimited(number: number, payload: Uint8Array): Uint8Array[] {
  return delimitedParts(number, [payload]);
}

/**
 * delimitedParts gives a length-delimited field with its payload in pieces, which are joined with the whole message.
 */
export function delimitedParts(number: number, payload: readonly Uint8Array[]): Uint8Array[] {
  const length = payload.reduce((sum, part) => sum + part.length, 0);
  return [varintBytes(number * 8 + LENGTH_DELIMITED), varintBytes(length), ...payload];
}

/** textField writes a field of text. */
export function textField(number: number, text: string): Uint8Array {
  return concat(delimited(number, encoder.encode(text)));
}

/** numberField writes a field that is an integer. */
export function numberField(number: number, value: number): Uint8Array {
  return concat([varintBytes(number * 8 + VARINT), varintBytes(value)]);
}

/** messageField writes a field that is a message, which is given encoded. It copies the message. */
export function messageField(number: number, payload: Uint8Array): Uint8Array {
  return concat(delimited(number, payload));
}

/**
 * rewritten passes a message's fields through `change`: undefined keeps a field's bytes, an array takes its place.
 */
export function rewritten(
  message: Uint8Array,
  change: (field: Field) => readonly Uint8Array[] | undefined,
): Uint8Array {
  return concat(rewrittenParts(message, change));
}

/** rewrittenParts does the same and leaves the parts apart, for a message that goes into another one. */
export function rewrittenParts(
  message: Uint8Array,
  change: (field: Field) => readonly Uint8Array[] | undefined,
): Uint8Array[] {
  return [...fieldsOf(message)].flatMap((field) => change(field) ?? [rawField(message, field)]);
}
