import { itemAt } from '../../collections/index.js';
import {
  axisWithin,
  type BatchFlow,
  COMPUTES_WITH_SIZE,
  type Dims,
  flowing,
  mixes,
  type RuleNode,
  type RuleResult,
  withBatch,
} from './batch-flow.js';

const GLOBAL_POOLS = new Set(['GlobalAveragePool', 'GlobalMaxPool', 'GlobalLpPool']);

/**
 * spatial follows operators on [batch, channels, …] that keep rows apart. It knows the batch and the sizes behind Conv and
 * pools; those behind others are unknown afterwards.
 */
export function spatial(node: RuleNode): RuleResult {
  const [data, ...rest] = node.flows;
  if (rest.some((flow) => flow?.batch !== undefined)) return 'its weights have the batch';
  if (data?.batch !== undefined && data.batch.axis !== 0) return 'the batch is not on axis 0 of its input';
  if (node.op === 'MaxPool' && node.outputCount > 1)
    return mixes('its indices count through the whole batch');
  if (node.op === 'BatchNormalization' && node.int('training_mode', 0) === 1)
    return mixes('it takes its statistics over the batch');
  const dims = data?.dims?.map((dim, axis) => (axis === 0 ? dim : sizeAfter(node, data.dims!, axis)));
  return flowing(node, withBatch(data?.batch, dims));
}

/** sizeAfter gives the size of an axis behind a pool or Conv, as far as it is known. */
function sizeAfter(node: RuleNode, dims: Dims, axis: number): number | undefined {
  if (GLOBAL_POOLS.has(node.op)) return axis > 1 ? 1 : dims[axis];
  const weights = node.op === 'Conv' ? node.flows[1]?.dims : undefined;
  const isPool = node.op === 'MaxPool' || node.op === 'AveragePool';
  if (axis === 1) return isPool ? dims[1] : weights?.[0];
  const at = axis - 2;
  const [size, kernel] = [dims[axis], isPool ? node.ints('kernel_shape')?.[at] : weights?.[axis]];
  const plain = node.text('auto_pad', 'NOTSET') === 'NOTSET' && node.int('ceil_mode', 0) === 0;
  if (size === undefined || kernel === undefined || !plain) return undefined;
  const pads = node.ints('pads');
  const padded = size + (pads?.[at] ?? 0) + (pads?.[at + dims.length - 2] ?? 0);
  const reach = (node.ints('dilations')?.[at] ?? 1) * (kernel - 1) + 1;
  return Math.floor((padded - reach) / (node.ints('strides')?.[at] ?? 1)) + 1;
}

/** reduce follows reductions over given axes other than the batch's. */
export function reduce(node: RuleNode): RuleResult {
  const data = node.flows[0];
  const rank = data?.dims?.length;
  const given = node.ints('axes') ?? node.flows[1]?.values;
  const keep = node.int('keepdims', 1) === 1;
  if (data?.batch === undefined && !data?.sized) return flowing(node, {});
  if (data.batch === undefined) return COMPUTES_WITH_SIZE;
  if (given === undefined && node.flows[1] !== undefined) return 'the axes it reduces over are not known';
  if (given === undefined || given.length === 0) {
    if (node.int('noop_with_empty_axes', 0) === 1) return flowing(node, withBatch(data.batch, data.dims));
    return mixes('it reduces over every axis, the batch too');
  }
  const axes = given.map((axis) => (typeof axis === 'number' ? axisWithin(axis, rank) : undefined));
  if (axes.includes(undefined)) return 'the rank of its input is not known';
  return flowAfterReduction(node, data, axes as number[], keep);
}

function flowAfterReduction(
  node: RuleNode,
  data: BatchFlow,
  axes: readonly number[],
  keep: boolean,
): RuleResult {
  const { axis, factor } = data.batch!;
  if (axes.includes(axis)) return mixes(`it reduces over axis ${axis}, the batch`);
  const dims = data.dims?.flatMap((dim, at) => (axes.includes(at) ? (keep ? [1] : []) : [dim]));
  const moved = keep ? axis : axis - axes.filter((other) => other < axis).length;
  return flowing(node, withBatch({ axis: moved, factor }, dims));
}

