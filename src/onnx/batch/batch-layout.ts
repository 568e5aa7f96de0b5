import { itemAt } from '../../collections/index.js';
import {
  elements,
  elementsOf,
  slicedElements,
  type TakenRange,
  takenPlaces,
  transposedElements,
} from './batch-elements.js';
import {
  axisWithin,
  type BatchFlow,
  type BatchMultiple,
  COMPUTES_WITH_SIZE,
  type Dims,
  flowing,
  MOST_VALUES,
  type RuleNode,
  type RuleResult,
  withBatch,
} from './batch-flow.js';

/** transpose moves the batch's axis to where the permutation puts it (without one: axes in reverse). */
export function transpose(node: RuleNode): RuleResult {
  const data = node.flows[0];
  const rank = data?.dims?.length;
  const perm =
    node.ints('perm') ??
    (rank === undefined ? undefined : Array.from({ length: rank }, (_, i) => rank - 1 - i));
  if (data?.sized) return COMPUTES_WITH_SIZE;
  if (perm === undefined)
    return data?.batch === undefined ? flowing(node, {}) : 'the rank of its input is not known';
  const known = elementsOf(data);
  if (known !== undefined) return flowing(node, transposedElements(known, perm));
  const dims = data?.dims === undefined ? undefined : perm.map((from) => data.dims![from]);
  const batch = data?.batch && { axis: perm.indexOf(data.batch.axis), factor: data.batch.factor };
  return flowing(node, withBatch(batch, dims));
}

/** flatten follows Flatten of an input with the batch on axis 0. Axes before the second output axis become entries of a row. */
export function flatten(node: RuleNode): RuleResult {
  const data = node.flows[0];
  if (data?.batch === undefined) return flowing(node, {});
  const axis = axisWithin(node.int('axis', 1), data.dims?.length);
  if (data.batch.axis !== 0 || axis === undefined || axis === 0) return 'it joins the batch with other axes';
  const entries = axis === 1 ? 1 : product(data.dims?.slice(1, axis));
  if (entries === undefined) return 'the shape of its input is not known';
  const batch = { axis: 0, factor: entries * data.batch.factor };
  return flowing(
    node,
    withBatch(batch, [product(data.dims?.slice(0, axis)), product(data.dims?.slice(axis))]),
  );
}

function product(dims: Dims | undefined): number | undefined {
  return dims?.reduce(
    (all: number | undefined, dim) => (all === undefined || dim === undefined ? undefined : all * dim),
    1,
  );
}

function axesOf(node: RuleNode): readonly (number | BatchMultiple)[] | undefined {
  return node.ints('axes') ?? node.flows[1]?.values;
}

/** squeeze renumbers the batch's axis, which must not be among the axes that Squeeze drops. Elements stay. */
export function squeeze(node: RuleNode): RuleResult {
  const data = node.flows[0];
  const rank = data?.dims?.length;
  const given = axesOf(node) ?? (data?.batch === undefined ? axesOfOne(data?.dims) : undefined);
  if (given === undefined && data?.batch !== undefined) return 'it drops every axis of size 1, the batch too';
  const axes = given?.map((axis) => (typeof axis === 'number' ? axisWithin(axis, rank) : undefined));
  if (data?.batch !== undefined && axes?.includes(undefined)) return 'the rank of its input is not known';
  if (data?.batch !== undefined && axes?.includes(data.batch.axis))
    return `it drops axis ${data.batch.axis}, the batch`;
  const batch = data?.batch && {
    axis: data.batch.axis - axes!.filter((axis) => (axis as number) < data.batch!.axis).length,
    factor: data.batch.factor,
  };
  const known = axes !== undefined && !axes.includes(undefined);
  const dims = known ? data?.dims?.filter((_, axis) => !axes.includes(axis)) : undefined;
  const values = data?.values === undefined ? {} : { values: data.values };
  return flowing(node, { ...withBatch(batch, dims), ...values, ...(data?.sized ? { sized: true } : {}) });
}

