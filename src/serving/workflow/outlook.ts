import { NONE } from '../../collections/index.js';
import type { PlannedBatch, PlannedWork } from './planned-work.js';
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
 * DeviceView is when a device is expected to have time: it is idle from `idleFromNs` to `idleToNs`, if that
 * is later, as what is next is not there yet, and from `freeNs` on. The changes that a request's own tasks
 * make are in a view of its own.
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

/**
 * Way says how a device takes a task: in a batch of its component that begins no sooner than the task is ready, while
 * the device is idle, or behind all that it has to do.
 */
export const Way = { join: 0, idle: 1, behind: 2 } as const;
export type Way = (typeof Way)[keyof typeof Way];

/** WayEnds are when a device would end a task, by the way in which it takes it: Infinity where it cannot. */
export type WayEnds = [join: number, idle: number, behind: number];

/** DeviceProbe asks when a device would end a task whose inputs are there from `readyNs` on. */
export interface DeviceProbe {
  at: number;
  device: number;
  view: DeviceView;
  component: number;
  rows: number;
  readyNs: number;
}

/** soonestWay gives the way in which a task ends first. */
export function soonestWay([join, idle, behind]: WayEnds): Way {
  if (join <= idle && join <= behind) return Way.join;
  return idle <= behind ? Way.idle : Way.behind;
}

/**
 * Outlook says when devices could execute a task: `avail` and `comp` of DyOrc's Eq. 1. A device takes the first of its batches
 * whose component is there, and loads the others meanwhile.
 */
export class Outlook {
  private readonly unneeded: ({ readonly version: number; readonly bytes: number } | undefined)[] = [];
  private readonly found: WayEnds = [NEVER, NEVER, NEVER];
  /**
   * By device, its view, the version that was looked at, until when that holds if nothing changes, and when it is idle
   * and free.
   */
  private readonly views: (DeviceView | undefined)[] = [];
  private readonly seen: Int32Array;
  private readonly until: Float64Array;
  private readonly idleFrom: Float64Array;
  private readonly idleTo: Float64Array;
  private readonly free: Float64Array;

  constructor(
    private readonly work: PlannedWork,
    private readonly residency: Residency,
    private readonly placeable: Placeable,
  ) {
    this.seen = new Int32Array(work.devices).fill(NONE);
    this.until = new Float64Array(work.devices);
    this.idleFrom = new Float64Array(work.devices);
    this.idleTo = new Float64Array(work.devices);
    this.free = new Float64Array(work.devices);
  }

  /**
   * leastEndNs is a time before which a device does not end a task that takes `runNs` alone, and whose inputs are there
   * from `readyNs` on. It costs less than `ends`, and is the same as its least unless the device has changed since it
   * was looked at.
   */
  leastEndNs(device: number, task: Omit<DeviceProbe, 'device' | 'view'>, runNs: number): number {
    const { work, residency } = this;
    const { at, component, rows, readyNs } = task;
    const isPlanned = work.rowsOf(device, component) > 0;
    const isComing = isPlanned || residency.stateOf(device, component) !== Held.absent;
    const earliestNs = isComing ? readyNs : Math.max(readyNs, at + residency.loadNs(device, component));
    if (this.seen[device] !== this.versionOf(device))
      return Math.max(earliestNs, work.busyUntilNs(device)) + runNs;
    const idleNs = Math.max(this.idleFrom[device] as number, earliestNs);
    const aloneNs =
      idleNs < (this.idleTo[device] as number) ? idleNs : Math.max(this.free[device] as number, earliestNs);
    if (isPlanned)
      for (const open of (this.views[device] as DeviceView).open) {
        if (open.component !== component || readyNs > open.startNs) continue;
        if (open.rows + rows > work.largest(device, component)) continue;
        const joinedNs = open.startNs + work.executionNs(device, component, open.rows + rows);
        return Math.min(joinedNs, aloneNs + runNs);
      }
    return aloneNs + runNs;
  }

  /**
   * viewOf says what is expected of a device. It is looked at again once the device has changed, or has not done what
   * was expected.
   */
  viewOf(at: number, device: number): DeviceView {
    const version = this.versionOf(device);
    if (this.seen[device] === version && at <= (this.until[device] as number))
      return this.views[device] as DeviceView;
    const { view, untilNs } = this.looked(at, device);
    this.seen[device] = version;
    this.until[device] = untilNs;
    this.idleFrom[device] = view.idleFromNs;
    this.idleTo[device] = view.idleToNs;
    this.free[device] = view.freeNs;
    this.views[device] = view;
    return view;
  }

  /** ends says when a device would end a task (Eq. 1). The next call uses the same list again. */
  ends(probe: DeviceProbe): WayEnds {
    const { device, view, component, rows, readyNs } = probe;
    const { found, work } = this;
    const tookNs = work.executionNs(device, component, rows);
    const open = joinable(probe, work.largest(device, component));
    found[Way.join] =
      open === undefined ? NEVER : open.startNs + work.executionNs(device, component, open.rows + rows);
    const earliestNs = Math.max(probe.at, readyNs, this.thereNs(probe));
    const idleNs = Math.max(view.idleFromNs, earliestNs);
    found[Way.idle] = idleNs < view.idleToNs ? idleNs + tookNs : NEVER;
    found[Way.behind] = Math.max(view.freeNs, earliestNs) + tookNs;
    return found;
  }

