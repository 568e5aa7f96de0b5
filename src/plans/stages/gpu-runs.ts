import {
  type GpuRow,
  type GpuRun,
  gpuNumber,
  type OpenCluster,
  runsOf,
  type Spanned,
} from '../../formats/index.js';

/**
 * gpuRuns splits the GPUs of a placement into runs that the same entries list. Its cost grows with the entries. Servers
 * that are not named after their class have runs of their own.
 */
export function gpuRuns<P extends GpuRow>(placement: readonly P[], { devices }: OpenCluster): GpuRun<P>[] {
  const rows = new Map<string, Spanned<P>[]>();
  for (const place of placement) {
    const number = gpuNumber(place, devices[place.class]?.perServer ?? 1);
    const isNumbered = !Number.isNaN(number);
    const row = isNumbered ? place.class : `${place.class}/${place.server}`;
    const from = isNumbered ? number : place.gpu;
    const known = rows.get(row) ?? [];
    known.push({ place, from, to: from + (place.count ?? 1) });
    rows.set(row, known);
  }
  return [...rows].flatMap(([row, spanned]) => runsOf(row, spanned));
}
