import { largestOf } from '../../collections/index.js';
import type { PlannedPipeline } from '../../formats/index.js';
import {
  type ModelTable,
  type Slot,
  slowerLink,
  spanUs,
  transferUs,
  virtualGpuRps,
} from '../tables/index.js';
import type { Column, ColumnOptions, ColumnPart } from './columns.js';

/** PlannedByBlocks is a pipeline that was planned by blocks. */
interface PlannedByBlocks {
  readonly pipeline: PlannedPipeline;
  /** The units before every block, and last all units. */
  readonly before: readonly number[];
}

/**
 * plannedColumn turns a pipeline that was planned by blocks into a column of a table, with the table's own times and
 * rates. It does not check memory or the number of partitions.
 * @returns undefined if the table lacks a device, size or batch, if a block's end is no valid cut, or if the table's
 *   own times miss the SLO
 */
export function plannedColumn(
  table: ModelTable,
  { pipeline, before }: PlannedByBlocks,
  options: ColumnOptions,
): Column | undefined {
  const parts: ColumnPart[] = [];
  let first = 0;
  let latencyUs = 0;
  for (const { blocks, device, virtual, batch: size } of pipeline.partitions) {
    const end = before[blocks?.[1] ?? 0] as number;
    const s = table.slots.findIndex((slot) => slot.className === device && slot.virtual === virtual);
    const b = table.batches.indexOf(size);
    const latencies = table.latencies[s * table.batches.length + b];
    if (latencies === undefined || end <= first || !table.cuts.includes(end)) return undefined;
    const slot = table.slots[s] as Slot;
    const us = spanUs(latencies, first, end);
    const inBytes = table.cutBytes[first] as number;
    const last = parts.at(-1);
    if (last !== undefined) {
      const link = slowerLink(table.slots[last.slot] as Slot, slot);
      latencyUs += (table.batches[last.batch] as number) * transferUs(inBytes, link);
    }
    latencyUs += us;
    const rps = virtualGpuRps(slot, size, us, inBytes, table.cutBytes[end] as number, options.linkThroughput);
    parts.push({ first, end, slot: s, batch: b, rps });
    first = end;
  }
  const largest = largestOf(parts.map(({ batch }) => batch));
  return latencyUs <= (table.budgetUs[largest] as number)
    ? { model: table.index, parts, latencyUs }
    : undefined;
}
