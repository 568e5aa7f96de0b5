import { itemAt } from '../../collections/index.js';
import type { BatchFlow, BatchMultiple, Dims } from './batch-flow.js';

type Element = number | BatchMultiple;

/** Elements are all elements of a small tensor, in row-major order. */
interface Elements {
  readonly values: readonly Element[];
  readonly dims: readonly number[];
}

/** A range that Slice takes of an axis. */
export interface TakenRange {
  readonly axis: number;
  readonly start: number;
  readonly end: number;
  readonly step: number;
}

/** elements gives the flow of known elements, some of which may be multiples of the batch. */
export function elements(values: readonly Element[], dims: Dims): BatchFlow {
  const sized = values.some((value) => typeof value !== 'number');
  return { values, dims, ...(sized ? { sized } : {}) };
}

/** elementsOf gives the elements of a tensor, if they and its shape are known. */
export function elementsOf(flow: BatchFlow | undefined): Elements | undefined {
  const { values, dims } = flow ?? {};
  if (values === undefined || dims === undefined || dims.includes(undefined)) return undefined;
  const count = (dims as number[]).reduce((product, dim) => product * dim, 1);
  return values.length === count ? { values, dims: dims as number[] } : undefined;
}

/** slicedElements takes ranges of axes, counted as Slice counts them. */
export function slicedElements({ values, dims }: Elements, ranges: readonly TakenRange[]): BatchFlow {
  const picks = dims.map((size, axis) => {
    const range = ranges.find((one) => one.axis === axis);
    return range === undefined ? [...Array(size).keys()] : takenPlaces(size, range);
  });
  const order = [...dims.keys()];
  return elements(
    gathered({ values, dims }, { order, picks }),
    picks.map(({ length }) => length),
  );
}

/** takenPlaces lists the places of an axis that a range takes, with numbers clamped as Slice clamps them. */
export function takenPlaces(size: number, { start, end, step }: TakenRange): number[] {
  const within = (at: number, least: number, most: number) =>
    Math.min(Math.max(at < 0 ? at + size : at, least), most);
  const most = step > 0 ? size : size - 1;
  const [from, to] = [within(start, 0, most), within(end, step > 0 ? 0 : -1, most)];
  const count = Math.max(0, Math.ceil((to - from) / step));
  return Array.from({ length: count }, (_, i) => from + i * step);
}

/** transposedElements permutes axes. */
export function transposedElements({ values, dims }: Elements, perm: readonly number[]): BatchFlow {
  const picks = dims.map((size) => [...Array(size).keys()]);
  const order = perm;
  return elements(
    gathered({ values, dims }, { order, picks }),
    perm.map((axis) => dims[axis]),
  );
}

/** gathered lists the elements at the picked places of each axis, with the axes in an order. */
function gathered(
  { values, dims }: Elements,
  { order, picks }: { readonly order: readonly number[]; readonly picks: readonly (readonly number[])[] },
): Element[] {
  let places = [0];
  for (const axis of order) {
    const stride = dims.slice(axis + 1).reduce((product, dim) => product * dim, 1);
    places = places.flatMap((place) => itemAt(picks, axis).map((at) => place + at * stride));
  }
  return places.map((place) => itemAt(values, place));
}
