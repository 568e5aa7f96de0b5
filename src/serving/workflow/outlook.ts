import { NONE } from '../../collections/index.js';
import type { DeviceWork, PlannedBatch } from './device-work.js';
import { Held, type Residency } from './residency.js';
import type { Placeable } from './table.js';

const NEVER = Number.POSITIVE_INFINITY;
/** A device that is not idle before it is free. */
const NOT_IDLE = { idleFromNs: NEVER, idleToNs: 0 };

/** OpenBatch is a batch that has not begun and has room: when it is expected to begin, and its rows. */
export interface OpenBatch {
  readonly component: number;
  readonly startNs: number;
  readonly rows: number;
}

/**
 * DeviceView is when a device is expected to have time: it is idle from `idleFromNs` to `idleToNs`, if that is later, as what is next
 * is not there yet, and from `freeNs` on. What a request's own tasks change is in a view of its own.
 */
export interface DeviceView {
  readonly idleFromNs: number;
  readonly idleToNs: number;
  readonly freeNs: number;
  /** When its copy engine has loaded all that is to be loaded. */
  readonly copiedNs: number;
  /** The last batch of each component that has room. */
  readonly open: readonly OpenBatch[];
  /** When components that are not there yet will be, in the order in which they are loaded. */
  readonly loads: readonly ComponentLoad[];
}

/** ComponentLoad is when a component is expected to be on a device. */
export interface ComponentLoad {
  readonly component: number;
  readonly atNs: number;
}

/** Probed is when a device would begin and end a task that it is given now. */
export interface Probed {
  readonly startNs: number;
  readonly endNs: number;
  /** What the device looks like then. */
  readonly view: DeviceView;
}

/**
 * Outlook says when devices could execute a task: `avail` and `comp` of DyOrc's Eq. 1. A device takes the first of its batches
 * whose component is there, and loads the others meanwhile.
 */
export class Outlook {
  /** The views of devices as they are, by device; absent until they are asked for. */
  private readonly views: ({ readonly version: number; readonly view: DeviceView; readonly untilNs: number } | undefined)[] = [];

  constructor(
    private readonly work: DeviceWork,
    private readonly residency: Residency,
    private readonly placeable: Placeable,
  ) {}

  /** viewOf says what is expected of a device. It is looked at again once the device has changed, or has not done what was expected. */
  viewOf(at: number, device: number): DeviceView {
    const version = this.work.versionOf(device) + this.residency.versionOf(device);
    const known = this.views[device];
    if (known?.version === version && at <= known.untilNs) return known.view;
    const { view, untilNs } = this.looked(at, device);
    this.views[device] = { version, view, untilNs };
    return view;
  }

  /**
   * probe says when a device could execute a task, the soonest end first: in a batch of its component that begins no sooner than
   * the task is ready, while the device is idle, or behind all that the device has to do.
   * @param readyNs when the inputs of the task are on the device
   */
  probe(at: number, device: number, view: DeviceView, task: ProbedTask): Probed[] {
    const { component, rows, readyNs } = task;
    const { atNs, loads, copiedNs } = this.loadOf(at, device, view, component);
    const took = (count: number) => this.work.executionNs(device, component, count);
    const found: Probed[] = [];
    const open = view.open.find((batch) => batch.component === component);
    if (
      open !== undefined &&
      readyNs <= open.startNs &&
      open.rows + rows <= this.work.largest(device, component)
    ) {
      const { startNs } = open;
      const joined = { component, startNs, rows: open.rows + rows };
      const freeNs = view.freeNs + took(joined.rows) - took(open.rows);
      const endNs = startNs + took(joined.rows);
      found.push({
        startNs,
        endNs,
        view: { ...view, loads, copiedNs, freeNs, open: withOpen(view.open, joined) },
      });
    }
    const earliestNs = Math.max(at, readyNs, atNs);
    const opened = (startNs: number) => withOpen(view.open, { component, startNs, rows });
    const idleNs = Math.max(view.idleFromNs, earliestNs);
    if (idleNs < view.idleToNs) {
      const endNs = idleNs + took(rows);
      const idle = endNs < view.idleToNs ? { ...view, idleFromNs: endNs } : { ...view, ...NOT_IDLE };
      const freeNs = view.freeNs + Math.max(0, endNs - view.idleToNs);
      found.push({
        startNs: idleNs,
        endNs,
        view: { ...idle, loads, copiedNs, freeNs, open: opened(idleNs) },
      });
    }
    const startNs = Math.max(view.freeNs, earliestNs);
    const endNs = startNs + took(rows);
    found.push({ startNs, endNs, view: { ...view, loads, copiedNs, freeNs: endNs, open: opened(startNs) } });
    return found.sort((one, other) => one.endNs - other.endNs);
  }

