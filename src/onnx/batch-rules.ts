import type { Batched, Batches, Flow, Outcome, RuleNode } from './batch-flow.js';
import { reshape } from './batch-reshape.js';

type Rule = (node: RuleNode) => Outcome;
type Dims = readonly (number | undefined)[];

/** Element by element, one tensor; further inputs are parameters (bounds, scales) that must not have the batch. */
const UNARY =
  'Relu LeakyRelu Elu Selu Celu Gelu Mish HardSigmoid HardSwish Swish Softplus Softsign ThresholdedRelu Sigmoid Tanh Erf Exp Log Sqrt Neg Abs Floor Ceil Round Sign Reciprocal Sin Cos Tan Asin Acos Atan Sinh Cosh Asinh Acosh Atanh Not IsNaN IsInf Cast CastLike Identity Clip Dropout Shrink QuantizeLinear DequantizeLinear BitwiseNot Trilu';
const BROADCAST =
  'Add Sub Mul Div Pow Max Min Sum Mean Mod And Or Xor Equal Greater Less GreaterOrEqual LessOrEqual Where PRelu BitShift BitwiseAnd BitwiseOr BitwiseXor';
/** [batch, channels, …]: each row by itself, so long as the batch is the first axis. */
const SPATIAL =
  'Conv ConvTranspose ConvInteger QLinearConv MaxPool AveragePool LpPool GlobalAveragePool GlobalMaxPool GlobalLpPool LRN BatchNormalization InstanceNormalization GroupNormalization DepthToSpace SpaceToDepth ImageScaler';
const GLOBAL_POOLS = new Set(['GlobalAveragePool', 'GlobalMaxPool', 'GlobalLpPool']);
const REDUCTIONS =
  'ReduceMean ReduceSum ReduceMax ReduceMin ReduceProd ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceSumSquare';

/** Operators whose rules can follow elements that are the size of the batch. */
const KEEPS_SIZES = new Set(
  'Identity Cast Mul Squeeze Unsqueeze Concat Slice Gather Reshape Expand Shape ConstantOfShape'.split(' '),
);
const COMPUTES_WITH_SIZE = 'it computes with the size of the batch';

const RULES = new Map<string, Rule>([
  ...each(UNARY, unary),
  ...each(BROADCAST, (node) => broadcast(node, node.flows)),
  ...each(SPATIAL, spatial),
  ...each(REDUCTIONS, reduce),
  ...each('ArgMax ArgMin', argExtreme),
  ...each('Softmax LogSoftmax Hardmax', softmax),
  ...each('LayerNormalization RMSNormalization', normalization),
  ...each('LSTM GRU RNN', recurrent),
  ['QLinearAdd', (node) => broadcast(node, [node.flows[0], node.flows[3]])],
  ['QLinearMul', (node) => broadcast(node, [node.flows[0], node.flows[3]])],
  ['Transpose', transpose],
  ['Reshape', reshape],
  ['Flatten', flatten],
  ['Squeeze', squeeze],
  ['Unsqueeze', unsqueeze],
  ['Concat', concatenate],
  ['Split', split],
  ['Slice', slice],
  ['Gather', gather],
  ['Pad', pad],
  ['Resize', resize],
  ['Upsample', resize],
  ['MatMul', (node) => matMul(node, node.flows[0], node.flows[1])],
  ['MatMulInteger', (node) => matMul(node, node.flows[0], node.flows[1])],
  ['QLinearMatMul', (node) => matMul(node, node.flows[0], node.flows[3])],
  ['Gemm', gemm],
  ['Shape', shape],
  ['Expand', expand],
  ['ConstantOfShape', filled],
]);

function each(ops: string, rule: Rule): [string, Rule][] {
  return ops.split(' ').map((op) => [op, rule]);
}

/** What comes out of a node when the batch is free, or why its operator cannot be shown to keep rows apart. */
export function follow(node: RuleNode, domain: string): Outcome {
  const touched = node.flows.some((flow) => flow?.batch !== undefined || flow?.sized === true);
  const rule = domain === '' || domain === 'com.microsoft' ? RULES.get(node.op) : undefined;
  if (node.flows.some((flow) => flow?.sized) && !KEEPS_SIZES.has(node.op)) return COMPUTES_WITH_SIZE;
  if (rule === undefined) return touched ? 'no rule says how it treats a batch' : flows(node, {});
  return rule(node);
}

