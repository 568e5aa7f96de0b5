import { codeOf, dtypeOf } from './dtypes.js';
import { CONTAINER_TYPE, DIM, MAP_TYPE, SHAPE, TENSOR_TYPE, TYPE, VALUE_INFO } from './fields.js';
import { type Problems, quoted, shapeText } from './problems.js';
import type { TensorType, ValueInfo, ValueType } from './types.js';
import {
  concat,
  delimited,
  fieldsOf,
  merged,
  messageField,
  numberField,
  numberOf,
  payloadOf,
  textField,
  textOf,
  WireError,
} from './wire.js';

const CONTAINERS = new Map<number, 'sequence' | 'map' | 'optional' | 'sparse' | 'opaque'>([
  [TYPE.sequence, 'sequence'],
  [TYPE.map, 'map'],
  [TYPE.optional, 'optional'],
  [TYPE.sparse, 'sparse'],
  [TYPE.opaque, 'opaque'],
]);

/** readValueInfo reads a ValueInfoProto. A negative dimension, which exporters write for "any", is read as unknown. */
export function readValueInfo(encoded: Uint8Array, path: string, problems: Problems): ValueInfo {
  let name = '';
  const types: Uint8Array[] = [];
  for (const field of fieldsOf(encoded)) {
    if (field.number === VALUE_INFO.name) name = textOf(encoded, field);
    if (field.number === VALUE_INFO.type) types.push(payloadOf(encoded, field));
  }
  const type = merged(types);
  const where = `${path} ${quoted(name)}`;
  return { name, type: type === undefined ? undefined : readType(type, where, problems), encoded };
}

function readType(encoded: Uint8Array, where: string, problems: Problems): ValueType | undefined {
  const tensors: Uint8Array[] = [];
  // In a oneof, the last arm counts.
  let kind: ValueType['kind'] | undefined;
  for (const field of fieldsOf(encoded)) {
    const container = CONTAINERS.get(field.number);
    if (container !== undefined) kind = container;
    if (field.number !== TYPE.tensor) continue;
    kind = 'tensor';
    tensors.push(payloadOf(encoded, field));
  }
  checkNested(encoded);
  if (kind === undefined) return undefined;
  return kind === 'tensor' ? readTensorType(concat(tensors), where, problems) : { kind };
}

/** No operator takes types nested deeper than this, as sequences of maps of sequences are. */
const MOST_TYPE_DEPTH = 16;

/** checkNested looks for malformed bytes in a type and the types nested in it, since later changes walk them all. */
function checkNested(type: Uint8Array, depth = 0): void {
  if (depth > MOST_TYPE_DEPTH) throw new WireError(`nests types more than ${MOST_TYPE_DEPTH} deep`);
  for (const field of fieldsOf(type)) {
    if (field.number === TYPE.tensor || field.number === TYPE.sparse) checkTensorType(payloadOf(type, field));
    const nested = NESTED_TYPES.get(field.number);
    if (nested === undefined) continue;
    const arm = payloadOf(type, field);
    for (const inner of fieldsOf(arm))
      if (inner.number === nested) checkNested(payloadOf(arm, inner), depth + 1);
  }
}

function checkTensorType(tensor: Uint8Array): void {
  for (const field of fieldsOf(tensor)) {
    if (field.number !== TENSOR_TYPE.shape) continue;
    const shape = payloadOf(tensor, field);
    for (const dim of fieldsOf(shape)) if (dim.number === SHAPE.dim) readDim(payloadOf(shape, dim));
  }
}

/** NESTED_TYPES says which fields of a TypeProto's arms lead to a further TypeProto. */
export const NESTED_TYPES: ReadonlyMap<number, number> = new Map<number, number>([
  [TYPE.sequence, CONTAINER_TYPE.elemType],
  [TYPE.map, MAP_TYPE.valueType],
  [TYPE.optional, CONTAINER_TYPE.elemType],
]);

function readTensorType(encoded: Uint8Array, where: string, problems: Problems): ValueType | undefined {
  let code = 0;
  const shapes: Uint8Array[] = [];
  for (const field of fieldsOf(encoded)) {
    if (field.number === TENSOR_TYPE.elemType) code = numberOf(encoded, field);
    if (field.number === TENSOR_TYPE.shape) shapes.push(payloadOf(encoded, field));
  }
  const shape = merged(shapes);
  if (code === 0) return undefined;
  const dtype = dtypeOf(code);
  if (shape === undefined) return { kind: 'tensor', dtype };
  return { kind: 'tensor', dtype, dims: readDims(shape, where, problems) };
}

function readDims(shape: Uint8Array, where: string, problems: Problems): (number | string | undefined)[] {
  const dims: (number | string | undefined)[] = [];
  for (const field of fieldsOf(shape)) {
    if (field.number === SHAPE.dim) dims.push(readDim(payloadOf(shape, field)));
  }
  const known = dims.filter((dim) => typeof dim === 'number');
  const size = known.includes(0) ? 0 : known.reduce((product, dim) => product * dim, 1);
  if (!Number.isSafeInteger(size) || !known.every(Number.isSafeInteger))
    problems.add(where, `has dimensions no memory can hold: ${shapeText(dims)}`);
  return dims;
}

function readDim(encoded: Uint8Array): number | string | undefined {
  let dim: number | string | undefined;
  for (const field of fieldsOf(encoded)) {
    if (field.number === DIM.value) dim = numberOf(encoded, field);
    if (field.number === DIM.param) dim = textOf(encoded, field);
  }
  return dim === '' || (typeof dim === 'number' && dim < 0) ? undefined : dim;
}

/**
 * valueInfoBytes makes a ValueInfoProto with a tensor's type. Without a type, or with an unknown dtype, it has the name
 * alone, and the runtime infers the type.
 */
export function valueInfoBytes(name: string, type?: TensorType): Uint8Array {
  const named = textField(VALUE_INFO.name, name);
  const code = type === undefined ? undefined : codeOf(type.dtype);
  if (type === undefined || code === undefined) return named;
  const shape = type.dims === undefined ? [] : delimited(TENSOR_TYPE.shape, shapeBytes(type.dims));
  const tensor = concat([numberField(TENSOR_TYPE.elemType, code), ...shape]);
  return concat([named, messageField(VALUE_INFO.type, messageField(TYPE.tensor, tensor))]);
}

function shapeBytes(dims: readonly (number | string | undefined)[]): Uint8Array {
  return concat(dims.flatMap((dim) => delimited(SHAPE.dim, dimBytes(dim))));
}

function dimBytes(dim: number | string | undefined): Uint8Array {
  if (dim === undefined) return new Uint8Array();
  return typeof dim === 'number' ? numberField(DIM.value, dim) : textField(DIM.param, dim);
}
