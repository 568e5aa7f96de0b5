import { NONE as SHARED_NONE } from '../../collections/index.js';
import type { Streams } from '../../random/index.js';
import { brokenPromise, must } from '../broken-promise.js';
import { type Decisions, Decision as SharedDecision, DropCode as SharedDropCode } from '../decisions.js';
import type { Topology } from '../topology.js';
import type { Allocation, AllocationParts } from './allocation.js';
import type { SubmittedCall, WorkflowCore } from './language.js';
import { Residency } from './residency.js';
import { type ComponentPool, Placeable, type WorkflowTable } from './table.js';
import { TaskLife } from './task-life.js';
import type { Task } from './work.js';
import { WorkNumbers } from './work-numbers.js';

const NONE = SHARED_NONE;
const Decision = SharedDecision;
const DropCode = SharedDropCode;

/** ReactiveOptions holds the parts of a ReactiveCore. */
export interface ReactiveOptions {
  readonly table: WorkflowTable;
  readonly streams: Streams;
  /** How many tasks may be known and not executed; a request beyond them is refused. */
  readonly mostTasks: number;
  /** How many executions of a task may be lost before its request is dropped. */
  readonly mostTries: number;
  readonly allocationOf: (parts: AllocationParts) => Allocation;
}

/**
 * ReactiveCore serves dynamic workflows without any foresight: a task is given to a device once all its inputs are made, as its
 * Allocation says, and nothing is prepared for what a program may call next.
 */
export class ReactiveCore extends WorkNumbers implements WorkflowCore {
  private readonly table: WorkflowTable;
  private readonly residency: Residency;
  private readonly placeable: Placeable;
  private readonly life: TaskLife;
  private readonly allocation: Allocation;
  private readonly mostTasks: number;
  private readonly isUp: Uint8Array;
  /** The batch that each device executes, NONE where none. */
  private readonly running: Int32Array;
  private isDraining = false;
  private wakeToldNs = Number.POSITIVE_INFINITY;

  /** @param decisions the driver's buffer, where decisions are appended */
  constructor(
    topology: Topology,
    private readonly decisions: Decisions,
    { table, streams, mostTasks, mostTries, allocationOf }: ReactiveOptions,
  ) {
    super(topology);
    const placeable = new Placeable(topology, table);
    const residency = new Residency(table, placeable);
    const hearing = {
      ready: (task: Task) => this.allocation.ready(task),
      left: (task: Task) => this.allocation.left(task),
      touched: (device: number) => this.allocation.touched(device),
    };
    this.life = new TaskLife({ open: this.open, decisions, residency, table, mostTries, hearing });
    this.allocation = allocationOf({
      topology,
      table,
      placeable,
      residency,
      decisions,
      streams,
      outputs: this.life.outputs,
      execute: (at, device, tasks) => this.execute(at, device, tasks),
      isExecuting: (device) => this.running[device] !== NONE,
      drop: (request) => this.life.drop(request, DropCode.deviceDown),
    });
    this.table = table;
    this.placeable = placeable;
    this.residency = residency;
    this.mostTasks = mostTasks;
    this.isUp = new Uint8Array(topology.devices.length);
    this.running = new Int32Array(topology.devices.length).fill(NONE);
  }

  get pending(): number {
    return this.life.pending;
  }

  /** inUse counts the numbers that are in use. Memory follows these counts. */
  get inUse(): { requests: number; tasks: number; batches: number; fetches: number } {
    return { ...this.open.counts, batches: this.batches.count, fetches: this.life.outputs.count };
  }

  /** freeBytes is the room that a device has. */
  freeBytes(device: number): number {
    return this.residency.free(device);
  }

  wouldDrop(): boolean {
    return false;
  }

  /** arrived reports that a program is to run, which counts as one row. */
  arrived(_at: number, application: number, deadlineNs: number): number {
    must(this.topology.models[application] !== undefined, 'a program is of no known application');
    const request = this.life.opened(application, deadlineNs);
    if (this.isDraining) this.life.drop(request, DropCode.draining);
    else if (this.life.known >= this.mostTasks) this.life.drop(request, DropCode.queueFull);
    return request.number;
  }