function flows(node: RuleNode, flow: Flow): Outcome {
  return { flows: Array.from({ length: Math.max(1, node.outputCount) }, () => flow) };
}

function withBatch(batch: Batched | undefined, dims: Dims | undefined): Flow {
  return { ...(batch === undefined ? {} : { batch }), ...(dims === undefined ? {} : { dims }) };
}

function axisWithin(axis: number, rank: number | undefined): number | undefined {
  return axis >= 0 ? axis : rank === undefined ? undefined : axis + rank;
}

function unary(node: RuleNode): Outcome {
  const [data, ...rest] = node.flows;
  if (rest.some((flow) => flow?.batch !== undefined)) return 'a parameter of it has the batch';
  if (
    node.op === 'Trilu' &&
    data?.batch !== undefined &&
    !(data.dims && data.batch.axis < data.dims.length - 2)
  )
    return 'the batch is not before its last two axes';
  const keepsValues = node.op === 'Identity' || node.op === 'Cast';
  if (data?.sized && !keepsValues) return COMPUTES_WITH_SIZE;
  if (keepsValues) return flows(node, data ?? {});
  return flows(node, withBatch(data?.batch, data?.dims));
}

function spatial(node: RuleNode): Outcome {
  const [data, ...rest] = node.flows;
  if (rest.some((flow) => flow?.batch !== undefined)) return 'its weights have the batch';
  if (data?.batch !== undefined && (data.batch.axis !== 0 || data.batch.factor !== 1))
    return 'the batch is not by itself on axis 0 of its input';
  if (node.op === 'MaxPool' && node.outputCount > 1) return 'its indices count through the whole batch';
  if (node.op === 'BatchNormalization' && node.int('training_mode', 0) === 1)
    return 'it takes its statistics over the batch';
  const spatialAt = (axis: number) => (GLOBAL_POOLS.has(node.op) && axis > 1 ? 1 : undefined);
  const dims = data?.dims?.map((dim, axis) => (axis === 0 ? dim : spatialAt(axis)));
  return flows(node, withBatch(data?.batch, dims));
}

/** Numpy's broadcasting: axes are matched from the last. What has no batch must be 1 or absent where the batch is. */
function broadcast(node: RuleNode, operands: readonly (Flow | undefined)[]): Outcome {
  const given = operands.filter((flow) => flow !== undefined);
  if (given.some((flow) => flow.sized)) return shapeArithmetic(node, given);
  const batched = given.filter((flow) => flow.batch !== undefined);
  if (batched.length === 0) return flows(node, { ...dimsOfBroadcast(given) });
  const ranks = given.map((flow) => flow.dims?.length);
  if (given.length === 1) return flows(node, withBatch(batched[0]?.batch, batched[0]?.dims));
  if (ranks.includes(undefined)) return 'the shape of one of its inputs is not known';
  const rank = Math.max(...(ranks as number[]));
  const fromEnd = new Set(batched.map((flow) => flow.dims!.length - flow.batch!.axis));
  const factors = new Set(batched.map((flow) => flow.batch!.factor));
  if (fromEnd.size > 1 || factors.size > 1) return 'its inputs have the batch on different axes';
  const back = [...fromEnd][0] as number;
  for (const flow of given) {
    const dim = flow.batch === undefined && flow.dims!.length >= back ? flow.dims!.at(-back) : 1;
    if (dim === undefined) return 'the shape of one of its inputs is not known';
    if (dim !== 1) return `an input without the batch has ${dim} entries on the batch's axis`;
  }
  const batch = { axis: rank - back, factor: [...factors][0] as number };
  return flows(node, withBatch(batch, dimsOfBroadcast(given).dims));
}

function dimsOfBroadcast(given: readonly Flow[]): { dims?: Dims } {
  if (given.some((flow) => flow.dims === undefined)) return {};
  const rank = Math.max(...given.map((flow) => flow.dims!.length));
  const dims = Array.from({ length: rank }, (_, axis) => {
    const here = given.map((flow) => {
      const own = axis - (rank - flow.dims!.length);
      return own < 0 ? 1 : flow.dims![own];
    });
    const large = here.find((dim) => dim !== undefined && dim !== 1);
    return large ?? (here.includes(undefined) ? undefined : 1);
  });
  return { dims };
}

