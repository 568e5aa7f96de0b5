import { NONE } from '../../collections/index.js';
import { type DeviceProbe, type DeviceView, type Outlook, soonestWay } from './outlook.js';
import type { Costs, Devices, Search } from './to-place.js';

/** How many devices that are alike in all are tried for one task, at most. */
const MOST_ALIKE = 3;

/**
 * Sought is a task whose devices are sought: from `leastReadyNs` on its inputs can be somewhere, and from `readyNs` on
 * a device.
 */
export interface Sought {
  readonly at: number;
  readonly component: number;
  readonly rows: number;
  readonly leastReadyNs: number;
  readonly readyNs: (device: number) => number;
  /** The components of all tasks of the request: devices that hold the same of them are alike. */
  readonly components: readonly number[];
}

/** Soonest is the devices that would end a task first, and when the first of them would. */
export interface Soonest {
  readonly devices: readonly number[];
  /**
   * By their places: a device before it that is like it in all and idle as it is, so that one of them is enough; NONE
   * where there is none.
   */
  readonly twins: readonly number[];
  readonly endNs: number;
}

/** Candidate is a device that may be among the best: its end counts what evictions for the task cost. */
interface Candidate {
  readonly device: number;
  readonly endNs: number;
  readonly kind: number;
  readonly isIdle: boolean;
}

/** SoonestParts holds what SoonestDevices looks at. */
export interface SoonestParts {
  readonly outlook: Outlook;
  readonly devices: Devices;
  readonly search: Search;
  readonly costs: Costs;
}

/** SoonestDevices finds the devices that would end a task first. */
export class SoonestDevices {
  private readonly probe: DeviceProbe;

  constructor(private readonly parts: SoonestParts) {
    this.probe = { at: 0, device: 0, view: undefined as never, component: 0, rows: 0, readyNs: 0 };
  }

  /**
   * find lists the devices that would end a task first, as many as the search has candidates; of those that are alike a
   * few suffice. It looks closely only at those that could be among them by what is known of all: a few nanoseconds for
   * each of the others.
   */
  find(sought: Sought): Soonest {
    const { devices, outlook, search, costs } = this.parts;
    const { candidates } = search;
    const { at, component, rows, leastReadyNs: readyNs } = sought;
    const earliest = { at, component, rows, readyNs };
    const best: Candidate[] = [];
    const runNs = devices.leastNs(component, rows);
    let worstNs = Number.POSITIVE_INFINITY;
    let soonestNs = Number.POSITIVE_INFINITY;
    for (let device = 0; device < devices.count; device++) {
      if (!devices.canRun(device, component, rows)) continue;
      if (outlook.leastEndNs(device, earliest, runNs) >= worstNs) continue;
      const endNs = this.endNs(sought, device);
      if (endNs >= worstNs) continue;
      soonestNs = Math.min(soonestNs, endNs);
      const costedNs = endNs + costs.ofNs(this.probe);
      if (costedNs >= worstNs) continue;
      const isIdle = isIdleNow(at, this.probe.view);
      this.insert(best, { device, endNs: costedNs, kind: this.kindOf(sought, device), isIdle });
      if (best.length === candidates) worstNs = (best.at(-1) as Candidate).endNs;
    }
    return {
      devices: best.map((one) => one.device),
      twins: best.map((one, i) => twinOf(best, one, i)),
      endNs: soonestNs,
    };
  }

  private endNs({ at, component, rows, readyNs }: Sought, device: number): number {
    const { probe } = this;
    const { outlook } = this.parts;
    probe.at = at;
    probe.device = device;
    probe.view = outlook.viewOf(at, device);
    probe.component = component;
    probe.rows = rows;
    probe.readyNs = readyNs(device);
    const ends = outlook.ends(probe);
    return ends[soonestWay(ends)];
  }

  private kindOf({ components }: Sought, device: number): number {
    const { search, outlook } = this.parts;
    return search.candidates === Number.POSITIVE_INFINITY ? device : outlook.kindOf(device, components);
  }

  /** insert puts a device among the best, behind those that end as soon, unless enough of these are like it. */
  private insert(best: Candidate[], one: Candidate): void {
    let i = best.length;
    let alike = 0;
    while (i > 0 && one.endNs <= (best[i - 1] as Candidate).endNs) {
      const other = best[i - 1] as Candidate;
      if (one.endNs === other.endNs) {
        if (other.kind === one.kind) alike += 1;
        if (alike === MOST_ALIKE) return;
      }
      i--;
    }
    while (i < best.length && (best[i] as Candidate).endNs === one.endNs) i++;
    best.splice(i, 0, one);
    if (best.length > this.parts.search.candidates) best.pop();
  }
}

/** isIdleNow returns whether a device has nothing to do, planned or begun. */
function isIdleNow(at: number, { freeNs, copiedNs, open, loads }: DeviceView): boolean {
  return freeNs <= at && copiedNs <= at && open.length === 0 && loads.length === 0;
}

function twinOf(best: readonly Candidate[], one: Candidate, place: number): number {
  if (!one.isIdle) return NONE;
  for (let i = place - 1; i >= 0; i--) {
    const other = best[i] as Candidate;
    if (other.isIdle && other.kind === one.kind && other.endNs === one.endNs) return other.device;
  }
  return NONE;
}