/** argExtreme follows ArgMax and ArgMin along any axis but the batch's. */
export function argExtreme(node: RuleNode): RuleResult {
  const data = node.flows[0];
  if (data?.batch === undefined) return data?.sized ? COMPUTES_WITH_SIZE : flowing(node, {});
  const axis = axisWithin(node.int('axis', 0), data.dims?.length);
  if (axis === undefined) return 'the rank of its input is not known';
  return flowAfterReduction(node, data, [axis], node.int('keepdims', 1) === 1);
}

/** softmax normalizes everything from `axis` on as one vector before operator set 13, and since then `axis` alone. */
export function softmax(node: RuleNode): RuleResult {
  const data = node.flows[0];
  if (data?.batch === undefined) return flowing(node, withBatch(undefined, data?.dims));
  const since13 = node.opset >= 13;
  const axis = axisWithin(node.int('axis', since13 ? -1 : 1), data.dims?.length);
  if (axis === undefined) return 'the rank of its input is not known';
  const over = since13 ? axis === data.batch.axis : data.batch.axis >= axis;
  return over ? mixes('it normalizes over the batch') : flowing(node, withBatch(data.batch, data.dims));
}

/** normalization follows operators that normalize all axes from `axis` on, where the batch's axis lies before it. */
export function normalization(node: RuleNode): RuleResult {
  const [data, ...rest] = node.flows;
  if (rest.some((flow) => flow?.batch !== undefined)) return 'a parameter of it has the batch';
  const axis = axisWithin(node.int('axis', -1), data?.dims?.length);
  if (data?.batch !== undefined && axis === undefined) return 'the rank of its input is not known';
  if (data?.batch !== undefined && data.batch.axis >= axis!) return mixes('it normalizes over the batch');
  return {
    flows: [
      withBatch(data?.batch, data?.dims),
      ...Array.from({ length: node.outputCount - 1 }, () => withBatch(data?.batch, undefined)),
    ],
  };
}

/**
 * recurrent follows X [sequence, batch, size] and initial states [directions, batch, size]. Outputs have the batch
 * before the last axis. Inputs of another rank are refused when they run. Initial states of zeros for the fixed batch
 * are left out: an operator without them begins with zeros.
 */
export function recurrent(node: RuleNode): RuleResult {
  const [data, w, r, bias, lengths, ...initial] = node.flows;
  if (data?.batch === undefined)
    return node.flows.some((flow) => flow?.batch) ? 'its input lacks the batch' : flowing(node, {});
  if (data.dims !== undefined && data.dims.length !== 3) return flowing(node, { never: true });
  if (node.int('layout', 0) !== 0)
    return 'it has the batch first (layout 1), which ONNX Runtime does not run';
  if (data.batch.axis !== 1) return 'the batch is not on axis 1 of its input';
  if ([w, r, bias].some((flow) => flow?.batch)) return 'its weights have the batch';
  const { factor } = data.batch;
  const is = (flow: BatchFlow, axis: number) => flow.batch?.axis === axis && flow.batch.factor === factor;
  if (lengths !== undefined && !is(lengths, 0)) return 'its sequence lengths lack the batch';
  const states = initial.slice(0, 2);
  const zeros = states.flatMap((flow, at) => (flow?.batch === undefined && flow?.zeros ? [at] : []));
  if (states.some((flow, at) => flow !== undefined && !is(flow, 1) && !zeros.includes(at)))
    return 'its initial state lacks the batch';
  const [length, size] = [data.dims?.[0], data.dims?.[1]];
  const y = withBatch({ axis: 2, factor }, [length, undefined, size, undefined]);
  const state = withBatch({ axis: 1, factor }, [undefined, size, undefined]);
  return { flows: [y, state, state], edits: zeros.map((at) => ({ input: FIRST_STATE + at })) };
}

/** The input of recurrent operators that holds the first of their initial states. */
const FIRST_STATE = 5;