/** Products with the batch's size in them stay multiples of it; anything else is lost. */
function shapeArithmetic(node: RuleNode, given: readonly Flow[]): Outcome {
  const [a, b] = given;
  if (node.op !== 'Mul' || a?.values === undefined || b?.values === undefined || given.length !== 2)
    return COMPUTES_WITH_SIZE;
  const length = Math.max(a.values.length, b.values.length);
  const at = (flow: Flow, i: number) => (flow.values!.length === 1 ? flow.values![0] : flow.values![i]);
  const values: (number | Batches)[] = [];
  for (let i = 0; i < length; i++) {
    const value = product(at(a, i), at(b, i));
    if (value === undefined) return COMPUTES_WITH_SIZE;
    values.push(value);
  }
  const dims = (a.dims?.length ?? 0) >= (b.dims?.length ?? 0) ? a.dims : b.dims;
  return flows(node, { sized: true, values, ...(dims === undefined ? {} : { dims }) });
}

function product(
  a: number | Batches | undefined,
  b: number | Batches | undefined,
): number | Batches | undefined {
  if (a === undefined || b === undefined) return undefined;
  if (typeof a === 'number') return typeof b === 'number' ? a * b : { times: a * b.times };
  return typeof b === 'number' ? { times: a.times * b } : undefined;
}

function reduce(node: RuleNode): Outcome {
  const data = node.flows[0];
  const rank = data?.dims?.length;
  const given = node.ints('axes') ?? node.flows[1]?.values;
  const keep = node.int('keepdims', 1) === 1;
  if (data?.batch === undefined && !data?.sized) return flows(node, {});
  if (data.batch === undefined) return COMPUTES_WITH_SIZE;
  if (given === undefined || given.length === 0) return 'it reduces over every axis, the batch too';
  const axes = given.map((axis) => (typeof axis === 'number' ? axisWithin(axis, rank) : undefined));
  if (axes.includes(undefined)) return 'the rank of its input is not known';
  return flowAfterReduction(node, data, axes as number[], keep);
}

function flowAfterReduction(node: RuleNode, data: Flow, axes: readonly number[], keep: boolean): Outcome {
  const { axis, factor } = data.batch!;
  if (axes.includes(axis)) return `it reduces over axis ${axis}, the batch`;
  const dims = data.dims?.flatMap((dim, at) => (axes.includes(at) ? (keep ? [1] : []) : [dim]));
  const moved = keep ? axis : axis - axes.filter((other) => other < axis).length;
  return flows(node, withBatch({ axis: moved, factor }, dims));
}

function argExtreme(node: RuleNode): Outcome {
  const data = node.flows[0];
  if (data?.batch === undefined) return data?.sized ? COMPUTES_WITH_SIZE : flows(node, {});
  const axis = axisWithin(node.int('axis', 0), data.dims?.length);
  if (axis === undefined) return 'the rank of its input is not known';
  return flowAfterReduction(node, data, [axis], node.int('keepdims', 1) === 1);
}

/** Before operator set 13 everything from `axis` on is one vector; since then `axis` alone. */
function softmax(node: RuleNode): Outcome {
  const data = node.flows[0];
  if (data?.batch === undefined) return flows(node, withBatch(undefined, data?.dims));
  const since13 = node.opset >= 13;
  const axis = axisWithin(node.int('axis', since13 ? -1 : 1), data.dims?.length);
  if (axis === undefined) return 'the rank of its input is not known';
  const mixes = since13 ? axis === data.batch.axis : data.batch.axis >= axis;
  return mixes ? 'it normalizes over the batch' : flows(node, withBatch(data.batch, data.dims));
}

function normalization(node: RuleNode): Outcome {
  const [data, ...rest] = node.flows;
  if (rest.some((flow) => flow?.batch !== undefined)) return 'a parameter of it has the batch';
  const axis = axisWithin(node.int('axis', -1), data?.dims?.length);
  if (data?.batch !== undefined && axis === undefined) return 'the rank of its input is not known';
  if (data?.batch !== undefined && data.batch.axis >= axis!) return 'it normalizes over the batch';
  return {
    flows: [
      withBatch(data?.batch, data?.dims),
      ...Array.from({ length: node.outputCount - 1 }, () => withBatch(data?.batch, undefined)),
    ],
  };
}

