import { type Fault, fault } from './errors.js';
import type { DeviceProfile, Profile } from './profile.js';

/** MOST_BATCH is the largest batch that is planned: tables and plans have a latency for each size up to it. */
export const MOST_BATCH = 65_536;
/** MOST_VIRTUAL is how many virtual GPUs a GPU is divided into at most. */
export const MOST_VIRTUAL = 1000;

const TABLES = [
  'blockLatencyUs',
  'blockLatencyP95Us',
  'layerLatencyUs',
  'wholeLatencyUs',
] as const satisfies (keyof DeviceProfile)[];

/** profileSizeFaults refuses batches and virtual GPUs of sizes that nobody plans, before tables are made of them. */
export function* profileSizeFaults({ devices }: Profile): Generator<Fault> {
  for (const [className, device] of Object.entries(devices))
    for (const table of TABLES)
      for (const [virtual, byBatch] of Object.entries(device[table] ?? {})) {
        const at = `/devices/${className}/${table}/${virtual}`;
        if (Number(virtual) > MOST_VIRTUAL)
          yield fault(`divides the GPU into ${virtual}; at most ${MOST_VIRTUAL} are planned`, at);
        for (const batch of Object.keys(byBatch))
          if (Number(batch) > MOST_BATCH)
            yield fault(`is of batches of ${batch}; at most ${MOST_BATCH} are planned`, `${at}/${batch}`);
      }
}
