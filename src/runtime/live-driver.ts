import { firstLine, type TensorData, type Tensors } from '../execution/index.js';
import {
  Answer,
  Decision,
  Decisions,
  DROP_REASONS,
  type DropReason,
  type LogEntry,
  recorded,
  type ServingCore,
} from '../serving/index.js';
import type { LiveDevice } from './live-device.js';
import type { OpenedBundle } from './opened-bundle.js';
import { StackMemory, splitRows, stackRows } from './rows.js';
import { RowsInFlight } from './rows-in-flight.js';

/** Node fires timers longer than this at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Ending says how a request ended. */
export type Ending =
  | { kind: 'answered'; inTime: boolean; outputs: Tensors }
  | { kind: 'dropped'; reason: DropReason; place: string }
  | { kind: 'failed'; why: string };

/** BatchRecord describes a batch that ended, for the counters. */
export interface BatchRecord {
  pool: number;
  device: number;
  size: number;
  failed: boolean;
  stackUs: number;
  executeUs: number;
  splitUs: number;
  /** The time from handing the batch over to its results, as the driver sees it. */
  busyUs: number;
}

/** DriverObserver hears of every batch that ended, and of every failure of a device. */
export interface DriverObserver {
  batch(record: BatchRecord): void;
  failure(device: number, why: string): void;
}

/** DriverParts holds the parts of a driver besides the bundle and its devices. */
export interface DriverParts {
  readonly makeCore: (decisions: Decisions) => ServingCore;
  readonly observer: DriverObserver;
  /** Where the core's events and decisions are told, so that they can be replayed. */
  readonly log?: ((entry: LogEntry) => void) | undefined;
}

/** Arrival is a request as it comes in. */
export interface Arrival {
  /** The value of `now()` when the request came, within this turn of the event loop. */
  readonly at: number;
  readonly model: number;
  readonly deadlineNs: number;
}

/** Ticket stands for a request that the driver has taken. */
export interface Ticket {
  readonly request: number;
  /**
   * cancel tells that the client is gone. It gives true where the request was still open: `done` is not called then.
   */
  cancel(): boolean;
}

interface OpenRequest {
  tasks: number[];
  model: number;
  lastFailure: string;
  done: (ending: Ending, queueUs: number) => void;
}

/** Handed is a batch with the tensors of its rows, which it keeps while requests end. */
interface Handed {
  batch: number;
  tasks: number[];
  rows: Record<string, TensorData>[];
}

interface Running {
  batch: number;
  from: number;
  generation: number;
}

/**
 * LiveDriver drives the serving core in real time and carries out its decisions: it stacks rows into batches,
 * runs them, keeps each row's tensors between partitions, and answers. All arrivals of one turn of the event
 * loop are one instant for the core.
 */
export class LiveDriver {
  private readonly decisions = new Decisions();
  private readonly observer: DriverObserver;
  private readonly core: ServingCore;
  private readonly startedAt = performance.now();
  private readonly open: (OpenRequest | undefined)[] = [];
  private readonly rows = new RowsInFlight();
  private readonly stackMemory: StackMemory[];
  private readonly running = new Map<number, Running>();
  /** The batches that were handed to each device while it was busy, in the order in which it runs them. */
  private readonly waiting: Handed[][];
  /**
   * Batches that were started or moved while decisions were carried out. The core is told of them afterwards.
   */
  private begun: Running[] = [];
  private moved: number[] = [];
  private deciding: NodeJS.Immediate | undefined;
  private timer: NodeJS.Timeout | undefined;
  private idle: (() => void) | undefined;
  decideUs = 0;
  decideCalls = 0;
  requestCount = 0;

  constructor(
    private readonly bundle: OpenedBundle,
    private readonly devices: readonly LiveDevice[],
    { makeCore, observer, log }: DriverParts,
  ) {
    this.observer = observer;
    const core = makeCore(this.decisions);
    this.stackMemory = devices.map(() => new StackMemory());
    this.waiting = devices.map(() => []);
    this.core = log === undefined ? core : recorded(core, this.decisions, log);
  }

