import { grownColumn, NONE as SHARED_NONE } from '../collections/index.js';
import {
  type Answer,
  brokenPromise,
  type Decisions,
  type ServingCore,
  Decision as SharedDecision,
  type Topology,
  unreachable,
} from '../serving/index.js';
import type { Arrivals } from '../workload/index.js';
import { VirtualDevices } from './devices.js';
import { EventQueue } from './events.js';
import { type SimulatedEngine, VirtualIngress } from './ingress.js';
import { VirtualLinks } from './links.js';
import { outcomeOf, OutcomeCode as SharedOutcomeCode, type SimulationObserver } from './observer.js';
import { OpenRequests } from './open-requests.js';
import { PlannedSteps } from './planned-steps.js';
import { refuseModel, refuseTime, refuseWakeUp } from './refusals.js';
import { StandbyDevices } from './standby.js';
import { type RowsOf, type VerdictOf, Verdicts, type WeightOf } from './verdicts.js';
import { Watchers } from './watchers.js';

const NONE = SHARED_NONE;
const Decision = SharedDecision;
const OutcomeCode = SharedOutcomeCode;

const NEVER = Number.POSITIVE_INFINITY;
/** How many instants `advance` simulates. */
const INSTANTS = 256;

/** Kind numbers the kinds of events in the order in which those of one instant are reported. */
const Kind = {
  transferEnds: 0,
  executionEnds: 1,
  deviceComesUp: 2,
  /** The results of an engine have come back to its ingress. */
  hopEnds: 3,
} as const;
type Kind = (typeof Kind)[keyof typeof Kind];

/** Driven holds the parts of a VirtualDriver (SimulatorOptions). */
export interface Driven {
  topology: Topology;
  decisions: Decisions;
  core: ServingCore;
  arrivals: Arrivals;
  observers: readonly SimulationObserver[];
  execution: ((pool: number, size: number, plannedNs: number, device: number) => number) | undefined;
  verdict: VerdictOf | undefined;
  rows: RowsOf | undefined;
  weight: WeightOf | undefined;
  activationDelayNs: number;
  servedUntilNs: () => number;
  engine: SimulatedEngine | undefined;
}

/** SimulationSummary counts the requests of a run by their outcomes. */
export interface SimulationSummary {
  /** `requests` counts the requests that came; each has one of the four outcomes. */
  requests: number;
  inTime: number;
  late: number;
  dropped: number;
  failed: number;
  /**
   * `endNs` is when the last step or request ended, the last device was retired, or devices were kept no longer. Later wake-ups
   * count for nothing.
   */
  endNs: number;
  /** `usedNs` is how long each device was in use: from the beginning or its activation until it was on standby again. */
  usedNs: Float64Array;
}

// The error is made outside of the loop, as in refusals.ts.
function refuseExecution(tookNs: number, pool: number, size: number): never {
  throw new RangeError(`Cannot simulate an execution of ${tookNs} ns: pool ${pool} with a batch of ${size}`);
}

/** asSeen gives an outcome as a client of an engine sees it, who waits for the ingress and for the way back too. */
function asSeen(outcome: SharedOutcomeCode, isInTime: boolean): SharedOutcomeCode {
  if (outcome !== OutcomeCode.inTime && outcome !== OutcomeCode.late) return outcome;
  return isInTime ? OutcomeCode.inTime : OutcomeCode.late;
}

/**
 * VirtualDriver drives a core in virtual time.
 *
 * Devices that are in use from the beginning are reported up first of all. Within an instant, events are reported in the order of
 * their kinds: transfers that end, executions that end (each followed by the start of the batch that waited for that link or
 * device), devices that come up, and results that are back at an engine's ingress; then the timer, and then arrivals. Among
 * equals, the first scheduled is the first reported.
 * Then the core decides, all decisions are carried out in their order, and the core is told which batches
 * began by that. Where this makes more steps end at the same instant (steps of no length), these are reported
 * and the core decides again, until the instant is quiet.
 */
