import { NONE as SHARED_NONE } from '../../collections/index.js';
import { type Decisions, Decision as SharedDecision } from '../decisions.js';
import type { Topology } from '../topology.js';
import type { ComponentLoads } from './component-loads.js';
import { bytesOfInputs } from './output-room.js';
import { Held, type Residency } from './residency.js';
import { SealedTasks } from './sealed-tasks.js';
import type { DeviceMemory, Placeable, WorkflowTable } from './table.js';
import type { Task } from './work.js';

const NONE = SHARED_NONE;
const Decision = SharedDecision;

/**
 * ReplicaState says how far a replica is.
 * - starting: its component is not loaded yet.
 * - running: it takes tasks.
 * - stopping: it takes no more, and is gone once it has executed those that it has.
 */
type ReplicaState = 'starting' | 'running' | 'stopping';

/** ComponentReplica is a component on a device. */
export interface ComponentReplica {
  readonly component: number;
  readonly device: number;
  state: ReplicaState;
  /** The tasks that it was given and that have not ended. */
  readonly ongoing: Set<Task>;
  /** The tasks of the replica whose inputs have been put into batches. */
  readonly batches: SealedTasks;
}

/** ReplicasOptions holds the parts of Replicas. */
export interface ReplicasOptions {
  readonly topology: Topology;
  readonly table: WorkflowTable;
  readonly placeable: Placeable;
  readonly residency: Residency;
  readonly decisions: Decisions;
  readonly loads: ComponentLoads;
  /** How long a batch waits for more tasks after its first. */
  readonly batchWaitNs: number;
  /** touched reports that a device may have something to do. */
  readonly touched: (device: number) => void;
}

/**
 * Replicas makes and ends replicas of components. Each takes the memory that its component takes, from when it is made until it is
 * gone, and a device holds one of a component at most. Nothing is evicted for another: where there is no room, none is made.
 *
 * To make one takes time in the number of devices.
 */
export class Replicas {
  /** By component, its replicas in the order in which they were made; by device, the replicas on it. */
  private readonly ofComponent: readonly Set<ComponentReplica>[];
  private readonly onDevice: readonly Set<ComponentReplica>[];
  private readonly isUp: Uint8Array;
  private changes = 0;

  constructor(private readonly options: ReplicasOptions) {
    const { components, devices } = options.table;
    this.ofComponent = components.map(() => new Set());
    this.onDevice = devices.map(() => new Set());
    this.isUp = new Uint8Array(devices.length);
  }

  /** version counts the changes of which replicas there are and take tasks. */
  get version(): number {
    return this.changes;
  }

  all(component: number): ReadonlySet<ComponentReplica> {
    return this.ofComponent[component] as Set<ComponentReplica>;
  }

  on(device: number): ReadonlySet<ComponentReplica> {
    return this.onDevice[device] as Set<ComponentReplica>;
  }

  find(device: number, component: number): ComponentReplica | undefined {
    for (const replica of this.on(device)) if (replica.component === component) return replica;
    return undefined;
  }

  isDeviceUp(device: number): boolean {
    return this.isUp[device] === 1;
  }

  /** freeBytes is the memory of a device that its replicas leave. */
  freeBytes(device: number): number {
    let { bytes } = this.options.table.devices[device] as DeviceMemory;
    for (const { component } of this.on(device)) bytes -= this.options.residency.bytesOf(device, component);
    return bytes;
  }

  /** most is how many replicas of a component there could be if there were no others. */
  most(component: number): number {
    return this.options.topology.devices.filter((_, device) => this.couldHold(device, component, 0)).length;
  }

  /** couldHold returns whether a device that held nothing else could hold a component and a given number of bytes of inputs. */
  couldHold(device: number, component: number, inputBytes: number): boolean {
    const { table, placeable, residency } = this.options;
    if (placeable.poolOf(device, component) === NONE) return false;
    const { bytes } = table.devices[device] as DeviceMemory;
    return residency.bytesOf(device, component) + inputBytes <= bytes;
  }

  /** bring makes or ends replicas of a component, until there are so many that run or start, or there is no room for more. */
  bring(component: number, wanted: number): void {
    const active = [...this.all(component)].filter(({ state }) => state !== 'stopping');
    for (let count = active.length; count < wanted; count++) {
      const device = this.roomiest(component);
      if (device === NONE) return;
      this.options.loads.ask(device, component);
      this.make(device, component, 'starting');
    }
    for (let count = active.length; count > wanted; count--) {
      const ended = this.firstToEnd(active);
      active.splice(active.indexOf(ended), 1);
      this.end(ended);
    }
  }

