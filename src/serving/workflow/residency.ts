import { NONE } from '../../collections/index.js';
import { must } from '../broken-promise.js';
import type { ComponentPool, DeviceMemory, HostMemory, Placeable, WorkflowTable } from './table.js';

/** Held says whether a component is in a device's memory. */
export const Held = { absent: 0, loading: 1, held: 2 } as const;
export type Held = (typeof Held)[keyof typeof Held];

/**
 * Residency knows what the memories of devices and servers hold: components, and on devices outputs too. A server keeps the
 * components in its memory that were used last, and reads the others from its disk. It decides nothing about devices.
 */
export class Residency {
  private readonly state: Uint8Array;
  /** When each component was last used on each device. */
  private readonly usedAt: Float64Array;
  private readonly freeBytes: Float64Array;
  private readonly hostHas: Uint8Array;
  private readonly hostUsedAt: Float64Array;
  private readonly hostFree: Float64Array;
  /**
   * The bytes of each component in the memory of each server that keeps it, which are those of the class that
   * brought it.
   */
  private readonly hostBytes: Float64Array;
  private readonly hosts: Int32Array;
  private readonly count: number;
  private readonly versions: Int32Array;
  private readonly devicesOf: readonly number[][];
  /** By component, how many devices hold or load it. */
  private readonly heldBy: Int32Array;

  constructor(
    private readonly table: WorkflowTable,
    private readonly placeable: Placeable,
  ) {
    const { components, devices, hosts } = table;
    this.count = components.length;
    this.hosts = Int32Array.from(devices, ({ host }) => host);
    this.state = new Uint8Array(devices.length * this.count);
    this.usedAt = new Float64Array(devices.length * this.count);
    this.freeBytes = Float64Array.from(devices, ({ bytes }) => bytes);
    this.hostHas = new Uint8Array(hosts.length * this.count);
    this.hostUsedAt = new Float64Array(hosts.length * this.count);
    this.hostBytes = new Float64Array(hosts.length * this.count);
    this.hostFree = Float64Array.from(hosts, ({ bytes }) => bytes);
    this.versions = new Int32Array(devices.length);
    this.heldBy = new Int32Array(this.count);
    this.devicesOf = hosts.map((_, host) => [...devices.keys()].filter((d) => devices[d]?.host === host));
    devices.forEach(({ holds }, d) => {
      for (const pool of holds) this.putAtStart(d, pool);
    });
    devices.forEach((_, d) => {
      for (let component = 0; component < this.count; component++) this.fillHost(d, component);
    });
  }

  /** versionOf counts the changes of which components a device or its server holds. */
  versionOf(device: number): number {
    return this.versions[device] as number;
  }

  stateOf(device: number, component: number): Held {
    return this.state[device * this.count + component] as Held;
  }

  holds(device: number, component: number): boolean {
    return this.stateOf(device, component) === Held.held;
  }

  free(device: number): number {
    return this.freeBytes[device] as number;
  }

  /** bytesOf is what a component takes of a device's memory. */
  bytesOf(device: number, component: number): number {
    return this.poolOf(device, component).bytes;
  }

  /** isOnHost returns whether the server of a device has a component in its memory. */
  isOnHost(device: number, component: number): boolean {
    return this.hostHas[this.hostOf(device) * this.count + component] === 1;
  }

  /** loadNs is how long a device would take to load a component now, from its server's memory or from the disk behind it. */
  loadNs(device: number, component: number): number {
    const { loadNs, diskNs } = this.poolOf(device, component);
    return this.isOnHost(device, component) ? loadNs : loadNs + diskNs;
  }

  used(at: number, device: number, component: number): void {
    this.usedAt[device * this.count + component] = at;
    this.hostUsedAt[this.hostOf(device) * this.count + component] = at;
  }

  /** load takes room for a component, which is then on its way. */
  load(at: number, device: number, component: number): void {
    this.become(device, component, Held.loading);
    this.freeBytes[device]! -= this.bytesOf(device, component);
    this.used(at, device, component);
  }

  /** loaded reports that a component is there. Its server keeps it too, if there is room for it at all. */
  loaded(at: number, device: number, component: number): void {
    this.mustLoad(device, component);
    this.keepOnHost(at, device, component);
    this.become(device, component, Held.held);
  }

  /** notLoaded reports that a component on its way does not come. */
  notLoaded(device: number, component: number): void {
    this.mustLoad(device, component);
    this.evict(device, component);
  }

