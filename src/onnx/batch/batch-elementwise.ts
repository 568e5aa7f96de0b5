import { itemAt, largestOf } from '../../collections/index.js';
import { dtypeOf } from '../wire/index.js';
import {
  type BatchFlow,
  type BatchMultiple,
  COMPUTES_WITH_SIZE,
  type Dims,
  flowing,
  type RuleNode,
  type RuleResult,
  withBatch,
} from './batch-flow.js';

/**
 * unary follows operators that treat each element of their first input by itself. Further inputs are parameters and may
 * not have the batch. Identity and Cast keep known elements.
 */
export function unary(node: RuleNode): RuleResult {
  const [data, ...rest] = node.flows;
  if (rest.some((flow) => flow?.batch !== undefined)) return 'a parameter of it has the batch';
  if (
    node.op === 'Trilu' &&
    data?.batch !== undefined &&
    !(data.dims && data.batch.axis < data.dims.length - 2)
  )
    return 'the batch is not before its last two axes';
  if (node.op === 'Dropout' && rest[1] !== undefined) return 'it may be told to drop values at random';
  const keepsValues = node.op === 'Identity' || (node.op === 'Cast' && castKeeps(node, data?.values));
  if (data?.sized && !keepsValues) return COMPUTES_WITH_SIZE;
  if (keepsValues) return flowing(node, data ?? {});
  if (node.op === 'Not' && data?.values !== undefined)
    return flowing(node, { ...data, values: data.values.map((value) => Number(value === 0)) });
  return flowing(node, withBatch(data?.batch, data?.dims));
}

/** The largest whole numbers that types hold exactly. Other types are taken to hold 0 and 1 only. */
const MOST_EXACT: Readonly<Record<string, number>> = {
  float32: 2 ** 24,
  float64: Number.MAX_SAFE_INTEGER,
  int32: 2 ** 31 - 1,
  int64: Number.POSITIVE_INFINITY,
};

/** castKeeps says whether known elements are the same numbers as another type. A multiple of the batch is a whole one. */
function castKeeps(node: RuleNode, values: BatchFlow['values'] = []): boolean {
  const most = MOST_EXACT[dtypeOf(node.int('to', 0))];
  if (most === undefined) return values.every((value) => value === 0 || value === 1);
  return values.every(
    (value) => typeof value !== 'number' || (Number.isInteger(value) && Math.abs(value) <= most),
  );
}

/**
 * broadcast matches axes from the last, as NumPy does. An input without the batch must have 1 or no size on its axis.
 */
export function broadcast(node: RuleNode, operands: readonly (BatchFlow | undefined)[]): RuleResult {
  const given = operands.filter((flow) => flow !== undefined);
  if (given.some((flow) => flow.sized)) return shapeArithmetic(node, given);
  const batched = given.filter((flow) => flow.batch !== undefined);
  if (batched.length === 0) return flowing(node, { ...dimsOfBroadcast(given), ...equality(node, given) });
  const ranks = given.map((flow) => flow.dims?.length);
  if (given.length === 1) return flowing(node, withBatch(batched[0]?.batch, batched[0]?.dims));
  if (ranks.includes(undefined)) return 'the shape of one of its inputs is not known';
  const rank = largestOf(ranks as number[]);
  const fromEnd = new Set(batched.map((flow) => flow.dims!.length - flow.batch!.axis));
  const factors = new Set(batched.map((flow) => flow.batch!.factor));
  if (fromEnd.size > 1 || factors.size > 1) return 'its inputs have the batch on different axes';
  const back = itemAt([...fromEnd], 0);
  for (const flow of given) {
    const dim = flow.batch === undefined && flow.dims!.length >= back ? flow.dims!.at(-back) : 1;
    if (dim === undefined) return 'the shape of one of its inputs is not known';
    if (dim !== 1) return `an input without the batch has ${dim} entries on the batch's axis`;
  }
  const batch = { axis: rank - back, factor: itemAt([...factors], 0) };
  return flowing(node, withBatch(batch, dimsOfBroadcast(given).dims));
}

/** equality says whether two known numbers are equal: exporters branch so on the size of an axis. */
function equality({ op }: RuleNode, [a, b]: readonly BatchFlow[]): Pick<BatchFlow, 'values'> {
  const [x, y] = [a?.values?.[0], b?.values?.[0]];
  const single = a?.values?.length === 1 && b?.values?.length === 1;
  return op === 'Equal' && single ? { values: [Number(x === y)] } : {};
}

function dimsOfBroadcast(given: readonly BatchFlow[]): { dims?: Dims } {
  if (given.some((flow) => flow.dims === undefined)) return {};
  const rank = largestOf(given.map((flow) => flow.dims!.length));
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

/** shapeArithmetic keeps products with the batch's size as multiples of it; every other result is unknown. */
function shapeArithmetic(node: RuleNode, given: readonly BatchFlow[]): RuleResult {
  const [a, b] = given;
  if (node.op !== 'Mul' || a?.values === undefined || b?.values === undefined || given.length !== 2)
    return COMPUTES_WITH_SIZE;
  const length = Math.max(a.values.length, b.values.length);
  const at = (flow: BatchFlow, i: number) => (flow.values!.length === 1 ? flow.values![0] : flow.values![i]);
  const values: (number | BatchMultiple)[] = [];
  for (let i = 0; i < length; i++) {
    const value = product(at(a, i), at(b, i));
    if (value === undefined) return COMPUTES_WITH_SIZE;
    values.push(value);
  }
  const dims = (a.dims?.length ?? 0) >= (b.dims?.length ?? 0) ? a.dims : b.dims;
  return flowing(node, { sized: true, values, ...(dims === undefined ? {} : { dims }) });
}

function product(
  a: number | BatchMultiple | undefined,
  b: number | BatchMultiple | undefined,
): number | BatchMultiple | undefined {
  if (a === undefined || b === undefined) return undefined;
  if (typeof a === 'number') return typeof b === 'number' ? a * b : { times: a * b.times };
  return typeof b === 'number' ? { times: a.times * b } : undefined;
}
