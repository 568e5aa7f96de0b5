import type { BatchFlow, BatchMultiple, RuleNode, RuleResult } from './batch-flow.js';

/**
 * reshape follows Reshape, which keeps elements in row-major order. Where the batch is on axis 0, each row therefore
 * stays together, and an output whose first axis is a multiple m of the batch has m entries of it for each row. The
 * first element of a constant target must change: to 0 ("as in the input") where the input's first axis already has
 * that size, else to −1.
 */
export function reshape(node: RuleNode): RuleResult {
  const [data, target] = node.flows;
  if (data?.batch === undefined)
    return target?.sized ? 'it lays out by the size of the batch' : plain(node, data, target);
  const values = node.ints('shape') ?? target?.values;
  if (values === undefined) return 'the shape it gives is not known';
  if (data.batch.axis !== 0)
    return `the batch is on axis ${data.batch.axis} of its input, so rows come apart`;
  if (target?.sized) return computedTarget(data, values);
  const allowZero = node.int('allowzero', 0) === 1;
  const resolved = resolve(values as number[], data, allowZero);
  const lead = resolved[0];
  if (lead === undefined) return leadUnknown(data, values as number[], allowZero);
  if (lead % node.size !== 0 || lead === 0) return `its first axis of ${lead} is no multiple of the batch`;
  const flow: BatchFlow = { batch: { axis: 0, factor: lead / node.size }, dims: resolved };
  return changed(node, data, flow, { values: values as number[], resolved, allowZero });
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
 * leadUnknown follows a Reshape of an input of unknown shape. A leading 0 copies the batch and a leading −1 takes it
 * up; only the shapes could say how many rows a −1 holds.
 */
function leadUnknown(data: BatchFlow, values: readonly number[], allowZero: boolean): RuleResult {
  if (values[0] === 0 && !allowZero)
    return { flows: [{ batch: data.batch!, dims: values.map((v) => (v > 0 ? v : undefined)) }] };
  return 'the shape of its input is not known, so the number of its rows per request is not known either';
}

function computedTarget(data: BatchFlow, values: readonly (number | BatchMultiple)[]): RuleResult {
  const [lead, ...rest] = values;
  const one = rest.every((value) => typeof value === 'number');
  const dims = values.map((value) => (typeof value === 'number' && value > 0 ? value : undefined));
  if (!one) return 'it lays out the batch on an axis that is not the first';
  if (typeof lead === 'object') return { flows: [{ batch: { axis: 0, factor: lead.times }, dims }] };
  if (lead === 0) return { flows: [{ batch: data.batch!, dims }] };
  return 'its first axis is not the batch';
}

function changed(
  node: RuleNode,
  data: BatchFlow,
  flow: BatchFlow,
  target: { values: readonly number[]; resolved: readonly (number | undefined)[]; allowZero: boolean },
): RuleResult {
  const { values, resolved, allowZero } = target;
  const lead = values[0] as number;
  if (lead === -1 || (lead === 0 && !allowZero)) return { flows: [flow] };
  if (node.ints('shape') !== undefined) return 'its shape is an attribute, from before operator set 5';
  if (flow.batch!.factor === data.batch!.factor && !allowZero)
    return { flows: [flow], edit: { input: 1, values: [0, ...values.slice(1)] } };
  const rest = values.slice(1).map((value, axis) => (value === -1 ? resolved[axis + 1] : value));
  if (rest.includes(undefined)) return 'it has another axis of −1 whose size is not known';
  return { flows: [flow], edit: { input: 1, values: [-1, ...(rest as number[])] } };
}
