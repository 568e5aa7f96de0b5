import { largestOf, NONE as SHARED_NONE } from '../../collections/index.js';
import type { Streams } from '../../random/index.js';
import { brokenPromise, must } from '../broken-promise.js';
import {
  type Decisions,
  Answer as SharedAnswer,
  Decision as SharedDecision,
  DropCode as SharedDropCode,
} from '../decisions.js';
import { OpenBatches } from '../state/index.js';
import type { Topology } from '../topology.js';
import { DynamicProgram } from './dynamic-program.js';
import { END, type FrequencyRow, Histories, type NextCall } from './histories.js';
import type { SubmittedCall, WorkflowCore } from './language.js';
import { Loads } from './loads.js';
import { lastCalls, OpenWork } from './open-work.js';
import { Outlook } from './outlook.js';
import { Outputs } from './outputs.js';
import { Greedy, type Placing, RoundRobin } from './placing.js';
import { PlannedWork } from './planned-work.js';
import { DYORC_POLICY, type PlacingRule, type WorkflowPolicy } from './policy.js';
import { Prediction } from './prediction.js';
import { Queues } from './queues.js';
import { Held, Residency } from './residency.js';
import { Scheduling } from './scheduling.js';
import { type ComponentPool, type DeviceMemory, Placeable, passTimes, type WorkflowTable } from './table.js';
import { type Devices, EXACT } from './to-place.js';
import { isQueued, type OpenRequest, type Task } from './work.js';

const NONE = SHARED_NONE;
const Decision = SharedDecision;
const Answer = SharedAnswer;
const DropCode = SharedDropCode;

/** DynamicOptions holds the parts of a DynamicCore. */
export interface DynamicOptions {
  readonly table: WorkflowTable;
  readonly streams: Streams;
  readonly policy?: Partial<WorkflowPolicy>;
  /** What is known of programs at the start. */
  readonly frequencies?: readonly FrequencyRow[];
}

/** Guesses counts the calls, ends included, where something was expected, and those that were as expected. */
export interface Guesses {
  made: number;
  right: number;
}

/**
 * DynamicCore serves dynamic workflows as DyOrc does (§5): when a program calls components that were not expected, it predicts what
 * comes next, finds devices for all of it, queues the tasks that are known, and loads what the others will need. Only known tasks
 * enter queues, so that none waits for one that never comes; expected ones count as work of their devices until they come, or
 * something else does.
 *
 * A device executes the tasks whose inputs are there, of the first component that has any and that it holds.
 */
export class DynamicCore implements WorkflowCore {
  private readonly open = new OpenWork();
  private readonly batches: OpenBatches;
  private readonly policy: WorkflowPolicy;
  private readonly table: WorkflowTable;
  private readonly placeable: Placeable;
  private readonly residency: Residency;
  private readonly work: PlannedWork;
  private readonly devices: Devices;
  private readonly outputs: Outputs;
  private readonly queues: Queues;
  private readonly loads: Loads;
  private readonly scheduling: Scheduling;
  private readonly histories: Histories;
  private readonly isUp: Uint8Array;
  private readonly mostRows: Int32Array;
  /** The batch that each device executes, NONE where none. */
  private readonly running: Int32Array;
  /** The devices that may have something to do in this `decide`. */
  private readonly touched = new Set<number>();
  private asked: OpenRequest[] = [];
  /** Requests with a task that no device that is up runs. They are dropped at their deadline. */
  private readonly stranded = new Set<OpenRequest>();
  private wakeToldNs = Number.POSITIVE_INFINITY;
  /** Outputs that programs read, to be sent in this `decide`. */
  private readonly reads = new Set<Task>();
  /** Requests whose numbers can be used again after this `decide`. */
  private readonly retired = new Set<OpenRequest>();
  private isDraining = false;
  private unsettled = 0;
  private known = 0;
  readonly guesses: Guesses = { made: 0, right: 0 };