/** axesOfOne gives the axes of size 1, which Squeeze drops where it is given none. */
function axesOfOne(dims: Dims | undefined): number[] | undefined {
  if (dims === undefined || dims.includes(undefined)) return undefined;
  return [...dims.keys()].filter((axis) => dims[axis] === 1);
}

/** unsqueeze renumbers the batch's axis around the axes of size 1 that Unsqueeze inserts. Elements stay. */
export function unsqueeze(node: RuleNode): RuleResult {
  const data = node.flows[0];
  const given = axesOf(node);
  if (data?.dims === undefined || given === undefined)
    return data?.batch === undefined && !data?.sized
      ? flowing(node, {})
      : 'the rank of its input is not known';
  const rank = data.dims.length + given.length;
  const axes = new Set(given.map((axis) => axisWithin(Number(axis), rank)));
  const left = [...data.dims];
  const dims = Array.from({ length: rank }, (_, axis) => (axes.has(axis) ? 1 : left.shift()));
  const kept = dims.flatMap((_, axis) => (axes.has(axis) ? [] : [axis]));
  const batch = data.batch && { axis: itemAt(kept, data.batch.axis), factor: data.batch.factor };
  const values = data.values === undefined ? {} : { values: data.values };
  return flowing(node, { ...withBatch(batch, dims), ...values, ...(data.sized ? { sized: true } : {}) });
}

/**
 * concatenate follows Concat where all inputs have the batch on the same axis, and are joined along another one. Where
 * none has the batch, it joins their elements as far as they are known.
 */
export function concatenate(node: RuleNode): RuleResult {
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
  return flowing(node, withBatch(first, dims));
}

/** numberIn gives a size that is known and no multiple of the batch. */
function numberIn(value: number | BatchMultiple | undefined): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

function sum(dims: readonly (number | undefined)[]): number | undefined {
  return dims.reduce((total, dim) => (total === undefined || dim === undefined ? undefined : total + dim), 0);
}

function joinedValues(node: RuleNode, given: readonly BatchFlow[]): RuleResult {
  if (given.every((flow) => flow.dims?.length === 1 && flow.values !== undefined)) {
    const values = given.flatMap((flow) => flow.values!);
    return flowing(node, elements(values, [values.length]));
  }
  return given.some((flow) => flow.sized) ? COMPUTES_WITH_SIZE : flowing(node, {});
}

