import type { StagePlacement } from '../../formats/index.js';

/** Up to this many like GPUs have entries of their own, which people can read. */
export const MOST_LISTED = 1000;

/** seatsFrom lists the seats of devices that fill GPUs of a class one after another, from a number on. */
export function seatsFrom(
  first: number,
  {
    devices,
    virtual,
    perServer,
    seat: { class: name, ...rest },
  }: {
    readonly devices: number;
    readonly virtual: number;
    readonly perServer: number;
    readonly seat: Omit<StagePlacement, 'server' | 'gpu'>;
  },
): StagePlacement[] {
  const at = (gpu: number, count: number): StagePlacement => ({
    server: `${name}-${Math.floor(gpu / perServer)}`,
    gpu: gpu % perServer,
    ...(count > 1 ? { count } : {}),
    class: name,
    ...rest,
  });
  const full = Math.floor(devices / virtual);
  const entries = full > MOST_LISTED ? [full] : Array.from({ length: full }, () => 1);
  const seats: StagePlacement[] = [];
  let gpu = first;
  for (const count of entries) {
    for (let k = 0; k < virtual; k++) seats.push(at(gpu, count));
    gpu += count;
  }
  for (let k = full * virtual; k < devices; k++) seats.push(at(gpu, 1));
  return seats;
}
