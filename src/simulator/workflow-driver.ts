import { NONE as SHARED_NONE } from '../collections/index.js';
import { counted, fault, InputError } from '../formats/index.js';
import {
  type Answer,
  brokenPromise,
  type Decisions,
  type GuessCounts,
  Decision as SharedDecision,
  type Topology,
  unreachable,
  type WorkflowCore,
  type WorkflowTable,
} from '../serving/index.js';
import type { Arrivals } from '../workload/index.js';
import { EventQueue } from './events.js';
import { outcomeOf, OutcomeCode as SharedOutcomeCode, type SimulationObserver } from './observer.js';
import { OpenRequests } from './open-requests.js';
import type { RecordedRun } from './programs.js';
import { refuseModel, refuseTime, refuseWakeUp } from './refusals.js';
import { Watchers } from './watchers.js';
import { WorkflowDevices } from './workflow-devices.js';
import { WorkflowEvent as SharedWorkflowEvent } from './workflow-events.js';
import { WorkflowLinks } from './workflow-links.js';
import { WorkflowPrograms } from './workflow-programs.js';

const NONE = SHARED_NONE;
const Decision = SharedDecision;
const OutcomeCode = SharedOutcomeCode;
const WorkflowEvent = SharedWorkflowEvent;

const NEVER = Number.POSITIVE_INFINITY;
/**
 * Requests are taken to wait for ever where the core was woken so often, and for so long, while nothing else happened
 * and nothing else is to come.
 */
const MOST_IDLE_WAKES = 100;
const LONGEST_IDLE_NS = 3600e9;
const NO_GUESSES: GuessCounts = { made: 0, right: 0, rightComponents: 0 };

/**
 * Trouble is what may go wrong in a run: a device goes down, and with it what it executes, loads and holds, or comes up, empty; the
 * client of the request with an order leaves; or no further request is taken in.
 */
export type Trouble =
  | { readonly kind: 'down' | 'up'; readonly atNs: number; readonly device: number }
  | { readonly kind: 'leaves'; readonly atNs: number; readonly order: number }
  | { readonly kind: 'drains'; readonly atNs: number };

/** DrivenWorkflows holds the parts of a WorkflowDriver. */
export interface DrivenWorkflows {
  readonly topology: Topology;
  readonly table: WorkflowTable;
  readonly decisions: Decisions;
  readonly core: WorkflowCore;
  readonly arrivals: Arrivals;
  /** runOf gives what the program of a request does. `order` is the number of requests that came before it. */
  readonly runOf: (order: number, application: number) => RecordedRun;
  readonly observers: readonly SimulationObserver[];
  /** The troubles of the run: none where absent. */
  readonly troubles?: readonly Trouble[];
  /** fails returns whether a batch that has been executed gave no results. */
  readonly fails?: (batch: number) => boolean;
  /** failsToLoad returns whether a device holds nothing of a load that has come to its end. */
  readonly failsToLoad?: (device: number, pool: number) => boolean;
  /** loses returns whether an output that moves to the front is lost on the way. */
  readonly loses?: (task: number) => boolean;
}

/** WorkflowSummary counts the requests of a run by their outcomes, and what devices did. */
export interface WorkflowSummary {
  requests: number;
  inTime: number;
  late: number;
  dropped: number;
  failed: number;
  /** Requests whose clients left before they had their outcomes. */
  left: number;
  endNs: number;
  loads: number;
  evictions: number;
  fetches: number;
  /**
   * The calls that programs were expected to make next, those that they made, and the schedules that were
   * looked at: 0 where the core does neither.
   */
  guesses: GuessCounts;
  schedulesLookedAt: number;
}

/**
 * WorkflowDriver drives a core of dynamic workflows in virtual time: it replays recorded programs, and lets devices
 * execute, load and fetch, as WorkflowPrograms, WorkflowDevices and WorkflowLinks say.
 *
 * Within an instant the core hears of what ends first, in the order of WorkflowEvent, then of the timer, then of arrivals.
 * Then it decides, all decisions are carried out in their order, and it hears which batches began by that; where this
 * makes more end at the same instant, it hears of that and decides again.
 */
