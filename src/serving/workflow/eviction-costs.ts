import { NONE } from '../../collections/index.js';
import type { ComponentWorth } from './component-worth.js';
import type { DeviceProbe } from './outlook.js';
import type { PlannedWork } from './planned-work.js';
import { Held, type Residency } from './residency.js';
import type { Costs } from './to-place.js';

/** EvictionCostsOptions holds the parts of EvictionCosts. */
export interface EvictionCostsOptions {
  readonly residency: Residency;
  readonly work: PlannedWork;
  readonly worth: ComponentWorth;
  /** isByWorth says whether what is worth least leaves first; else it is what was used longest ago. */
  readonly isByWorth: boolean;
  /** How often a component that leaves is taken to be loaded again, at most: with 0 evictions cost nothing. */
  readonly most: number;
}

/**
 * EvictionCosts says what it costs others that a device makes room for the component of a task. The task itself does
 * not feel it, so that without it one load pushes out what many tasks call, and each of these finds it cheaper to wait
 * elsewhere than to load it again.
 */
export class EvictionCosts implements Costs {
  constructor(private readonly options: EvictionCostsOptions) {}

  /** ofNs is what leaves a device for a task on it, by the time to load it again; 0 where nothing has to leave. */
  ofNs({ device, component, view }: DeviceProbe): number {
    const { residency, most } = this.options;
    if (most === 0 || residency.stateOf(device, component) !== Held.absent) return 0;
    let missing = residency.bytesOf(device, component) - residency.free(device);
    for (const load of view.loads) {
      if (load.component === component) return 0;
      if (residency.stateOf(device, load.component) === Held.absent)
        missing += residency.bytesOf(device, load.component);
    }
    return missing > 0 ? this.lostNs(device, missing) : 0;
  }

  /**
   * lostNs is what the components are worth that would leave a device for a given number of bytes, of those that it
   * does not need.
   */
  private lostNs(device: number, bytes: number): number {
    const { residency, work, worth, isByWorth, most } = this.options;
    const gone = new Set<number>();
    let lostNs = 0;
    for (let missing = bytes; missing > 0; ) {
      const next = residency.least(
        device,
        (one) => !gone.has(one) && work.rowsOf(device, one) === 0 && work.executing(device) !== one,
        (one) => (isByWorth ? worth.heldNs(device, one) : 0),
      );
      if (next === NONE) break;
      gone.add(next);
      missing -= residency.bytesOf(device, next);
      lostNs += worth.lostNs(device, next, most);
    }
    return lostNs;
  }
}