  /** @param decisions the driver's buffer, where decisions are appended */
  constructor(
    private readonly topology: Topology,
    private readonly decisions: Decisions,
    { table, streams, policy = {}, frequencies = [] }: DynamicOptions,
  ) {
    const count = topology.devices.length;
    this.policy = { ...DYORC_POLICY, ...policy };
    this.table = table;
    const placeable = new Placeable(topology, table);
    const residency = new Residency(table, placeable);
    const work = new PlannedWork(topology, placeable);
    const queues = new Queues(count, { components: table.components.length, work, residency });
    this.outputs = new Outputs(count, {
      ...{ decisions, residency },
      passNs: passTimes(table),
      arrived: (task, device) => this.outputArrived(task, device),
      lost: (task) => this.outputLost(task),
      ended: (request) => this.retireIfDone(request),
      freed: (device) => this.touched.add(device),
    });
    this.loads = new Loads({ decisions, residency, work, placeable, queues, outputs: this.outputs });
    this.placeable = placeable;
    this.residency = residency;
    this.work = work;
    this.queues = queues;
    this.mostRows = this.rowsThatFit();
    this.isUp = new Uint8Array(count);
    this.running = new Int32Array(count).fill(NONE);
    this.devices = this.devicesUp();
    this.histories = new Histories(topology.models.length);
    this.histories.add(frequencies);
    const prediction = new Prediction(this.policy.prediction, this.histories, streams('prediction'));
    const outlook = new Outlook(work, residency, placeable);
    this.scheduling = new Scheduling({
      placing: placingOf(this.policy.placing, outlook, this.devices),
      prediction,
      work,
    });
    this.batches = new OpenBatches(largestOf(topology.pools.map(({ batch }) => batch)));
  }

  get pending(): number {
    return this.unsettled;
  }

  /** inUse counts the numbers that are in use. Memory follows these counts. */
  get inUse(): { requests: number; tasks: number; batches: number; fetches: number } {
    return { ...this.open.counts, batches: this.batches.count, fetches: this.outputs.count };
  }

  /** frequencies lists what programs did so far, and what was known of them at the start. */
  get frequencies(): readonly FrequencyRow[] {
    return this.histories.table();
  }

  /** freeBytes is the room that a device has. */
  freeBytes(device: number): number {
    return this.residency.free(device);
  }

  batchSize(batch: number): number {
    return this.batches.size(batch);
  }

  batchTask(batch: number, i: number): number {
    return this.batches.task(batch, i);
  }

  batchPool(batch: number): number {
    return this.batches.pool(batch);
  }

  batchDevice(batch: number): number {
    return this.batches.device(batch);
  }

  batchEdge(): number {
    return 0;
  }

  batchRows(batch: number): number {
    let rows = 0;
    for (let i = 0; i < this.batches.size(batch); i++)
      rows += this.open.task(this.batches.task(batch, i)).rows;
    return rows;
  }

  requestOf(task: number): number {
    return this.open.task(task).request.number;
  }

  rowOf(): number {
    return 0;
  }

  taskOf(request: number): number {
    return this.bodyOf(request);
  }

  bodyOf(request: number): number {
    return this.open.request(request).body.number;
  }

  outputBytes(task: number): number {
    return this.open.task(task).bytes;
  }

  wouldDrop(): boolean {
    return false;
  }

  /** arrived tells that a program is to run, which counts as one row. */
  arrived(_at: number, application: number, deadlineNs: number): number {
    must(this.topology.models[application] !== undefined, 'a program is of no known application');
    const request = this.opened(application, deadlineNs);
    if (this.isDraining) this.drop(request, DropCode.draining);
    else if (this.known >= this.policy.mostTasks) this.drop(request, DropCode.queueFull);
    return request.number;
  }

  turnedAway(at: number, application: number): number {
    const request = this.opened(application, at);
    this.drop(request, DropCode.overload);
    return request.number;
  }

