import { pushAll } from '../../collections/index.js';
import { dtypeOf, elementOf } from './dtypes.js';
import { ENTRY, SPARSE, TENSOR } from './fields.js';
import { type Problems, quoted, shapeText } from './problems.js';
import type { ExternalData, Initializer } from './types.js';
import {
  countVarints,
  decodeText,
  type Field,
  fieldsOf,
  LENGTH_DELIMITED,
  numberOf,
  numbersOf,
  payloadOf,
  textOf,
  WireError,
} from './wire.js';

type TypedField = 'floatData' | 'int32Data' | 'stringData' | 'int64Data' | 'doubleData' | 'uint64Data';
const TYPED_FIELDS = new Map<number, TypedField>(
  (['floatData', 'int32Data', 'stringData', 'int64Data', 'doubleData', 'uint64Data'] as const).map((name) => [
    TENSOR[name],
    name,
  ]),
);
/** These are the bytes of one entry of the fields that are not varints. */
const FIXED_BYTES: Partial<Record<TypedField, number>> = { floatData: 4, doubleData: 8 };

/** No runtime has tensors of more axes than a machine word has bits; a hostile file could list millions. */
const MOST_AXES = 64;

/** TensorParts are the declarations of a TensorProto. Its values are counted, not decoded. */
interface TensorParts {
  name: string;
  code: number;
  dims: number[];
  rawBytes: number | undefined;
  /** The number of entries in each typed field. */
  entries: Map<TypedField, number>;
  textBytes: number;
  external: Map<string, string>;
  isExternal: boolean;
  segmented: boolean;
}

/** readTensor reads a TensorProto's head and checks that its dimensions fit the values it holds or points to. */
export function readTensor(encoded: Uint8Array, path: string, problems: Problems): Initializer {
  const parts = tensorParts(encoded);
  const where = parts.name === '' ? path : `${path} ${quoted(parts.name)}`;
  const count = elementCount(parts.dims, where, problems);
  const byteLength = count === undefined ? 0 : bytesOf(parts, count, where, problems);
  const external = parts.isExternal ? externalOf(parts, byteLength, where, problems) : undefined;
  if (count !== undefined && !parts.isExternal) checkStored(parts, count, byteLength, where, problems);
  if (parts.segmented) problems.add(where, 'is stored in segments, which no runtime reads');
  return {
    name: parts.name,
    dtype: dtypeOf(parts.code),
    dims: parts.dims,
    byteLength,
    sparse: false,
    ...(external === undefined ? {} : { external }),
    encoded,
  };
}

/** readSparse reads a SparseTensorProto, which is named by its values and shaped by its own dims. */
export function readSparse(encoded: Uint8Array, path: string, problems: Problems): Initializer {
  const parts: { values?: Uint8Array; indices?: Uint8Array } = {};
  const dims: number[] = [];
  for (const field of fieldsOf(encoded)) {
    if (field.number === SPARSE.values) parts.values = payloadOf(encoded, field);
    else if (field.number === SPARSE.indices) parts.indices = payloadOf(encoded, field);
    else if (field.number === SPARSE.dims) pushAll(dims, dimsOf(encoded, field, dims.length));
  }
  const values = readTensor(parts.values ?? new Uint8Array(), `${path}.values`, problems);
  const indices = readTensor(parts.indices ?? new Uint8Array(), `${path}.indices`, problems);
  elementCount(dims, `${path} ${quoted(values.name)}`, problems);
  return {
    name: values.name,
    dtype: values.dtype,
    dims,
    byteLength: values.byteLength + indices.byteLength,
    sparse: true,
    encoded,
  };
}

function tensorParts(encoded: Uint8Array): TensorParts {
  const parts: TensorParts = {
    name: '',
    code: 0,
    dims: [],
    rawBytes: undefined,
    entries: new Map(),
    textBytes: 0,
    external: new Map(),
    isExternal: false,
    segmented: false,
  };
  for (const field of fieldsOf(encoded)) readPart(parts, encoded, field);
  return parts;
}

function readPart(parts: TensorParts, encoded: Uint8Array, field: Field): void {
  switch (field.number) {
    case TENSOR.dims:
      pushAll(parts.dims, dimsOf(encoded, field, parts.dims.length));
      return;
    case TENSOR.dataType:
      parts.code = numberOf(encoded, field);
      return;
    case TENSOR.segment:
      parts.segmented = true;
      return;
    case TENSOR.name:
      parts.name = textOf(encoded, field);
      return;
    case TENSOR.rawData:
      parts.rawBytes = payloadOf(encoded, field).length;
      return;
    case TENSOR.externalData: {
      const [key, value] = entryOf(payloadOf(encoded, field));
      parts.external.set(key, value);
      return;
    }
    case TENSOR.dataLocation:
      parts.isExternal = numberOf(encoded, field) === 1;
      return;
    default: {
      const typed = TYPED_FIELDS.get(field.number);
      if (typed !== undefined) countEntries(parts, typed, encoded, field);
    }
  }
}

