import { itemAt, NONE as SHARED_NONE } from '../../collections/index.js';
import { type Fault, InputError } from '../../formats/index.js';
import type { Pool } from '../topology.js';
import type { Allocation, AllocationParts } from './allocation.js';
import { ComponentLoads } from './component-loads.js';
import { areInputsThere, bytesOfInputs, OutputRoom } from './output-room.js';
import { Held } from './residency.js';
import { type Chance, StrandedTasks } from './stranded-tasks.js';
import type { DeviceMemory } from './table.js';
import type { Task } from './work.js';

const NONE = SHARED_NONE;

/**
 * StaticAllocation lets every device hold the components that it holds at the start, and no others (DyOrc §8: static
 * placement). A component has one queue, in the order in which the inputs of its tasks were made. A device that has
 * nothing to do takes a batch of the component whose oldest task has waited longest, has the inputs fetched that are
 * elsewhere, and executes the batch once all are there. While it waits for them it does nothing else.
 *
 * A device that comes up again loads what it is to hold. A batch costs O(components and tasks that wait before it).
 */
export class StaticAllocation implements Allocation {
  private readonly room: OutputRoom;
  private readonly loads: ComponentLoads;
  private readonly stranded: StrandedTasks;
  /** By component, the tasks that wait, each with its turn. */
  private readonly queues: readonly Map<Task, number>[];
  private nextTurn = 0;
  /** By component, the devices that are to hold it; by device, the components that it is to hold, and what they take. */
  private readonly holders: readonly number[][];
  private readonly holds: readonly number[][];
  private readonly heldBytes: Float64Array;
  /** By device, the batch that it has taken and not begun. */
  private readonly taken: readonly Set<Task>[];
  private readonly isUp: Uint8Array;
  private readonly toServe = new Set<number>();

  /** @throws InputError where no device holds a component, or a device holds more than its memory */
  constructor(private readonly parts: AllocationParts) {
    const { table, outputs, residency, placeable, decisions } = parts;
    const { devices, components } = table;
    this.room = new OutputRoom(outputs, residency);
    this.loads = new ComponentLoads(devices.length, { decisions, residency, placeable, room: this.room });
    this.stranded = new StrandedTasks(parts.drop);
    this.queues = components.map(() => new Map());
    this.holds = devices.map(({ holds }) => holds.map((pool) => itemAt(table.pools, pool).component));
    this.holders = components.map((_, component) =>
      [...devices.keys()].filter((device) => this.holds[device]?.includes(component)),
    );
    this.heldBytes = Float64Array.from(this.holds, (held, device) =>
      held.reduce((sum, component) => sum + residency.bytesOf(device, component), 0),
    );
    this.taken = devices.map(() => new Set());
    this.isUp = new Uint8Array(devices.length);
    this.check();
  }

  ready(task: Task): void {
    const { component } = task;
    this.queueOf(component).set(task, this.nextTurn++);
    this.stranded.tell(task, this.chanceOf(task));
    for (const device of this.holdersOf(component)) this.toServe.add(device);
  }

  left(task: Task): void {
    const { component, device } = task;
    this.queueOf(component).delete(task);
    this.stranded.left(task);
    if (device === NONE) return;
    this.takenBy(device).delete(task);
    this.toServe.add(device);
  }

  touched(device: number): void {
    this.toServe.add(device);
  }

  ended(device: number): void {
    this.toServe.add(device);
  }

  fetched(): void {
    for (const device of this.room.takeFull()) this.toServe.add(device);
  }

  loaded(device: number): void {
    this.loads.loaded(device);
    this.toServe.add(device);
  }

  loadFailed(device: number, component: number): void {
    this.loads.failed(device, component);
    this.toServe.add(device);
  }

  deviceUp(device: number): void {
    this.isUp[device] = 1;
    for (const component of this.holds[device] as readonly number[])
      if (this.parts.residency.stateOf(device, component) === Held.absent) this.loads.ask(device, component);
    this.look(device);
    this.toServe.add(device);
  }

  deviceDown(device: number): readonly Task[] {
    this.isUp[device] = 0;
    this.loads.deviceDown(device);
    const given = [...this.takenBy(device)];
    this.takenBy(device).clear();
    this.look(device);
    // An output that was on its way to the device need not stay any longer where it lies.
    this.fetched();
    return given;
  }

  drain(): void {}

  relieve(): void {
    for (const device of this.toServe)
      if (this.room.isOverfull(device)) this.room.relieve(device, this.beside(this.takenBy(device)));
  }

