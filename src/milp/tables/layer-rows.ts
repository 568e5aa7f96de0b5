import type { Profile } from '../../artifacts/index.js';
import { blockEnds, blockLatencies, type Cell, overheadsOf, timedSpans } from './block-rows.js';
import type { ProfileRows } from './profile-rows.js';
import { spanLatencies } from './span-latencies.js';

/**
 * layerRows reads a profile's layers as rows. Measured layer latencies are taken for the virtual sizes and batch sizes
 * that have all of them; they sum to the whole model, so each cut adds what it adds between blocks, and a cut inside a
 * block the mean of these, but never less than 0. Otherwise a block's measured latency (at least 1 µs) is shared out among its layers in the
 * proportions of v = 1, batch 1, or equally if these are 0. Latencies are undefined if the blocks were not measured.
 */
export function layerRows(profile: Profile): ProfileRows {
  const layers = profile.layers ?? [];
  const blockOf = blockOfLayers(profile);
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
      const timed = timedSpans(cell, (layer) => layer, layers.length);
      const measured = cell.device?.layerLatencyUs?.[virtual]?.[batch];
      if (measured?.every((us) => us !== null))
        return spanLatencies(measured as number[], layerOverheads(profile, cell), timed);
      const blockUs = blockLatencies(cell);
      if (blockUs === undefined) return undefined;
      const each = Array.from(shareOf(className), (part, i) => part * (blockUs[blockOf[i] as number] ?? 1));
      return spanLatencies(each, new Float64Array(layers.length + 1), timed);
    },
  };
}

/** layerOverheads gives what a cut before each layer adds. */
function layerOverheads(profile: Profile, cell: Cell): Float64Array {
  const count = profile.layers?.length ?? 0;
  const blockUs = blockLatencies(cell);
  if (blockUs === undefined || blockUs.length < 2) return new Float64Array(count + 1);
  const atBlocks = overheadsOf(cell, blockUs);
  const mean = atBlocks.reduce((sum, us) => sum + us, 0) / (blockUs.length - 1);
  const overheads = new Float64Array(count + 1).fill(Math.max(0, mean));
  blockEnds(profile).forEach((layer, k) => {
    overheads[layer] = Math.max(0, atBlocks[k] as number);
  });
  overheads[0] = 0;
  overheads[count] = 0;
  return overheads;
}

/** blockOfLayers is the block of every layer, by the nodes that blocks name; −1 if none names it. */
export function blockOfLayers(profile: Profile): Int32Array {
  const byNode = new Map<string, number>();
  profile.blocks.forEach((block, b) => {
    for (const node of block.nodes ?? []) byNode.set(node, b);
  });
  return Int32Array.from(profile.layers ?? [], (layer) => byNode.get(layer.name) ?? -1);
}

/** Every layer's share of its block. Shares are equal if the layers of a block have no time of their own. */
function layerShares(us: readonly (number | null)[], blockOf: Int32Array, blocks: number): Float64Array {
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
