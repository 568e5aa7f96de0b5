import type { DeviceProfile, Profile } from '../formats/index.js';
import type { GroupFigures } from './statistics.js';

type Ratios = Record<string, Record<string, number>>;

/** figuresAt gives the figures of a group. */
export function figuresAt(
  { blockLatencyUs, pairLatencyUs, wholeLatencyUs }: DeviceProfile,
  { virtual, batch }: { readonly virtual: number; readonly batch: number },
): GroupFigures {
  return {
    blocks: blockLatencyUs[virtual]?.[batch] ?? [],
    pairs: pairLatencyUs?.[virtual]?.[batch] ?? [],
    whole: wholeLatencyUs?.[virtual]?.[batch] ?? 0,
  };
}

/** overWholes gives a ratio to the whole model by class, virtual size and batch size, where it is known. */
export function overWholes(
  devices: Profile['devices'],
  ratioOf: (figures: GroupFigures) => number | undefined,
): Record<string, Ratios> {
  const result: Record<string, Ratios> = {};
  for (const [className, device] of Object.entries(devices)) {
    for (const [virtual, byBatch] of Object.entries(device.wholeLatencyUs ?? {})) {
      for (const batch of Object.keys(byBatch)) {
        const ratio = ratioOf(figuresAt(device, { virtual: Number(virtual), batch: Number(batch) }));
        if (ratio !== undefined) rowsOf(rowsOf(result, className), virtual)[batch] = ratio;
      }
    }
  }
  return result;
}

/** rowsOf gives the rows of a table under a key, and makes room for them where there is none. */
export function rowsOf<T>(table: Record<string, Record<string, T>>, key: string | number): Record<string, T> {
  table[key] ??= {};
  return table[key];
}