export class VirtualDriver {
  private readonly topology: Topology;
  private readonly core: ServingCore;
  private readonly decisions: Decisions;
  private readonly arrivals: Arrivals;
  private readonly execution: Driven['execution'];
  private readonly verdicts: Verdicts | undefined;
  private readonly rows: Driven['rows'];
  private readonly weight: Driven['weight'];
  private readonly standby: StandbyDevices;
  private readonly servedUntilNs: Driven['servedUntilNs'];
  private readonly events = new EventQueue();
  private readonly devices: VirtualDevices;
  private readonly links: VirtualLinks;
  private readonly requests = new OpenRequests();
  private readonly watchers: Watchers;
  /** `dueAt` is when the core wants to hear `due`. */
  private dueAt = NEVER;
  private nextArrivalAt = NEVER;
  /** `cameAt` is when the request that arrives next came to the engine: at the same time, where none is simulated. */
  private cameAt = 0;
  private readonly ingress: VirtualIngress | undefined;
  private now = 0;
  /** `lastAt` is when something last happened: a core may ask to be woken once more after all is over. */
  private lastAt = 0;
  /**
   * `begun` holds the batches that began while decisions were carried out, and that the core has yet to hear
   * of.
   */
  private begun = new Int32Array(16);
  private begunCount = 0;
  private readonly sloNs: Float64Array;
  private readonly steps: PlannedSteps;
  private readonly outcomes = new Float64Array(4);

  constructor(driven: Driven) {
    this.topology = driven.topology;
    this.core = driven.core;
    this.decisions = driven.decisions;
    this.arrivals = driven.arrivals;
    this.execution = driven.execution;
    this.rows = driven.rows;
    this.weight = driven.weight;
    this.servedUntilNs = driven.servedUntilNs;
    this.ingress = driven.engine && new VirtualIngress(driven.engine);
    this.verdicts = driven.verdict && new Verdicts(driven.topology.pools, driven.verdict);
    this.devices = new VirtualDevices(driven.topology.devices.length);
    this.links = new VirtualLinks(driven.topology.links);
    this.watchers = new Watchers(driven.observers);
    this.standby = new StandbyDevices(driven.topology.devices, driven.activationDelayNs, this.watchers);
    this.sloNs = Float64Array.from(driven.topology.models, (model) => model.sloNs);
    this.steps = new PlannedSteps(driven.topology);
  }

  run(): SimulationSummary {
    const { core, topology, requests } = this;
    this.watchers.begun({
      topology,
      core,
      requestOf: (task) => core.requestOf(task),
      arrivedAt: (request) => requests.arrivedAt(request),
    });
    for (let device = 0; device < topology.devices.length; device++)
      if (this.standby.isInUse(device)) core.deviceUp(0, device);
    this.pullArrival();
    let at = 0;
    while (at !== NEVER) at = this.advance(at);
    return this.summary();
  }

  /**
   * advance simulates some instants from the given one on. A loop that is left and entered again is compiled as a whole
   * function, which runs faster than what an endless loop is replaced by while it runs.
   * @returns the next instant, Infinity at the end
   */
  private advance(from: number): number {
    const { events } = this;
    let at = from;
    for (let i = 0; i < INSTANTS && at !== NEVER; i++) {
      this.now = at;
      if (events.nextAt === at) this.tellEnds();
      if (this.dueAt === at) this.tellTimer();
      if (this.nextArrivalAt === at) this.tellArrivals();
      this.settle();
      // A core may ask to be woken for ever; when all requests have come and ended, nobody is there to be served.
      const isOver = this.nextArrivalAt === NEVER && this.requests.open === 0;
      const untilNs = isOver ? this.servedUntilNs() : NEVER;
      if (isOver) this.forgetActivations(untilNs);
      at = events.nextAt;
      if (this.dueAt < at && this.dueAt <= untilNs) at = this.dueAt;
      if (this.nextArrivalAt < at) at = this.nextArrivalAt;
    }
    return at;
  }

  /** forgetActivations takes out the devices that are next to come up, after that instant. */
  private forgetActivations(untilNs: number): void {
    const { events } = this;
    while (events.nextAt !== NEVER && events.nextAt > untilNs && events.nextPriority === Kind.deviceComesUp)
      events.take();
  }

