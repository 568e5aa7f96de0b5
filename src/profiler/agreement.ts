import { Float16Array } from '@petamoriken/float16';
import { itemAt, largestOf } from '../collections/index.js';
import { isStrings, type NumericArray, splitBatch, stackBatch, type TensorData } from '../execution/index.js';
import type { Batching } from './types.js';

/** Kernels sum in another order at another batch size; beyond this share of the largest value, results differ. */
const TOLERANCE = 1e-3;
/**
 * A float16 has 11 significant bits. Each rounding is up to 2^-11, and a model rounds after every node; 8 are
 * allowed.
 */
const FLOAT16_TOLERANCE = 2 ** -8;

/**
 * agree says whether two tensors of one type and shape hold the same values up to rounding: within 1e-3 of the largest
 * finite magnitude in `a` (float16: 2^-8), or within `tolerance` of it where that is more. Not-a-number equals itself.
 * Integers, truth values and texts are equal or not.
 */
export function agree(a: TensorData, b: TensorData, tolerance = 0): boolean {
  const rounding = a.dtype === 'float16' ? FLOAT16_TOLERANCE : TOLERANCE;
  return differenceOf(a, b) <= Math.max(tolerance, rounding);
}

/**
 * differenceOf gives the largest difference of two tensors' elements over the largest finite magnitude in `a`. It is
 * Infinity where types, shapes, integers, truth values or texts differ, or only one of two elements is a number.
 */
export function differenceOf(a: TensorData, b: TensorData): number {
  if (a.dtype !== b.dtype || a.dims.join() !== b.dims.join()) return Number.POSITIVE_INFINITY;
  if (sameBytes(a, b)) return 0;
  const [x, y] = [numericValues(a), numericValues(b)];
  if (!(a.dtype.startsWith('float') && x !== undefined && y !== undefined))
    return same(a, b) ? 0 : Number.POSITIVE_INFINITY;
  const { apart, largest } = distanceOf(x, y);
  return apart === 0 ? 0 : apart / largest;
}

/**
 * distanceOf gives the largest difference of two arrays' elements, and the largest finite magnitude in the first. Two
 * not-a-numbers are equal. The difference is Infinity where only one of two elements is a finite number, or where two
 * infinities differ; and it is at least 1 where integers differ, also where they are one number as doubles.
 */
export function distanceOf(a: NumericArray, b: NumericArray): { apart: number; largest: number } {
  let largest = 0;
  let apart = 0;
  for (let i = 0; i < a.length; i++) {
    const [p, q] = [Number(a[i]), Number(b[i])];
    if (Number.isFinite(p)) largest = Math.max(largest, Math.abs(p));
    if (a[i] === b[i] || (Number.isNaN(p) && Number.isNaN(q))) continue;
    const distance = Number.isFinite(p) && Number.isFinite(q) ? Math.abs(p - q) : Number.POSITIVE_INFINITY;
    apart = Math.max(apart, distance, typeof a[i] === 'bigint' ? 1 : 0);
  }
  return { apart, largest };
}

/** sameInARow says whether parts, joined along an axis, are a whole byte by byte. It joins no copy of them. */
function sameInARow(parts: readonly TensorData[], whole: TensorData, axis: number): boolean {
  const rows = parts.map(({ dims }) => dims[axis] ?? 0);
  if (whole.dims[axis] !== rows.reduce((sum, count) => sum + count, 0)) return false;
  const split = splitBatch(whole, axis, rows);
  return parts.every((part, i) => part.dtype === whole.dtype && sameBytes(part, itemAt(split, i)));
}

/** numericValues gives a tensor's own array; for float16, a copy of what its bits stand for. Undefined for texts. */
export function numericValues({ dtype, data }: TensorData): NumericArray | undefined {
  if (isStrings(data)) return undefined;
  if (dtype !== 'float16') return data;
  return Float32Array.from(new Float16Array(data.buffer as ArrayBuffer, data.byteOffset, data.length));
}

/** sameBytes compares a hundred times as fast as numbers are compared. It finds texts different. */
function sameBytes({ data: a }: TensorData, { data: b }: TensorData): boolean {
  return !isStrings(a) && !isStrings(b) && Buffer.compare(bytesOf(a), bytesOf(b)) === 0;
}

function bytesOf({ buffer, byteOffset, byteLength }: NumericArray): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}