  sized(_at: number, request: number, bytes: number): void {
    this.open.request(request).body.bytes = bytes;
  }

  cancelled(_at: number, number: number): boolean {
    const request = this.open.request(number);
    if (request.isSettled) return false;
    this.settle(request);
    return true;
  }

  submitted(at: number, number: number, call: SubmittedCall): number {
    const request = this.open.request(number);
    if (request.isSettled) return NONE;
    const task = this.open.called(request, call);
    this.known += 1;
    const { component, rows } = call;
    const { application } = request;
    task.bytes = this.histories.bytesOf(application, task.calledBefore, task);
    this.histories.saw(application, task.calledBefore, task);
    if (this.isAsExpected(request, task)) {
      const { device, readyNs, endNs } = this.scheduling.taken(request);
      if (this.devices.canRun(device, component, rows)) {
        Object.assign(task, { device, readyNs, endNs });
        this.enqueue(at, task);
        return task.number;
      }
    }
    this.scheduling.withdraw(request);
    this.ask(request);
    return task.number;
  }

  wanted(_at: number, number: number): void {
    const task = this.open.task(number);
    if (task.request.isSettled) return;
    task.isWanted = true;
    if (task.state === 'done') this.reads.add(task);
    else if (task.state === 'lost') this.again(task);
  }

  finished(at: number, number: number): void {
    const request = this.open.request(number);
    if (request.isSettled) return;
    const end = { component: END, back: [], rows: 1 };
    this.histories.saw(request.application, lastCalls(request), end);
    this.isAsExpected(request, end);
    this.scheduling.withdraw(request);
    request.isFinished = true;
    this.answerIfDone(at, request);
  }

  started(): void {}

  /** executed tells of a batch whose tasks gave so many bytes of outputs each. */
  executed(...[at, batch, , endedAt, bytes]: Parameters<WorkflowCore['executed']>): void {
    const device = this.batches.device(batch);
    for (const [i, task] of this.closed(batch).entries()) {
      const { request } = task;
      task.state = 'done';
      for (const input of task.inputs) input.readers.delete(task);
      if (request.isSettled) {
        this.outputs.release(request);
        this.retireIfDone(request);
        continue;
      }
      task.endNs = endedAt;
      task.bytes = bytes?.[i] ?? 0;
      request.left -= 1;
      this.known -= 1;
      this.histories.sized(request.application, task.calledBefore, task);
      this.outputs.made(task, device);
      this.answerIfDone(at, request);
    }
  }

  failed(at: number, batch: number): void {
    const device = this.batches.device(batch);
    const tasks = this.closed(batch);
    for (const task of tasks) {
      task.state = 'called';
      if (task.request.isSettled) this.over(task);
      else if (tasks.length === 1) {
        task.device = NONE;
        this.answer(task.request, Answer.failed);
      } else {
        Object.assign(task, { device, isAlone: true });
        this.enqueue(at, task);
      }
    }
  }

  transferred(): void {
    throw brokenPromise('a batch of a workflow was sent on, but outputs are fetched');
  }

  fetched(_at: number, fetch: number): void {
    this.outputs.fetched(fetch);
  }

  loaded(at: number, device: number, pool: number): void {
    const { component } = this.table.pools[pool] as ComponentPool;
    must(
      this.residency.stateOf(device, component) === Held.loading,
      'a device has loaded what it was not to load',
    );
    this.residency.loaded(at, device, component);
    this.work.copies(device, 0);
    this.touched.add(device);
  }

  /** due lets a later wake-up be asked for. Requests without a device are looked at in `decide`. */
  due(): void {
    this.wakeToldNs = Number.POSITIVE_INFINITY;
  }

  deviceUp(_at: number, device: number): void {
    this.isUp[device] = 1;
    this.touched.add(device);
    for (const request of this.stranded) this.ask(request);
  }