  turnedAway(at: number, application: number): number {
    const request = this.life.opened(application, at);
    this.life.drop(request, DropCode.overload);
    return request.number;
  }

  sized(_at: number, request: number, bytes: number): void {
    this.open.request(request).body.bytes = bytes;
  }

  cancelled(_at: number, request: number): boolean {
    return this.life.cancelled(this.open.request(request));
  }

  submitted(_at: number, number: number, call: SubmittedCall): number {
    const request = this.open.request(number);
    return request.isSettled ? NONE : this.life.called(request, call).number;
  }

  wanted(_at: number, task: number): void {
    this.life.wanted(this.open.task(task));
  }

  finished(at: number, request: number): void {
    this.life.finished(at, this.open.request(request));
  }

  started(): void {}

  /** executed reports a batch, with the bytes of the output of each of its tasks. */
  executed(...[at, batch, , , bytes]: Parameters<WorkflowCore['executed']>): void {
    for (const [i, task] of this.closed(batch).entries()) this.life.executed(at, task, bytes?.[i] ?? 0);
  }

  failed(_at: number, batch: number): void {
    const tasks = this.closed(batch);
    for (const task of tasks) this.life.failed(task, tasks.length === 1);
  }

  transferred(): void {
    throw brokenPromise('a batch of a workflow was sent on, but outputs are fetched');
  }

  fetched(_at: number, fetch: number): void {
    this.life.outputs.fetched(fetch);
    this.allocation.fetched();
  }

  loaded(at: number, device: number, pool: number): void {
    const { component } = this.table.pools[pool] as ComponentPool;
    this.residency.loaded(at, device, component);
    this.allocation.loaded(device, component);
  }

  loadFailed(_at: number, device: number, pool: number): void {
    const { component } = this.table.pools[pool] as ComponentPool;
    this.residency.notLoaded(device, component);
    this.allocation.loadFailed(device, component);
  }

  outputLost(_at: number, number: number): void {
    const task = this.open.task(number);
    if (!task.request.isSettled) this.life.outputs.frontLost(task);
  }

  unneeded(_at: number, number: number): void {
    this.life.unneeded(this.open.task(number));
  }

  /** due lets a later wake-up be asked for. The core looks for what is due in `decide`. */
  due(): void {
    this.wakeToldNs = Number.POSITIVE_INFINITY;
  }

  deviceUp(_at: number, device: number): void {
    this.isUp[device] = 1;
    this.allocation.deviceUp(device);
  }

  deviceDown(_at: number, device: number): void {
    if (this.isUp[device] === 0) return;
    this.isUp[device] = 0;
    const batch = this.running[device] as number;
    const executing = batch === NONE ? [] : this.closed(batch);
    this.life.deviceDown(device, executing, this.allocation.deviceDown(device));
  }

  drain(): void {
    this.isDraining = true;
    this.allocation.drain();
  }

  /**
   * decide begins what can be begun. Outputs find room before any is sent on, since what is being sent cannot leave.
   */
  decide(at: number): void {
    this.allocation.relieve();
    this.life.sendReads();
    this.wake(this.allocation.decide(at));
    this.life.decided();
  }

  private wake(nextNs: number): void {
    if (nextNs === this.wakeToldNs || nextNs === Number.POSITIVE_INFINITY) return;
    this.wakeToldNs = nextNs;
    this.decisions.push(Decision.wakeAt, nextNs);
  }

  private execute(at: number, device: number, tasks: readonly Task[]): void {
    const { component } = tasks[0] as Task;
    const batch = this.batches.open(this.placeable.poolOf(device, component), device);
    for (const task of tasks) {
      this.batches.add(batch, task.number);
      this.life.begun(task, device);
    }
    this.running[device] = batch;
    this.residency.used(at, device, component);
    this.decisions.push(Decision.execute, batch, device);
  }

  /** closed closes a batch that a device has ended or lost, and gives its tasks. */
  private closed(batch: number): Task[] {
    const device = this.batches.device(batch);
    const tasks = this.tasksOf(batch);
    this.running[device] = NONE;
    this.batches.close(batch);
    this.allocation.ended(device, tasks);
    return tasks;
  }
}
