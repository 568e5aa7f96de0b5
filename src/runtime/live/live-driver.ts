import type { Tensors } from '../../execution/index.js';
import {
  type Answer,
  brokenPromise,
  Decision,
  Decisions,
  DROP_REASONS,
  type LogEntry,
  recorded,
  type ServingCore,
  unreachable,
} from '../../serving/index.js';
import type { OpenedBundle } from '../bundle/opened-bundle.js';
import { StackMemory } from '../tensors/rows.js';
import { RowInFlight } from '../tensors/rows-in-flight.js';
import { feedsOf, keepOutputs } from '../tensors/tensors-of-rows.js';
import { CoreTurns, type TurnsClock } from './core-turns.js';
import { Drops } from './drops.js';
import type { LiveDevice } from './live-device.js';
import type { Arrival, BatchRecord, Done, Ticket } from './live-requests.js';
import type { BatchPhases } from './request-times.js';
import { type Handed, type RequestInFlight, RequestsInFlight } from './requests-in-flight.js';
import { toldOf } from './told-of.js';

/**
 * DriverObserver hears of every batch that ended, and of every batch that failed or was lost with its device; of the devices that
 * the core activates and retires; and of the gear that becomes active.
 */
export interface DriverObserver {
  batch(record: BatchRecord): void;
  failure(pool: number, device: number, why: string): void;
  activated(device: number): void;
  retired(device: number): void;
  shifted(gear: number): void;
}

/** DriverParts holds the parts of a driver besides the bundle and its devices. */
export interface DriverParts {
  readonly makeCore: (decisions: Decisions) => ServingCore;
  readonly observer: DriverObserver;
  /** The function that gets the core's events and decisions, so that they can be replayed. */
  readonly log?: ((entry: LogEntry) => void) | undefined;
  /** The time; by default that of the machine. */
  readonly clock?: TurnsClock | undefined;
}

interface Running extends Handed {
  readonly pool: number;
  readonly from: number;
  readonly generation: number;
}

/** Ran is a batch that was executed: the verdicts on its rows, none where its stage gives none, and its phases. */
interface Ran {
  readonly verdicts: readonly number[];
  readonly phases: BatchPhases;
}

/**
 * LiveDriver drives the serving core in real time and carries out its decisions: it stacks rows into batches,
 * runs them, keeps each row's tensors between partitions or stages, and answers. All arrivals of one turn of the event
 * loop are one instant for the core.
 */
export class LiveDriver {
  private readonly decisions = new Decisions();
  private readonly observer: DriverObserver;
  private readonly core: ServingCore;
  private readonly drops: Drops;
  private readonly turns: CoreTurns;
  private readonly requests: RequestsInFlight;
  private readonly stackMemory: StackMemory[];
  private readonly running = new Map<number, Running>();
  /** The devices that go on standby when they have ended their batches. */
  private readonly retired = new Set<number>();
  /** The batches that were handed to each device while it was busy, in the order in which it runs them. */
  private readonly waiting: Handed[][];
  /**
   * Batches that were started or moved while decisions were carried out. The core is told of them afterwards.
   */
  private begun: Running[] = [];
  private moved: number[] = [];
  private idle: (() => void) | undefined;
  private isStopped = false;
  requestCount = 0;

  constructor(
    private readonly bundle: Pick<OpenedBundle, 'topology' | 'models' | 'work'>,
    private readonly devices: readonly Pick<LiveDevice, 'generation' | 'run' | 'activate' | 'close'>[],
    { makeCore, observer, log, clock }: DriverParts,
  ) {
    this.observer = observer;
    this.stackMemory = devices.map(() => new StackMemory());
    this.waiting = devices.map(() => []);
    const bare = makeCore(this.decisions);
    const core = log === undefined ? bare : recorded(bare, this.decisions, log);
    const { topology, models } = bundle;
    const drops = new Drops(topology);
    this.core = core;
    this.drops = drops;
    this.requests = new RequestsInFlight({ core, models, drops, now: () => this.now() });
    this.turns = new CoreTurns({
      core,
      decisions: this.decisions,
      clock,
      carryOut: (i) => this.carryOut(i),
      tellWhatFollowed: () => this.tellWhatFollowed(),
      decided: () => {
        if (this.idle !== undefined && this.pending === 0 && this.running.size === 0) this.idle();
      },
    });
  }