  /** loadOf says when a component is there, and what the device's loads are then. */
  private loadOf(
    at: number,
    device: number,
    view: DeviceView,
    component: number,
  ): { readonly atNs: number; readonly copiedNs: number; readonly loads: readonly ComponentLoad[] } {
    const { copiedNs, loads } = view;
    const known = loads.find((load) => load.component === component);
    if (known !== undefined) return { atNs: known.atNs, copiedNs, loads };
    if (this.residency.holds(device, component)) return { atNs: 0, copiedNs, loads };
    const fromNs = Math.max(at, copiedNs, this.hasRoomFor(device, component, loads) ? 0 : view.freeNs);
    const atNs = fromNs + this.residency.loadNs(device, component);
    return { atNs, copiedNs: atNs, loads: [...loads, { component, atNs }] };
  }

  /** hasRoomFor tells whether a component fits beside all that the device needs for what it has to do. */
  private hasRoomFor(device: number, component: number, loads: readonly ComponentLoad[]): boolean {
    const { residency, work } = this;
    let free = residency.free(device) - residency.bytesOf(device, component);
    for (const load of loads)
      if (residency.stateOf(device, load.component) === Held.absent)
        free -= residency.bytesOf(device, load.component);
    for (let other = 0; free < 0 && other < this.placeable.components; other++)
      if (
        residency.holds(device, other) &&
        work.rowsOf(device, other) === 0 &&
        work.executing(device) !== other
      )
        free += residency.bytesOf(device, other);
    return free >= 0;
  }

  private looked(at: number, device: number): { readonly view: DeviceView; readonly untilNs: number } {
    const { work, residency } = this;
    const batches = work.planned(device);
    const loads: ComponentLoad[] = [];
    let copiedNs = Math.max(at, work.copyingUntilNs(device));
    if (work.copyingUntilNs(device) > 0)
      for (let component = 0; component < this.placeable.components; component++)
        if (residency.stateOf(device, component) === Held.loading) loads.push({ component, atNs: copiedNs });
    for (const { component } of batches) {
      if (residency.stateOf(device, component) !== Held.absent) continue;
      if (loads.some((load) => load.component === component)) continue;
      copiedNs += residency.loadNs(device, component);
      loads.push({ component, atNs: copiedNs });
    }
    const busyUntilNs = work.busyUntilNs(device);
    const view = this.inTurn(Math.max(at, busyUntilNs), device, batches, { loads, copiedNs });
    const [firstNs, copyingNs] = [batches.length === 0 ? NEVER : view.firstNs, work.copyingUntilNs(device)];
    const expected = [firstNs, busyUntilNs === 0 ? NEVER : busyUntilNs, copyingNs === 0 ? NEVER : copyingNs];
    return { view, untilNs: expected.reduce((least, ns) => Math.min(least, ns), NEVER) };
  }

  /** inTurn executes the batches of a device one after another, each time the first whose component and inputs are there. */
  private inTurn(
    fromNs: number,
    device: number,
    batches: readonly PlannedBatch[],
    { loads, copiedNs }: Pick<DeviceView, 'loads' | 'copiedNs'>,
  ): DeviceView & { readonly firstNs: number } {
    const left = [...batches];
    const open: OpenBatch[] = [];
    let idle = NOT_IDLE;
    let nowNs = fromNs;
    let firstNs = NEVER;
    const last = new Map(batches.map((batch) => [batch.component, batch]));
    const thereNs = ({ component, fromNs: readyNs }: PlannedBatch) =>
      Math.max(readyNs, loads.find((load) => load.component === component)?.atNs ?? 0);
    while (left.length > 0) {
      let first = left.findIndex((batch) => thereNs(batch) <= nowNs);
      if (first === NONE) {
        first = earliest(left, thereNs);
        const atNs = thereNs(left[first] as PlannedBatch);
        if (idle === NOT_IDLE) idle = { idleFromNs: nowNs, idleToNs: atNs };
        nowNs = atNs;
      }
      const [batch] = left.splice(first, 1) as [PlannedBatch];
      const { component, rows } = batch;
      firstNs = Math.min(firstNs, nowNs);
      const isLast = last.get(component) === batch;
      if (isLast && rows < this.work.largest(device, component)) open.push({ component, startNs: nowNs, rows });
      nowNs += this.work.executionNs(device, component, rows);
    }
    return { ...idle, freeNs: nowNs, copiedNs, open, loads, firstNs };
  }
}

/** ProbedTask is a task that a device might be given. */
export interface ProbedTask {
  readonly component: number;
  readonly rows: number;
  readonly readyNs: number;
}

function withOpen(open: readonly OpenBatch[], batch: OpenBatch): readonly OpenBatch[] {
  return [...open.filter(({ component }) => component !== batch.component), batch];
}

function earliest(batches: readonly PlannedBatch[], thereNs: (batch: PlannedBatch) => number): number {
  let least = 0;
  for (let i = 1; i < batches.length; i++)
    if (thereNs(batches[i] as PlannedBatch) < thereNs(batches[least] as PlannedBatch)) least = i;
  return least;
}
