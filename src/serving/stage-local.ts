import { Background } from './background.js';
import { Backlog } from './backlog.js';
import { BatchingCore } from './batching-core.js';
import { must } from './columns.js';
import type { ServingCore } from './core.js';
import { Decision, type Decisions, DropCode } from './decisions.js';
import { Durations } from './durations.js';
import { Lists, NONE } from './lists.js';
import { Pipelines } from './pipelines.js';
import { DEFAULT_POLICY, type StageLocalPolicy } from './policy.js';
import { TaskState } from './requests.js';
import { StageDevices } from './stage-devices.js';
import { StageRules } from './stage-rules.js';
import type { Pool, Topology } from './topology.js';

const NEVER = Number.POSITIVE_INFINITY;

/**
 * Stage-local scheduling over a plan's pools: every pool has its queue and its idle devices and forms its own batches; a request
 * is given its pipeline when it arrives. What it does is put together from a StageLocalPolicy.
 *
 * Cost: constant per event but for the queue's order (constant for equal SLOs) and a scan of at most one batch per start.
 * Memory follows the number of requests in flight.
 */
export class StageLocalCore extends BatchingCore implements ServingCore {
  private readonly policy: StageLocalPolicy;
  private readonly pools: readonly Pool[];
  private readonly durations: Durations;
  private readonly pipelines: Pipelines;
  private readonly queues: Lists;
  private readonly rules: StageRules;
  private readonly backlog: Backlog;
  private readonly background: Background;
  private readonly devices: StageDevices;
  private readonly touched: Uint8Array;
  private readonly wake: Float64Array;

  /**
   * @param decisions where decisions are appended; the driver's
   * @param policy what differs from DEFAULT_POLICY
   */
  constructor(topology: Topology, decisions: Decisions, policy: Partial<StageLocalPolicy> = {}) {
    const chosen = { ...DEFAULT_POLICY, ...policy };
    super(topology, decisions, chosen);
    this.policy = chosen;
    this.pools = topology.pools;
    this.durations = new Durations(topology, this.policy.correction);
    this.pipelines = new Pipelines(topology, this.policy.choice, this.durations);
    this.queues = new Lists(this.pools.length);
    this.rules = new StageRules(this.policy, this.pools, this.requests, this.queues, this.durations);
    this.devices = new StageDevices(topology);
    this.backlog = new Backlog(this.pools, this.queues, this.rules, this.durations, this.devices);
    this.background = new Background(this.policy.late, topology, this.requests);
    this.touched = new Uint8Array(this.pools.length);
    this.wake = new Float64Array(this.pools.length).fill(NEVER);
  }

  protected admit(at: number, request: number): void {
    const model = this.requests.model[request] as number;
    if (this.topology.models[model]?.entries.length === 0) {
      this.drop(request, DropCode.deviceDown, NONE);
      return;
    }
    const isStrict = this.isStrict(at, model, this.requests.deadline[request] as number);
    this.requests.strict[request] = isStrict ? 1 : 0;
    for (let task = this.requests.first(request); task !== NONE; task = this.requests.nextOf(task))
      this.route(at, task);
  }

  wouldDrop(at: number, model: number, deadlineNs: number, ahead: number): boolean {
    if (this.policy.drop.kind === 'never') return false;
    if (this.background.takes(model) && !this.isStrict(at, model, deadlineNs)) return false;
    const up = (this.topology.models[model]?.entries as number[]).filter((entry) =>
      this.pipelines.isUp(entry),
    );
    return this.backlog.isTooLong(at, up, ahead, deadlineNs - this.policy.slackNs);
  }

  private isStrict(at: number, model: number, deadlineNs: number): boolean {
    return deadlineNs - at < (this.topology.models[model]?.sloNs as number);
  }

  started(_at: number, batch: number): void {
    this.devices.started(batch, this.batches.device(batch));
  }

  executed(at: number, batch: number, startedAt: number, endedAt: number): void {
    const pool = this.batches.pool(batch);
    this.durations.observeExecution(pool, this.batches.size(batch), endedAt - startedAt);
    this.devices.used(pool, at);
    this.freeDevice(batch);
    if (this.pools[pool]?.next === undefined) {
      this.endTasks(at, batch);
      this.batches.close(batch);
    } else this.sendOn(batch);
  }

