import { type Fault, fault, type PlannedPartition, type Profile } from '../../artifacts/index.js';

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
  if (!(off <= TOLERANCE * Math.abs(should))) told.push(fault(`is ${is}, recomputed ${should}`, at));
}

/**
 * PartitionUnits holds the sums over a partition's units: its latency (µs) at a batch size, undefined if that was not
 * profiled, its weights, and the bytes of one request that leave it, which are those of its last unit.
 */
export interface PartitionUnits {
  latencyUs(batch: number): number | undefined;
  readonly cutBytes: number;
  readonly weightBytes: number;
}

/**
 * unitsOf sums up a partition's blocks, or its layers if the granularity says so, from the profile. A block counts as
 * at least 1 µs. Layers that were not measured share their block's time, as in the planner.
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
      const each =
        granularity === 'layer'
          ? layerLatencies(partition, profile, batch)
          : profile.devices[partition.device]?.blockLatencyUs[partition.virtual]?.[batch]?.map((us) =>
              Math.max(1, us ?? 0),
            );
      return each?.slice(first, end).reduce((sum, us) => sum + us, 0);
    },
    cutBytes: rows[end - 1]?.cutBytes ?? 0,
    weightBytes: rows.slice(first, end).reduce((sum, row) => sum + (row.weightBytes ?? 0), 0),
  };
}

/**
 * Latencies are the measured ones. Where a layer was not measured, they are its share of its block's time, as at v = 1,
 * batch 1.
 */
function layerLatencies(partition: PlannedPartition, profile: Profile, batch: number): number[] | undefined {
  const device = profile.devices[partition.device];
  const measured = device?.layerLatencyUs?.[partition.virtual]?.[batch];
  if (measured?.every((us) => us !== null)) return measured as number[];
  const blocks = device?.blockLatencyUs[partition.virtual]?.[batch];
  if (blocks === undefined) return undefined;
  const base = device?.layerLatencyUs?.['1']?.['1'] ?? [];
  const layers = profile.layers ?? [];
  const position = new Map(layers.map((layer, i) => [layer.name, i]));
  const result = new Array<number>(layers.length).fill(0);
  profile.blocks.forEach((block, b) => {
    const own = (block.nodes ?? []).flatMap((node) => position.get(node) ?? []);
    const sum = own.reduce((total, i) => total + (base[i] ?? 0), 0);
    for (const i of own)
      result[i] = Math.max(1, blocks[b] ?? 0) * (sum > 0 ? (base[i] ?? 0) / sum : 1 / own.length);
  });
  return result;
}