  private summary(): SimulationSummary {
    const { open, count } = this.requests;
    if (open !== 0 || this.core.pending !== 0)
      throw brokenPromise(`${open} requests have no outcome at the end`);
    const [inTime, late, dropped, failed] = this.outcomes as unknown as [number, number, number, number];
    const endNs = Math.max(this.lastAt, this.servedUntilNs());
    return { requests: count, inTime, late, dropped, failed, endNs, usedNs: this.standby.usedUntil(endNs) };
  }

  private pullArrival(): void {
    if (!this.arrivals.next()) {
      this.nextArrivalAt = NEVER;
      return;
    }
    const { atNs, model } = this.arrivals;
    if (!(atNs >= this.cameAt && Number.isSafeInteger(atNs))) refuseTime(atNs, this.cameAt);
    if (!(model >= 0 && model < this.sloNs.length)) refuseModel(model);
    this.cameAt = atNs;
    this.nextArrivalAt = this.ingress === undefined ? atNs : this.ingress.pass(atNs);
  }

  private tellArrivals(): void {
    while (this.nextArrivalAt === this.now) {
      const { model } = this.arrivals;
      const rows = this.rows === undefined ? 1 : this.rows(this.requests.count, model);
      const weight = this.weight === undefined ? 1 : this.weight(this.requests.count, model);
      const fromNs = this.ingress === undefined ? this.now : this.ingress.begunNs;
      const deadlineNs = fromNs + (this.sloNs[model] as number);
      const request = this.core.arrived(this.now, model, deadlineNs, rows, weight);
      this.requests.add(request, this.cameAt, model);
      this.watchers.arrived(this.cameAt, model, request);
      this.pullArrival();
    }
  }

  private tellTimer(): void {
    this.dueAt = NEVER;
    this.core.due(this.now);
  }

  private tellEnds(): void {
    const { events, now } = this;
    this.lastAt = now;
    while (events.nextAt === now) {
      const kind = events.nextPriority as Kind;
      const subject = events.take();
      switch (kind) {
        case Kind.transferEnds:
          this.endTransfer(subject);
          break;
        case Kind.executionEnds:
          this.endExecution(subject);
          break;
        case Kind.deviceComesUp:
          if (this.standby.comesUp(now, subject)) this.core.deviceUp(now, subject);
          break;
        case Kind.hopEnds:
          this.core.transferred(now, subject, this.links.startedAt[subject] as number, now);
          break;
        default:
          unreachable(kind);
      }
    }
  }

  /** settle lets the core decide and carries out its decisions until nothing more happens at this instant. */
  private settle(): void {
    for (;;) {
      this.core.decide(this.now);
      if (this.decisions.count > 0) this.carryOut();
      for (let i = 0; i < this.begunCount; i++) this.core.started(this.now, this.begun[i] as number);
      this.begunCount = 0;
      if (this.events.nextAt !== this.now) return;
      this.tellEnds();
    }
  }

  private carryOut(): void {
    const { decisions } = this;
    for (let i = 0; i < decisions.count; i++) {
      // The rows hold doubles. The numbers of batches, devices and requests go on as integers.
      const a = decisions.a(i);
      const kind = decisions.kind(i);
      switch (kind) {
        case Decision.execute:
          this.hand(a | 0, decisions.b(i) | 0);
          break;
        case Decision.transfer:
          this.send(a | 0, decisions.b(i) | 0, decisions.c(i) | 0);
          break;
        case Decision.answer:
          this.end(a | 0, outcomeOf((decisions.b(i) | 0) as Answer), NONE, NONE);
          break;
        case Decision.drop:
          this.end(a | 0, OutcomeCode.dropped, decisions.b(i) | 0, decisions.c(i) | 0);
          break;
        case Decision.wakeAt:
          this.wakeAt(a);
          break;
        case Decision.activate:
          this.events.schedule(this.standby.activate(this.now, a | 0), Kind.deviceComesUp, a | 0);
          break;
        case Decision.shift:
          this.watchers.shifted(this.now, a | 0);
          break;
        case Decision.collect:
          break;
        case Decision.load:
        case Decision.evict:
        case Decision.fetch:
        case Decision.spill:
          throw brokenPromise('a core that serves no workflows loads, evicts or fetches');
        case Decision.retire:
          this.lastAt = this.now;
          this.devices.takeBack(a | 0);
          this.standby.retire(this.now, a | 0, this.devices.running[a | 0] !== NONE);
          break;
        default:
          unreachable(kind);
      }
    }
    decisions.clear();
  }