  /** pending counts the requests without an outcome. */
  get pending(): number {
    return this.core.pending;
  }

  /** now gives the nanoseconds since the driver was made. */
  now(): number {
    return Math.round((performance.now() - this.startedAt) * 1e6);
  }

  /**
   * submit takes a request in. The core decides on it at the latest at the end of this turn of the event loop.
   * @param rows the inputs of each row
   * @param done called once with the request's ending and the sum of the times that its rows waited in queues, in µs,
   *   unless the request is cancelled
   */
  submit(
    { at, model, deadlineNs }: Arrival,
    rows: readonly Tensors[],
    done: (ending: Ending, queueUs: number) => void,
  ): Ticket {
    const request = this.core.arrived(at, model, deadlineNs, rows.length);
    const tasks = rows.map((inputs, row) => {
      const task = this.core.taskOf(request, row);
      this.rows.add(task, { request, inputs, at });
      return task;
    });
    const entry: OpenRequest = { tasks, model, lastFailure: '', done };
    this.open[request] = entry;
    this.requestCount += 1;
    this.decideSoon();
    return { request, cancel: () => this.cancel(request, entry) };
  }

  /**
   * wouldDrop says whether the core would drop a request that came now, with `ahead` others being read before it. It
   * changes nothing.
   */
  wouldDrop({ at, model, deadlineNs }: Arrival, ahead: number): boolean {
    return this.core.wouldDrop(at, model, deadlineNs, ahead);
  }

  /**
   * turnAway counts a request that would be dropped and was not read. It calls `done` within this turn of the
   * event loop.
   */
  turnAway(model: number, done: (ending: Ending, queueUs: number) => void): void {
    const request = this.core.turnedAway(this.now(), model);
    this.open[request] = { tasks: [], model, lastFailure: '', done };
    this.requestCount += 1;
    this.decideSoon();
  }

  /** deviceUp tells that a device takes batches from now on. */
  deviceUp(device: number): void {
    this.core.deviceUp(this.now(), device);
    this.decideSoon();
  }

  /** deviceDown tells that a device has ended. The batch that ran on it is lost, and the core tries its tasks again. */
  deviceDown(device: number): void {
    const lost = this.running.get(device);
    if (lost !== undefined) this.batchLost(lost, device, 'its device went down');
    // The core knows which batches waited there, and their tasks have not left their queues.
    this.waiting[device]!.length = 0;
    this.core.deviceDown(this.now(), device);
    this.decideSoon();
  }

  /**
   * drain stops taking requests in. It resolves when every request has its outcome and no batch is running.
   */
  drain(): Promise<void> {
    this.core.drain(this.now());
    this.decideSoon();
    return new Promise((resolve) => {
      this.idle = resolve;
    });
  }

  private cancel(request: number, entry: OpenRequest): boolean {
    if (this.open[request] !== entry || !this.core.cancelled(this.now(), request)) return false;
    this.forget(request, entry);
    this.decideSoon();
    return true;
  }

  /**
   * decideNow decides at once when a device becomes free, without waiting for the other events of this turn
   * of the event loop.
   */
  private decideNow(): void {
    if (this.deciding !== undefined) clearImmediate(this.deciding);
    this.deciding = undefined;
    this.decide();
  }

  /** decideSoon decides once per turn of the event loop, after all events of the turn. */
  private decideSoon(): void {
    this.deciding ??= setImmediate(() => {
      this.deciding = undefined;
      this.decide();
    });
  }

  private decide(): void {
    for (let again = true; again; ) {
      const before = performance.now();
      this.core.decide(this.now());
      this.decideUs += 1e3 * (performance.now() - before);
      this.decideCalls += 1;
      for (let i = 0; i < this.decisions.count; i++) this.carryOut(i);
      this.decisions.clear();
      again = this.moved.length > 0;
      this.tellWhatFollowed();
    }
    if (this.idle !== undefined && this.pending === 0 && this.running.size === 0) this.idle();
  }