/** matMul follows [… , m, k] × [k, n] with shared weights, or two batched inputs that are not summed over the batch. */
export function matMul(node: RuleNode, a: BatchFlow | undefined, b: BatchFlow | undefined): RuleResult {
  if (a?.batch === undefined && b?.batch === undefined) return flowing(node, {});
  if (a?.dims === undefined || b?.dims === undefined) return 'the shapes of its inputs are not known';
  const rank = Math.max(a.dims.length, b.dims.length);
  const dims = matMulDims(a.dims, b.dims, rank);
  if (a.batch !== undefined && b.batch === undefined) {
    const contracted = a.batch.axis === a.dims.length - 1;
    const alongside = a.dims.length < rank || b.dims.slice(0, -2).some((dim) => dim !== 1);
    if (contracted) return mixes(`it sums over axis ${a.batch.axis}, the batch`);
    if (alongside && a.batch.axis < a.dims.length - 2) return 'its second input has axes beside the batch';
    return flowing(node, withBatch({ ...a.batch, axis: a.batch.axis + rank - a.dims.length }, dims));
  }
  const [left, right] = [a.batch, b.batch!];
  const stacked = right.axis < b.dims.length - 2 && b.dims.length === rank;
  const alike =
    left === undefined
      ? a.dims.length <= 2 || a.dims.slice(0, -2).every((dim) => dim === 1)
      : a.dims.length === rank && left.axis === right.axis && left.factor === right.factor;
  if (!stacked || !alike) return 'its inputs have the batch on axes that do not match';
  return flowing(node, withBatch(right, dims));
}

function matMulDims(a: Dims, b: Dims, rank: number): Dims | undefined {
  if (a.length < 2 || b.length < 2) return undefined;
  const lead = Array.from({ length: rank - 2 }, (_, axis) => {
    const [x, y] = [a, b].map((dims) =>
      axis - (rank - dims.length) < 0 ? 1 : dims[axis - (rank - dims.length)],
    );
    return x === 1 ? y : x;
  });
  return [...lead, a.at(-2), b.at(-1)];
}

/** gemm follows Gemm with the batch on axis 0 of A (not transposed), and a C that has as many rows or one for all. */
export function gemm(node: RuleNode): RuleResult {
  const [a, b, c] = node.flows;
  if (b?.batch !== undefined || (c?.batch !== undefined && a?.batch === undefined))
    return 'its weights have the batch';
  if (a?.batch === undefined) return flowing(node, {});
  const transposed = node.int('transA', 0) !== 0;
  if ((a.batch.axis === 0) === transposed) return mixes('it sums over the batch');
  if (transposed) return 'the batch is on axis 1 of its input';
  if (
    c?.batch !== undefined &&
    !(c.batch.axis === 0 && c.batch.factor === a.batch.factor && c.dims?.length === 2)
  )
    return 'what it adds has the batch elsewhere';
  // C is broadcast to [rows, columns]: if it has two axes, its first must leave the rows free.
  if (
    c?.batch === undefined &&
    c !== undefined &&
    !(c.dims !== undefined && (c.dims.length < 2 || c.dims[0] === 1))
  )
    return 'what it adds has as many rows as the fixed batch';
  const columns = b?.dims?.[node.int('transB', 0) === 0 ? 1 : 0];
  return flowing(node, withBatch(a.batch, [a.dims?.[0], columns]));
}

/**
 * resize accepts scales that are 1 on the batch, and target sizes that leave the batch out (`axes`) or compute it from
 * the input. Constant target sizes become scales, where those give the very same sizes.
 */
