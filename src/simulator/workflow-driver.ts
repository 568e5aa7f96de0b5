import { counted, fault, InputError } from '../artifacts/index.js';
import { NONE as SHARED_NONE, Slots } from '../collections/index.js';
import {
  type Answer,
  brokenPromise,
  type Decisions,
  type GuessCounts,
  passTimes,
  Decision as SharedDecision,
  type Topology,
  type WorkflowCore,
  type WorkflowTable,
} from '../serving/index.js';
import type { Arrivals } from '../workload/index.js';
import { EventQueue } from './events.js';
import { outcomeOf, OutcomeCode as SharedOutcomeCode, type SimulationObserver } from './observer.js';
import { OpenRequests } from './open-requests.js';
import { type RecordedRun, ReplayedProgram } from './programs.js';
import { Watchers } from './watchers.js';

const NONE = SHARED_NONE;
const Decision = SharedDecision;
const OutcomeCode = SharedOutcomeCode;

const NEVER = Number.POSITIVE_INFINITY;
/** Requests are taken to wait for ever where the core was woken so often, and for so long, while nothing else happened and nothing else is to come. */
const MOST_IDLE_WAKES = 100;
const LONGEST_IDLE_NS = 3600e9;
const NO_GUESSES: GuessCounts = { made: 0, right: 0, rightComponents: 0 };

/** Kind numbers the kinds of events by their priorities: what ends at an instant is told before what a program does then. */
const Kind = { fetchEnds: 0, executionEnds: 1, loadEnds: 2, callIsMade: 3, troubleComes: 4 } as const;
type Kind = (typeof Kind)[keyof typeof Kind];

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
  /** What goes wrong: nothing where it is absent. */
  readonly troubles?: readonly Trouble[];
  /** fails tells of a batch that has been executed whether it gave no results. */
  readonly fails?: (batch: number) => boolean;
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
  /** What programs were expected to do next, and did, and the schedules that were looked at: 0 where the core does neither. */
  guesses: GuessCounts;
  schedulesLookedAt: number;
}

interface Call {
  readonly program: ReplayedProgram;
  readonly call: number;
}

interface Going {
  readonly task: number;
  readonly from: number;
  readonly to: number;
}

/**
 * WorkflowDriver drives a core of dynamic workflows in virtual time: it replays recorded programs, and lets devices execute, load and
 * fetch.
 *
 * A device executes one batch and loads one component at a time. The disk of a server gives one component at a time. An output
 * between servers takes the sender's uplink and the receiver's downlink together, in the order in which it is sent; one between
 * devices of a server takes no link that others use. The front has a link for every output.
 */
export class WorkflowDriver {
  private readonly events = new EventQueue();
  private readonly requests = new OpenRequests();
  private readonly watchers: Watchers;
  private readonly programs: (ReplayedProgram | undefined)[] = [];
  private readonly calls: (Call | undefined)[] = [];
  private readonly callSlots = new Slots();
  private readonly fetches: ((Going & { readonly endNs: number }) | undefined)[] = [];
  /** The programs by the order in which their requests came, where troubles may name them. */
  private readonly inOrder: ReplayedProgram[] = [];
  private readonly placeOfTask = new Map<number, Call>();
  private readonly running: Int32Array;
  private readonly startedAt: Float64Array;
  private readonly endsAt: Float64Array;
  private readonly loading: Int32Array;
  private readonly loadedAt: Float64Array;
  private readonly uplinkFreeAt: Float64Array;
  private readonly downlinkFreeAt: Float64Array;
  private readonly diskFreeAt: Float64Array;
  private readonly outcomes = new Float64Array(4);
  private readonly passNs: (bytes: number, from: number, to: number) => number;
  private readonly counted = { left: 0, loads: 0, evictions: 0, fetches: 0 };
  /** The first decisions are made at 0, whether or not anything has come by then. */
  private firstAt = 0;
  private nextArrivalAt = NEVER;
  private dueAt = NEVER;
  /** How often the core was woken since something else happened, with nothing else to come. */
  private idleWakes = 0;
  private now = 0;
  private lastAt = 0;

  constructor(private readonly driven: DrivenWorkflows) {
    const { devices } = driven.topology;
    this.watchers = new Watchers(driven.observers);
    this.running = new Int32Array(devices.length).fill(NONE);
    this.startedAt = new Float64Array(devices.length);
    this.endsAt = new Float64Array(devices.length);
    this.loading = new Int32Array(devices.length).fill(NONE);
    this.loadedAt = new Float64Array(devices.length);
    this.passNs = passTimes(driven.table);
    const { hosts } = driven.table;
    this.uplinkFreeAt = new Float64Array(hosts.length);
    this.downlinkFreeAt = new Float64Array(hosts.length);
    this.diskFreeAt = new Float64Array(hosts.length);
  }

  run(): WorkflowSummary {
    this.open();
    while (this.nextAt !== NEVER) this.step();
    return this.summary();
  }

