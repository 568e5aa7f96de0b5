import { type DimValues, fault, InputError } from '../../formats/index.js';
import type { OnnxModel, ValueInfo } from '../wire/index.js';
import {
  concat,
  DIM,
  delimited,
  type Field,
  fieldsOf,
  GRAPH,
  NESTED_TYPES,
  numberField,
  numberOf,
  payloadOf,
  quoted,
  rawField,
  rewritten,
  rewrittenParts,
  SHAPE,
  TENSOR_TYPE,
  TYPE,
  textField,
  textOf,
  VALUE_INFO,
  withGraph,
} from '../wire/index.js';

/**
 * freeDims lists the dimensions of graph inputs that the file leaves open, in order of first appearance: symbolic ones
 * by name, unnamed ones as `<input>.<axis>`. An input that declares no shape has none to list.
 */
export function freeDims(model: OnnxModel): string[] {
  return [...new Set(model.graph.inputs.flatMap(openDims))];
}

/**
 * zeroDims lists the dimensions of graph inputs that are 0 in the file, as `<input>.<axis>`. ONNX Runtime takes only
 * empty tensors there. Few files mean that: some exporters write 0 for "any".
 */
export function zeroDims(model: OnnxModel): string[] {
  return model.graph.inputs.flatMap((input) => namedDims(input, (dim) => dim === 0));
}

/** The symbol of dimensions that are declared the batch. */
export const BATCH = 'batch';

/** openPlaces lists the open dimensions of an input as `<input>.<axis>`, named or not. */
function openPlaces({ name, type }: ValueInfo): string[] {
  if (type?.kind !== 'tensor') return [];
  return (type.dims ?? []).flatMap((dim, axis) => (typeof dim === 'number' ? [] : [`${name}.${axis}`]));
}

function openDims(input: ValueInfo): string[] {
  return namedDims(input, (dim) => typeof dim !== 'number');
}

function namedDims(
  { name, type }: ValueInfo,
  wanted: (dim: number | string | undefined) => boolean,
): string[] {
  if (type?.kind !== 'tensor') return [];
  return (type.dims ?? []).flatMap((dim, axis) =>
    wanted(dim) ? [typeof dim === 'string' ? dim : `${name}.${axis}`] : [],
  );
}

/**
 * bindDims gives open dimensions their sizes, or makes them the symbol `batch`. A symbol changes in every declared type
 * of inputs, outputs and inner tensors, nested types too. A dimension that is unnamed or 0 changes only where it stands,
 * and so does one with a symbol that is given as `<input>.<axis>`. Symbols written as expressions (`2*seq`) stay as
 * they are.
 *
 * @throws InputError where a name is no free dimension (listing those that are) or a value is neither a positive integer
 *   nor `batch`
 */
export function bindDims(model: OnnxModel, dims: Readonly<DimValues>): Uint8Array {
  checkDims(model, dims);
  const sizes = new Map(Object.entries(dims));
  const graph = rewrittenParts(model.graph.encoded, (field) => {
    if (![GRAPH.input, GRAPH.output, GRAPH.valueInfo].includes(field.number as never)) return undefined;
    const isInput = field.number === GRAPH.input;
    return delimited(field.number, boundValue(payloadOf(model.graph.encoded, field), sizes, isInput));
  });
  return concat(withGraph(model, graph));
}

function checkDims(model: OnnxModel, dims: Readonly<DimValues>): void {
  const free = [...freeDims(model), ...zeroDims(model)];
  const places = model.graph.inputs.flatMap((input) => openPlaces(input));
  const valid =
    free.length === 0 ? 'the model has no free dimensions' : `free dimensions are ${free.join(', ')}`;
  const faults = Object.entries(dims).flatMap(([name, size]) => {
    if (!free.includes(name) && !places.includes(name))
      return [fault(`it has no free dimension ${quoted(name)}; ${valid}`)];
    if (size !== BATCH && !(Number.isSafeInteger(size) && size > 0))
      return [fault(`dimension ${quoted(name)} cannot be ${size}; give a positive whole number or ${BATCH}`)];
    return [];
  });
  if (faults.length > 0) throw new InputError(`set dimensions of ${model.name}`, faults);
}

/** DimChange gives a dimension's new size, or undefined to keep it. `axis` counts within the outermost tensor. */
type DimChange = (dim: { readonly param: string; readonly axis: number }) => Uint8Array | undefined;

function boundValue(
  value: Uint8Array,
  sizes: ReadonlyMap<string, number | 'batch'>,
  isInput: boolean,
): Uint8Array {
  const nameField = [...fieldsOf(value)].findLast((field) => field.number === VALUE_INFO.name);
  const name = nameField === undefined ? '' : textOf(value, nameField);
  return changeDims(value, ({ param, axis }) => {
    const here = isInput ? sizes.get(`${name}.${axis}`) : undefined;
    const size = here ?? (param === '' ? undefined : sizes.get(param));
    if (size === undefined) return undefined;
    return size === BATCH ? textField(DIM.param, BATCH) : numberField(DIM.value, size);
  });
}

/** changeDims passes the open dimensions of a ValueInfoProto through `change`; denotations and unknown fields stay. */
function changeDims(value: Uint8Array, change: DimChange): Uint8Array {
  return rewritten(value, (field) =>
    field.number === VALUE_INFO.type
      ? delimited(field.number, changeType(payloadOf(value, field), change))
      : undefined,
  );
}

function changeType(type: Uint8Array, change: DimChange): Uint8Array {
  return rewritten(type, (field) => {
    if (field.number === TYPE.tensor || field.number === TYPE.sparse)
      return delimited(field.number, changeTensor(payloadOf(type, field), change));
    const nested = NESTED_TYPES.get(field.number);
    if (nested === undefined) return undefined;
    const arm = payloadOf(type, field);
    const changed = rewritten(arm, (inner) =>
      inner.number === nested ? delimited(nested, changeType(payloadOf(arm, inner), change)) : undefined,
    );
    return delimited(field.number, changed);
  });
}

function changeTensor(tensor: Uint8Array, change: DimChange): Uint8Array {
  return rewritten(tensor, (field) => {
    if (field.number !== TENSOR_TYPE.shape) return undefined;
    const shape = payloadOf(tensor, field);
    let axis = 0;
    const changed = rewritten(shape, (inner) =>
      inner.number === SHAPE.dim
        ? delimited(SHAPE.dim, changeDim(payloadOf(shape, inner), axis++, change))
        : undefined,
    );
    return delimited(field.number, changed);
  });
}

function changeDim(dim: Uint8Array, axis: number, change: DimChange): Uint8Array {
  const fields = [...fieldsOf(dim)];
  const size = fields.findLast((field) => field.number === DIM.value || field.number === DIM.param);
  const fixed = size !== undefined && size.number === DIM.value;
  if (fixed && numberOf(dim, size) > 0) return dim;
  const changed = change({ param: size === undefined || fixed ? '' : textOf(dim, size), axis });
  if (changed === undefined) return dim;
  const others = fields.filter((field: Field) => field.number !== DIM.value && field.number !== DIM.param);
  return concat([changed, ...others.map((field) => rawField(dim, field))]);
}