export function resize(node: RuleNode): RuleResult {
  const [data, , , sizes] = node.flows;
  if (data?.batch === undefined) return sizes?.sized ? COMPUTES_WITH_SIZE : flowing(node, {});
  if (data.batch.axis !== 0) return 'the batch is not on axis 0 of its input';
  if (node.text('coordinate_transformation_mode', '') === 'tf_crop_and_resize') return 'it crops by a region';
  const axes = node.ints('axes');
  const leavesBatchOut = axes !== undefined && !axes.includes(0);
  const scales = node.flows[node.op === 'Resize' && node.opset >= 11 ? 2 : 1];
  if (sizes === undefined && !leavesBatchOut && scales?.values?.[axes?.indexOf(0) ?? 0] !== 1)
    return 'it is not known to scale the batch by 1';
  const dims = data.dims?.map((dim, axis) => (axis < 2 && axes === undefined ? dim : undefined));
  if (sizes === undefined || leavesBatchOut) return flowing(node, withBatch(data.batch, dims));
  const target = axes === undefined ? sizes.values : undefined;
  const [lead, ...others] = target ?? [];
  const sized = others.map((value) => (typeof value === 'number' ? value : undefined));
  const flow = withBatch(data.batch, [data.dims?.[0], ...sized]);
  if (typeof lead === 'object' && lead.times === data.batch.factor && !sized.includes(undefined))
    return flowing(node, flow);
  if (typeof lead !== 'number' || sized.includes(undefined)) return 'its target sizes have the batch in them';
  if (node.text('keep_aspect_ratio_policy', 'stretch') !== 'stretch')
    return 'it keeps the ratio of its sizes';
  if (data.dims === undefined || data.dims.includes(undefined)) return 'the shape of its input is not known';
  const ratios = scalesOf(data.dims as number[], [lead, ...(sized as number[])]);
  if (ratios?.[0] !== 1) return 'its target sizes have the batch in them';
  return { ...flowing(node, flow), edits: [{ input: 2, values: ratios, dtype: 'float32' }, { input: 3 }] };
}

/** scalesOf gives the float32 scales that ONNX Runtime computes from target sizes, if they give the same sizes. */
function scalesOf(from: readonly number[], to: readonly number[]): number[] | undefined {
  const scales = to.map((size, axis) => Math.fround(size / (from[axis] ?? Number.NaN)));
  const same = scales.every(
    (scale, axis) => Math.floor(Math.fround(scale * itemAt(from, axis))) === to[axis],
  );
  return same && from.length === to.length ? scales : undefined;
}

/** along follows operators that work along one axis, each vector by itself: the axis must not be the batch's. */
function along(node: RuleNode, axis: number | undefined, keepsLength: boolean): RuleResult {
  const data = node.flows[0];
  if (data?.batch === undefined) return flowing(node, {});
  if (axis === undefined) return 'the axis it works along is not known';
  if (axis === data.batch.axis) return mixes(`it works along axis ${axis}, the batch`);
  const dims = data.dims?.map((dim, at) => (at === axis && !keepsLength ? undefined : dim));
  return flowing(node, withBatch(data.batch, dims));
}

/** topK follows TopK along any axis but the batch's, of unknown length afterwards. */
export function topK(node: RuleNode): RuleResult {
  return along(node, axisWithin(node.int('axis', -1), node.flows[0]?.dims?.length), false);
}

/** lpNormalization follows LpNormalization along any axis but the batch's. */
export function lpNormalization(node: RuleNode): RuleResult {
  return along(node, axisWithin(node.int('axis', -1), node.flows[0]?.dims?.length), true);
}

/** cumulate follows CumSum and CumProd along a known axis other than the batch's. */
export function cumulate(node: RuleNode): RuleResult {
  const axis = node.flows[1]?.values?.[0];
  return along(
    node,
    typeof axis === 'number' ? axisWithin(axis, node.flows[0]?.dims?.length) : undefined,
    true,
  );
}

/** tile follows Tile where the repeats are known and the batch's axis is repeated once. */
export function tile(node: RuleNode): RuleResult {
  const [data, repeats] = node.flows;
  if (data?.batch === undefined) return flowing(node, {});
  const times = repeats?.values?.[data.batch.axis];
  if (times === undefined) return 'how often it repeats is not known';
  if (times !== 1) return `it repeats axis ${data.batch.axis}, the batch`;
  return flowing(
    node,
    withBatch(
      data.batch,
      data.dims?.map((dim, at) => (repeats?.values?.[at] === 1 ? dim : undefined)),
    ),
  );
}