/** X [sequence, batch, size] and initial states [directions, batch, size]; outputs have the batch before the last axis. */
function recurrent(node: RuleNode): Outcome {
  const [data, w, r, bias, lengths, ...initial] = node.flows;
  if (data?.batch === undefined)
    return node.flows.some((flow) => flow?.batch) ? 'its input lacks the batch' : flows(node, {});
  if (node.int('layout', 0) !== 0)
    return 'it has the batch first (layout 1), which ONNX Runtime does not run';
  if (data.batch.axis !== 1 || data.batch.factor !== 1) return 'the batch is not on axis 1 of its input';
  if ([w, r, bias].some((flow) => flow?.batch)) return 'its weights have the batch';
  if (lengths !== undefined && lengths.batch?.axis !== 0) return 'its sequence lengths lack the batch';
  if (initial.slice(0, 2).some((flow) => flow !== undefined && flow.batch?.axis !== 1))
    return 'its initial state lacks the batch';
  const [length, size] = [data.dims?.[0], data.dims?.[1]];
  const y = withBatch({ axis: 2, factor: 1 }, [length, undefined, size, undefined]);
  const state = withBatch({ axis: 1, factor: 1 }, [undefined, size, undefined]);
  return { flows: [y, state, state] };
}

function transpose(node: RuleNode): Outcome {
  const data = node.flows[0];
  const rank = data?.dims?.length;
  const perm =
    node.ints('perm') ??
    (rank === undefined ? undefined : Array.from({ length: rank }, (_, i) => rank - 1 - i));
  if (data?.sized) return COMPUTES_WITH_SIZE;
  if (perm === undefined)
    return data?.batch === undefined ? flows(node, {}) : 'the rank of its input is not known';
  const dims = data?.dims === undefined ? undefined : perm.map((from) => data.dims![from]);
  const batch = data?.batch && { axis: perm.indexOf(data.batch.axis), factor: data.batch.factor };
  return flows(node, withBatch(batch, dims));
}

function flatten(node: RuleNode): Outcome {
  const data = node.flows[0];
  if (data?.batch === undefined) return flows(node, {});
  const axis = axisWithin(node.int('axis', 1), data.dims?.length);
  const row = data.dims
    ?.slice(1)
    .reduce((all, dim) => (all === undefined || dim === undefined ? undefined : all * dim), 1);
  if (axis === 1 && data.batch.axis === 0) return flows(node, withBatch(data.batch, [data.dims?.[0], row]));
  return 'it joins the batch with other axes';
}

function axesOf(node: RuleNode): readonly (number | Batches)[] | undefined {
  return node.ints('axes') ?? node.flows[1]?.values;
}

function squeeze(node: RuleNode): Outcome {
  const data = node.flows[0];
  if (data?.sized) return flows(node, { ...data, dims: [] });
  const rank = data?.dims?.length;
  const given = axesOf(node);
  if (data?.batch === undefined && (given === undefined || rank === undefined)) return flows(node, {});
  if (given === undefined) return 'it drops every axis of size 1, the batch too';
  const axes = given.map((axis) => (typeof axis === 'number' ? axisWithin(axis, rank) : undefined));
  if (axes.includes(undefined)) return 'the rank of its input is not known';
  if (data?.batch !== undefined && axes.includes(data.batch.axis))
    return `it drops axis ${data.batch.axis}, the batch`;
  const batch = data?.batch && {
    axis: data.batch.axis - axes.filter((axis) => (axis as number) < data.batch!.axis).length,
    factor: data.batch.factor,
  };
  const values = data?.values === undefined ? {} : { values: data.values };
  return flows(node, {
    ...withBatch(
      batch,
      data?.dims?.filter((_, axis) => !axes.includes(axis)),
    ),
    ...values,
  });
}

function unsqueeze(node: RuleNode): Outcome {
  const data = node.flows[0];
  const given = axesOf(node);
  if (data?.dims === undefined || given === undefined)
    return data?.batch === undefined && !data?.sized ? flows(node, {}) : 'the rank of its input is not known';
  const rank = data.dims.length + given.length;
  const axes = new Set(given.map((axis) => axisWithin(Number(axis), rank)));
  const left = [...data.dims];
  const dims = Array.from({ length: rank }, (_, axis) => (axes.has(axis) ? 1 : left.shift()));
  const kept = dims.flatMap((_, axis) => (axes.has(axis) ? [] : [axis]));
  const batch = data.batch && { axis: kept[data.batch.axis] as number, factor: data.batch.factor };
  const values = data.values === undefined ? {} : { values: data.values };
  return flows(node, { ...withBatch(batch, dims), ...values, ...(data.sized ? { sized: true } : {}) });
}

