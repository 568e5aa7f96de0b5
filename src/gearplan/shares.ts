import type { ModelPlacement } from './placement.js';

/** This many turns bring the shares of any placement to within a millionth of the best; most need few. */
const TURNS = 200;
/** Turns end once they move no more of a device's time than this. */
const SETTLED = 1e-9;
/** Shares are written to this many parts of 1. */
const WRITTEN_PARTS = 10_000;

/**
 * loadShares divides the load of each model among the devices that hold it, so that devices are as evenly busy as they
 * can be, and so the busiest is as little busy as CascadeServe's LP makes it (Eqs. 1–3). In turn, each model's load is
 * poured onto its devices like water: the least busy ones are filled to one level.
 * @param load the time that each model needs per second, in devices
 * @returns for each model the share of each device, all 0 for a model without a load
 */
export function loadShares(placement: ModelPlacement, load: Float64Array): Float64Array[] {
  const poured = Array.from(load, () => new Float64Array(placement.length));
  const busy = new Float64Array(placement.length);
  const holders = poured.map((_, model) =>
    placement.flatMap((held, device) => ((held >> model) & 1 ? [device] : [])),
  );
  for (let turn = 0, moved = Number.POSITIVE_INFINITY; turn < TURNS && moved > SETTLED; turn++) {
    moved = 0;
    poured.forEach((onDevice, model) => {
      if (load[model] === 0) return;
      const devices = holders[model] as number[];
      for (const device of devices) busy[device]! -= onDevice[device] as number;
      const level = levelOf(devices, busy, load[model] as number);
      for (const device of devices) {
        const before = onDevice[device] as number;
        onDevice[device] = Math.max(0, level - (busy[device] as number));
        busy[device]! += onDevice[device] as number;
        moved = Math.max(moved, Math.abs((onDevice[device] as number) - before));
      }
    });
  }
  return poured.map((onDevice, model) =>
    onDevice.map((amount) => ((load[model] as number) > 0 ? amount / (load[model] as number) : 0)),
  );
}

/** writtenShares gives the shares as plans have them, rounded, so that gears are tried with what is served by. */
export function writtenShares(placement: ModelPlacement, load: Float64Array): Float64Array[] {
  return loadShares(placement, load).map((of) =>
    of.map((share) => Math.round(WRITTEN_PARTS * share) / WRITTEN_PARTS),
  );
}

/** levelOf is how busy devices are once an amount of work is poured onto the least busy ones. */
function levelOf(devices: readonly number[], busy: Float64Array, amount: number): number {
  const levels = devices.map((device) => busy[device] as number).sort((a, b) => a - b);
  let left = amount;
  for (let filled = 1; filled < levels.length; filled++) {
    const step = filled * ((levels[filled] as number) - (levels[filled - 1] as number));
    if (step >= left) return (levels[filled - 1] as number) + left / filled;
    left -= step;
  }
  return (levels.at(-1) ?? 0) + left / Math.max(1, levels.length);
}