  deviceDown(_at: number, device: number): void {
    if (this.isUp[device] === 0) return;
    for (const request of this.open.all())
      if (request.expected.some((one) => one.device === device)) {
        this.scheduling.withdraw(request);
        this.ask(request);
      }
    this.isUp[device] = 0;
    const batch = this.running[device] as number;
    const lost = batch === NONE ? [] : this.closed(batch);
    for (const task of this.queues.all(device)) {
      this.queues.leave(task);
      this.unplace(task);
    }
    this.work.empty(device);
    this.residency.empty(device);
    this.outputs.deviceDown(device);
    for (const task of lost) this.lost(task);
    this.touched.delete(device);
  }

  drain(): void {
    this.isDraining = true;
  }

  decide(at: number): void {
    const { asked } = this;
    this.asked = [];
    for (const request of asked) if (!request.isSettled) this.schedule(at, request);
    this.dropStranded(at);
    this.move(at);
    for (const { number } of this.retired) this.open.close(number);
    this.retired.clear();
    this.outputs.decided();
  }

  /**
   * move lets devices that may have something to do begin it. Outputs find room before any is sent on, since what is being sent cannot
   * leave.
   */
  private move(at: number): void {
    for (const device of this.touched) this.loads.relieve(device);
    for (const task of this.reads)
      if (!task.request.isSettled && task.state === 'done') this.outputs.read(task);
    this.reads.clear();
    // A request that is dropped gives room to devices that were asked before it.
    while (this.touched.size > 0) {
      const touched = [...this.touched];
      this.touched.clear();
      for (const device of touched) if (this.isUp[device] === 1) this.serve(at, device);
    }
  }

  /** serve begins what a device can load, fetch and execute now. */
  private serve(at: number, device: number): void {
    let head = this.queues.head(device);
    while (head !== undefined && !this.hasMemoryFor(head)) {
      this.drop(head.request, DropCode.deviceDown);
      head = this.queues.head(device);
    }
    this.loads.begin(at, device);
    if (this.running[device] !== NONE) return;
    const tasks = this.queues.nextBatch(device);
    const [first] = tasks;
    if (first === undefined) return;
    const { component } = first;
    const batch = this.batches.open(this.placeable.poolOf(device, component), device);
    let rows = 0;
    for (const task of tasks) {
      this.batches.add(batch, task.number);
      task.state = 'running';
      task.request.inBatches += 1;
      rows += task.rows;
    }
    this.running[device] = batch;
    this.residency.used(at, device, component);
    const untilNs = at + this.work.executionNs(device, component, rows);
    this.work.begun(device, { component, rows, untilNs });
    this.decisions.push(Decision.execute, batch, device);
  }

  /** hasMemoryFor tells whether a device could hold the component of its task and all inputs of it, and nothing else. */
  private hasMemoryFor({ device, component, inputs }: Task): boolean {
    let bytes = this.residency.bytesOf(device, component);
    for (const input of new Set(inputs)) bytes += input.bytes;
    return bytes <= (this.table.devices[device] as DeviceMemory).bytes;
  }

  /** schedule finds devices for the tasks of a request, and queues those that got one. */
  private schedule(at: number, request: OpenRequest): void {
    for (const task of request.tasks) if (task.state === 'called') this.againInputs(task);
    for (const task of this.scheduling.schedule(at, request)) this.enqueue(at, task);
    // What was asked for again meanwhile is part of it.
    request.isAsked = false;
    this.asked = this.asked.filter((other) => other !== request);
    const left = request.tasks.filter(({ state, device }) => state === 'called' && device === NONE);
    if (left.length === 0) this.stranded.delete(request);
    else if (left.some((task) => this.isHopeless(task))) this.drop(request, DropCode.deviceDown);
    else this.stranded.add(request);
  }

  /** isHopeless tells whether no device executes a task, whichever are up. */
  private isHopeless({ component, rows }: Task): boolean {
    return this.topology.devices.every((_, device) => !this.fits(device, component, rows));
  }