function concatenate(node: RuleNode): Outcome {
  const given = node.flows.filter((flow) => flow !== undefined);
  if (given.every((flow) => flow.batch === undefined)) return joinedValues(node, given);
  const rank = given.find((flow) => flow.dims !== undefined)?.dims?.length;
  const axis = axisWithin(node.int('axis', 1), rank);
  const first = given[0]?.batch;
  if (axis === undefined) return 'the rank of its inputs is not known';
  const unlike = given.some(
    (flow) => flow.batch?.axis !== first?.axis || flow.batch?.factor !== first?.factor,
  );
  if (first === undefined || unlike) return 'one of its inputs lacks the batch';
  if (axis === first.axis) return `it joins along axis ${axis}, the batch`;
  const dims = given[0]?.dims?.map((dim, at) =>
    at === axis ? sum(given.map((flow) => flow.dims?.[at])) : dim,
  );
  return flows(node, withBatch(first, dims));
}

function sum(dims: readonly (number | undefined)[]): number | undefined {
  return dims.reduce((total, dim) => (total === undefined || dim === undefined ? undefined : total + dim), 0);
}

function joinedValues(node: RuleNode, given: readonly Flow[]): Outcome {
  const sized = given.some((flow) => flow.sized);
  if (given.every((flow) => flow.values !== undefined)) {
    const values = given.flatMap((flow) => flow.values!);
    return flows(node, { values, dims: [values.length], ...(sized ? { sized } : {}) });
  }
  return sized ? COMPUTES_WITH_SIZE : flows(node, {});
}

function split(node: RuleNode): Outcome {
  const data = node.flows[0];
  if (data?.batch === undefined) return data?.sized ? COMPUTES_WITH_SIZE : flows(node, {});
  const axis = axisWithin(node.int('axis', 0), data.dims?.length);
  if (axis === undefined) return 'the rank of its input is not known';
  if (axis === data.batch.axis) return `it splits axis ${axis}, the batch`;
  const sizes = node.ints('split') ?? node.flows[1]?.values;
  const whole = data.dims?.[axis];
  const piece = (at: number) => {
    const size = sizes?.[at] ?? (whole === undefined ? undefined : whole / node.outputCount);
    return typeof size === 'number' && Number.isInteger(size) ? size : undefined;
  };
  const out = (at: number) => data.dims?.map((dim, i) => (i === axis ? piece(at) : dim));
  return { flows: Array.from({ length: node.outputCount }, (_, at) => withBatch(data.batch, out(at))) };
}

function slice(node: RuleNode): Outcome {
  const data = node.flows[0];
  const starts = node.ints('starts') ?? node.flows[1]?.values;
  const ends = node.ints('ends') ?? node.flows[2]?.values;
  const given = node.ints('axes') ?? node.flows[3]?.values ?? starts?.map((_, axis) => axis);
  if (data?.batch === undefined) return sliceValues(node, data, { starts, ends });
  const rank = data.dims?.length;
  const axes = given?.map((axis) => (typeof axis === 'number' ? axisWithin(axis, rank) : undefined));
  if (axes === undefined || axes.includes(undefined)) return 'the axes it takes from are not known';
  const at = axes.indexOf(data.batch.axis);
  if (at !== -1 && !takesAll(starts?.[at], ends?.[at], node.flows[4]?.values?.[at]))
    return `it takes part of axis ${data.batch.axis}, the batch`;
  return flows(
    node,
    withBatch(
      data.batch,
      data.dims?.map((dim, axis) => (axes.includes(axis) ? undefined : dim)),
    ),
  );
}

/** Exporters write "to the end" as the largest 32- or 64-bit integer. */
const TO_THE_END = 2 ** 31 - 1;

function takesAll(start?: number | Batches, end?: number | Batches, step?: number | Batches): boolean {
  return start === 0 && typeof end === 'number' && end >= TO_THE_END && (step === undefined || step === 1);
}