  /** pending counts the requests without an outcome. */
  get pending(): number {
    return this.core.pending;
  }

  /** now gives the nanoseconds since the driver was made. */
  now(): number {
    return this.turns.now();
  }

  /** The time that the core has taken to decide, and how often it was asked to. */
  get decideUs(): number {
    return this.turns.decideUs;
  }

  get decideCalls(): number {
    return this.turns.decideCalls;
  }

  /**
   * submit takes a request in. The core decides on it at the latest at the end of this turn of the event loop.
   * @param rows the inputs of each row
   * @param done is not called where the request is cancelled
   */
  submit(
    { at, wholeNs = at, model, deadlineNs, weight }: Arrival,
    rows: readonly Tensors[],
    done: Done,
  ): Ticket {
    const request = this.core.arrived(at, model, deadlineNs, rows.length, weight);
    const { inputs: specs, inputKeys } = this.bundle.models[model]!;
    const inFlight = rows.map((inputs) => new RowInFlight(inputs, specs, inputKeys));
    const readNs = this.now();
    const entry = this.requests.add(request, { rows: inFlight, model, done, cameNs: wholeNs, readNs });
    this.requestCount += 1;
    this.turns.decideSoon();
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
  turnAway(model: number, done: Done): void {
    const at = this.now();
    const request = this.core.turnedAway(at, model);
    this.requests.add(request, { rows: [], model, done, cameNs: undefined, readNs: at });
    this.requestCount += 1;
    this.turns.decideSoon();
  }

  /** deviceUp reports that a device takes batches from now on. */
  deviceUp(device: number): void {
    this.drops.device(device, true);
    this.core.deviceUp(this.now(), device);
    this.turns.decideSoon();
  }

  /** deviceDown reports that a device has ended. The batch that ran on it is lost, and the core tries its tasks again. */
  deviceDown(device: number): void {
    this.drops.device(device, false);
    const lost = this.running.get(device);
    if (lost !== undefined) this.batchLost(lost, device, 'its device went down');
    // The core knows which batches waited there, and their tasks have not left their queues.
    this.waiting[device]!.length = 0;
    // A device that was retired is not to be started again.
    if (this.retired.delete(device)) void this.devices[device]!.close();
    this.core.deviceDown(this.now(), device);
    this.turns.decideSoon();
  }

  /**
   * drain stops taking requests in. It resolves when every request has its outcome and no batch is running.
   */
  drain(): Promise<void> {
    this.core.drain(this.now());
    this.turns.decideSoon();
    return new Promise((resolve) => {
      this.idle = resolve;
    });
  }

  private cancel(request: number, entry: RequestInFlight): boolean {
    if (this.requests.get(request) !== entry || !this.core.cancelled(this.now(), request)) return false;
    this.requests.remove(request);
    this.turns.decideSoon();
    return true;
  }

  private carryOut(i: number): void {
    const a = this.decisions.a(i);
    const b = this.decisions.b(i);
    const kind = this.decisions.kind(i);
    switch (kind) {
      case Decision.execute:
        if (this.running.has(b)) this.waiting[b]!.push(this.requests.handed(a));
        else this.begun.push(this.execute(this.requests.handed(a), b));
        return;
      case Decision.transfer:
        // All tensors are in one process, so nothing has to be moved.
        this.moved.push(a);
        return;
      case Decision.answer:
        this.requests.answer(a, b as Answer);
        return;
      case Decision.drop:
        this.requests.drop(a, DROP_REASONS[b]!, this.decisions.c(i));
        return;
      case Decision.wakeAt:
        this.turns.wakeAt(a);
        return;
      case Decision.activate:
        this.observer.activated(a);
        if (!this.isStopped) this.devices[a]!.activate();
        return;
      case Decision.retire:
        this.retire(a);
        return;
      case Decision.shift:
        // Devices keep the models of all gears, so that another gear changes nothing on them.
        this.observer.shifted(a);
        return;
      case Decision.collect:
        return;
      case Decision.load:
      case Decision.evict:
      case Decision.fetch:
      case Decision.spill:
        throw brokenPromise('a core that serves no workflows loads, evicts or fetches');
      default:
        unreachable(kind);
    }
  }

  /** retire puts a device on standby, once it has ended its batch. */
  private retire(device: number): void {
    this.observer.retired(device);
    this.drops.device(device, false);
    // The core has queued again what the device was handed and has not begun.
    this.waiting[device]!.length = 0;
    if (this.running.has(device)) this.retired.add(device);
    else void this.devices[device]!.close();
  }

  private execute(handed: Handed, device: number): Running {
    const pool = this.core.batchPool(handed.batch);
    const target = this.devices[device]!;
    const running = { ...handed, pool, from: this.now(), generation: target.generation };
    this.running.set(device, running);
    this.run(running, device).then(
      (ran) => this.executed(device, running, ran),
      (error: unknown) => this.refused(device, running, error),
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
   * run stacks rows, runs the batch, and splits the outputs among the rows. It is async as a whole, so that an error of
   * stacking is treated like one of the run.
   */
  private async run({ rows, pool, from }: Running, device: number): Promise<Ran> {
    const work = this.bundle.work[pool]!;
    const feeds = feedsOf(rows, work, this.stackMemory[device]!);
    const stackedNs = this.now();
    const { outputs, startedNs, endedNs } = await this.devices[device]!.run(pool, feeds);
    const cameNs = this.now();
    const verdicts = keepOutputs(rows, work, outputs);
    // The executor reads the clock that this driver reads.
    const [inferFromNs, inferToNs] = [this.turns.at(startedNs), this.turns.at(endedNs)];
    return {
      verdicts,
      phases: { fromNs: from, stackedNs, inferFromNs, inferToNs, cameNs, toNs: this.now() },
    };
  }

  private executed(device: number, running: Running, { verdicts, phases }: Ran): void {
    if (this.running.get(device) !== running) return;
    this.running.delete(device);
    const at = this.now();
    const { pool, rows, requests, batch, from } = running;
    this.observer.batch({ pool, device, size: rows.length, phases, busyUs: (at - from) / 1e3 });
    const { carried } = this.bundle.work[pool]!;
    for (const row of rows) row.keepOnly(carried);
    for (const request of requests) request.batches.push(phases);
    this.core.executed(at, batch, from, at, verdicts);
    this.free(device);
    // Each end is an instant of its own, which is told as a whole: so the core decides now, as in a simulation.
    this.turns.decideNow();
  }

  /** free lets a device that has ended a batch go on with the next one, or go on standby. */
  private free(device: number): void {
    if (this.retired.delete(device)) void this.devices[device]!.close();
    else this.beginNext(device);
  }

  /**
   * refused handles a run that failed. It waits until this turn of the event loop is over: if the executor
   * ended, the end of the device has been told by then and covers the batch.
   */
  private refused(device: number, running: Running, error: unknown): void {
    setImmediate(() => {
      if (this.running.get(device) !== running) return;
      if (this.devices[device]!.generation !== running.generation) return;
      const { pool, rows, batch, from } = running;
      this.observer.batch({ pool, device, size: rows.length, busyUs: (this.now() - from) / 1e3 });
      this.batchLost(running, device, toldOf(error));
      this.core.failed(this.now(), batch);
      this.free(device);
      this.turns.decideSoon();
    });
  }

  private batchLost({ pool, requests }: Running, device: number, why: string): void {
    this.running.delete(device);
    this.observer.failure(pool, device, why);
    for (const request of requests) request.lastFailure = why;
  }

  /**
   * tellWhatFollowed tells the core what began and moved. It comes after all decisions are carried out,
   * because the core may use their numbers again once it is told.
   */
  private tellWhatFollowed(): boolean {
    for (const { from, batch } of this.begun) this.core.started(from, batch);
    this.begun = [];
    const at = this.now();
    const { moved } = this;
    this.moved = [];
    for (const batch of moved) this.core.transferred(at, batch, at, at);
    return moved.length > 0;
  }

  /**
   * abandon ends every open request as dropped because the server closes, in the queue of the pool whose device has it
   * if one does. It gives how many these were.
   */
  abandon(): number {
    const heldIn = new Map<RequestInFlight, number>();
    for (const { pool, requests } of this.running.values())
      for (const request of requests) heldIn.set(request, pool);
    return this.requests.abandon(heldIn);
  }

  /**
   * stop ends what was planned for later, so that this driver no longer keeps the process alive. A request that comes all
   * the same is still told that the server is closing.
   */
  stop(): void {
    this.isStopped = true;
    this.turns.stop();
  }
}
