import onnxProto from 'onnx-proto';
import type { Initializer, OnnxNode } from '../wire/index.js';
import { dtypeOf } from '../wire/index.js';

const { onnx } = onnxProto;

/** Batched is the axis of a tensor that grows with the batch, and how many entries each row of the batch has there. */
export interface Batched {
  readonly axis: number;
  readonly factor: number;
}

/** BatchMultiple is an element of a shape vector that is computed while the model runs: `times` × the batch. */
export interface BatchMultiple {
  readonly times: number;
}

/** BatchFlow is what is known about a tensor when the batch is free. */
export interface BatchFlow {
  /** The batch's axis; absent where the tensor is the same for any batch. */
  readonly batch?: Batched;
  /** The tensor's shape at the fixed batch, as far as it is known. */
  readonly dims?: Dims;
  /** The tensor's elements, where it is a short vector of numbers, as shapes, axes and scales are. */
  readonly values?: readonly (number | BatchMultiple)[];
  /** Whether its elements, and not its rows, depend on the size of the batch, as the output of Shape does. */
  readonly sized?: boolean;
  /** Whether it is a constant of zeros only, as an initial state is. */
  readonly zeros?: boolean;
}

/** A shape vector is no longer than a rank; longer constants are weights. */
const MOST_VALUES = 64;
/** Initial states of recurrent nodes are looked through for other values than 0; larger constants are weights. */
const MOST_STATE_BYTES = 2 ** 16;

/** RuleNode is a node as the rules see it. */
export interface RuleNode {
  readonly op: string;
  readonly opset: number;
  /** The fixed batch. */
  readonly size: number;
  /** The flow of each input; undefined for an optional input that is left out. */
  readonly flows: readonly (BatchFlow | undefined)[];
  readonly inputs: readonly string[];
  readonly outputCount: number;
  int(name: string, otherwise: number): number;
  ints(name: string): number[] | undefined;
  text(name: string, otherwise: string): string;
  /** The elements of an attribute that is a tensor; empty where they are no int32, int64 or float32 numbers. */
  elements(name: string): readonly number[] | undefined;
}

/** Edit holds new elements for the constant at one of a node's inputs (int64 by default), or leaves the input out. */
export type Edit =
  | { readonly input: number; readonly values: readonly number[]; readonly dtype?: 'float32' }
  | { readonly input: number; readonly values?: undefined };

/** NodeEdit is an edit in its place, such as a Reshape's constant that has to change. */
export interface NodeEdit {
  readonly node: OnnxNode;
  readonly edit: Edit;
  /** The elements that the input had; absent where it is no short vector. */
  readonly before: readonly number[] | undefined;
}

/**
 * RuleResult is a rule's answer. It holds the flow of each output, with edits where a constant has the batch in it; or
 * it is a text that says why nothing is known.
 */
export type RuleResult = { readonly flows: readonly BatchFlow[]; readonly edits?: readonly Edit[] } | string;

export type Dims = readonly (number | undefined)[];

export const COMPUTES_WITH_SIZE = 'it computes with the size of the batch';

/** flowing gives every output the same flow. */
export function flowing(node: RuleNode, flow: BatchFlow): Exclude<RuleResult, string> {
  return { flows: Array.from({ length: Math.max(1, node.outputCount) }, () => flow) };
}

/** withBatch makes a flow of a batch and a shape, without those that are undefined. */
export function withBatch(batch: Batched | undefined, dims: Dims | undefined): BatchFlow {
  return { ...(batch === undefined ? {} : { batch }), ...(dims === undefined ? {} : { dims }) };
}

/** axisWithin counts an axis from the front. It is undefined where the axis counts from the back of an unknown rank. */
export function axisWithin(axis: number, rank: number | undefined): number | undefined {
  return axis >= 0 ? axis : rank === undefined ? undefined : axis + rank;
}

/**
 * constantFlow gives an initializer's shape and, of a dense vector of at most 64 int32, int64 or float32 numbers, its
 * elements.
 */
export function constantFlow(initializer: Initializer): BatchFlow {
  if (initializer.sparse) return { dims: initializer.dims };
  return tensorFlow(initializer.encoded, initializer);
}