function sliceValues(
  node: RuleNode,
  data: Flow | undefined,
  range: {
    starts: readonly (number | Batches)[] | undefined;
    ends: readonly (number | Batches)[] | undefined;
  },
): Outcome {
  const start = range.starts?.[0];
  const end = range.ends?.[0];
  const plain = (node.flows[4]?.values?.[0] ?? 1) === 1 && range.starts?.length === 1;
  if (data?.values !== undefined && plain && typeof start === 'number' && typeof end === 'number') {
    const values = data.values.slice(start, end);
    return flows(node, { values, dims: [values.length], ...(data.sized ? { sized: true } : {}) });
  }
  return data?.sized ? COMPUTES_WITH_SIZE : flows(node, {});
}

function gather(node: RuleNode): Outcome {
  const [data, indices] = node.flows;
  const axis = axisWithin(node.int('axis', 0), data?.dims?.length);
  if (data?.values !== undefined && indices?.values !== undefined) return pick(node, data, indices);
  if (data?.sized || indices?.sized) return COMPUTES_WITH_SIZE;
  if (data?.batch === undefined && indices?.batch === undefined) return flows(node, {});
  if (axis === undefined) return 'the rank of its input is not known';
  if (data?.batch !== undefined && indices?.batch !== undefined)
    return 'both its data and its indices have the batch';
  const dims = data?.dims &&
    indices?.dims && [...data.dims.slice(0, axis), ...indices.dims, ...data.dims.slice(axis + 1)];
  if (indices?.batch !== undefined)
    return flows(node, withBatch({ ...indices.batch, axis: axis + indices.batch.axis }, dims));
  const batch = data!.batch!;
  if (axis === batch.axis) return `it picks from axis ${axis}, the batch`;
  if (axis > batch.axis) return flows(node, withBatch(batch, dims));
  if (indices?.dims === undefined) return 'the rank of its indices is not known';
  return flows(node, withBatch({ ...batch, axis: batch.axis + indices.dims.length - 1 }, dims));
}

function pick(node: RuleNode, data: Flow, indices: Flow): Outcome {
  const values = indices.values!.flatMap((index) => data.values!.at(Number(index)) ?? []);
  const sized = values.some((value) => typeof value !== 'number');
  return flows(node, { values, dims: indices.dims ?? [values.length], ...(sized ? { sized } : {}) });
}

function pad(node: RuleNode): Outcome {
  const data = node.flows[0];
  if (data?.batch === undefined) return data?.sized ? COMPUTES_WITH_SIZE : flows(node, {});
  const pads = node.ints('pads') ?? node.flows[1]?.values;
  const rank = data.dims?.length;
  if (pads === undefined || rank === undefined || node.flows[3] !== undefined)
    return 'what it pads is not known';
  const { axis } = data.batch;
  if (pads[axis] !== 0 || pads[axis + rank] !== 0) return `it pads axis ${axis}, the batch`;
  const dims = data.dims!.map((dim, at) => (pads[at] === 0 && pads[at + rank] === 0 ? dim : undefined));
  return flows(node, withBatch(data.batch, dims));
}

/** Resizing by scales leaves a batch scaled by 1 alone; target sizes name the batch, unless axes leave it out. */
function resize(node: RuleNode): Outcome {
  const [data, , , sizes] = node.flows;
  if (data?.batch === undefined) return flows(node, {});
  if (data.batch.axis !== 0 || data.batch.factor !== 1)
    return 'the batch is not by itself on axis 0 of its input';
  const axes = node.ints('axes');
  const scales = node.flows[node.op === 'Resize' && node.opset >= 11 ? 2 : 1];
  if (node.text('coordinate_transformation_mode', '') === 'tf_crop_and_resize') return 'it crops by a region';
  if (sizes === undefined && scales?.values?.[axes?.indexOf(0) ?? 0] !== 1 && !(axes && !axes.includes(0)))
    return 'it is not known to scale the batch by 1';
  if (sizes !== undefined && (axes === undefined || axes.includes(0)))
    return 'its target sizes have the batch in them';
  return flows(
    node,
    withBatch(
      data.batch,
      data.dims?.map((dim, axis) => (axis < 2 ? dim : undefined)),
    ),
  );
}

