import { type Device, deviceText } from '../execution/index.js';
import type { Profile } from '../formats/index.js';

/** HeldCells says what a profile measures, as the options of `profile` name it. A list is empty where the profile does not say. */
export interface HeldCells {
  readonly devices: string[];
  readonly batch: number[];
  readonly virtual: number[];
}

/** heldCells gives the devices and sizes that a profile has figures of, without classes that were imported. */
export function heldCells({ devices }: Pick<Profile, 'devices'>): HeldCells {
  const measured = Object.entries(devices).filter(([, { provider }]) => provider !== undefined);
  const tables = measured.flatMap(([, { blockLatencyUs }]) => Object.entries(blockLatencyUs));
  return {
    devices: measured.map(([name, { provider, threads, deviceId, slowdown }]) => {
      const text = deviceText({ provider, threads, deviceId, slowdown } as Device);
      return name === text ? text : `${name}=${text}`;
    }),
    batch: ascending(tables.flatMap(([, byBatch]) => Object.keys(byBatch))),
    virtual: ascending(tables.map(([size]) => size)),
  };
}

function ascending(keys: readonly string[]): number[] {
  return [...new Set(keys.map(Number))].sort((a, b) => a - b);
}
