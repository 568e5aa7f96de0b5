import type { Bundle } from '../artifacts/index.js';
import { bytes, type Table } from './table.js';

/**
 * bundleTable has one row per partition or stage of a bundle. `sizes` are their bytes, with external data, in the
 * manifest's order.
 */
export function bundleTable(manifest: Bundle, sizes: readonly number[]): Table {
  if (manifest.stages !== undefined) {
    const stages = manifest.stages.map(({ name, file }, i) => [name, file, bytes(sizes[i] ?? 0)]);
    return { columns: ['stage', 'file', 'size'], rows: stages };
  }
  const rows = manifest.partitions.map((partition, i) => [
    manifest.models[partition.model]?.name ?? '',
    `${partition.from}–${partition.to - 1}`,
    partition.file,
    bytes(sizes[i] ?? 0),
  ]);
  return { columns: ['model', 'blocks', 'file', 'size'], rows };
}
