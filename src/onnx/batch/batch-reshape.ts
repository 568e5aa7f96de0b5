import type { Batched, BatchFlow, BatchMultiple, RuleNode, RuleResult } from './batch-flow.js';

type Target = readonly (number | BatchMultiple)[];

/** Laid is what a Reshape with a constant target makes of its input. */
interface Laid {
  readonly data: BatchFlow & { readonly batch: Batched };
  readonly values: readonly number[];
  /** The output's shape at the fixed batch. */
  readonly resolved: readonly (number | undefined)[];
  readonly allowZero: boolean;
}

const UNKNOWN =
  'the shape of its input is not known, so the number of its rows per request is not known either';

/**
 * reshape follows Reshape, which keeps elements in row-major order. The axes before the batch hold p rows of the whole
 * batch; where the first axes of the output hold p elements too, every row stays together on the axis after them. That
 * axis has m entries for each request where its size is m times the batch. Its element of a constant target must
 * change: to 0 ("as in the input") where the input has that size on the same axis, else to −1.
 */
export function reshape(node: RuleNode): RuleResult {
  const [data, target] = node.flows;
  if (data?.batch === undefined)
    return target?.sized ? 'it lays out by the size of the batch' : plain(node, data, target);
  const values = node.ints('shape') ?? target?.values;
  if (values === undefined) return 'the shape it gives is not known';
  const allowZero = node.int('allowzero', 0) === 1;
  const batched = { ...data, batch: data.batch };
  const constant = values.flatMap((value) => (typeof value === 'number' ? [value] : []));
  if (constant.length < values.length) return computedTarget(node, batched, { values, allowZero });
  const resolved = resolve(constant, data, allowZero);
  return constantTarget(node, { data: batched, values: constant, resolved, allowZero });
}

function constantTarget(node: RuleNode, laid: Laid): RuleResult {
  const { data, resolved } = laid;
  const axis = landingAxis(laid, node.size);
  if (typeof axis === 'string') return axis;
  const lead = resolved[axis];
  if (lead === undefined) return leadUnknown(laid, axis);
  if (lead % node.size !== 0 || lead === 0)
    return `its ${axis === 0 ? 'first axis' : `axis ${axis}`} of ${lead} is no multiple of the batch`;
  const flow = { batch: { axis, factor: lead / node.size }, dims: resolved };
  const same = axis === data.batch.axis && flow.batch.factor === data.batch.factor;
  return changed(node, laid, { flow, axis, same });
}

/**
 * landingAxis gives the axis of the output that takes up the batch: the first one where the batch is on the input's
 * first axis, else one that as many elements stand before as before the batch in the input. Beside axes of size 1 there
 * are several: a −1 takes up the batch unless it would also take up later axes, and otherwise the batch stays in place.
 */
function landingAxis({ data, values, resolved, allowZero }: Laid, size: number): number | string {
  const from = data.batch.axis;
  if (from === 0) return 0;
  if (!allowZero && values.length > from && values.slice(0, from).every((value) => value === 0)) return from;
  const before = product(data.dims?.slice(0, from) ?? [undefined]);
  if (before === undefined || resolved.includes(undefined)) return UNKNOWN;
  const axes = [...resolved.keys()].filter(
    (axis) => product(resolved.slice(0, axis)) === before && (resolved[axis] as number) % size === 0,
  );
  const most = data.batch.factor * size;
  const open = axes.find((axis) => values[axis] === -1 && (resolved[axis] as number) <= most);
  const chosen = open ?? axes.find((axis) => axis === from) ?? axes[0];
  return chosen ?? `the batch is on axis ${from} of its input, so rows come apart`;
}

function plain(node: RuleNode, data: BatchFlow | undefined, target: BatchFlow | undefined): RuleResult {
  const values = (node.ints('shape') ?? target?.values) as number[] | undefined;
  if (values === undefined) return { flows: [{}] };
  const flow = { dims: resolve(values, data ?? {}, node.int('allowzero', 0) === 1) };
  if (data?.values === undefined) return { flows: [flow] };
  return { flows: [{ ...flow, values: data.values, ...(data.sized ? { sized: true } : {}) }] };
}

/** resolve gives the output's shape at the fixed batch, as far as the target and the input's shape say. */
function resolve(values: readonly number[], data: BatchFlow, allowZero: boolean): (number | undefined)[] {
  const copied = values.map((value, axis) => (value === 0 && !allowZero ? data.dims?.[axis] : value));
  const total = product(data.dims ?? [undefined]);
  const others = product(copied.filter((value) => value !== -1));
  const rest = total === undefined || others === undefined || others === 0 ? undefined : total / others;
  return copied.map((value) => (value === -1 ? rest : value));
}

function product(dims: readonly (number | undefined)[]): number | undefined {
  return dims.reduce((all, dim) => (all === undefined || dim === undefined ? undefined : all * dim), 1);
}

/**
 * leadUnknown follows a Reshape of an input of unknown shape. A 0 in the batch's place copies the batch and a −1 takes
 * it up; only the shapes could say how many rows a −1 holds.
 */
function leadUnknown({ data, values, allowZero }: Laid, axis: number): RuleResult {
  if (values[axis] === 0 && !allowZero && axis === data.batch.axis)
    return { flows: [{ batch: data.batch, dims: values.map((v) => (v > 0 ? v : undefined)) }] };
  return UNKNOWN;
}

/** computedTarget follows a Reshape whose target holds a multiple of the batch, computed while the model runs. */
function computedTarget(
  node: RuleNode,
  data: BatchFlow & { readonly batch: Batched },
  { values, allowZero }: { values: Target; allowZero: boolean },
): RuleResult {
  const axes = values.flatMap((value, axis) => (typeof value === 'number' ? [] : [axis]));
  const [axis] = axes as [number];
  const from = data.batch.axis;
  const dims = values.map((value, at) => {
    if (typeof value !== 'number') return value.times * node.size;
    if (value === 0 && !allowZero) return data.dims?.[at];
    return value === -1 ? undefined : value;
  });
  if (axes.length > 1) return 'it lays out the batch on more than one axis';
  if (values[from] === 0 && !allowZero && from !== axis) return 'it copies the batch to a second axis';
  const [before, after] = [product(data.dims?.slice(0, from) ?? [undefined]), product(dims.slice(0, axis))];
  const together = (from === 0 && axis === 0) || (before !== undefined && before === after);
  if (!together) return 'it lays out the batch on an axis where rows come apart';
  return { flows: [{ batch: { axis, factor: (values[axis] as BatchMultiple).times }, dims }] };
}

/** changed adds the edit of the target, where one is needed. */
function changed(
  node: RuleNode,
  { data, values, resolved, allowZero }: Laid,
  { flow, axis, same }: { flow: BatchFlow; axis: number; same: boolean },
): RuleResult {
  const lead = values[axis];
  const copies = (at: number) => at === data.batch.axis && at !== axis && values[at] === 0 && !allowZero;
  const open = lead === -1 || (lead === 0 && !allowZero && axis === data.batch.axis);
  if (open && !values.some((_, at) => copies(at))) return { flows: [flow] };
  if (node.ints('shape') !== undefined) return 'its shape is an attribute, from before operator set 5';
  if (same && !allowZero) return { flows: [flow], edits: [{ input: 1, values: values.with(axis, 0) }] };
  const given = values.map((value, at) => (value === -1 || copies(at) ? resolved[at] : value)).with(axis, -1);
  if (given.includes(undefined)) return 'it has another axis of −1 whose size is not known';
  return { flows: [flow], edits: [{ input: 1, values: given as number[] }] };
}
