import { NONE as SHARED_NONE } from '../../collections/index.js';
import { type Decisions, Decision as SharedDecision } from '../decisions.js';
import type { OutputRoom } from './output-room.js';
import type { Residency } from './residency.js';
import type { Placeable } from './table.js';
import type { Task } from './work.js';

const NONE = SHARED_NONE;
const Decision = SharedDecision;

/** ComponentLoadsOptions holds the parts of a ComponentLoads. */
export interface ComponentLoadsOptions {
  readonly decisions: Decisions;
  readonly residency: Residency;
  readonly placeable: Placeable;
  readonly room: OutputRoom;
}

/**
 * ComponentLoads has each device load the components that it is to hold, one after the other, in the order in which
 * they were asked.
 */
export class ComponentLoads {
  /** By device, the components whose loads have not begun. */
  private readonly waiting: readonly Set<number>[];
  /** By device, the component on its way, NONE where there is none. */
  private readonly loading: Int32Array;

  constructor(
    devices: number,
    private readonly options: ComponentLoadsOptions,
  ) {
    this.waiting = Array.from({ length: devices }, () => new Set());
    this.loading = new Int32Array(devices).fill(NONE);
  }

  ask(device: number, component: number): void {
    this.waitingOn(device).add(component);
  }

  /** withdraw takes back what was asked. It is false where the load has begun. */
  withdraw(device: number, component: number): boolean {
    return this.waitingOn(device).delete(component);
  }

  /**
   * begin begins the next load of a device that loads nothing, once outputs that may leave have left.
   * @returns false where there is no room for it
   */
  begin(at: number, device: number, mayGo: (output: Task) => boolean): boolean {
    if (this.loading[device] !== NONE) return true;
    const { decisions, residency, placeable, room } = this.options;
    for (const component of this.waitingOn(device)) {
      if (!room.make(device, residency.bytesOf(device, component), mayGo)) return false;
      this.waitingOn(device).delete(component);
      this.loading[device] = component;
      const fromDisk = !residency.isOnHost(device, component);
      residency.load(at, device, component);
      decisions.push(Decision.load, device, placeable.poolOf(device, component), fromDisk ? 1 : 0);
      break;
    }
    return true;
  }

  loaded(device: number): void {
    this.loading[device] = NONE;
  }

  /** failed has a device try a load again, after the others that wait. */
  failed(device: number, component: number): void {
    this.loading[device] = NONE;
    this.ask(device, component);
  }

  deviceDown(device: number): void {
    this.waitingOn(device).clear();
    this.loading[device] = NONE;
  }

  private waitingOn(device: number): Set<number> {
    return this.waiting[device] as Set<number>;
  }
}