  failed(at: number, batch: number): void {
    this.freeDevice(batch);
    this.retry(at, batch, 1, this.batches.size(batch) === 1);
  }

  transferred(at: number, batch: number, _startedAt: number, _endedAt: number): void {
    must(this.batches.isMoving(batch), 'a batch was transferred that was not moving');
    const next = this.pools[this.batches.pool(batch)]?.next as number;
    for (let i = 0; i < this.batches.size(batch); i++) {
      const task = this.batches.task(batch, i);
      if (!this.cameBack(task)) continue;
      this.requests.pool[task] = next;
      this.requests.queuedAt[task] = at;
      this.enqueueOrReroute(at, task);
    }
    this.batches.close(batch);
  }

  deviceUp(_at: number, device: number): void {
    const pool = this.topology.devices[device]?.pool as number;
    this.devices.cameUp(device);
    this.pipelines.deviceUp(pool);
    this.changed(pool);
  }

  deviceDown(at: number, device: number): void {
    if (!this.devices.isUp(device)) return;
    const pool = this.topology.devices[device]?.pool as number;
    const batch = this.devices.wentDown(device);
    const last = this.pipelines.deviceDown(pool);
    if (batch !== NONE) this.retry(at, batch, 1, false);
    if (last) this.rerouteQueued(at, pool);
    this.changed(pool);
  }

  drain(_at: number): void {
    this.draining = true;
    this.touched.fill(1);
  }

  decide(at: number): void {
    let earliest = NEVER;
    for (let pool = 0; pool < this.pools.length; pool++) {
      if (this.touched[pool] === 1 || (this.wake[pool] as number) <= at) {
        this.touched[pool] = 0;
        this.wake[pool] = this.serve(at, pool);
      }
      earliest = Math.min(earliest, this.wake[pool] as number);
    }
    this.decided(earliest);
  }

  /** Drops and starts what is to be dropped and started now; @returns when to look again. */
  private serve(at: number, pool: number): number {
    for (;;) {
      this.giveUpHeads(at, pool);
      const head = this.queues.first(pool);
      const waiting = this.background.first(pool);
      if (head === NONE && waiting === NONE) return NEVER;
      const look = Math.min(
        head === NONE ? NEVER : this.rules.dropTime(pool, head),
        this.background.dropTime(pool, waiting),
      );
      if (!this.devices.hasIdle(pool)) return look;
      if (head === NONE) {
        this.start(at, pool, this.background.batchSize(pool), true);
        continue;
      }
      const size = this.rules.largestInTime(at, pool);
      const until = this.draining ? at : this.rules.waitUntil(pool, head, size);
      if (at < until) return Math.min(until, look);
      this.start(at, pool, size, false);
    }
  }

  private start(at: number, pool: number, size: number, late: boolean): void {
    const device = this.devices.firstIdle(pool);
    const batch = this.batches.open(pool, device);
    for (let i = 0; i < size; i++) {
      const task = late ? this.background.first(pool) : this.queues.first(pool);
      if (late) this.background.remove(pool, task);
      else this.queues.remove(pool, task);
      this.putInBatch(batch, task);
    }
    this.devices.begin(batch, device, at + this.durations.executionNs(pool, size));
    this.backlog.changed(pool);
    this.decisions.push(Decision.execute, batch, device);
  }

  /** From the head of the queue what is too late, from that of the background what has been so for too long. */
  private giveUpHeads(at: number, pool: number): void {
    for (let head = this.queues.first(pool); head !== NONE; head = this.queues.first(pool)) {
      if (
        at < this.rules.dropTime(pool, head) &&
        !(this.devices.hasIdle(pool) && this.rules.hindersFullBatch(at, pool, head))
      )
        break;
      this.relaxIfUnused(at, pool, head);
      this.missed(pool, head);
    }
    for (let head = this.background.first(pool); head !== NONE; head = this.background.first(pool)) {
      if (at < this.background.dropTime(pool, head)) return;
      this.giveUp(head, pool, this.pipelines.isUp(pool));
    }
  }

