import { layersBeforeBlocks, type Profile } from '../../formats/index.js';
import { blockLatencies, type Cell, LEAST_SHARE, overheadsOf, pairSpans, timedSpans } from './block-rows.js';
import type { ProfileRows } from './profile-rows.js';
import { spanLatencies, type TimedSpan } from './span-latencies.js';

/**
 * layerRows reads a profile's layers as rows. Measured layer latencies are taken for the virtual sizes and batch sizes
 * that have all of them. Otherwise what a block takes joined to the one before is shared out among its layers in the
 * proportions of v = 1, batch 1, or equally if these are 0. Both sum to the whole model, so each cut adds what it adds
 * between blocks, and a cut inside a block the mean of these, but never less than 0. Single blocks, pairs of blocks and
 * other spans that were timed take what was measured. Latencies are undefined if the blocks were not measured.
 */
export function layerRows(profile: Profile): ProfileRows {
  const layers = profile.layers ?? [];
  const before = layersBeforeBlocks(profile.blocks);
  const blockOf = layers.map((_, i) => before.findLastIndex((first) => first <= i));
  const cutBytes = new Float64Array(layers.length + 1);
  for (let j = 1; j < layers.length; j++) cutBytes[j] = layers[j - 1]?.cutBytes ?? Number.NaN;
  const shares = new Map<string, Float64Array>();
  const shareOf = (className: string) => {
    const known = shares.get(className);
    if (known !== undefined) return known;
    const base = profile.devices[className]?.layerLatencyUs?.['1']?.['1'] ?? [];
    const share = layerShares(base, blockOf, profile.blocks.length);
    shares.set(className, share);
    return share;
  };
  return {
    units: layers.length,
    cutBytes,
    weightBytes: layers.map((layer) => layer.weightBytes ?? 0),
    latencies(className, virtual, batch) {
      const cell = { device: profile.devices[className], virtual, batch };
      const blockUs = blockLatencies(cell);
      const overheads = layerOverheads(before, { cell, blockUs });
      const timed = [
        ...blockSpans(before, { cell, blockUs }),
        ...timedSpans(cell, layers.length, (layer) => [layer]),
      ];
      const measured = cell.device?.layerLatencyUs?.[virtual]?.[batch];
      if (measured?.every((us) => us !== null)) return spanLatencies(measured as number[], overheads, timed);
      if (blockUs === undefined) return undefined;
      const joined = blockUs.map((us, k) =>
        Math.max(LEAST_SHARE * us, us - (overheads[before[k] as number] as number)),
      );
      const each = Array.from(
        shareOf(className),
        (part, i) => part * (joined[blockOf[i] as number] as number),
      );
      return spanLatencies(each, overheads, timed);
    },
  };
}

/** The single blocks and pairs of blocks that were timed, in layers. */
function blockSpans(
  before: readonly number[],
  { cell, blockUs }: { readonly cell: Cell; readonly blockUs: readonly number[] | undefined },
): TimedSpan[] {
  if (blockUs === undefined) return [];
  const single = blockUs.map((us, k) => ({ first: k, end: k + 1, us }));
  return [...single, ...pairSpans(cell)]
    .map(({ first, end, us }) => ({ first: before[first] as number, end: before[end] as number, us }))
    .filter(({ first, end }) => first < end);
}

/** layerOverheads gives what a cut before each layer adds. */
function layerOverheads(
  before: readonly number[],
  { cell, blockUs }: { readonly cell: Cell; readonly blockUs: readonly number[] | undefined },
): Float64Array {
  const units = before.at(-1) as number;
  if (blockUs === undefined || blockUs.length < 2) return new Float64Array(units + 1);
  const atBlocks = overheadsOf(cell, blockUs);
  const mean = atBlocks.reduce((sum, us) => sum + us, 0) / (blockUs.length - 1);
  const overheads = new Float64Array(units + 1).fill(Math.max(0, mean));
  before.forEach((layer, k) => {
    overheads[layer] = Math.max(0, atBlocks[k] as number);
  });
  overheads[0] = 0;
  overheads[units] = 0;
  return overheads;
}

/** Every layer's share of its block. Shares are equal if the layers of a block have no time of their own. */
function layerShares(
  us: readonly (number | null)[],
  blockOf: readonly number[],
  blocks: number,
): Float64Array {
  const sums = new Float64Array(blocks);
  const counts = new Float64Array(blocks);
  blockOf.forEach((b, i) => {
    sums[b] = (sums[b] as number) + (us[i] ?? 0);
    counts[b] = (counts[b] as number) + 1;
  });
  return Float64Array.from(blockOf, (b, i) => {
    const sum = sums[b] as number;
    return sum > 0 ? (us[i] ?? 0) / sum : 1 / (counts[b] as number);
  });
}