  private carryOut(i: number): void {
    const a = this.decisions.a(i);
    const b = this.decisions.b(i);
    switch (this.decisions.kind(i)) {
      case Decision.execute:
        if (this.running.has(b)) this.waiting[b]!.push(this.handed(a));
        else this.begun.push(this.execute(this.handed(a), b));
        return;
      case Decision.transfer:
        // One process holds all tensors, so that nothing has to be moved.
        this.moved.push(a);
        return;
      case Decision.answer:
        this.answer(a, b);
        return;
      case Decision.drop:
        this.end(a, { kind: 'dropped', reason: DROP_REASONS[b]!, place: this.placeOf(this.decisions.c(i)) });
        return;
      case Decision.wakeAt:
        this.wakeAt(a);
        return;
    }
  }

  private handed(batch: number): Handed {
    const tasks = Array.from({ length: this.core.batchSize(batch) }, (_, k) => this.core.batchTask(batch, k));
    return { batch, tasks, rows: tasks.map((task) => this.rows.tensors(task)) };
  }

  private execute({ batch, tasks, rows }: Handed, device: number): Running {
    const pool = this.core.batchPool(batch);
    const at = this.now();
    const target = this.devices[device]!;
    const running = { batch, from: at, generation: target.generation };
    this.running.set(device, running);
    for (const task of tasks) this.rows.begun(task, at);
    const record: BatchRecord = {
      pool,
      device,
      size: tasks.length,
      failed: false,
      stackUs: 0,
      executeUs: 0,
      splitUs: 0,
      busyUs: 0,
    };
    this.run(rows, target, record).then(
      () => this.executed(device, running, record),
      (error: unknown) => this.refused(device, running, record, error),
    );
    return running;
  }

  /** beginNext lets a device that became free run the first batch that waits for it. */
  private beginNext(device: number): void {
    const next = this.waiting[device]!.shift();
    if (next === undefined) return;
    const { from, batch } = this.execute(next, device);
    this.core.started(from, batch);
  }

  /**
   * run stacks rows, runs the batch and splits the outputs. It is async as a whole, so that an error of
   * stacking is treated like one of the run.
   */
  private async run(rows: Handed['rows'], device: LiveDevice, record: BatchRecord): Promise<void> {
    const { inputs, outputs } = this.bundle.partitions[record.pool]!;
    const before = performance.now();
    const memory = this.stackMemory[record.device]!;
    const feeds = Object.fromEntries(inputs.map((spec) => [spec.name, stackRows(rows, spec, memory)]));
    record.stackUs = 1e3 * (performance.now() - before);
    const result = await device.run(feeds);
    record.executeUs = result.executionUs;
    const after = performance.now();
    for (const spec of outputs) {
      const tensor = result.outputs[spec.name];
      if (tensor === undefined) throw new Error(`the partition gave no ${spec.name}`);
      const parts = splitRows(tensor, spec, rows.length);
      rows.forEach((row, k) => {
        row[spec.name] = parts[k]!;
      });
    }
    record.splitUs = 1e3 * (performance.now() - after);
  }

  private executed(device: number, running: Running, record: BatchRecord): void {
    if (this.running.get(device) !== running) return;
    this.running.delete(device);
    const at = this.now();
    record.busyUs = (at - running.from) / 1e3;
    this.observer.batch(record);
    this.shedTensors(running.batch, record);
    this.core.executed(at, running.batch, running.from, at);
    this.beginNext(device);
    this.decideNow();
  }

  /**
   * shedTensors keeps of each row only what later partitions need, and its inputs in case it has to begin
   * again.
   */
  private shedTensors(batch: number, { pool, size }: BatchRecord): void {
    const { model } = this.bundle.topology.pools[pool]!;
    const keep = new Set(this.bundle.partitions[pool]!.carried);
    for (const { name } of this.bundle.models[model]!.inputs) keep.add(name);
    for (let k = 0; k < size; k++) this.rows.keepOnly(this.core.batchTask(batch, k), keep);
  }