export class WorkflowDriver {
  private readonly events = new EventQueue();
  private readonly requests = new OpenRequests();
  private readonly watchers: Watchers;
  private readonly programs: WorkflowPrograms;
  private readonly devices: WorkflowDevices;
  private readonly links: WorkflowLinks;
  /** The requests by the order in which they came, NONE where they have their outcomes, where troubles may name them. */
  private readonly inOrder: number[] = [];
  /** The batches that began while decisions were carried out, of which the core is told after that. */
  private readonly begun: number[] = [];
  /** The outputs that did not come to the front. */
  private readonly lost: number[] = [];
  private readonly outcomes = new Float64Array(4);
  private left = 0;
  private evictions = 0;
  /** The first decisions are made at 0, whether or not anything has come by then. */
  private firstAt = 0;
  private nextArrivalAt = NEVER;
  private dueAt = NEVER;
  /** How often the core was woken since something else happened, with nothing else to come. */
  private idleWakes = 0;
  private now = 0;
  private lastAt = 0;

  constructor(private readonly driven: DrivenWorkflows) {
    const { topology, table, core, observers } = driven;
    const { events } = this;
    this.watchers = new Watchers(observers);
    this.links = new WorkflowLinks(table, events);
    this.programs = new WorkflowPrograms(core, events, this.links);
    this.devices = new WorkflowDevices({ topology, table, core, events, watchers: this.watchers });
  }

  run(): WorkflowSummary {
    this.open();
    while (this.nextAt !== NEVER) this.step();
    return this.summary();
  }

  /**
   * open lets all devices come up at 0. A caller of `open` takes the run's steps itself, for instance those
   * of several drivers side by side.
   */
  open(): void {
    const { core, topology, troubles = [] } = this.driven;
    this.watchers.begun({
      topology,
      core,
      requestOf: (task) => core.requestOf(task),
      arrivedAt: (request) => this.requests.arrivedAt(request),
    });
    for (let device = 0; device < topology.devices.length; device++) core.deviceUp(0, device);
    for (const [i, { atNs }] of troubles.entries()) this.events.schedule(atNs, WorkflowEvent.troubleComes, i);
    this.pullArrival();
  }

  /** nextAt is when something happens next, Infinity where nothing does any more. */
  get nextAt(): number {
    return Math.min(this.firstAt, this.events.nextAt, this.nextArrivalAt, this.dueAt);
  }

  /** step lets all happen that happens at the next instant at which anything does. */
  step(): void {
    const at = this.nextAt;
    this.firstAt = NEVER;
    this.now = at;
    this.tellEnds();
    if (this.dueAt === at) this.tellTimer();
    while (this.nextArrivalAt === at) this.tellArrival();
    this.settle();
  }

  /** summary counts what has become of the requests, each of which must have its outcome. */
  summary(): WorkflowSummary {
    const { open, count } = this.requests;
    const { guesses = NO_GUESSES, schedulesLookedAt = 0 } = this.driven.core;
    const { made, right, rightComponents } = guesses;
    if (open !== 0 || this.driven.core.pending !== 0)
      throw brokenPromise(`${open} requests have no outcome at the end`);
    const [inTime, late, dropped, failed] = this.outcomes as unknown as [number, number, number, number];
    const { left, evictions } = this;
    return {
      requests: count,
      inTime,
      late,
      dropped,
      failed,
      left,
      endNs: this.lastAt,
      loads: this.devices.loads,
      evictions,
      fetches: this.links.count,
      guesses: { made, right, rightComponents },
      schedulesLookedAt,
    };
  }