  /** open lets all devices come up at 0. Who calls it takes the run's steps by itself, as of several drivers side by side. */
  open(): void {
    const { core, topology, arrivals, troubles = [] } = this.driven;
    this.watchers.begun({
      ...{ topology, core },
      requestOf: (task) => core.requestOf(task),
      arrivedAt: (request) => this.requests.arrivedAt(request),
    });
    for (let device = 0; device < topology.devices.length; device++) core.deviceUp(0, device);
    for (const [i, { atNs }] of troubles.entries()) this.events.schedule(atNs, Kind.troubleComes, i);
    this.nextArrivalAt = arrivals.next() ? arrivals.atNs : NEVER;
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
    return {
      ...{ requests: count, inTime, late, dropped, failed, endNs: this.lastAt, ...this.counted },
      ...{ guesses: { made, right, rightComponents }, schedulesLookedAt },
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
    const program = new ReplayedProgram(request, run);
    this.programs[request] = program;
    if (this.driven.troubles !== undefined) this.inOrder.push(program);
    for (const call of program.first()) this.callLater(program, call);
    if (program.hasEnded) core.finished(this.now, request);
    this.nextArrivalAt = arrivals.next() ? arrivals.atNs : NEVER;
  }

  /** callLater lets a program make a call once it has thought, if it does. */
  private callLater(program: ReplayedProgram, call: number): void {
    const { thinkNs } = program.callOf(call);
    if (thinkNs === 0) {
      this.makeCall(program, call);
      return;
    }
    const slot = this.callSlots.take();
    this.calls[slot] = { program, call };
    this.events.schedule(this.now + thinkNs, Kind.callIsMade, slot);
  }

  private makeCall(program: ReplayedProgram, call: number): void {
    if (program.isOver) return;
    const { core } = this.driven;
    const { component, rows, inputs } = program.callOf(call);
    const body = core.bodyOf(program.request);
    const sources = inputs.map((input) => (input === NONE ? body : (program.tasks[input] as number)));
    const task = core.submitted(this.now, program.request, { component, rows, inputs: sources });
    const next = program.called(call, task);
    if (task === NONE) return;
    this.placeOfTask.set(task, { program, call });
    if (program.reads(call)) core.wanted(this.now, task);
    for (const one of next) this.callLater(program, one);
  }

  private tellEnds(): void {
    const { events, now } = this;
    while (events.nextAt === now) {
      this.lastAt = now;
      const kind = events.nextPriority as Kind;
      const subject = events.take();
      switch (kind) {
        case Kind.fetchEnds:
          this.endFetch(subject);
          break;
        case Kind.executionEnds:
          this.endExecution(subject);
          break;
        case Kind.loadEnds:
          this.endLoad(subject);
          break;
        case Kind.callIsMade: {
          const { program, call } = this.calls[subject] as Call;
          this.calls[subject] = undefined;
          this.callSlots.giveBack(subject);
          this.makeCall(program, call);
          break;
        }
        case Kind.troubleComes:
          this.tellTrouble(this.driven.troubles?.[subject] as Trouble);
          break;
      }
    }
  }

  private tellTrouble(trouble: Trouble): void {
    const { core } = this.driven;
    switch (trouble.kind) {
      case 'down':
        this.lose(trouble.device);
        core.deviceDown(this.now, trouble.device);
        break;
      case 'up':
        core.deviceUp(this.now, trouble.device);
        break;
      case 'leaves': {
        const program = this.inOrder[trouble.order];
        if (program === undefined || program.isOver || !core.cancelled(this.now, program.request)) break;
        this.counted.left += 1;
        this.over(program);
        break;
      }
      case 'drains':
        core.drain(this.now);
        break;
    }
  }

  /** lose lets what a device executes and loads, and what is on its way from it or to it, be no more. */
  private lose(device: number): void {
    this.running[device] = NONE;
    this.loading[device] = NONE;
    for (const [fetch, going] of this.fetches.entries())
      if (going?.from === device || going?.to === device) this.fetches[fetch] = undefined;
  }

  private endFetch(fetch: number): void {
    const { core } = this.driven;
    const going = this.fetches[fetch];
    // One that was lost has ended before, and its number may be that of another.
    if (going?.endNs !== this.now) return;
    this.fetches[fetch] = undefined;
    const { task, to } = going;
    const reader = to === NONE ? this.placeOfTask.get(task) : undefined;
    core.fetched(this.now, fetch);
    if (reader === undefined || reader.program.isOver || !reader.program.reads(reader.call)) return;
    const { program, call } = reader;
    for (const next of program.read(call)) this.callLater(program, next);
    if (program.hasEnded) core.finished(this.now, program.request);
  }

  private endExecution(device: number): void {
    const { core } = this.driven;
    const batch = this.running[device] as number;
    if (batch === NONE || this.endsAt[device] !== this.now) return;
    const startedAt = this.startedAt[device] as number;
    this.running[device] = NONE;
    if (this.driven.fails?.(batch) === true) {
      core.failed(this.now, batch);
      return;
    }
    const pool = core.batchPool(batch);
    const rows = core.batchRows(batch);
    this.watchers.executed(batch, pool, device, rows, startedAt, startedAt, this.now);
    const bytes = Float64Array.from({ length: core.batchSize(batch) }, (_, i) => {
      const made = this.placeOfTask.get(core.batchTask(batch, i));
      return made === undefined ? 0 : made.program.callOf(made.call).outputBytes;
    });
    core.executed(this.now, batch, startedAt, this.now, bytes);
  }

  private endLoad(device: number): void {
    const pool = this.loading[device] as number;
    if (pool === NONE || this.loadedAt[device] !== this.now) return;
    this.loading[device] = NONE;
    this.watchers.loaded(this.now, device, pool);
    this.driven.core.loaded(this.now, device, pool);
  }

  private settle(): void {
    const { core, decisions } = this.driven;
    for (;;) {
      core.decide(this.now);
      if (decisions.count > 0) this.carryOut();
      if (this.events.nextAt !== this.now) return;
      this.tellEnds();
    }
  }

  private carryOut(): void {
    const { decisions } = this.driven;
    for (let i = 0; i < decisions.count; i++) {
      const [a, b, c, d] = [decisions.a(i), decisions.b(i), decisions.c(i), decisions.d(i)];
      switch (decisions.kind(i)) {
        case Decision.execute:
          this.begin(a, b);
          break;
        case Decision.load:
          this.load(a, b, c === 1);
          break;
        case Decision.evict:
          this.counted.evictions += 1;
          this.watchers.evicted(this.now, a, b);
          break;
        case Decision.fetch:
          this.fetch(a, { from: b, to: c, task: d });
          break;
        case Decision.spill:
          break;
        case Decision.answer:
          this.end(a, outcomeOf(b as Answer), NONE, NONE);
          break;
        case Decision.drop:
          this.end(a, OutcomeCode.dropped, b, c);
          break;
        case Decision.wakeAt:
          this.dueAt = a;
          break;
        default:
          throw brokenPromise(`a core of workflows decides ${decisions.kind(i)}`);
      }
    }
    decisions.clear();
  }

  private begin(batch: number, device: number): void {
    const { core, topology } = this.driven;
    if (this.running[device] !== NONE) throw brokenPromise(`device ${device} is given a second batch`);
    const pool = core.batchPool(batch);
    const rows = core.batchRows(batch);
    const tookNs = topology.pools[pool]?.latencyNs[rows - 1];
    if (tookNs === undefined)
      throw brokenPromise(`a batch has ${rows} rows, more than pool ${pool} executes`);
    this.running[device] = batch;
    this.startedAt[device] = this.now;
    this.endsAt[device] = this.now + tookNs;
    this.events.schedule(this.now + tookNs, Kind.executionEnds, device);
    this.watchers.started(batch, pool, device, rows, this.now, this.now);
    core.started(this.now, batch);
  }

  private load(device: number, pool: number, fromDisk: boolean): void {
    const { pools, devices } = this.driven.table;
    const { loadNs, diskNs } = pools[pool] as WorkflowTable['pools'][number];
    const { host } = devices[device] as WorkflowTable['devices'][number];
    if (this.loading[device] !== NONE) throw brokenPromise(`device ${device} loads two components at once`);
    this.loading[device] = pool;
    this.counted.loads += 1;
    let readyAt = this.now;
    if (fromDisk) {
      readyAt = Math.max(this.now, this.diskFreeAt[host] as number) + diskNs;
      this.diskFreeAt[host] = readyAt;
    }
    this.watchers.loadBegun(this.now, device, pool);
    this.loadedAt[device] = readyAt + loadNs;
    this.events.schedule(readyAt + loadNs, Kind.loadEnds, device);
  }

  private fetch(fetch: number, going: Going): void {
    const { from, to, task } = going;
    this.counted.fetches += 1;
    const { table, core } = this.driven;
    const [sender, receiver] = [from, to].map((device) =>
      device === NONE ? NONE : table.devices[device]?.host,
    );
    const tookNs = this.passNs(core.outputBytes(task), from, to);
    let startNs = this.now;
    if (sender !== receiver) {
      if (from !== NONE) startNs = Math.max(startNs, this.uplinkFreeAt[sender as number] as number);
      if (to !== NONE) startNs = Math.max(startNs, this.downlinkFreeAt[receiver as number] as number);
      if (from !== NONE) this.uplinkFreeAt[sender as number] = startNs + tookNs;
      if (to !== NONE) this.downlinkFreeAt[receiver as number] = startNs + tookNs;
    }
    this.fetches[fetch] = { ...going, endNs: startNs + tookNs };
    this.events.schedule(startNs + tookNs, Kind.fetchEnds, fetch);
  }

  private end(request: number, outcome: SharedOutcomeCode, reason: number, pool: number): void {
    this.over(this.programs[request] as ReplayedProgram);
    const [cameNs, model] = [this.requests.arrivedAt(request), this.requests.modelOf(request)];
    this.outcomes[outcome]! += 1;
    this.watchers.ended(this.now, model, request, cameNs, outcome, reason, pool);
  }

  /** over ends a program whose request has its outcome. */
  private over(program: ReplayedProgram): void {
    program.isOver = true;
    this.programs[program.request] = undefined;
    for (const task of program.tasks) this.placeOfTask.delete(task);
    this.lastAt = this.now;
    this.requests.end(program.request);
  }
}