  /**
   * refused handles a run that failed. It waits until this turn of the event loop is over: if the executor
   * ended, the end of the device has been told by then and covers the batch.
   */
  private refused(device: number, running: Running, record: BatchRecord, error: unknown): void {
    setImmediate(() => {
      if (this.running.get(device) !== running) return;
      if (this.devices[device]!.generation !== running.generation) return;
      record.failed = true;
      record.busyUs = (this.now() - running.from) / 1e3;
      this.observer.batch(record);
      this.batchLost(running, device, toldOf(error));
      this.core.failed(this.now(), running.batch);
      this.beginNext(device);
      this.decideSoon();
    });
  }

  private batchLost({ batch }: Running, device: number, why: string): void {
    this.running.delete(device);
    this.observer.failure(device, why);
    for (let k = 0; k < this.core.batchSize(batch); k++) {
      const task = this.core.batchTask(batch, k);
      const entry = this.open[this.rows.request(task)];
      if (entry !== undefined) entry.lastFailure = why;
      this.rows.queued(task, this.now());
    }
  }

  /**
   * tellWhatFollowed tells the core what began and moved. It comes after all decisions are carried out,
   * because the core may use their numbers again once it is told.
   */
  private tellWhatFollowed(): void {
    for (const { from, batch } of this.begun) this.core.started(from, batch);
    this.begun = [];
    const at = this.now();
    for (const batch of this.moved) {
      for (let k = 0; k < this.core.batchSize(batch); k++)
        this.rows.queued(this.core.batchTask(batch, k), at);
      this.core.transferred(at, batch, at, at);
    }
    this.moved = [];
  }

  private answer(request: number, how: number): void {
    const entry = this.open[request];
    if (entry === undefined) return;
    if (how === Answer.failed) {
      this.end(request, { kind: 'failed', why: entry.lastFailure });
      return;
    }
    const rows = entry.tasks.map((task) => this.rows.tensors(task));
    const specs = this.bundle.models[entry.model]!.outputs;
    try {
      const outputs = Object.fromEntries(specs.map((spec) => [spec.name, joined(rows, spec)]));
      this.end(request, { kind: 'answered', inTime: how === Answer.inTime, outputs });
    } catch (error) {
      this.end(request, { kind: 'failed', why: toldOf(error) });
    }
  }

  private end(request: number, ending: Ending): void {
    const entry = this.open[request];
    if (entry === undefined) return;
    const queueUs = this.rows.waitedUs(entry.tasks);
    this.forget(request, entry);
    entry.done(ending, queueUs);
  }

  private forget(request: number, entry: OpenRequest): void {
    this.open[request] = undefined;
    for (const task of entry.tasks) this.rows.forget(task);
  }

  private placeOf(pool: number): string {
    const at = this.bundle.topology.pools[pool];
    return at === undefined ? 'entry' : `pipeline${at.pipeline}/partition${at.partition}`;
  }

  /**
   * wakeAt wakes the core at a time. Node's timers may fire early, so it checks the time and waits again if
   * necessary.
   */
  private wakeAt(time: number): void {
    clearTimeout(this.timer);
    const wait = () => {
      const leftMs = Math.max(0, Math.ceil((time - this.now()) / 1e6));
      this.timer = setTimeout(check, Math.min(leftMs, LONGEST_TIMER_MS));
    };
    const check = () => {
      const at = this.now();
      if (at < time) {
        wait();
        return;
      }
      this.core.due(at);
      this.decideSoon();
    };
    wait();
  }

  /** stop clears all timers, so that this driver no longer keeps the process alive. */
  stop(): void {
    clearTimeout(this.timer);
    if (this.deciding !== undefined) clearImmediate(this.deciding);
  }
}

function joined(rows: readonly Tensors[], spec: { name: string; batchAxis?: number }) {
  const first = rows[0]?.[spec.name];
  if (first === undefined) throw new Error(`the model gave no ${spec.name}`);
  if (rows.length === 1 || spec.batchAxis === undefined) return first;
  return stackRows(rows, { ...spec, dtype: first.dtype, shape: [...first.dims] });
}

/**
 * toldOf gives the part of an error that is for people: one line, without a stack and without the output of a process
 * that ended.
 */
function toldOf(error: unknown): string {
  return firstLine(error instanceof Error ? error.message : String(error));
}