  /** dropStranded drops the requests at whose deadlines no device that is up runs them, and asks to be woken for the next. */
  private dropStranded(at: number): void {
    let nextNs = Number.POSITIVE_INFINITY;
    for (const request of this.stranded) {
      if (request.deadlineNs < at) this.drop(request, DropCode.deviceDown);
      else nextNs = Math.min(nextNs, request.deadlineNs + 1);
    }
    if (nextNs === this.wakeToldNs || nextNs === Number.POSITIVE_INFINITY) return;
    this.wakeToldNs = nextNs;
    this.decisions.push(Decision.wakeAt, nextNs);
  }

  /** enqueue puts a known task among those of its device. */
  private enqueue(at: number, task: Task): void {
    const { device, component, rows } = task;
    task.endNs = Math.max(task.endNs, at);
    this.queues.push(task);
    this.work.add(device, { component, rows, fromNs: Math.max(at, task.readyNs) });
    this.againInputs(task);
    this.touched.add(device);
  }

  private outputArrived(task: Task, device: number): void {
    this.tellReaders(task);
    if (device === NONE) return;
    if (task.isWanted && !task.isSent) this.reads.add(task);
    this.touched.add(device);
  }

  /** tellReaders tells the tasks that wait for an output that it is elsewhere than before. */
  private tellReaders(task: Task): void {
    for (const reader of task.readers) {
      if (!isQueued(reader)) continue;
      this.queues.changed(reader);
      this.touched.add(reader.device);
    }
  }

  /** outputLost fetches an output from elsewhere that is no more where it was; one that is nowhere is made again if it is needed. */
  private outputLost(task: Task): void {
    if (task.state !== 'done') return;
    if (task.places.length > 0) {
      if (task.isWanted && !task.isSent) this.reads.add(task);
      this.tellReaders(task);
      return;
    }
    task.state = 'lost';
    task.isSent = false;
    this.tellReaders(task);
    if (task.isWanted || [...task.readers].some(isQueued)) this.again(task);
  }

  /** again calls a lost task again, and those of its inputs that are lost too. */
  private again(task: Task): void {
    task.state = 'called';
    task.device = NONE;
    task.request.left += 1;
    this.known += 1;
    for (const input of task.inputs) input.readers.add(task);
    this.againInputs(task);
    this.ask(task.request);
  }

  private againInputs({ inputs }: Task): void {
    for (const input of inputs) if (input.state === 'lost') this.again(input);
  }

  /** lost calls a task again that was executed by a device which is gone. */
  private lost(task: Task): void {
    task.state = 'called';
    task.tries += 1;
    this.unplace(task);
    if (task.request.isSettled) this.over(task);
    else if (task.tries >= this.policy.mostTries) this.drop(task.request, DropCode.deviceDown);
  }

  private unplace(task: Task): void {
    task.device = NONE;
    this.ask(task.request);
  }

  /** over lets go of a task in a batch whose request has ended. */
  private over(task: Task): void {
    task.state = 'done';
    for (const input of task.inputs) input.readers.delete(task);
    this.outputs.release(task.request);
    this.retireIfDone(task.request);
  }

  private ask(request: OpenRequest): void {
    if (request.isAsked || request.isSettled) return;
    request.isAsked = true;
    this.asked.push(request);
  }

  /** isAsExpected tells whether a program does what was expected, and counts that, where anything was. */
  private isAsExpected({ expected, isToEnd }: OpenRequest, { component, back }: NextCall): boolean {
    const [next] = expected;
    if (next === undefined && !isToEnd) return false;
    const isRight = (next?.component ?? END) === component && (next?.back ?? []).join() === back.join();
    this.guesses.made += 1;
    if (isRight) this.guesses.right += 1;
    return isRight;
  }

  private opened(application: number, deadlineNs: number): OpenRequest {
    this.unsettled += 1;
    return this.open.open(application, deadlineNs);
  }

