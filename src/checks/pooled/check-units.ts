import { largestOf } from '../../collections/index.js';
import {
  type Fault,
  fault,
  type PlannedPartition,
  type Profile,
  type ProfiledSpan,
} from '../../formats/index.js';

/** Told is the list of faults found so far, to which checks add. */
export type Told = Fault[];

/**
 * TOLERANCE is the part by which figures may differ. No absolute tolerance is used, because a spec may count in any
 * unit.
 */
export const TOLERANCE = 1e-9;

/**
 * same adds a fault to `told` if a figure differs from the expected one by more than a part in 10⁹, or is NaN. A figure
 * that should be 0 must be 0.
 * @param at the place in the plan, as a path
 */
export function same(
  told: Told,
  at: string,
  { is, should }: { readonly is: number; readonly should: number },
): void {
  const off = Math.abs(is - should);
  const again = Number.isFinite(should) ? `recomputed ${should}` : 'which cannot be recomputed';
  if (!(off <= TOLERANCE * Math.abs(should))) told.push(fault(`is ${is}, ${again}`, at));
}

/**
 * PartitionUnits holds what a partition's units take together: its latency (µs) at a batch size, undefined if that was
 * not profiled, its weights, and the bytes of one request that leave it, which are those of its last unit.
 */
export interface PartitionUnits {
  latencyUs(batch: number): number | undefined;
  readonly cutBytes: number;
  readonly weightBytes: number;
}

/**
 * unitsOf works out the latency of a partition's blocks, or of its layers if the granularity says so, from the profile.
 * A span that was timed in one piece takes what was measured. Another takes the sum of its units, less what the cuts
 * between its blocks would add, or more what its first cut adds to layers. A block counts as at least 1 µs. Layers that
 * were not measured share their block's time, as in the planner.
 */
export function unitsOf(
  partition: PlannedPartition,
  profile: Profile,
  granularity: 'block' | 'layer',
): PartitionUnits {
  const [first, end] = (granularity === 'layer' ? partition.layers : partition.blocks) ?? [0, 0];
  const rows = granularity === 'layer' ? (profile.layers ?? []) : profile.blocks;
  return {
    latencyUs: (batch) => {
      const row = figuresOf(partition, profile, batch);
      const at = granularity === 'layer' ? [...rows.keys(), rows.length] : layersBefore(profile);
      const timed = timedUs(row, [at[first], at[end]], end - first === rows.length && rows.length > 1);
      if (timed !== undefined) return timed;
      return granularity === 'layer' ? layersUs(row, profile, first, end) : blocksUs(row, first, end);
    },
    cutBytes: rows[end - 1]?.cutBytes ?? 0,
    weightBytes: rows.slice(first, end).reduce((sum, row) => sum + (row.weightBytes ?? 0), 0),
  };
}

/** Figures are those of one device class, virtual size and batch size. */
interface Figures {
  readonly blocks: number[] | undefined;
  readonly pairs: readonly (number | null)[] | undefined;
  readonly layers: readonly (number | null)[] | undefined;
  readonly layersAtOne: readonly (number | null)[];
  readonly whole: number | undefined;
  readonly spans: readonly ProfiledSpan[];
}

function figuresOf({ device, virtual }: PlannedPartition, profile: Profile, batch: number): Figures {
  const measured = profile.devices[device];
  return {
    blocks: measured?.blockLatencyUs[virtual]?.[batch]?.map((us) => Math.max(1, us ?? 0)),
    pairs: measured?.pairLatencyUs?.[virtual]?.[batch],
    layers: measured?.layerLatencyUs?.[virtual]?.[batch],
    layersAtOne: measured?.layerLatencyUs?.['1']?.['1'] ?? [],
    whole: measured?.wholeLatencyUs?.[virtual]?.[batch],
    spans: measured?.spanLatencyUs?.[virtual]?.[batch] ?? [],
  };
}

/** The number of layers before each block, and in all. */
function layersBefore({ blocks }: Profile): number[] {
  let before = 0;
  return [0, ...blocks.map(({ nodes = [] }) => (before += nodes.length))];
}

function timedUs(
  { whole, spans }: Figures,
  [from, to]: readonly (number | undefined)[],
  isWhole: boolean,
): number | undefined {
  const own = spans.findLast(({ layers }) => layers[0] === from && layers[1] === to && layers[0] < layers[1]);
  return own?.us ?? (isWhole ? whole : undefined);
}