/** [… , m, k] × [k, n] with shared weights; or both batched on an axis that is not multiplied over. */
function matMul(node: RuleNode, a: Flow | undefined, b: Flow | undefined): Outcome {
  if (a?.batch === undefined && b?.batch === undefined) return flows(node, {});
  if (a?.dims === undefined || b?.dims === undefined) return 'the shapes of its inputs are not known';
  const rank = Math.max(a.dims.length, b.dims.length);
  const dims = matMulDims(a.dims, b.dims, rank);
  if (a.batch !== undefined && b.batch === undefined) {
    const contracted = a.batch.axis === a.dims.length - 1;
    const alongside = a.dims.length < rank || b.dims.slice(0, -2).some((dim) => dim !== 1);
    if (contracted) return `it sums over axis ${a.batch.axis}, the batch`;
    if (alongside && a.batch.axis < a.dims.length - 2) return 'its second input has axes beside the batch';
    return flows(node, withBatch({ ...a.batch, axis: a.batch.axis + rank - a.dims.length }, dims));
  }
  const [left, right] = [a.batch, b.batch!];
  const stacked = right.axis < b.dims.length - 2 && b.dims.length === rank;
  const alike =
    left === undefined
      ? a.dims.length <= 2 || a.dims.slice(0, -2).every((dim) => dim === 1)
      : a.dims.length === rank && left.axis === right.axis && left.factor === right.factor;
  if (!stacked || !alike) return 'its inputs have the batch on axes that do not match';
  return flows(node, withBatch(right, dims));
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

function gemm(node: RuleNode): Outcome {
  const [a, b, c] = node.flows;
  if (b?.batch !== undefined || (c?.batch !== undefined && a?.batch === undefined))
    return 'its weights have the batch';
  if (a?.batch === undefined) return flows(node, {});
  if (a.batch.axis !== 0 || node.int('transA', 0) !== 0) return 'it sums over the batch';
  if (
    c?.batch !== undefined &&
    !(c.batch.axis === 0 && c.batch.factor === a.batch.factor && c.dims?.length === 2)
  )
    return 'what it adds has the batch elsewhere';
  // C is broadcast to [rows, columns]: with two axes, its first must leave the rows free.
  if (
    c?.batch === undefined &&
    c !== undefined &&
    !(c.dims !== undefined && (c.dims.length < 2 || c.dims[0] === 1))
  )
    return 'what it adds has as many rows as the fixed batch';
  const columns = b?.dims?.[node.int('transB', 0) === 0 ? 1 : 0];
  return flows(node, withBatch(a.batch, [a.dims?.[0], columns]));
}

function shape(node: RuleNode): Outcome {
  const data = node.flows[0];
  if (data?.dims === undefined)
    return data?.batch === undefined ? flows(node, {}) : 'the rank of its input is not known';
  const all: (number | Batches)[] = [];
  for (const [axis, dim] of data.dims.entries()) {
    if (data.batch?.axis === axis) all.push({ times: data.batch.factor });
    else if (dim !== undefined) all.push(dim);
    else return 'the shape of its input is not known';
  }
  const values = all.slice(node.int('start', 0), node.int('end', all.length));
  const sized = values.some((value) => typeof value !== 'number');
  return flows(node, { values, dims: [values.length], ...(sized ? { sized } : {}) });
}

/** A target of 1 on the batch's axis keeps it; a target computed from the batch's size does too. */
function expand(node: RuleNode): Outcome {
  const [data, target] = node.flows;
  if (data?.batch === undefined && !target?.sized) return flows(node, {});
  if (data?.batch === undefined || data.dims === undefined || target?.values === undefined)
    return 'the shape it expands to is not known';
  const rank = Math.max(data.dims.length, target.values.length);
  const axis = data.batch.axis + rank - data.dims.length;
  const at = target.values[axis - (rank - target.values.length)];
  const keeps = at === undefined || at === 1 || (typeof at !== 'number' && at.times === data.batch.factor);
  if (!keeps) return `it expands to ${typeof at === 'number' ? at : 'another multiple'} on the batch's axis`;
  return flows(node, { batch: { axis, factor: data.batch.factor } });
}

/** A tensor of one value in a computed shape: its rows are alike. */
function filled(node: RuleNode): Outcome {
  const values = node.flows[0]?.values;
  if (values === undefined) return node.flows[0]?.sized ? COMPUTES_WITH_SIZE : flows(node, {});
  const axes = values.flatMap((value, axis) => (typeof value === 'number' ? [] : [axis]));
  if (axes.length > 1) return 'it has the batch on more than one axis';
  const [axis] = axes;
  const batch = axis === undefined ? undefined : { axis, factor: (values[axis] as Batches).times };
  const dims = values.map((value) => (typeof value === 'number' ? value : value.times * node.size));
  return flows(node, withBatch(batch, dims));
}