/** dimsOf reads one occurrence of the dims field; earlier occurrences gave `before` axes. */
function dimsOf(encoded: Uint8Array, field: Field, before: number): number[] {
  const count = field.wireType === LENGTH_DELIMITED ? countVarints(payloadOf(encoded, field)) : 1;
  if (before + count > MOST_AXES) throw new WireError(`has more than ${MOST_AXES} axes`);
  return numbersOf(encoded, field);
}

function countEntries(parts: TensorParts, typed: TypedField, encoded: Uint8Array, field: Field): void {
  const before = parts.entries.get(typed) ?? 0;
  parts.entries.set(typed, before + entriesIn(typed, encoded, field));
  if (typed === 'stringData') parts.textBytes += field.end - field.from;
}

function entriesIn(typed: TypedField, encoded: Uint8Array, field: Field): number {
  if (typed === 'stringData' || field.wireType !== LENGTH_DELIMITED) return 1;
  const packed = payloadOf(encoded, field);
  const fixed = FIXED_BYTES[typed];
  return fixed === undefined ? countVarints(packed) : packed.length / fixed;
}

/** entryOf reads a StringStringEntryProto. */
export function entryOf(encoded: Uint8Array): [string, string] {
  const entry: [string, string] = ['', ''];
  for (const field of fieldsOf(encoded)) {
    if (field.number === ENTRY.key) entry[0] = decodeText(payloadOf(encoded, field));
    if (field.number === ENTRY.value) entry[1] = decodeText(payloadOf(encoded, field));
  }
  return entry;
}

function elementCount(dims: readonly number[], where: string, problems: Problems): number | undefined {
  const negative = dims.find((dim) => dim < 0);
  if (negative !== undefined) {
    problems.add(where, `has a negative dimension: ${shapeText(dims)}`);
    return undefined;
  }
  // Zero is looked for first: an empty tensor may have any other dimensions.
  const count = dims.includes(0) ? 0 : dims.reduce((product, dim) => product * dim, 1);
  if (Number.isSafeInteger(count) && dims.every(Number.isSafeInteger)) return count;
  problems.add(where, `has dimensions no memory can hold: ${shapeText(dims)}`);
  return undefined;
}

function bytesOf(parts: TensorParts, count: number, where: string, problems: Problems): number {
  const element = elementOf(parts.code);
  if (parts.code === 0) problems.add(where, 'has no element type');
  // For a type that this table does not know, the length of the bytes is taken as it is.
  if (element === undefined) return parts.rawBytes ?? wholeNumber(parts.external.get('length') ?? '') ?? 0;
  return element.dtype === 'string' ? parts.textBytes : Math.ceil((count * element.bits) / 8);
}

function checkStored(
  parts: TensorParts,
  count: number,
  byteLength: number,
  where: string,
  problems: Problems,
): void {
  const element = elementOf(parts.code);
  if (element === undefined) return;
  const shape = `${element.dtype}${shapeText(parts.dims)}`;
  if (parts.rawBytes !== undefined && element.dtype !== 'string') {
    if (parts.rawBytes !== byteLength)
      problems.add(where, `is ${shape}, ${byteLength} bytes, but holds ${parts.rawBytes}`);
    return;
  }
  const needed = Math.ceil(count * element.entriesPerElement);
  const held = parts.entries.get(element.field) ?? 0;
  if (held !== needed) problems.add(where, `is ${shape}, ${needed} values, but holds ${held}`);
}

function externalOf(
  parts: TensorParts,
  byteLength: number,
  where: string,
  problems: Problems,
): ExternalData | undefined {
  const location = parts.external.get('location') ?? '';
  const offset = wholeNumber(parts.external.get('offset') ?? '0');
  const length = wholeNumber(parts.external.get('length') ?? String(byteLength));
  if (location === '') problems.add(where, 'is external but has no location');
  if (/^([/\\]|[A-Za-z]:)|(^|[/\\])\.\.([/\\]|$)/.test(location))
    problems.add(where, `lies outside the model's folder: ${quoted(location)}`);
  if (offset === undefined || length === undefined) {
    problems.add(where, `has an offset or length that is not a whole number of bytes in ${quoted(location)}`);
    return undefined;
  }
  if (length !== byteLength)
    problems.add(
      where,
      `${shapeText(parts.dims)} takes ${byteLength} bytes, but ${length} in ${quoted(location)}`,
    );
  return { location, offset, length };
}

function wholeNumber(text: string): number | undefined {
  const value = Number(text);
  return /^\d+$/.test(text) && Number.isSafeInteger(value) ? value : undefined;
}