  evict(device: number, component: number): void {
    this.become(device, component, Held.absent);
    this.freeBytes[device]! += this.bytesOf(device, component);
  }

  /** takeBytes and giveBytes count what outputs take of a device's memory. */
  takeBytes(device: number, bytes: number): void {
    this.freeBytes[device]! -= bytes;
  }

  giveBytes(device: number, bytes: number): void {
    this.freeBytes[device]! += bytes;
  }

  /** empty forgets what a device held that is gone. */
  empty(device: number): void {
    for (let component = 0; component < this.count; component++)
      if (this.stateOf(device, component) !== Held.absent) this.become(device, component, Held.absent);
    this.freeBytes[device] = this.memoryOf(device).bytes;
    this.versions[device]! += 1;
  }

  /** holders counts the devices that hold a component, or load it. */
  holders(component: number): number {
    return this.heldBy[component] as number;
  }

  /**
   * least is the held component with the least worth among those that may go, the one that was used longest ago among equals; NONE
   * where none may.
   */
  least(
    device: number,
    mayGo: (component: number) => boolean,
    worthOf: (component: number) => number,
  ): number {
    let least = NONE;
    let leastWorth = 0;
    const from = device * this.count;
    for (let component = 0; component < this.count; component++) {
      if (this.state[from + component] !== Held.held || !mayGo(component)) continue;
      const worth = worthOf(component);
      const isOlder = (this.usedAt[from + component] as number) < (this.usedAt[from + least] as number);
      if (least !== NONE && (worth > leastWorth || (worth === leastWorth && !isOlder))) continue;
      least = component;
      leastWorth = worth;
    }
    return least;
  }

  private mustLoad(device: number, component: number): void {
    must(this.stateOf(device, component) === Held.loading, 'a device has loaded what it was not to load');
  }

  private putAtStart(device: number, pool: number): void {
    const { component } = this.table.pools[pool] as ComponentPool;
    this.load(0, device, component);
    this.loaded(0, device, component);
  }

  private fillHost(device: number, component: number): void {
    const pool = this.placeable.poolOf(device, component);
    if (pool === NONE || this.isOnHost(device, component)) return;
    const { bytes } = this.table.pools[pool] as ComponentPool;
    if (bytes <= (this.hostFree[this.hostOf(device)] as number)) this.keepOnHost(0, device, component);
  }

  private keepOnHost(at: number, device: number, component: number): void {
    const host = this.hostOf(device);
    const bytes = this.bytesOf(device, component);
    if (this.isOnHost(device, component) || bytes > (this.table.hosts[host] as HostMemory).bytes) return;
    while ((this.hostFree[host] as number) < bytes) this.forgetOnHost(device);
    this.hostHas[host * this.count + component] = 1;
    this.hostUsedAt[host * this.count + component] = at;
    this.hostBytes[host * this.count + component] = bytes;
    this.hostFree[host]! -= bytes;
    this.hostChanged(host);
  }

  private forgetOnHost(device: number): void {
    const from = this.hostOf(device) * this.count;
    let least = NONE;
    for (let component = 0; component < this.count; component++) {
      if (this.hostHas[from + component] !== 1) continue;
      if (
        least === NONE ||
        (this.hostUsedAt[from + component] as number) < (this.hostUsedAt[from + least] as number)
      )
        least = component;
    }
    this.hostHas[from + least] = 0;
    this.hostFree[this.hostOf(device)]! += this.hostBytes[from + least] as number;
    this.hostChanged(this.hostOf(device));
  }

  private hostChanged(host: number): void {
    for (const device of this.devicesOf[host] as readonly number[]) this.versions[device]! += 1;
  }

  private become(device: number, component: number, state: Held): void {
    const before = this.stateOf(device, component);
    this.heldBy[component]! += Number(state !== Held.absent) - Number(before !== Held.absent);
    this.state[device * this.count + component] = state;
    this.versions[device]! += 1;
  }

  /** hostOf is the server of a device. */
  hostOf(device: number): number {
    return this.hosts[device] as number;
  }

  private memoryOf(device: number): DeviceMemory {
    return this.table.devices[device] as DeviceMemory;
  }

  private poolOf(device: number, component: number): ComponentPool {
    return this.table.pools[this.placeable.poolOf(device, component)] as ComponentPool;
  }
}