  /** after says what a device looks like once it has been given a task, in a way in which it can take it. */
  after(probe: DeviceProbe, way: Way): DeviceView {
    const { device, view, component, rows } = probe;
    const { work } = this;
    const endNs = this.ends(probe)[way];
    const isComing =
      this.residency.holds(device, component) || view.loads.some((load) => load.component === component);
    const atNs = isComing ? 0 : this.thereNs(probe);
    const loaded = isComing ? view : { ...view, copiedNs: atNs, loads: [...view.loads, { component, atNs }] };
    const open = joinable(probe, work.largest(device, component));
    if (way === Way.join && open !== undefined) {
      const joined = { component, startNs: open.startNs, rows: open.rows + rows };
      const moreNs =
        work.executionNs(device, component, joined.rows) - work.executionNs(device, component, open.rows);
      return { ...loaded, freeNs: view.freeNs + moreNs, open: withOpen(view.open, joined) };
    }
    const startNs = endNs - work.executionNs(device, component, rows);
    const opened = withOpen(view.open, { component, startNs, rows });
    if (way === Way.behind) return { ...loaded, freeNs: endNs, open: opened };
    const idle = endNs < view.idleToNs ? { idleFromNs: endNs, idleToNs: view.idleToNs } : NOT_IDLE;
    return { ...loaded, ...idle, freeNs: view.freeNs + Math.max(0, endNs - view.idleToNs), open: opened };
  }

  /** kindOf is a number that devices of one server have in common which hold the same of up to 24 components. */
  kindOf(device: number, components: readonly number[]): number {
    let kind = this.residency.hostOf(device);
    for (const component of components) kind = 2 * kind + (this.residency.holds(device, component) ? 1 : 0);
    return kind;
  }

  /** thereNs says when the component of a task is on a device, if its load begins as soon as it can. */
  private thereNs({ at, device, view, component }: DeviceProbe): number {
    for (const load of view.loads) if (load.component === component) return load.atNs;
    if (this.residency.holds(device, component)) return 0;
    const fromNs = Math.max(
      at,
      view.copiedNs,
      this.hasRoomFor(device, component, view.loads) ? 0 : view.freeNs,
    );
    return fromNs + this.residency.loadNs(device, component);
  }

  /** hasRoomFor returns whether a component fits beside all that the device needs for what it has to do. */
  private hasRoomFor(device: number, component: number, loads: readonly ComponentLoad[]): boolean {
    const { residency } = this;
    let free = residency.free(device) + this.unneededBytes(device) - residency.bytesOf(device, component);
    for (const load of loads)
      if (residency.stateOf(device, load.component) === Held.absent)
        free -= residency.bytesOf(device, load.component);
    return free >= 0;
  }

  /** unneededBytes is what the components take that a device holds and does not need. */
  private unneededBytes(device: number): number {
    const { residency, work } = this;
    const version = this.versionOf(device);
    const known = this.unneeded[device];
    if (known?.version === version) return known.bytes;
    let bytes = 0;
    for (let other = 0; other < this.placeable.components; other++)
      if (
        residency.holds(device, other) &&
        work.rowsOf(device, other) === 0 &&
        work.executing(device) !== other
      )
        bytes += residency.bytesOf(device, other);
    this.unneeded[device] = { version, bytes };
    return bytes;
  }

  private versionOf(device: number): number {
    return this.work.versionOf(device) + this.residency.versionOf(device);
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
    const { view, begunNs } = this.inTurn(Math.max(at, busyUntilNs), device, batches, { loads, copiedNs });
    const copyingNs = work.copyingUntilNs(device);
    const untilNs = Math.min(
      begunNs,
      busyUntilNs === 0 ? NEVER : busyUntilNs,
      copyingNs === 0 ? NEVER : copyingNs,
    );
    return { view, untilNs };
  }

  /**
   * inTurn executes the batches of a device one after another, each time the first whose component and inputs are
   * there, and says when the first begins.
   */
  private inTurn(
    fromNs: number,
    device: number,
    batches: readonly PlannedBatch[],
    { loads, copiedNs }: Pick<DeviceView, 'loads' | 'copiedNs'>,
  ): { readonly view: DeviceView; readonly begunNs: number } {
    const left = [...batches];
    const open: OpenBatch[] = [];
    let idle = NOT_IDLE;
    let nowNs = fromNs;
    let begunNs = NEVER;
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
      begunNs = Math.min(begunNs, nowNs);
      const isLast = last.get(component) === batch;
      if (isLast && rows < this.work.largest(device, component))
        open.push({ component, startNs: nowNs, rows });
      nowNs += this.work.executionNs(device, component, rows);
    }
    return { view: { ...idle, freeNs: nowNs, copiedNs, open, loads }, begunNs };
  }
}

/** joinable gives the open batch of a task's component that it could join. */
function joinable({ view, component, rows, readyNs }: DeviceProbe, largest: number): OpenBatch | undefined {
  for (const batch of view.open)
    if (batch.component === component)
      return readyNs <= batch.startNs && batch.rows + rows <= largest ? batch : undefined;
  return undefined;
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