  /**
   * tellTimer wakes the core.
   * @throws InputError where requests have waited for long in which nothing else happened, and nothing else is to come
   */
  private tellTimer(): void {
    const isAlone = this.events.nextAt === NEVER && this.nextArrivalAt === NEVER;
    this.idleWakes = isAlone && this.now > this.lastAt ? this.idleWakes + 1 : 0;
    if (this.idleWakes > MOST_IDLE_WAKES && this.now - this.lastAt > LONGEST_IDLE_NS)
      throw this.waitedTooLong();
    this.dueAt = NEVER;
    this.driven.core.due(this.now);
  }

  private waitedTooLong(): InputError {
    const { open } = this.requests;
    const hours = Math.floor((this.now - this.lastAt) / LONGEST_IDLE_NS);
    return new InputError(
      'simulate the workflows',
      [
        fault(
          `${counted(open, 'request')} ${open === 1 ? 'waits' : 'wait'}: for ${counted(hours, 'hour')} nothing was executed, loaded or sent, and nothing more is to come; devices may lack room for a component and what is sent to it`,
        ),
      ],
      'Give the devices more memory or the workflows an SLO, or take another scheduler.',
    );
  }

  private tellArrival(): void {
    const { core, arrivals, topology, runOf } = this.driven;
    const { model } = arrivals;
    const run = runOf(this.requests.count, model);
    const request = core.arrived(this.now, model, this.now + (topology.models[model]?.sloNs as number), 1);
    this.requests.add(request, this.now, model);
    this.watchers.arrived(this.now, model, request);
    core.sized(this.now, request, run.requestBytes);
    if (this.driven.troubles !== undefined) this.inOrder.push(request);
    this.programs.begin(this.now, request, run);
    this.pullArrival();
  }

  private pullArrival(): void {
    const { arrivals, topology } = this.driven;
    if (!arrivals.next()) {
      this.nextArrivalAt = NEVER;
      return;
    }
    const { atNs, model } = arrivals;
    if (!(atNs >= this.now && Number.isSafeInteger(atNs))) refuseTime(atNs, this.now);
    if (!(model >= 0 && model < topology.models.length)) refuseModel(model);
    this.nextArrivalAt = atNs;
  }

  private tellEnds(): void {
    const { events, now } = this;
    while (events.nextAt === now) {
      this.lastAt = now;
      const kind = events.nextPriority as SharedWorkflowEvent;
      const subject = events.take();
      switch (kind) {
        case WorkflowEvent.fetchEnds:
          this.endFetch(subject);
          break;
        case WorkflowEvent.executionEnds:
          this.endExecution(subject);
          break;
        case WorkflowEvent.loadEnds:
          this.endLoad(subject);
          break;
        case WorkflowEvent.callIsMade:
          this.programs.due(now, subject);
          break;
        case WorkflowEvent.troubleComes:
          this.tellTrouble(this.driven.troubles?.[subject] as Trouble);
          break;
        default:
          unreachable(kind);
      }
    }
  }

  private tellTrouble(trouble: Trouble): void {
    const { core } = this.driven;
    switch (trouble.kind) {
      case 'down':
        this.devices.lose(trouble.device);
        this.links.lose(({ from, to }) => from === trouble.device || to === trouble.device);
        core.deviceDown(this.now, trouble.device);
        break;
      case 'up':
        core.deviceUp(this.now, trouble.device);
        break;
      case 'leaves': {
        const request = this.inOrder[trouble.order] ?? NONE;
        if (request === NONE || !core.cancelled(this.now, request)) break;
        this.left += 1;
        this.over(request);
        break;
      }
      case 'drains':
        core.drain(this.now);
        break;
    }
  }

  private endFetch(fetch: number): void {
    const output = this.links.arrived(this.now, fetch);
    if (output === undefined) return;
    this.driven.core.fetched(this.now, fetch);
    if (output.to === NONE) this.programs.read(this.now, output.task);
  }

