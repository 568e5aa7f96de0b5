import type { Profile } from '../../artifacts/index.js';
import type { ProfileRows } from './profile-rows.js';

/**
 * layerRows reads a profile's layers as rows. Measured layer latencies are taken for the virtual sizes and batch sizes
 * that have all of them. Otherwise a block's measured latency (at least 1 µs) is shared out among its layers in the
 * proportions of v = 1, batch 1, or equally if these are 0. Latencies are undefined if the blocks were not measured.
 */
export function layerRows(profile: Profile): ProfileRows {
  const layers = profile.layers ?? [];
  const blockOf = blockOfLayers(profile);
  const cutBytes = new Float64Array(layers.length + 1);
  for (let j = 1; j < layers.length; j++) cutBytes[j] = layers[j - 1]?.cutBytes ?? Number.NaN;
  const shares = new Map<string, Float64Array>();
  return {
    units: layers.length,
    cutBytes,
    weightBytes: layers.map((layer) => layer.weightBytes ?? 0),
    latenciesUs(className, virtual, batch) {
      const device = profile.devices[className];
      const blocks = device?.blockLatencyUs[virtual]?.[batch];
      const measured = device?.layerLatencyUs?.[virtual]?.[batch];
      if (measured?.every((us) => us !== null)) return measured as number[];
      if (device === undefined || blocks === undefined) return undefined;
      let share = shares.get(className);
      if (share === undefined) {
        share = layerShares(device.layerLatencyUs?.['1']?.['1'] ?? [], blockOf, profile.blocks.length);
        shares.set(className, share);
      }
      return Array.from(share, (part, i) => part * Math.max(1, blocks[blockOf[i] as number] ?? 0));
    },
  };
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
