import type { Bundle } from '../formats/index.js';
import { bytes, type Table } from './table.js';

/**
 * bundleTable has one row per partition, stage or component of a bundle. `sizes` are their bytes, with external data, in the
 * manifest's order.
 */
export function bundleTable(manifest: Bundle, sizes: readonly number[]): Table {
  const { stages, components } = manifest;
  const named = stages ?? components;
  if (named !== undefined) {
    const rows = named.map(({ name, file }, i) => [name, file, bytes(sizes[i] ?? 0)]);
    return { columns: [stages === undefined ? 'component' : 'stage', 'file', 'size'], rows };
  }
  const rows = manifest.partitions.map((partition, i) => [
    manifest.models[partition.model]?.name ?? '',
    `${partition.from}–${partition.to - 1}`,
    partition.file,
    bytes(sizes[i] ?? 0),
  ]);
  return { columns: ['model', 'blocks', 'file', 'size'], rows };
}