  private missed(pool: number, task: number): void {
    const request = this.requests.request[task] as number;
    const { model } = this.pools[pool] as Pool;
    if (this.requests.missed[request] === 0) this.background.observe(model, true);
    this.requests.missed[request] = 1;
    const isKept = this.requests.strict[request] === 0 && this.background.takes(model);
    if (isKept && this.pipelines.isUp(pool)) {
      this.leave(pool, task);
      this.background.add(pool, task);
    } else this.giveUp(task, pool, this.pipelines.isUp(pool));
  }

  /** A pool that its own bad record has kept from work for as long as an SLO is given another chance. */
  private relaxIfUnused(at: number, pool: number, head: number): void {
    const { model } = this.pools[pool] as Pool;
    const unusedNs = at - this.devices.lastUseAt(pool);
    if (!this.devices.hasIdle(pool) || unusedNs < (this.topology.models[model]?.sloNs as number)) return;
    if (at + this.durations.plannedWorkNs(pool, 1) <= this.rules.latestEnd(head)) this.durations.relax(pool);
  }

  /** Gives a task its pipeline and puts it into the first queue. */
  private route(at: number, task: number): void {
    const model = this.requests.model[this.requests.request[task] as number] as number;
    const entry = this.pipelines.choose(model, this.rules.latestEnd(task), at);
    this.pipelines.entered(entry);
    this.requests.entry[task] = entry;
    this.requests.pool[task] = entry;
    this.requests.queuedAt[task] = at;
    this.enqueue(task);
  }

  private enqueue(task: number): void {
    const pool = this.requests.pool[task] as number;
    this.requests.state[task] = TaskState.queued;
    let before = this.queues.last(pool);
    while (before !== NONE && this.rules.isBefore(task, before)) before = this.queues.previous(before);
    if (before !== this.queues.last(pool)) this.backlog.changed(pool);
    this.queues.insertAfter(pool, before, task);
    this.touched[pool] = 1;
  }

  /** Out of a queue other than into a batch. */
  private leave(pool: number, task: number): void {
    if (this.requests.late[task] === 1) {
      this.background.remove(pool, task);
      return;
    }
    this.queues.remove(pool, task);
    this.backlog.changed(pool);
  }

  /** Where its pipeline is broken and another is not, a task begins again there: the driver still has the request's inputs. */
  private enqueueOrReroute(at: number, task: number): void {
    if (!this.pipelines.isUp(this.requests.pool[task] as number)) {
      this.pipelines.left(this.requests.entry[task] as number);
      const model = this.requests.model[this.requests.request[task] as number] as number;
      const entry = this.pipelines.choose(model, this.rules.latestEnd(task), at);
      this.pipelines.entered(entry);
      if (this.pipelines.isUp(entry)) {
        this.requests.entry[task] = entry;
        this.requests.pool[task] = entry;
        this.requests.queuedAt[task] = at;
      } else {
        this.pipelines.left(entry);
        this.pipelines.entered(this.requests.entry[task] as number);
      }
    }
    this.enqueue(task);
  }

  private rerouteQueued(at: number, pool: number): void {
    for (let behind = this.pipelines.entryOf[pool] as number; behind <= pool; behind++) {
      for (let task = this.background.first(behind); task !== NONE; task = this.background.first(behind)) {
        this.leave(behind, task);
        this.queues.push(behind, task);
      }
      for (let left = this.queues.size(behind); left > 0; left--) {
        const task = this.queues.first(behind);
        this.leave(behind, task);
        this.enqueueOrReroute(at, task);
      }
    }
  }

  private freeDevice(batch: number): void {
    this.devices.ended(batch, this.batches.device(batch));
    this.changed(this.batches.pool(batch));
  }

  /** Its devices have changed: it is to be looked at again. */
  private changed(pool: number): void {
    this.touched[pool] = 1;
    this.backlog.changed(pool);
  }

  protected requeue(at: number, task: number): void {
    this.enqueueOrReroute(at, task);
  }

  protected leaveQueue(task: number): void {
    this.leave(this.requests.pool[task] as number, task);
  }

  protected override taskEnds(task: number): void {
    const entry = this.requests.entry[task] as number;
    if (entry !== NONE) this.pipelines.left(entry);
  }

  protected override judged(request: number, inTime: boolean): void {
    if (this.requests.missed[request] === 0)
      this.background.observe(this.requests.model[request] as number, !inTime);
  }
}
