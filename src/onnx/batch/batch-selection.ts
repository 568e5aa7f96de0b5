import { itemAt } from '../../collections/index.js';
import { elements } from './batch-elements.js';
import {
  axisWithin,
  type BatchFlow,
  COMPUTES_WITH_SIZE,
  flowing,
  mixes,
  type RuleNode,
  type RuleResult,
  withBatch,
} from './batch-flow.js';

/** listing follows operators that list what they find in all rows, one after another. */
export function listing(node: RuleNode): RuleResult {
  if (node.flows.every((flow) => flow?.batch === undefined)) return flowing(node, {});
  return mixes('it lists what it finds in all rows of a batch together');
}

/** compress follows Compress along another axis than the batch's, where all rows share the condition. */
export function compress(node: RuleNode): RuleResult {
  const [data, condition] = node.flows;
  if (condition?.batch !== undefined) return mixes('its condition counts through the rows of a batch');
  if (data?.batch === undefined) return flowing(node, {});
  if (!node.has('axis')) return mixes('it picks from all rows of a batch as from one list');
  const axis = axisWithin(node.int('axis', 0), data.dims?.length);
  if (axis === undefined) return 'the rank of its input is not known';
  if (axis === data.batch.axis) return 'it picks rows of the batch';
  const dims = data.dims?.map((dim, at) => (at === axis ? undefined : dim));
  return flowing(node, withBatch(data.batch, dims));
}

/** elementwiseOn follows GatherElements and ScatterElements, where all tensors have the batch on one axis. */
export function elementwiseOn(node: RuleNode): RuleResult {
  const [data, ...others] = node.flows;
  const batched = node.flows.filter((flow) => flow?.batch !== undefined);
  if (batched.length === 0) return flowing(node, {});
  const axis = axisWithin(node.int('axis', 0), node.flows.find((flow) => flow?.dims)?.dims?.length);
  if (axis === undefined) return 'the rank of its input is not known';
  const first = data?.batch;
  const alike = (flow: BatchFlow | undefined) =>
    flow?.batch?.axis === first?.axis && flow?.batch?.factor === first?.factor;
  if (first === undefined || !others.every(alike)) return 'one of its inputs lacks the batch';
  if (axis === first.axis) return mixes(`it works along axis ${axis}, the batch`);
  const shaped = node.op === 'GatherElements' ? others[0] : data;
  return flowing(node, withBatch(first, shaped?.dims));
}

/** gatherNd follows GatherND from a table without the batch, or within rows where `batch_dims` counts the batch's axis. */
export function gatherNd(node: RuleNode): RuleResult {
  const [data, indices] = node.flows;
  if (data?.batch === undefined && indices?.batch === undefined) return flowing(node, {});
  const rank = indices?.dims?.length;
  if (indices?.batch === undefined || rank === undefined) return 'its indices lack the batch';
  if (indices.batch.axis === rank - 1) return 'the batch is on the last axis of its indices';
  const within =
    data?.batch?.axis === indices.batch.axis &&
    data.batch.factor === indices.batch.factor &&
    indices.batch.axis < node.int('batch_dims', 0);
  if (data?.batch !== undefined && !within) return 'both its data and its indices have the batch';
  return flowing(node, withBatch(indices.batch, undefined));
}

/** oneHot follows OneHot, which adds an axis to its indices. */
export function oneHot(node: RuleNode): RuleResult {
  const [indices, ...rest] = node.flows;
  if (rest.some((flow) => flow?.batch !== undefined)) return 'a parameter of it has the batch';
  if (indices?.batch === undefined) return indices?.sized ? COMPUTES_WITH_SIZE : flowing(node, {});
  const rank = indices.dims?.length;
  const axis = axisWithin(node.int('axis', -1), rank === undefined ? undefined : rank + 1);
  if (axis === undefined) return 'the rank of its input is not known';
  const { axis: at, factor } = indices.batch;
  const dims = indices.dims && [...indices.dims.slice(0, axis), undefined, ...indices.dims.slice(axis)];
  return flowing(node, withBatch({ axis: at < axis ? at : at + 1, factor }, dims));
}

