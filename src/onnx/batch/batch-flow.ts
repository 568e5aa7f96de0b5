import { type Initializer, type OnnxNode, quoted, tensorHead, tensorNumbers } from '../wire/index.js';
import type { Attributes } from './attributes.js';

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
  /**
   * sized says whether its elements, and not its rows, depend on the size of the batch, as the output of
   * Shape does.
   */
  readonly sized?: boolean;
  /** open says whether rows are in it in a way that no rule knows. */
  readonly open?: boolean;
  /**
   * alike says whether its rows are the same for all requests, as those of a constant are that is repeated
   * for each row.
   */
  readonly alike?: boolean;
  /**
   * never says whether no run gets as far as this, because a node before it cannot run on what it is given.
   */
  readonly never?: boolean;
  /** zeros says whether it is a constant of zeros only, as an initial state is. */
  readonly zeros?: boolean;
}

/** A shape vector is no longer than a rank; longer constants are weights. */
export const MOST_VALUES = 64;
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
  has(name: string): boolean;
  int(name: string, otherwise: number): number;
  ints(name: string): readonly number[] | undefined;
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

/** Followed holds the flow of each output of a node, with edits where a constant has the batch in it. */
export interface Followed {
  readonly flows: readonly BatchFlow[];
  readonly edits?: readonly Edit[];
}

/** Mixes says how a node makes its output of several rows: no values that it is given keep them apart. */
export interface Mixes {
  readonly mixes: string;
}

/** RuleResult is a rule's answer. A text says why nothing is known. */
export type RuleResult = Followed | Mixes | string;

/** followed gives a rule's flows; undefined where rows mix or nothing is known. */
export function followed(result: RuleResult): Followed | undefined {
  return typeof result === 'string' || 'mixes' in result ? undefined : result;
}

/** mixes makes the answer that a node makes its output of several rows. */
export function mixes(how: string): Mixes {
  return { mixes: how };
}

export type Dims = readonly (number | undefined)[];

export const COMPUTES_WITH_SIZE = 'it computes with the size of the batch';

/** isTouched says whether a tensor is another one for another batch. */
export function isTouched(flow: BatchFlow | undefined): boolean {
  return flow?.batch !== undefined || flow?.sized === true || flow?.open === true;
}

/** holdsRows says whether the data of requests may be in a tensor. */
export function holdsRows(flow: BatchFlow | undefined): boolean {
  return flow?.open === true || (flow?.batch !== undefined && !flow.alike);
}

/** about names the batched input of a node and its axis: where a person should look in the model. */
export function about({ inputs }: Pick<OnnxNode, 'inputs'>, flows: ReadonlyMap<string, BatchFlow>): string {
  const name = inputs.find((input) => flows.get(input)?.batch !== undefined);
  const batch = name === undefined ? undefined : flows.get(name)?.batch;
  return batch === undefined ? '' : ` on ${quoted(name!)} (batch on axis ${batch.axis})`;
}

/** flowing gives every output the same flow. */
export function flowing(node: RuleNode, flow: BatchFlow): Followed {
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
  const values = tensorNumbers(encoded, known.dtype);
  return values?.length === count ? { dims: known.dims, values } : { dims: known.dims };
}

/** holdsZeros says whether a small float32 tensor of three axes, as initial states have, holds zeros only. */
function holdsZeros(
  encoded: Uint8Array,
  { dtype, dims }: { dtype: string; dims: readonly number[] },
): boolean {
  if (dims.length !== 3 || dtype !== 'float32' || encoded.length > MOST_STATE_BYTES) return false;
  const values = tensorNumbers(encoded, dtype);
  return values !== undefined && values.length > 0 && values.every((value) => value === 0);
}

/** ruleNode makes the node that rules see. */
export function ruleNode(
  node: Pick<OnnxNode, 'op' | 'inputs' | 'outputs'>,
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
  return {
    op: node.op,
    ...model,
    flows: node.inputs.map((name) => (name === '' ? undefined : (flows.get(name) ?? {}))),
    inputs: node.inputs,
    outputCount: node.outputs.length,
    has: (name) => attributes.has(name),
    int: (name, otherwise) => attributes.get(name)?.i ?? otherwise,
    ints: (name) => attributes.get(name)?.ints,
    text: (name, otherwise) => {
      const attribute = attributes.get(name);
      return attribute === undefined ? otherwise : new TextDecoder().decode(attribute.s);
    },
    elements: (name) => {
      const tensor = attributes.get(name)?.t;
      return tensor === undefined ? undefined : tensorNumbers(tensor, tensorHead(tensor).dtype);
    },
  };
}

/** constantNodeFlow gives the flow of a Constant node's output. */
export function constantNodeFlow(attributes: Attributes): BatchFlow {
  for (const [name, { i, ints, t }] of attributes) {
    if (name === 'value' && t !== undefined) return tensorFlow(t, tensorHead(t));
    if (name === 'value_int') return { dims: [], values: [i] };
    if (name === 'value_ints') return { dims: [ints.length], values: ints };
    if (name === 'value_float' || name === 'value_string') return { dims: [] };
  }
  return {};
}