/** tensorFlow gives the shape of a TensorProto and, where it is a short vector, its elements. */
function tensorFlow(encoded: Uint8Array, known: { dtype: string; dims: readonly number[] }): BatchFlow {
  const count = known.dims.reduce((product, dim) => product * dim, 1);
  if (known.dims.length > 1 || count > MOST_VALUES)
    return holdsZeros(encoded, known) ? { dims: known.dims, zeros: true } : { dims: known.dims };
  const values = decoded(() => numbers(onnx.TensorProto.decode(encoded), known.dtype));
  return values?.length === count ? { dims: known.dims, values } : { dims: known.dims };
}

/** holdsZeros says whether a small float32 tensor of three axes, as initial states have, holds zeros only. */
function holdsZeros(
  encoded: Uint8Array,
  { dtype, dims }: { dtype: string; dims: readonly number[] },
): boolean {
  if (dims.length !== 3 || dtype !== 'float32' || encoded.length > MOST_STATE_BYTES) return false;
  const values = decoded(() => numbers(onnx.TensorProto.decode(encoded), dtype));
  return values !== undefined && values.length > 0 && values.every((value) => value === 0);
}

type Tensor = ReturnType<typeof onnx.TensorProto.decode>;

function numbers(tensor: Tensor, dtype: string): number[] {
  const raw = tensor.rawData;
  const view = raw && new DataView(raw.buffer, raw.byteOffset, raw.byteLength);
  const read = <T>(
    bytes: number,
    at: (view: DataView, offset: number) => T,
    typed: T[] | null | undefined,
  ) =>
    view && view.byteLength > 0
      ? Array.from({ length: view.byteLength / bytes }, (_, i) => at(view, i * bytes))
      : (typed ?? []);
  switch (dtype) {
    case 'int64':
      return read<unknown>(8, (v, offset) => v.getBigInt64(offset, true), tensor.int64Data).map(Number);
    case 'int32':
      return read(4, (v, offset) => v.getInt32(offset, true), tensor.int32Data);
    case 'float32':
      return read(4, (v, offset) => v.getFloat32(offset, true), tensor.floatData);
    default:
      return [];
  }
}

export type Attributes = NonNullable<ReturnType<typeof onnx.NodeProto.decode>['attribute']>;

/**
 * attributesOf decodes a node's attributes. They are undefined where onnx-proto cannot decode them, since reading a
 * file checks only tensors and graphs.
 */
export function attributesOf(node: OnnxNode): Attributes | undefined {
  return decoded(() => onnx.NodeProto.decode(node.encoded).attribute ?? []);
}

function decoded<T>(decode: () => T): T | undefined {
  try {
    return decode();
  } catch {
    return undefined;
  }
}

/** ruleNode makes the node that rules see. */
export function ruleNode(
  node: OnnxNode,
  attributes: Attributes,
  {
    flows,
    ...model
  }: {
    readonly flows: ReadonlyMap<string, BatchFlow>;
    readonly opset: number;
    readonly size: number;
  },
): RuleNode {
  const find = (name: string) => attributes.find((attribute) => attribute.name === name);
  return {
    op: node.op,
    ...model,
    flows: node.inputs.map((name) => (name === '' ? undefined : (flows.get(name) ?? {}))),
    inputs: node.inputs,
    outputCount: node.outputs.length,
    int: (name, otherwise) => Number(find(name)?.i ?? otherwise),
    ints: (name) => find(name)?.ints?.map(Number),
    text: (name, otherwise) => {
      const text = find(name)?.s;
      return text === undefined || text === null ? otherwise : new TextDecoder().decode(text);
    },
    elements: (name) => {
      const tensor = find(name)?.t;
      if (tensor === undefined || tensor === null) return undefined;
      return numbers(onnx.TensorProto.create(tensor), dtypeOf(tensor.dataType ?? 0));
    },
  };
}

/** constantNodeFlow gives the flow of a Constant node's output. */
export function constantNodeFlow(attributes: Attributes): BatchFlow {
  for (const attribute of attributes) {
    if (attribute.name === 'value' && attribute.t) {
      const dims = (attribute.t.dims ?? []).map(Number);
      const dtype = dtypeOf(attribute.t.dataType ?? 0);
      return tensorFlow(onnx.TensorProto.encode(attribute.t).finish(), { dtype, dims });
    }
    if (attribute.name === 'value_int') return { dims: [], values: [Number(attribute.i)] };
    if (attribute.name === 'value_ints') {
      const values = (attribute.ints ?? []).map(Number);
      return { dims: [values.length], values };
    }
    if (attribute.name === 'value_float' || attribute.name === 'value_string') return { dims: [] };
  }
  return {};
}