/** einsum follows the letter of the batch through the equation: it must be in the output, and in no other place. */
export function einsum(node: RuleNode): RuleResult {
  const batched = node.flows.filter((flow) => flow?.batch !== undefined);
  if (batched.length === 0) return flowing(node, {});
  const [left = '', right] = node.text('equation', '').replaceAll(' ', '').split('->');
  if (right === undefined || left.includes('.')) return 'its equation does not name every axis';
  const terms = left.split(',');
  const letters = new Set(
    node.flows.flatMap((flow, at) => (flow?.batch ? [terms[at]?.[flow.batch.axis] ?? ''] : [])),
  );
  const [letter = ''] = letters;
  const factors = new Set(batched.map((flow) => flow!.batch!.factor));
  if (letters.size > 1 || factors.size > 1) return mixes('it brings rows together with other rows');
  if (letter === '' || terms.some((term) => term.split(letter).length > 2))
    return 'its equation has the batch on two axes of one input';
  if (terms.some((term, at) => term.includes(letter) && node.flows[at]?.batch === undefined))
    return 'one of its inputs lacks the batch';
  const axis = right.indexOf(letter);
  if (axis === -1) return mixes('it sums over the batch');
  const sizes = new Map(
    node.flows.flatMap((flow, at) =>
      [...(terms[at] ?? '')].map((name, i) => [name, flow?.dims?.[i]] as const),
    ),
  );
  const dims = [...right].map((name) => sizes.get(name));
  return flowing(node, withBatch({ axis, factor: itemAt([...factors], 0) }, dims));
}

/** standardized follows MeanVarianceNormalization, whose axes are 0, 2 and 3 where none are given. */
export function standardized(node: RuleNode): RuleResult {
  const data = node.flows[0];
  if (data?.batch === undefined) return flowing(node, {});
  const axes = node.ints('axes') ?? [0, 2, 3];
  if (axes.some((axis) => axisWithin(axis, data.dims?.length) === undefined))
    return 'the rank of its input is not known';
  if (axes.some((axis) => axisWithin(axis, data.dims?.length) === data.batch!.axis))
    return mixes('it takes its mean over the batch');
  return flowing(node, withBatch(data.batch, data.dims));
}

/** sampled follows GridSample, which samples each image by the grid of its row. */
export function sampled(node: RuleNode): RuleResult {
  const [data, grid] = node.flows;
  if (data?.batch === undefined && grid?.batch === undefined) return flowing(node, {});
  const first = (flow: BatchFlow | undefined) => flow?.batch?.axis === 0 && flow.batch.factor === 1;
  if (!first(data) || !first(grid)) return 'not both of its inputs have the batch on axis 0';
  return flowing(node, withBatch(data!.batch, undefined));
}

/** rowWise follows operators that work on each row of [batch, features] by itself. */
export function rowWise(node: RuleNode): RuleResult {
  const [data, ...rest] = node.flows;
  if (rest.some((flow) => flow?.batch !== undefined)) return 'a parameter of it has the batch';
  if (data?.batch === undefined) return flowing(node, {});
  if (data.batch.axis !== 0) return 'the batch is not on axis 0 of its input';
  return flowing(node, withBatch(data.batch, undefined));
}

/**
 * features follows ArrayFeatureExtractor, which picks from the last axis of its data all that its second input lists. Of
 * data with one axis it makes two.
 */
export function features(node: RuleNode): RuleResult {
  const [data, places] = node.flows;
  if (data?.batch === undefined && places?.batch === undefined) return flowing(node, {});
  const rank = data?.dims?.length;
  if (rank === undefined) return 'the rank of its input is not known';
  if (places?.batch === undefined) {
    if (data?.batch?.axis === rank - 1) return mixes('it picks from the rows of a batch');
    return flowing(node, withBatch(data?.batch, undefined));
  }
  const row = places.dims?.slice(1).reduce((all, dim) => (all && dim ? all * dim : undefined), 1);
  if (data?.batch !== undefined || places.batch.axis !== 0 || row === undefined)
    return 'it is not known what it lists for each row';
  return flowing(
    node,
    withBatch({ axis: Math.max(1, rank - 1), factor: places.batch.factor * row }, undefined),
  );
}

/** sizeOf follows Size: of rows of an unknown shape, it is known to be made of the size of the batch only. */
export function sizeOf(node: RuleNode): RuleResult {
  const data = node.flows[0];
  const sizes = data?.dims?.filter((_, axis) => axis !== data.batch?.axis);
  const count = sizes?.reduce(
    (product, dim) => (product === undefined ? undefined : dim && product * dim),
    1,
  );
  if (count === undefined)
    return flowing(node, data?.batch === undefined && !data?.sized ? {} : { sized: true, dims: [] });
  return flowing(node, elements([data?.batch ? { times: count * data.batch.factor } : count], []));
}