  private endExecution(device: number): void {
    const { core, fails } = this.driven;
    const batch = this.devices.executed(this.now, device);
    if (batch === NONE) return;
    if (fails?.(batch) === true) {
      core.failed(this.now, batch);
      return;
    }
    const startedNs = this.devices.startedNs(device);
    const [pool, rows] = [core.batchPool(batch), core.batchRows(batch)];
    this.watchers.executed(batch, pool, device, rows, startedNs, startedNs, this.now);
    const tasks = Array.from({ length: core.batchSize(batch) }, (_, i) => core.batchTask(batch, i));
    const bytes = Float64Array.from(tasks, (task) => this.programs.bytesOf(task));
    core.executed(this.now, batch, startedNs, this.now, bytes);
    this.programs.executed(this.now, tasks);
  }

  private endLoad(device: number): void {
    const { core, failsToLoad } = this.driven;
    const pool = this.devices.loaded(this.now, device);
    if (pool === NONE) return;
    if (failsToLoad?.(device, pool) === true) {
      core.loadFailed(this.now, device, pool);
      return;
    }
    this.watchers.loaded(this.now, device, pool);
    core.loaded(this.now, device, pool);
  }

  private settle(): void {
    const { core, decisions } = this.driven;
    for (;;) {
      core.decide(this.now);
      if (decisions.count > 0) this.carryOut();
      for (const batch of this.begun) core.started(this.now, batch);
      this.begun.length = 0;
      const isLost = this.lost.length > 0;
      if (isLost) this.tellLost();
      if (this.events.nextAt === this.now) this.tellEnds();
      else if (!isLost) return;
    }
  }

  /** tellLost reports outputs that did not come to the front. */
  private tellLost(): void {
    for (const task of this.lost.splice(0)) this.programs.lost(this.now, task);
  }

  private carryOut(): void {
    const { decisions } = this.driven;
    for (let i = 0; i < decisions.count; i++) {
      const [a, b, c, d] = [decisions.a(i), decisions.b(i), decisions.c(i), decisions.d(i)];
      const kind = decisions.kind(i);
      switch (kind) {
        case Decision.execute:
          this.devices.execute(this.now, a, b);
          this.begun.push(a);
          break;
        case Decision.load:
          this.devices.load(this.now, a, { pool: b, fromDisk: c === 1 });
          break;
        case Decision.evict:
          this.evictions += 1;
          this.watchers.evicted(this.now, a, b);
          break;
        case Decision.fetch:
          this.links.send(this.now, a, { from: b, to: c, task: d, bytes: this.driven.core.outputBytes(d) });
          break;
        case Decision.spill:
          if (c === 1 && this.driven.loses?.(b) === true) this.lost.push(b);
          break;
        case Decision.answer:
          this.end(a, outcomeOf(b as Answer), NONE, NONE);
          break;
        case Decision.drop:
          this.end(a, OutcomeCode.dropped, b, c);
          break;
        case Decision.wakeAt:
          if (!(a > this.now)) refuseWakeUp(a, this.now);
          this.dueAt = a;
          break;
        case Decision.transfer:
        case Decision.activate:
        case Decision.retire:
        case Decision.shift:
        case Decision.collect:
          throw brokenPromise('a core of workflows transfers batches, activates devices or shifts gears');
        default:
          unreachable(kind);
      }
    }
    decisions.clear();
  }

  private end(request: number, outcome: SharedOutcomeCode, reason: number, pool: number): void {
    const [cameNs, model] = [this.requests.arrivedAt(request), this.requests.modelOf(request)];
    this.over(request);
    this.outcomes[outcome]! += 1;
    this.watchers.ended(this.now, model, request, cameNs, outcome, reason, pool);
  }

  /** over ends the program of a request that has its outcome. */
  private over(request: number): void {
    this.programs.over(request);
    this.lastAt = this.now;
    if (this.driven.troubles !== undefined) this.inOrder[this.requests.orderOf(request)] = NONE;
    this.requests.end(request);
  }
}