  private wakeAt(at: number): void {
    if (!(at > this.now)) refuseWakeUp(at, this.now);
    this.dueAt = at;
  }

  private hand(batch: number, device: number): void {
    if (!this.devices.hand(this.now, batch, device)) return;
    if (this.begunCount === this.begun.length) this.begun = grownColumn(this.begun, 2 * this.begunCount);
    this.begun[this.begunCount++] = this.begin(device);
  }

  private begin(device: number): number {
    const { core, devices, now } = this;
    const batch = devices.begin(now, device);
    const pool = core.batchPool(batch);
    const size = core.batchSize(batch);
    const plannedNs = this.steps.executionNs(pool, size, device);
    const tookNs =
      this.execution === undefined ? plannedNs : Math.round(this.execution(pool, size, plannedNs, device));
    if (!(tookNs >= 0)) refuseExecution(tookNs, pool, size);
    this.events.schedule(now + tookNs, Kind.executionEnds, device);
    this.watchers.started(batch, pool, device, size, devices.handedAt[batch] as number, now);
    return batch;
  }

  private endExecution(device: number): void {
    const { core, devices, now } = this;
    const batch = devices.end(device);
    const startedAt = devices.startedAt[batch] as number;
    this.watchers.executed(
      batch,
      core.batchPool(batch),
      device,
      core.batchSize(batch),
      devices.handedAt[batch] as number,
      startedAt,
      now,
    );
    if (this.verdicts?.isAsked(core.batchPool(batch)) === true)
      core.executed(now, batch, startedAt, now, this.verdicts.of(batch, core, this.requests));
    else core.executed(now, batch, startedAt, now);
    this.standby.ended(now, device);
    if (devices.waiting(device) !== NONE) core.started(now, this.begin(device));
  }

  private send(batch: number, from: number, to: number): void {
    const { core, links, now } = this;
    const takesNs = this.steps.transferNs(
      core.batchPool(batch),
      core.batchEdge(batch),
      core.batchSize(batch),
    );
    links.hand(now, batch, from, to, takesNs);
    this.moveIfNext(batch);
  }

  private moveIfNext(batch: number): void {
    if (batch === NONE || !this.links.isNext(batch)) return;
    this.links.begin(this.now, batch);
    this.events.schedule(this.now + (this.links.takesNs[batch] as number), Kind.transferEnds, batch);
  }

  private endTransfer(batch: number): void {
    const { core, links, now } = this;
    const startedAt = links.startedAt[batch] as number;
    this.watchers.transferred(
      batch,
      core.batchPool(batch),
      links.from[batch] as number,
      links.to[batch] as number,
      core.batchSize(batch),
      links.handedAt[batch] as number,
      startedAt,
      now,
    );
    links.end(batch);
    // An engine's results come back to its ingress, which calls the next stage.
    const hopsNs = this.ingress === undefined ? 0 : this.ingress.hopsNs();
    if (hopsNs === 0) core.transferred(now, batch, startedAt, now);
    else this.events.schedule(now + hopsNs, Kind.hopEnds, batch);
    this.moveIfNext(links.nextOnUplink(batch));
    this.moveIfNext(links.nextOnDownlink(batch));
  }

  private end(request: number, asDecided: SharedOutcomeCode, reason: number, pool: number): void {
    const { requests, now } = this;
    this.lastAt = now;
    requests.end(request);
    const cameNs = requests.arrivedAt(request);
    const model = requests.modelOf(request);
    const endNs = this.ingress === undefined ? now : now + this.ingress.hopNs;
    const outcome =
      this.ingress === undefined
        ? asDecided
        : asSeen(asDecided, endNs - cameNs <= (this.sloNs[model] as number));
    this.outcomes[outcome]! += 1;
    this.watchers.ended(endNs, model, request, cameNs, outcome, reason, pool);
  }
}
