import type { OpenCluster } from './cluster.js';
import type { Placement } from './pooled-plan.js';

/** GpuRow is an entry of a placement of any kind of plan: a GPU, or a row of consecutive ones. */
export interface GpuRow {
  readonly server: string;
  readonly gpu: number;
  readonly count?: number;
  readonly class: string;
}

/** Seat is one virtual GPU of a placement: the entry that lists it, and where it is. */
export interface Seat<P extends GpuRow = Placement> {
  readonly place: P;
  readonly server: string;
  readonly gpu: number;
}

/**
 * seatsOf gives every virtual GPU of a placement, in the order of its entries; those that one entry lists follow the
 * numbers of their GPUs.
 */
export function* seatsOf<P extends GpuRow>(
  placement: readonly P[],
  devices: OpenCluster['devices'],
): Generator<Seat<P>, void, undefined> {
  for (const place of placement) {
    const { server, gpu, count = 1 } = place;
    yield { place, server, gpu };
    if (count === 1) continue;
    const perServer = devices[place.class]?.perServer ?? 1;
    const first = gpuNumber(place, perServer);
    for (let number = first + 1; number < first + count; number++)
      yield { place, server: `${place.class}-${Math.floor(number / perServer)}`, gpu: number % perServer };
  }
}

/**
 * gpuNumber gives the number of an entry's first GPU in its class: the GPUs of server 0 come first, then those of
 * server 1. It is NaN where the server is not named after its class.
 */
export function gpuNumber({ server, gpu, class: name }: GpuRow, perServer: number): number {
  const digits = server.startsWith(`${name}-`) ? server.slice(name.length + 1) : '';
  return /^[0-9]+$/.test(digits) ? Number(digits) * perServer + gpu : Number.NaN;
}

/**
 * GpuRun is a sequence of consecutive GPUs (or servers) that the same entries list; `first` is the number of the first in
 * its class.
 */
export interface GpuRun<P = Placement> {
  readonly class: string;
  readonly first: number;
  readonly count: number;
  readonly places: readonly P[];
}

/** Spanned is an entry with the numbers [from, to) of its GPUs or servers. */
export interface Spanned<P = Placement> {
  readonly place: P;
  readonly from: number;
  readonly to: number;
}

/**
 * runsOf splits the GPUs of entries of one class into runs that have the same entries, in the order of their numbers.
 * Its cost grows with the entries, however many GPUs each of them lists.
 */
export function runsOf<P>(className: string, spanned: readonly Spanned<P>[]): GpuRun<P>[] {
  const coming = spanned.toSorted((a, b) => a.from - b.from);
  const ends = [...new Set(spanned.flatMap(({ from, to }) => [from, to]))].sort((a, b) => a - b);
  const runs: GpuRun<P>[] = [];
  let open: Spanned<P>[] = [];
  let next = 0;
  for (const [k, first] of ends.entries()) {
    open = open.filter(({ to }) => to > first);
    for (; next < coming.length && coming[next]!.from === first; next++) open.push(coming[next]!);
    if (open.length === 0) continue;
    const places = open.map(({ place }) => place);
    runs.push({ class: className, first, count: ends[k + 1]! - first, places });
  }
  return runs;
}
