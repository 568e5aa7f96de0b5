import type { Stream } from '../../src/random/index.js';
import {
  Answer,
  Decision,
  type Decisions,
  type ServingCore,
  type Topology,
} from '../../src/serving/index.js';

/** Handed is a step of a batch that the core has decided. Steps are listed in the order of the decisions. */
export interface Handed {
  kind: 'execute' | 'transfer';
  at: number;
  batch: number;
  /** The executing device, or the sender. */
  device: number;
  /** The receiving device, −1 for none. */
  to: number;
  /** The times that the driver told. */
  from?: number;
  end?: number;
  startedTold?: number;
}

const NONE = -1;

/**
 * ScriptedCore does at random what its contract allows. It hands batches of any size to devices, several ahead to busy
 * ones. It sends transfers with and without a receiver. Its requests
 * wait for a timer, are dropped or are answered. It records its decisions and the events that it is told, and throws at
 * an impossible event.
 */
export class ScriptedCore implements ServingCore {
  readonly handed: Handed[] = [];
  readonly told: [word: string, at: number, ...rest: number[]][] = [];
  pending = 0;
  private nextRequest = 0;
  private nextBatch = 0;
  private readonly waiting: number[] = [];
  private readonly batches = new Map<number, { pool: number; device: number; tasks: number[] }>();
  private readonly step = new Map<number, Handed>();
  private readonly arrivedBatches: number[] = [];
  private readonly ended: number[] = [];
  private now = 0;
  private wake = Number.POSITIVE_INFINITY;

  constructor(
    private readonly topology: Topology,
    private readonly decisions: Decisions,
    private readonly stream: Stream,
    /** The furthest that a wake-up may lie ahead. */
    private readonly aheadNs: number,
  ) {}

  arrived(at: number, model: number): number {
    this.hear('arrived', at, model);
    this.pending += 1;
    this.waiting.push(this.nextRequest);
    return this.nextRequest++;
  }

  started(at: number, batch: number): void {
    this.hear('started', at, batch);
    const step = this.step.get(batch);
    if (step?.kind !== 'execute' || step.startedTold !== undefined)
      throw new Error('a batch started that was not handed over');
    step.startedTold = at;
  }

  executed(at: number, batch: number, startedAt: number, endedAt: number): void {
    this.hear('executed', at, batch);
    this.close(batch, 'execute', startedAt, endedAt);
    this.arrivedBatches.push(batch);
  }

  transferred(at: number, batch: number, startedAt: number, endedAt: number): void {
    this.hear('transferred', at, batch);
    this.close(batch, 'transfer', startedAt, endedAt);
    const known = this.batches.get(batch)!;
    known.pool = this.topology.pools[known.pool]!.edges[0]!.to;
    this.hand(batch, this.deviceOf(known.pool));
  }

  due(at: number): void {
    this.hear('due', at);
    if (at !== this.wake) throw new Error(`due at ${at}, asked for at ${this.wake}`);
    this.wake = Number.POSITIVE_INFINITY;
  }

  deviceUp(at: number, device: number): void {
    this.hear('deviceUp', at, device);
  }

  decide(at: number): void {
    this.hear('decide', at);
    for (const batch of this.arrivedBatches.splice(0)) this.sendOn(batch);
    for (const request of this.ended.splice(0)) this.end(request);
    while (this.waiting.length > 0 && this.stream.uniform() < 0.6) this.form();
    if (this.waiting.length > 0 && this.stream.uniform() < 0.9)
      this.wakeIn(Math.max(1, this.stream.integer(this.aheadNs)));
    else if (this.waiting.length > 0 && this.wake === Number.POSITIVE_INFINITY) this.wakeIn(1);
  }

  private wakeIn(ns: number): void {
    this.wake = this.now + ns;
    this.decisions.push(Decision.wakeAt, this.wake);
  }

  private form(): void {
    const entries = this.topology.models[0]!.entries;
    const pool = entries[this.stream.integer(entries.length)]!;
    const most = Math.min(this.waiting.length, this.topology.pools[pool]!.batch);
    const tasks = this.waiting.splice(0, 1 + this.stream.integer(most));
    const batch = this.nextBatch++;
    const device = this.deviceOf(pool);
    this.batches.set(batch, { pool, device, tasks });
    this.hand(batch, device);
  }

  private hand(batch: number, device: number): void {
    this.batches.get(batch)!.device = device;
    this.say({ kind: 'execute', at: this.now, batch, device, to: NONE });
    this.decisions.push(Decision.execute, batch, device);
  }

  private sendOn(batch: number): void {
    const { pool, device, tasks } = this.batches.get(batch)!;
    const next = this.topology.pools[pool]!.edges[0]?.to;
    if (next === undefined) {
      this.ended.push(...tasks);
      return;
    }
    const to = this.stream.uniform() < 0.7 ? this.deviceOf(next) : NONE;
    this.say({ kind: 'transfer', at: this.now, batch, device, to });
    this.decisions.push(Decision.transfer, batch, device, to);
  }

  private end(request: number): void {
    this.pending -= 1;
    if (this.stream.uniform() < 0.2) this.decisions.push(Decision.drop, request, 0, 0);
    else
      this.decisions.push(
        Decision.answer,
        request,
        this.stream.uniform() < 0.5 ? Answer.inTime : Answer.failed,
      );
  }

  private say(step: Handed): void {
    this.handed.push(step);
    this.step.set(step.batch, step);
  }

  private close(batch: number, kind: Handed['kind'], from: number, end: number): void {
    const step = this.step.get(batch);
    if (step?.kind !== kind || end !== this.now) throw new Error(`${kind} of ${batch} ended unasked for`);
    step.from = from;
    step.end = end;
    this.step.delete(batch);
  }

  private deviceOf(pool: number): number {
    const { devices } = this.topology.pools[pool]!;
    return devices[this.stream.integer(devices.length)]!;
  }

  private hear(word: string, at: number, ...rest: number[]): void {
    if (at < this.now) throw new Error(`told of ${at} after ${this.now}`);
    this.now = at;
    this.told.push([word, at, ...rest]);
  }

  taskOf(request: number): number {
    return request;
  }
  batchSize(batch: number): number {
    return this.batches.get(batch)!.tasks.length;
  }
  batchTask(batch: number, i: number): number {
    return this.batches.get(batch)!.tasks[i]!;
  }
  batchPool(batch: number): number {
    return this.batches.get(batch)!.pool;
  }
  batchDevice(batch: number): number {
    return this.batches.get(batch)!.device;
  }
  batchEdge(): number {
    return 0;
  }
  requestOf(task: number): number {
    return task;
  }
  rowOf(): number {
    return 0;
  }
  wouldDrop(): boolean {
    return false;
  }
  turnedAway(): number {
    throw new Error('nobody is turned away');
  }
  cancelled(): boolean {
    throw new Error('nobody leaves');
  }
  failed(): void {
    throw new Error('no batch fails');
  }
  deviceDown(): void {
    throw new Error('no device goes down');
  }
  drain(): void {
    throw new Error('nobody drains');
  }
}