function blocksUs(figures: Figures, first: number, end: number): number | undefined {
  const { blocks } = figures;
  if (blocks === undefined) return undefined;
  const pair = figures.pairs?.every((us) => us !== null) ? figures.pairs[first] : undefined;
  if (end - first === 2 && typeof pair === 'number') return Math.max(1, pair);
  const added = addedByCuts(figures, blocks);
  let us = 0;
  for (let k = first; k < end; k++) us += (blocks[k] as number) - (k > first ? (added[k] as number) : 0);
  // Noise must not make a partition take less than half of its longest block.
  return Math.max(us, largestOf(blocks.slice(first, end)) / 2);
}

/**
 * A block or a pair takes what was measured. Layers of others sum to the whole model, so the cut before a partition adds
 * to them.
 */
function layersUs(figures: Figures, profile: Profile, first: number, end: number): number | undefined {
  const { blocks, layers } = figures;
  const before = layersBefore(profile);
  const known = layers?.every((us) => us !== null) ? (layers as number[]) : sharedLayers(figures, profile);
  const us = sumOf(known?.slice(first, end));
  if (us === undefined || blocks === undefined) return us;
  for (const [length, row] of [
    [2, figures.pairs?.every((pair) => pair !== null) ? figures.pairs : []],
    [1, blocks],
  ] as const) {
    const at = row.findLastIndex((_, k) => before[k] === first && before[k + length] === end);
    if (at >= 0) return Math.max(1, row[at] as number);
  }
  return us + (first === 0 ? 0 : addedBefore(first, { figures, before, blocks }));
}

/**
 * The time that the cut before a layer adds, which is never less than 0: inside a block the mean of those
 * between blocks.
 */
function addedBefore(
  layer: number,
  { figures, before, blocks }: { figures: Figures; before: readonly number[]; blocks: readonly number[] },
): number {
  if (blocks.length < 2) return 0;
  const added = addedByCuts(figures, blocks);
  const block = before.lastIndexOf(layer);
  const mean = (sumOf(added) as number) / (added.length - 1);
  return Math.max(0, block > 0 && block < blocks.length ? (added[block] as number) : mean);
}

/** The time that each cut adds: figure k is of the cut before block k, and figure 0 is 0. */
function addedByCuts({ pairs, whole }: Figures, blocks: readonly number[]): number[] {
  const known = pairs?.every((us) => us !== null) ? (pairs as number[]) : undefined;
  if (blocks.length < 2 || (known === undefined && whole === undefined)) return blocks.map(() => 0);
  const apart = blocks.map((us, k) => (k === 0 ? 0 : (blocks[k - 1] as number) + us));
  const raw = apart.map((us, k) => (k === 0 || known === undefined ? 0 : us - (known[k - 1] as number)));
  const weights = blocks.map((_, k) =>
    k === 0 ? 0 : known === undefined ? 1 : (known[k - 1] as number) ** 2,
  );
  const total = sumOf(blocks) as number;
  const missing = whole === undefined ? 0 : total - whole - (sumOf(raw) as number);
  const parts = sumOf(weights) as number;
  return raw.map((us, k) => us + (missing * (weights[k] as number)) / parts);
}

/**
 * The layers' shares of their blocks' times in the proportions of v = 1, batch 1. A block's time is what it takes less
 * what the cut before it adds.
 */
function sharedLayers(figures: Figures, profile: Profile): number[] | undefined {
  const { blocks, layersAtOne: base } = figures;
  if (blocks === undefined) return undefined;
  const layers = profile.layers ?? [];
  const position = new Map(layers.map((layer, i) => [layer.name, i]));
  const result = new Array<number>(layers.length).fill(0);
  const before = layersBefore(profile);
  profile.blocks.forEach((block, b) => {
    const own = (block.nodes ?? []).flatMap((node) => position.get(node) ?? []);
    const sum = own.reduce((total, i) => total + (base[i] ?? 0), 0);
    const entry = own[0] ? addedBefore(own[0], { figures, before, blocks }) : 0;
    const us = blocks[b] as number;
    const joined = Math.max(us / 2, us - entry);
    for (const i of own) result[i] = joined * (sum > 0 ? (base[i] ?? 0) / sum : 1 / own.length);
  });
  return result;
}

function sumOf(values: readonly number[] | undefined): number | undefined {
  return values?.reduce((sum, value) => sum + value, 0);
}
