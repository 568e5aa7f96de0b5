import type { OpenCluster, StagePlacement } from '../../formats/index.js';

/** CountedGpu is a GPU of a placement, or a row of consecutive ones that hold the same. */
export interface CountedGpu {
  readonly class: string;
  /** The name in faults: the first of the row. */
  readonly name: string;
  /** The number of GPUs in the row. */
  readonly alike: number;
  /** The numbers of the first and the last of them in its class, from 0; where its server has no number, the first is on that. */
  readonly first: number;
  readonly last?: number;
  /** The placements that each of them holds. */
  readonly held: readonly StagePlacement[];
  /** isUp says whether any device of it is up. */
  readonly isUp: boolean;
}

/** Row is an entry of a placement with the numbers [from, to) of its GPUs: in its class, or on a server without a number. */
interface Row {
  readonly place: StagePlacement;
  readonly from: number;
  readonly to: number;
}

/** countedGpus lists the GPUs of a placement, those that hold the same together. Its cost grows with the entries. */
export function countedGpus(
  placement: readonly StagePlacement[],
  devices: OpenCluster['devices'],
): CountedGpu[] {
  const rows = new Map<string, Row[]>();
  for (const place of placement) {
    const number = serverNumber(place);
    const from =
      number === undefined ? place.gpu : number * (devices[place.class]?.perServer ?? 1) + place.gpu;
    const key = number === undefined ? JSON.stringify([place.class, place.server]) : place.class;
    const known = rows.get(key) ?? [];
    known.push({ place, from, to: from + (place.count ?? 1) });
    rows.set(key, known);
  }
  return [...rows.values()].flatMap(segmentsOf);
}

/** serverNumber reads the number of a server that is named after its class: 3 of `L4-3`. */
function serverNumber({ server, class: name }: StagePlacement): number | undefined {
  const [, before, digits] = /^(.*)-(\d+)$/s.exec(server) ?? [];
  return before === name ? Number(digits) : undefined;
}

/** segmentsOf cuts rows wherever one begins or ends, so that all GPUs of a segment hold the same. */
function segmentsOf(rows: readonly Row[]): CountedGpu[] {
  const starting = [...rows].sort((a, b) => a.from - b.from);
  const edges = [...new Set(rows.flatMap(({ from, to }) => [from, to]))].sort((a, b) => a - b);
  const found: CountedGpu[] = [];
  let held: Row[] = [];
  let next = 0;
  for (const [i, from] of edges.entries()) {
    held = held.filter(({ to }) => to > from);
    while (next < starting.length && (starting[next] as Row).from === from)
      held.push(starting[next++] as Row);
    if (held.length > 0) found.push(countedGpu(held, from, edges[i + 1] as number));
  }
  return found;
}

function countedGpu(rows: readonly Row[], from: number, to: number): CountedGpu {
  const places = rows.map(({ place }) => place);
  const [{ class: name, server }] = places as [StagePlacement];
  const isNumbered = serverNumber(places[0] as StagePlacement) !== undefined;
  return {
    class: name,
    alike: to - from,
    held: places,
    first: from,
    name: `GPU ${from} of ${isNumbered ? name : server}`,
    ...(isNumbered ? { last: to - 1 } : {}),
    isUp: places.some(({ standby }) => standby !== true),
  };
}