/** split follows Split along any axis but the batch's. */
export function split(node: RuleNode): RuleResult {
  const data = node.flows[0];
  if (data?.batch === undefined) return data?.sized ? COMPUTES_WITH_SIZE : flowing(node, {});
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

/** slice follows Slice where it takes all of the batch's axis. Without a batch it slices known elements. */
export function slice(node: RuleNode): RuleResult {
  const data = node.flows[0];
  const starts = node.ints('starts') ?? node.flows[1]?.values;
  const ends = node.ints('ends') ?? node.flows[2]?.values;
  const given = node.ints('axes') ?? node.flows[3]?.values ?? starts?.map((_, axis) => axis);
  const steps = node.flows[4] === undefined ? given?.map(() => 1) : node.flows[4].values;
  const rank = data?.dims?.length;
  const ranges = given?.map((axis, at) => ({
    axis: typeof axis === 'number' ? axisWithin(axis, rank) : undefined,
    start: numberIn(starts?.[at]),
    end: numberIn(ends?.[at]),
    step: numberIn(steps?.[at]),
  }));
  if (data?.batch === undefined) return sliceElements(node, data, ranges);
  if (ranges === undefined || ranges.some(({ axis }) => axis === undefined))
    return 'the axes it takes from are not known';
  const ofBatch = ranges.find(({ axis }) => axis === data.batch!.axis);
  if (ofBatch !== undefined && !takesAll(ofBatch))
    return `it takes part of axis ${data.batch.axis}, the batch`;
  const dims = data.dims?.map((dim, axis) => {
    const range = ranges.find((one) => one.axis === axis);
    if (range === undefined || range === ofBatch) return dim;
    return dim !== undefined && isKnown(range) ? takenPlaces(dim, range).length : undefined;
  });
  return flowing(node, withBatch(data.batch, dims));
}

type MaybeRange = { readonly [Part in keyof TakenRange]: number | undefined };

function isKnown(range: MaybeRange): range is TakenRange {
  return !Object.values(range).includes(undefined);
}

/** Exporters write "to the end" as the largest 32-bit or 64-bit integer. */
const TO_THE_END = 2 ** 31 - 1;

function takesAll({ start, end, step }: MaybeRange): boolean {
  return start === 0 && end !== undefined && end >= TO_THE_END && step === 1;
}

/** sliceElements slices a vector or small matrix, as exporters do to compute paddings. */
function sliceElements(
  node: RuleNode,
  data: BatchFlow | undefined,
  ranges: readonly MaybeRange[] | undefined,
): RuleResult {
  const known = elementsOf(data);
  if (known !== undefined && ranges?.every(isKnown)) return flowing(node, slicedElements(known, ranges));
  return data?.sized ? COMPUTES_WITH_SIZE : flowing(node, {});
}

/**
 * gather follows Gather where the data or the indices have the batch, but not both, and nothing is picked along the
 * batch's axis. Where the elements of both are known, it picks them.
 */
export function gather(node: RuleNode): RuleResult {
  const [data, indices] = node.flows;
  const axis = axisWithin(node.int('axis', 0), data?.dims?.length);
  const places = indices?.values?.map(numberIn);
  if (data?.dims?.length === 1 && data.values !== undefined && places?.every((at) => at !== undefined))
    return pick(node, data.values, { places, dims: indices?.dims });
  if (data?.sized || indices?.sized) return COMPUTES_WITH_SIZE;
  if (data?.batch === undefined && indices?.batch === undefined) return flowing(node, {});
  if (axis === undefined) return 'the rank of its input is not known';
  if (data?.batch !== undefined && indices?.batch !== undefined)
    return 'both its data and its indices have the batch';
  const dims = data?.dims &&
    indices?.dims && [...data.dims.slice(0, axis), ...indices.dims, ...data.dims.slice(axis + 1)];
  if (indices?.batch !== undefined)
    return flowing(node, withBatch({ ...indices.batch, axis: axis + indices.batch.axis }, dims));
  const batch = data!.batch!;
  if (axis === batch.axis) return `it picks from axis ${axis}, the batch`;
  if (axis > batch.axis) return flowing(node, withBatch(batch, dims));
  if (indices?.dims === undefined) return 'the rank of its indices is not known';
  return flowing(node, withBatch({ ...batch, axis: batch.axis + indices.dims.length - 1 }, dims));
}

function pick(
  node: RuleNode,
  values: readonly (number | BatchMultiple)[],
  { places, dims }: { readonly places: readonly number[]; readonly dims: Dims | undefined },
): RuleResult {
  const picked = places.flatMap((at) => values.at(at) ?? []);
  return flowing(node, elements(picked, dims ?? [picked.length]));
}

/** pad follows Pad where the axes are not an input of their own and the batch's axis gets no padding. */
export function pad(node: RuleNode): RuleResult {
  const data = node.flows[0];
  if (data?.batch === undefined) return data?.sized ? COMPUTES_WITH_SIZE : flowing(node, {});
  const pads = node.ints('pads') ?? node.flows[1]?.values;
  const rank = data.dims?.length;
  if (pads === undefined || rank === undefined || node.flows[3] !== undefined)
    return 'what it pads is not known';
  const { axis } = data.batch;
  if (pads[axis] !== 0 || pads[axis + rank] !== 0) return `it pads axis ${axis}, the batch`;
  const dims = data.dims!.map((dim, at) => sum([pads[at], dim, pads[at + rank]].map(numberIn)));
  return flowing(node, withBatch(data.batch, dims));
}

/**
 * shape gives the elements of Shape's output: a multiple of the batch on the batch's axis, numbers elsewhere. Of sizes that
 * are not known, it is known that they are made of no row.
 */
export function shape(node: RuleNode): RuleResult {
  const data = node.flows[0];
  const sizes = data?.dims?.map((dim, axis) =>
    data.batch?.axis === axis ? { times: data.batch.factor } : dim,
  );
  const values = sizes?.slice(node.int('start', 0), node.int('end', sizes.length));
  if (values?.every((value) => value !== undefined)) return flowing(node, elements(values, [values.length]));
  if (data?.batch === undefined) return flowing(node, {});
  return flowing(node, { sized: true, dims: [values?.length] });
}

/** expand keeps the batch where the target is 1 on its axis, or is computed from the batch's size. */
export function expand(node: RuleNode): RuleResult {
  const [data, target] = node.flows;
  if (data?.batch === undefined && !target?.sized) return flowing(node, {});
  if (data?.dims === undefined || target?.values === undefined) return 'the shape it expands to is not known';
  if (data.batch === undefined) return repeated(node, { dims: data.dims, target: target.values });
  const rank = Math.max(data.dims.length, target.values.length);
  const axis = data.batch.axis + rank - data.dims.length;
  const at = target.values[axis - (rank - target.values.length)];
  const keeps = at === undefined || at === 1 || (typeof at !== 'number' && at.times === data.batch.factor);
  if (!keeps) return `it expands to ${typeof at === 'number' ? at : 'another multiple'} on the batch's axis`;
  return flowing(node, { batch: { axis, factor: data.batch.factor } });
}

/** repeated follows a tensor that is the same for all requests, expanded to as many entries as a batch has rows. */
function repeated(
  node: RuleNode,
  { dims, target }: { dims: Dims; target: readonly (number | BatchMultiple)[] },
): RuleResult {
  const rank = Math.max(dims.length, target.length);
  const own = [...new Array<number>(rank - dims.length).fill(1), ...dims];
  const wanted = [...new Array<number>(rank - target.length).fill(1), ...target];
  const axis = wanted.findIndex((size) => typeof size !== 'number');
  if (wanted.findLastIndex((size) => typeof size !== 'number') !== axis)
    return 'it has the batch on more than one axis';
  if (own[axis] !== 1) return 'it is not known to have one entry to repeat for each row';
  const { times } = wanted[axis] as BatchMultiple;
  const expanded = wanted.map((size, at) =>
    typeof size === 'number' ? (size === 1 ? own[at] : size) : times * node.size,
  );
  return flowing(node, { ...withBatch({ axis, factor: times }, expanded), alike: true });
}

/** filled follows a tensor of one value in a computed shape: its rows are alike. */
export function filled(node: RuleNode): RuleResult {
  const values = node.flows[0]?.values;
  if (node.flows[0]?.batch !== undefined) return 'its shape has the batch';
  if (values === undefined) return node.flows[0]?.sized ? COMPUTES_WITH_SIZE : flowing(node, {});
  const axes = values.flatMap((value, axis) => (typeof value === 'number' ? [] : [axis]));
  if (axes.length > 1) return 'it has the batch on more than one axis';
  const [axis] = axes;
  const batch = axis === undefined ? undefined : { axis, factor: (values[axis] as BatchMultiple).times };
  const dims = values.map((value) => (typeof value === 'number' ? value : value.times * node.size));
  const [element] = node.elements('value') ?? [0];
  const count = product(dims)!;
  const isSmall = batch === undefined && count <= MOST_VALUES && element !== undefined;
  const flow = isSmall ? elements(new Array<number>(count).fill(element), dims) : withBatch(batch, dims);
  const marks = {
    ...(batch === undefined ? {} : { alike: true as const }),
    ...(element === 0 ? { zeros: true } : {}),
  };
  return flowing(node, { ...flow, ...marks });
}