  /** closed closes a batch that a device has ended or lost, and gives its tasks. */
  private closed(batch: number): Task[] {
    const device = this.batches.device(batch);
    const tasks: Task[] = [];
    for (let i = 0; i < this.batches.size(batch); i++)
      tasks.push(this.open.task(this.batches.task(batch, i)));
    for (const { request } of tasks) request.inBatches -= 1;
    this.running[device] = NONE;
    this.work.ended(device);
    this.batches.close(batch);
    this.touched.add(device);
    return tasks;
  }

  private answerIfDone(at: number, request: OpenRequest): void {
    if (request.isSettled || !request.isFinished || request.left > 0) return;
    this.answer(request, at <= request.deadlineNs ? Answer.inTime : Answer.late);
  }

  private answer(request: OpenRequest, how: number): void {
    this.decisions.push(Decision.answer, request.number, how);
    this.settle(request);
  }

  private drop(request: OpenRequest, reason: number): void {
    this.decisions.push(Decision.drop, request.number, reason, NONE);
    this.settle(request);
  }

  private settle(request: OpenRequest): void {
    request.isSettled = true;
    this.unsettled -= 1;
    this.known -= request.left;
    this.stranded.delete(request);
    this.scheduling.withdraw(request);
    for (const task of request.tasks) {
      if (!isQueued(task)) continue;
      this.queues.leave(task);
      this.work.withdraw(task.device, task.component, task.rows);
      this.touched.add(task.device);
    }
    this.outputs.release(request);
    this.retireIfDone(request);
  }

  private retireIfDone(request: OpenRequest): void {
    if (request.isSettled && request.inBatches === 0 && request.fetches === 0) this.retired.add(request);
  }

  private fits(device: number, component: number, rows: number): boolean {
    return rows <= (this.mostRows[device * this.table.components.length + component] as number);
  }

  /** rowsThatFit gives by device and component the largest batch, 0 where the device cannot hold the component. */
  private rowsThatFit(): Int32Array {
    const { components, devices } = this.table;
    return Int32Array.from({ length: devices.length * components.length }, (_, i) => {
      const [device, component] = [Math.floor(i / components.length), i % components.length];
      if (this.placeable.poolOf(device, component) === NONE) return 0;
      const { bytes } = devices[device] as DeviceMemory;
      return this.residency.bytesOf(device, component) <= bytes ? this.work.largest(device, component) : 0;
    });
  }

  private devicesUp(): Devices {
    return {
      count: this.topology.devices.length,
      canRun: (device, component, rows) => this.isUp[device] === 1 && this.fits(device, component, rows),
      leastNs: leastTimes(this.topology, this.table),
      passNs: passTimes(this.table),
    };
  }
}

/** leastTimes gives the least time of a batch of each component with so many rows or more, on any class. */
function leastTimes({ pools }: Topology, table: WorkflowTable): Devices['leastNs'] {
  const least: number[][] = table.components.map(() => []);
  for (const [pool, { latencyNs }] of pools.entries()) {
    const times = least[(table.pools[pool] as ComponentPool).component] as number[];
    let leastNs = Number.POSITIVE_INFINITY;
    for (let rows = latencyNs.length; rows >= 1; rows--) {
      leastNs = Math.min(leastNs, latencyNs[rows - 1] as number);
      times[rows] = Math.min(times[rows] ?? Number.POSITIVE_INFINITY, leastNs);
    }
  }
  return (component, rows) => least[component]?.[rows] ?? 0;
}

function placingOf(rule: PlacingRule, outlook: Outlook, devices: Devices): Placing {
  switch (rule.kind) {
    case 'dynamic-program': {
      const { candidates = EXACT.candidates, beam = EXACT.beam } = rule;
      return new DynamicProgram(outlook, devices, { candidates, beam, isExact: rule.beam === undefined });
    }
    case 'greedy':
      return new Greedy(outlook, devices);
    case 'round-robin':
      return new RoundRobin(devices);
  }
}