  decide(at: number): number {
    const nextNs = this.stranded.dropLate(at);
    const devices = [...this.toServe].sort((a, b) => a - b);
    this.toServe.clear();
    for (const device of devices) if (this.isUp[device] === 1) this.serve(at, device);
    return nextNs;
  }

  /** serve begins what a device can load, fetch and execute now. */
  private serve(at: number, device: number): void {
    const taken = this.takenBy(device);
    this.loads.begin(at, device, this.beside(taken));
    if (this.parts.isExecuting(device)) return;
    if (taken.size === 0) this.take(device);
    const mayGo = this.beside(taken);
    for (const task of taken) if (!this.room.fetch(device, task, mayGo)) return;
    const batch = [...taken];
    if (batch.length === 0 || !batch.every((task) => areInputsThere(task, device))) return;
    taken.clear();
    this.parts.execute(at, device, batch);
  }

  /** take takes the batch that a device executes next, of tasks of one component that fit into it together, in their order. */
  private take(device: number): void {
    const component = this.nextComponent(device);
    if (component === NONE) return;
    const taken = this.takenBy(device);
    const roomBytes = this.bytesBeside(device);
    let rows = this.largest(device, component);
    for (const task of this.queueOf(component).keys()) {
      if (task.rows > rows || (task.isAlone && taken.size > 0)) continue;
      if (bytesOfInputs([...taken, task]) > roomBytes) continue;
      taken.add(task);
      rows = task.isAlone ? 0 : rows - task.rows;
      if (rows === 0) break;
    }
    for (const task of taken) {
      this.queueOf(component).delete(task);
      task.device = device;
    }
  }

  /** nextComponent is the component that a device holds whose first task that fits has waited longest, NONE where there is none. */
  private nextComponent(device: number): number {
    let [next, nextTurn] = [NONE, Number.POSITIVE_INFINITY];
    for (const component of this.holds[device] as readonly number[]) {
      if (!this.parts.residency.holds(device, component)) continue;
      for (const [task, turn] of this.queueOf(component)) {
        if (turn >= nextTurn) break;
        if (!this.fits(device, task)) continue;
        [next, nextTurn] = [component, turn];
        break;
      }
    }
    return next;
  }

  private chanceOf(task: Task): Chance {
    const fitting = this.holdersOf(task.component).filter((device) => this.fits(device, task));
    if (fitting.length === 0) return 'never';
    return fitting.some((device) => this.isUp[device] === 1) ? 'now' : 'later';
  }

  /** look looks again at the tasks that wait for a device, which has come up or gone down. */
  private look(device: number): void {
    for (const component of this.holds[device] as readonly number[])
      for (const task of this.queueOf(component).keys()) this.stranded.tell(task, this.chanceOf(task));
  }

  /** fits returns whether a device can execute a task of a component that it is to hold, beside its other components. */
  private fits(device: number, task: Task): boolean {
    return (
      task.rows <= this.largest(device, task.component) && bytesOfInputs([task]) <= this.bytesBeside(device)
    );
  }

  private largest(device: number, component: number): number {
    const { topology, placeable } = this.parts;
    return (topology.pools[placeable.poolOf(device, component)] as Pool).batch;
  }

  /** bytesBeside is the memory of a device beside its components. */
  private bytesBeside(device: number): number {
    return (this.parts.table.devices[device] as DeviceMemory).bytes - (this.heldBytes[device] as number);
  }

  /** beside makes the test whether an output is not taken by a batch. */
  private beside(batch: ReadonlySet<Task>): (output: Task) => boolean {
    const inputs = new Set([...batch].flatMap((task) => task.inputs));
    return (output) => !inputs.has(output);
  }

  private check(): void {
    const { table } = this.parts;
    const faults: Fault[] = [];
    for (const [component, name] of table.components.entries())
      if (this.holdersOf(component).length === 0) faults.push(fault(`no device holds ${name}`));
    for (const [device, { name }] of this.parts.topology.devices.entries()) {
      const { bytes } = table.devices[device] as DeviceMemory;
      const held = this.heldBytes[device] as number;
      if (held > bytes)
        faults.push(fault(`${name} has ${bytes} bytes of memory, and what it is to hold takes ${held}`));
    }
    if (faults.length === 0) return;
    const advice = 'Place each component on a device that has room for it, or take another scheduler.';
    throw new InputError('serve workflows with a static placement', faults, advice);
  }

  private queueOf(component: number): Map<Task, number> {
    return this.queues[component] as Map<Task, number>;
  }

  private holdersOf(component: number): readonly number[] {
    return this.holders[component] as readonly number[];
  }

  private takenBy(device: number): Set<Task> {
    return this.taken[device] as Set<Task>;
  }
}

function fault(message: string): Fault {
  return { path: '', message };
}
