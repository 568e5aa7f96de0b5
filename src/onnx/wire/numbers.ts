import { pushAll } from '../../collections/index.js';
import { dtypeOf } from './dtypes.js';
import { TENSOR } from './fields.js';
import { type Field, fieldsOf, LENGTH_DELIMITED, numberOf, numbersOf, payloadOf, WireError } from './wire.js';

/** A field of this wire type holds four bytes. */
const FIXED32 = 5;

/** tensorHead reads the element type and the shape of a TensorProto. @throws WireError where the bytes are none */
export function tensorHead(encoded: Uint8Array): { dtype: string; dims: number[] } {
  let code = 0;
  const dims: number[] = [];
  for (const field of fieldsOf(encoded)) {
    if (field.number === TENSOR.dataType) code = numberOf(encoded, field);
    else if (field.number === TENSOR.dims) pushAll(dims, numbersOf(encoded, field));
  }
  return { dtype: dtypeOf(code), dims };
}

/**
 * tensorNumbers reads the elements of a TensorProto that holds int64, int32 or float32 numbers itself. For other types
 * the list is empty. It is undefined where the elements cannot be read.
 */
export function tensorNumbers(encoded: Uint8Array, dtype: string): number[] | undefined {
  return unlessUnreadable(() => numbersOfType(encoded, dtype));
}

function numbersOfType(encoded: Uint8Array, dtype: string): number[] {
  switch (dtype) {
    case 'int64':
      return elementsOf(encoded, TENSOR.int64Data, {
        typed: numbersOf,
        raw: (bytes) => fixedNumbers(bytes, 8, (view, at) => Number(view.getBigInt64(at, true))),
      });
    case 'int32':
      return elementsOf(encoded, TENSOR.int32Data, {
        typed: numbersOf,
        raw: (bytes) => fixedNumbers(bytes, 4, (view, at) => view.getInt32(at, true)),
      });
    case 'float32':
      return elementsOf(encoded, TENSOR.floatData, {
        typed: float32Field,
        raw: float32s,
      });
    default:
      return [];
  }
}

/** elementsOf takes the raw bytes of a tensor where it has some, and its typed field otherwise. */
function elementsOf(
  encoded: Uint8Array,
  typedField: number,
  {
    typed,
    raw,
  }: {
    readonly typed: (message: Uint8Array, field: Field) => number[];
    readonly raw: (bytes: Uint8Array) => number[];
  },
): number[] {
  const numbers: number[] = [];
  let rawData: Uint8Array | undefined;
  for (const field of fieldsOf(encoded)) {
    if (field.number === TENSOR.rawData) rawData = payloadOf(encoded, field);
    else if (field.number === typedField) for (const number of typed(encoded, field)) numbers.push(number);
  }
  return rawData === undefined || rawData.length === 0 ? numbers : raw(rawData);
}

function float32Field(message: Uint8Array, field: Field): number[] {
  if (field.wireType !== LENGTH_DELIMITED && field.wireType !== FIXED32)
    throw new WireError('has no numbers');
  return float32s(message.subarray(field.from, field.end));
}

function float32s(bytes: Uint8Array): number[] {
  return fixedNumbers(bytes, 4, (view, at) => view.getFloat32(at, true));
}

function fixedNumbers(
  bytes: Uint8Array,
  size: number,
  read: (view: DataView, at: number) => number,
): number[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Array.from({ length: Math.floor(bytes.length / size) }, (_, i) => read(view, i * size));
}

/** unlessUnreadable gives what `read` gives, or undefined where it meets bytes that are no such message. */
export function unlessUnreadable<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof WireError) return undefined;
    throw error;
  }
}