  /** loaded reports that a device holds the component of its replica. */
  loaded(device: number, component: number): void {
    const replica = this.find(device, component) as ComponentReplica;
    if (replica.state === 'starting') replica.state = 'running';
  }

  /** loadFailed has a device try to load the component of its replica again, unless that ends. */
  loadFailed(device: number, component: number): void {
    const replica = this.find(device, component) as ComponentReplica;
    if (replica.state === 'stopping') this.forget(replica);
    else this.options.loads.ask(device, component);
  }

  /** evictEnded lets replicas go that end and have no tasks left. */
  evictEnded(device: number): void {
    const { residency, decisions, placeable } = this.options;
    for (const replica of this.on(device)) {
      const { state, component, ongoing } = replica;
      if (state !== 'stopping' || ongoing.size > 0 || !residency.holds(device, component)) continue;
      this.forget(replica);
      residency.evict(device, component);
      decisions.push(Decision.evict, device, placeable.poolOf(device, component));
    }
  }

  /** deviceUp makes replicas of what a device holds that has come up. */
  deviceUp(device: number): void {
    const { residency, placeable } = this.options;
    this.isUp[device] = 1;
    for (let component = 0; component < placeable.components; component++)
      if (residency.stateOf(device, component) === Held.held) this.make(device, component, 'running');
  }

  /** deviceDown forgets the replicas of a device, and gives the tasks that they had. */
  deviceDown(device: number): readonly Task[] {
    this.isUp[device] = 0;
    const replicas = [...this.on(device)];
    for (const replica of replicas) this.forget(replica);
    return replicas.flatMap(({ ongoing }) => [...ongoing]);
  }

  private make(device: number, component: number, state: ReplicaState): void {
    const { topology, placeable, batchWaitNs } = this.options;
    const { batch } = topology.pools[placeable.poolOf(device, component)] as { batch: number };
    const batches = new SealedTasks(batch, batchWaitNs);
    const replica: ComponentReplica = { component, device, state, ongoing: new Set(), batches };
    (this.ofComponent[component] as Set<ComponentReplica>).add(replica);
    (this.onDevice[device] as Set<ComponentReplica>).add(replica);
    this.changed(device);
  }

  private end(replica: ComponentReplica): void {
    const { device, component } = replica;
    if (this.options.loads.withdraw(device, component)) this.forget(replica);
    else replica.state = 'stopping';
    this.changed(device);
  }

  private forget(replica: ComponentReplica): void {
    (this.ofComponent[replica.component] as Set<ComponentReplica>).delete(replica);
    (this.onDevice[replica.device] as Set<ComponentReplica>).delete(replica);
    this.changed(replica.device);
  }

  private changed(device: number): void {
    this.changes += 1;
    this.options.touched(device);
  }

  /** roomiest is the device with the most memory that its replicas leave, of those that have room for a component. */
  private roomiest(component: number): number {
    let [most, mostBytes] = [NONE, 0];
    for (let device = 0; device < this.isUp.length; device++) {
      if (!this.hasRoom(device, component)) continue;
      const bytes = this.freeBytes(device);
      if (most === NONE || bytes > mostBytes) [most, mostBytes] = [device, bytes];
    }
    return most;
  }

  /** hasRoom returns whether a replica of a component fits on a device beside the inputs of any task that was given to it. */
  private hasRoom(device: number, component: number): boolean {
    if (this.options.placeable.poolOf(device, component) === NONE) return false;
    if (!this.isDeviceUp(device) || this.find(device, component) !== undefined) return false;
    let inputBytes = 0;
    for (const { ongoing } of this.on(device))
      for (const task of ongoing) inputBytes = Math.max(inputBytes, bytesOfInputs([task]));
    return this.options.residency.bytesOf(device, component) + inputBytes <= this.freeBytes(device);
  }

  /**
   * firstToEnd is a replica that does not run yet, else one on a device with the fewest replicas; of several the one
   * that was made last.
   */
  private firstToEnd(active: readonly ComponentReplica[]): ComponentReplica {
    const rank = ({ state, device }: ComponentReplica) => (state === 'starting' ? 0 : this.on(device).size);
    return active.reduce((first, one) => (rank(one) <= rank(first) ? one : first));
  }
}