function same({ data: a }: TensorData, { data: b }: TensorData): boolean {
  return a.length === b.length && a.every((value, i) => value === b[i]);
}

/** Shaped is a tensor's type and shape without its values. */
export type Shaped = Pick<TensorData, 'dtype' | 'dims'>;

/** Seen holds an observation of one tensor in two different requests and in both at once. */
export interface Seen<T> {
  readonly first: T;
  readonly second: T;
  readonly both: T;
}

/**
 * batchingOf says how a tensor is batched, by its values in two different requests and in both at once. It is *stacked*
 * when exactly one axis grows and joining the two along it gives the tensor of both. It is *common* when all three are
 * equal. That holds for what depends on common inputs only, and not for a vector that holds the batch size (a shape to
 * reshape to), which differs at batch 2. Any other tensor cannot cross a cut between batches: its size depends on the
 * data, or it mixes rows.
 */
export function batchingOf(first: TensorData, second: TensorData, both: TensorData): Batching {
  const seen = { first, second, both };
  const asShaped = batchingOfShapes(seen);
  return asShaped.kind === 'mixed' ? asShaped : confirmedBatching(asShaped, seen, { whole: both });
}

/** batchingOfShapes gives the one batching that shapes allow. `mixed` is certain; values must confirm the others. */
export function batchingOfShapes({ first, second, both }: Seen<Shaped>): Batching {
  if (first.dims.join() !== second.dims.join())
    return {
      kind: 'mixed',
      why: `its size depends on the data (${shown(first)} and ${shown(second)})`,
      dataSized: true,
    };
  if (first.dims.join() === both.dims.join()) return { kind: 'common' };
  const grown = both.dims.flatMap((dim, axis) => (dim === first.dims[axis] ? [] : [axis]));
  const [axis] = grown;
  const data = first.dtype.startsWith('float') ? { difference: Number.POSITIVE_INFINITY } : {};
  if (both.dims.length !== first.dims.length || axis === undefined || grown.length > 1)
    return {
      kind: 'mixed',
      why: `no single axis grows with the batch (${shown(first)}, ${shown(both)} at batch 2)`,
      ...data,
    };
  if (both.dims[axis] !== 2 * itemAt(first.dims, axis))
    return {
      kind: 'mixed',
      why: `axis ${axis} is ${first.dims[axis]}, and ${both.dims[axis]} at batch 2`,
      ...data,
    };
  return { kind: 'stacked', axis };
}

/**
 * confirmedBatching gives the batching that shapes allow, if the values confirm it.
 * @param values the tensor's values, or the same part of each along axes other than the stacked one
 * @param options.whole the tensor of both requests, for the message
 * @param options.tolerance how far rows may be from those of a request alone, beyond rounding (`agree`)
 */
export function confirmedBatching(
  asShaped: Exclude<Batching, { kind: 'mixed' }>,
  { first, second, both }: Seen<TensorData>,
  { whole, tolerance = 0 }: { whole: Shaped; tolerance?: number },
): Batching {
  if (asShaped.kind === 'stacked' && sameInARow([first, second], both, asShaped.axis)) return asShaped;
  const pairs: [TensorData, TensorData][] =
    asShaped.kind === 'stacked'
      ? [[stackBatch([first, second], asShaped.axis), both]]
      : [
          [first, both],
          [second, both],
        ];
  if (pairs.every(([alone, together]) => agree(alone, together, tolerance))) return asShaped;
  const why =
    asShaped.kind === 'stacked'
      ? `at batch 2 (${shown(whole)}) it is not the two requests' tensors in a row`
      : `it has no batch axis (${shown(whole)}) but its values change with the batch`;
  const difference = largestOf(pairs.map(([alone, together]) => differenceOf(alone, together)));
  // A value that two requests have in common may follow the size of the batch alone, as the elements of a
  // shape do.
  const ofRows = !same(first, second) || (asShaped.kind === 'stacked' && first.dtype.startsWith('float'));
  const grows = asShaped.kind === 'stacked' ? { grows: asShaped.axis } : {};
  return { kind: 'mixed', why, ...grows, ...(ofRows ? { difference } : {}) };
}

function shown({ dtype, dims }: Shaped): string {
  return `${dtype}[${dims.join(', ')}]`;
}
