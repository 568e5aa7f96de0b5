import { itemAt, NONE } from '../../collections/index.js';
import type { Tensors } from '../../execution/index.js';
import type { ProgramDriver } from '../../programs/index.js';
import {
  type Answer,
  brokenPromise,
  Decision,
  Decisions,
  type LogEntry,
  recorded,
  unreachable,
  type WorkflowCore,
} from '../../serving/index.js';
import type { LiveModel } from '../bundle/pool-work.js';
import { CoreTurns, type TurnsClock } from '../live/core-turns.js';
import type { Drops } from '../live/drops.js';
import type { Arrival, BatchRecord, Done, Ticket } from '../live/live-requests.js';
import { NO_TIME } from '../live/request-times.js';
import type { DrivenDevice } from './driven-device.js';
import { keptBytes, outputAtFront } from './kept-output.js';
import { LiveEndings } from './live-endings.js';
import { LiveExecutions } from './live-executions.js';
import { LiveLoads } from './live-loads.js';
import { LiveNeeds } from './live-needs.js';
import { type KeptCounts, LiveOutputs } from './live-outputs.js';
import { LivePrograms, type RunPrograms } from './live-programs.js';
import { type LiveRun, OpenRuns, type OpenWorkflow } from './live-runs.js';

/** The place that `Drops.ending` calls the entry. */
const NOWHERE = -1;

/** WorkflowObserver hears of the batches, loads and moves of a driver, for the counters and the log. */
export interface WorkflowObserver {
  batch(record: BatchRecord): void;
  failure(pool: number, device: number, why: string): void;
  loaded(device: number, pool: number): void;
  loadFailed(device: number, pool: number, why: string): void;
  evicted(device: number, pool: number): void;
  /** fetched reports that bytes of an output are sent from a device, or from NONE for the front, to another. */
  fetched(from: number, to: number, bytes: number): void;
  spilled(device: number): void;
  /** unneeded reports that an output was dropped before its request ended, as nobody could ask for it any more. */
  unneeded(): void;
}

/** LiveWorkflows holds the parts of a LiveWorkflowDriver. */
export interface LiveWorkflows {
  /** The models that clients call, by the number of the application. */
  readonly models: readonly LiveModel[];
  /** The names of the components, by their numbers, and the component of each pool. */
  readonly components: readonly string[];
  readonly pools: readonly { readonly component: number }[];
  readonly devices: readonly DrivenDevice[];
  readonly drops: Pick<Drops, 'took' | 'gave' | 'device' | 'ending'>;
  readonly programs: RunPrograms;
  readonly makeCore: (decisions: Decisions) => WorkflowCore;
  readonly observer: WorkflowObserver;
  /** The function that gets the core's events and decisions, so that they can be replayed. */
  readonly log?: ((entry: LogEntry) => void) | undefined;
  /** The time; by default that of the machine. */
  readonly clock?: TurnsClock | undefined;
}

/**
 * LiveWorkflowDriver drives a core of workflows in real time and carries out its decisions: it runs the program of each
 * row of a request, tells the core what it calls, lets devices load and execute, has outputs sent to where they are
 * needed, and answers when all rows have ended. All events of one turn of the event loop are one instant for the core.
 */
export class LiveWorkflowDriver {
  private readonly decisions = new Decisions();
  private readonly core: WorkflowCore;
  private readonly turns: CoreTurns;
  private readonly runs = new OpenRuns();
  private readonly outputs: LiveOutputs;
  private readonly executions: LiveExecutions;
  private readonly loads: LiveLoads;
  private readonly endings: LiveEndings;
  private readonly programs: LivePrograms;
  /**
   * The events to report once all decisions are carried out, as the core may use their numbers again once it
   * hears any event.
   */
  private following: (() => void)[] = [];
  private nextRun = 0;
  private idle: (() => void) | undefined;
  requestCount = 0;

  constructor(private readonly parts: LiveWorkflows) {
    const { devices, components, pools, models, drops, programs, observer, makeCore, log, clock } = parts;
    const made = makeCore(this.decisions);
    const core = log === undefined ? made : recorded(made, this.decisions, log);
    const turns = new CoreTurns({
      core,
      decisions: this.decisions,
      clock,
      carryOut: (i) => this.carryOut(i),
      tellWhatFollowed: () => this.tellWhatFollowed(),
      decided: () => this.tellIdle(),
    });
    const { runs } = this;
    const outputs = new LiveOutputs({
      devices,
      moved: (fetch, output, to) => {
        core.fetched(turns.now(), fetch);
        if (to === NONE) this.programs.moved(output);
        turns.decideNow();
      },
      came: (output) => this.programs.came(output),
      lost: (output) => this.programs.lost(output),
      sent: (from, to, bytes) => observer.fetched(from, to, bytes),
    });
    const told = { core, turns };
    const needs = new LiveNeeds({ ...told, outputs, unneeded: () => observer.unneeded() });
    this.core = core;
    this.turns = turns;
    this.outputs = outputs;
    this.executions = new LiveExecutions({ ...told, devices, runs, outputs, needs, observer });
    this.loads = new LiveLoads({
      ...told,
      devices,
      runs,
      observer,
      componentOf: (pool) => itemAt(components, itemAt(pools, pool).component),
    });
    const follows = (act: () => void) => void this.following.push(act);
    this.endings = new LiveEndings({ ...told, models, runs, outputs, programs, drops, follows });
    this.programs = new LivePrograms({
      ...told,
      runs,
      outputs,
      needs,
      programs,
      componentOf: new Map(components.map((name, i) => [name, i])),
      fail: (workflow, ending) => this.endings.end(workflow, ending),
    });
  }

  /** programDriver hears what the programs of all applications tell. */
  get programDriver(): ProgramDriver {
    return this.programs;
  }

  /** pending counts the requests without an outcome. */
  get pending(): number {
    return this.endings.pending;
  }

  /**
   * inUse counts what the driver holds, and what devices keep: all are 0 once every request has its outcome and what
   * was begun has ended.
   */
  get inUse(): KeptCounts & {
    readonly runs: number;
    readonly tasks: number;
    readonly batches: number;
    readonly moves: number;
  } {
    const { runs, executions, outputs } = this;
    return { ...outputs.counts, ...runs.counts, batches: executions.count, moves: outputs.moving };
  }

  /** The time that the core has taken to decide, and how often it was asked to. */
  get decideUs(): number {
    return this.turns.decideUs;
  }

  get decideCalls(): number {
    return this.turns.decideCalls;
  }

  /** now gives the nanoseconds since the driver was made. */
  now(): number {
    return this.turns.now();
  }

  /**
   * submit takes a request in, and begins the program for each of its rows.
   * @param rows the inputs of each row
   * @param done is not called where the request is cancelled
   */
  submit(arrival: Arrival, rows: readonly Tensors[], done: Done): Ticket {
    const { model, wholeNs = arrival.at, deadlineNs, weight } = arrival;
    const workflow: OpenWorkflow = {
      application: model,
      runs: [],
      answers: [],
      deadlineNs,
      weight,
      batches: [],
      done,
      cameNs: wholeNs,
      readNs: this.now(),
      lastFailure: '',
      isInTime: true,
      isOver: false,
    };
    this.requestCount += 1;
    this.endings.opened(workflow, rows.length);
    for (const [row, inputs] of rows.entries()) this.begin(workflow, row, { inputs, at: arrival.at });
    this.turns.decideSoon();
    return { request: workflow.runs[0]?.request ?? NONE, cancel: () => this.endings.cancel(workflow) };
  }

  /** begin begins the program for a row of a request. */
  private begin(
    of: OpenWorkflow,
    row: number,
    { inputs, at }: { readonly inputs: Tensors; readonly at: number },
  ): void {
    const { application, deadlineNs, weight } = of;
    const request = this.core.arrived(at, application, deadlineNs, 1, weight);
    const body = outputAtFront(inputs);
    this.core.sized(at, request, keptBytes(body));
    const run: LiveRun = {
      number: this.nextRun++,
      request,
      bodyTask: this.core.bodyOf(request),
      of,
      row,
      inputs,
      body,
      tasks: [],
      result: undefined,
      awaited: new Set(),
      isFinished: false,
      isOver: false,
    };
    of.runs[row] = run;
    this.runs.add(run);
    this.parts.programs.begin(application, run.number);
  }

  /**
   * wouldDrop says whether the core would drop a request that came now, with `ahead` others being read before it. It
   * changes nothing.
   */
  wouldDrop({ at, model, deadlineNs }: Arrival, ahead: number): boolean {
    return this.core.wouldDrop(at, model, deadlineNs, ahead);
  }

  /** turnAway counts a request that would be dropped and was not read. It calls `done` within this turn of the event loop. */
  turnAway(model: number, done: Done): void {
    this.core.turnedAway(this.now(), model);
    this.requestCount += 1;
    setImmediate(() => done(this.parts.drops.ending(model, 'overload', NOWHERE), NO_TIME));
    this.turns.decideSoon();
  }

  /**
   * deviceUp reports that a device takes work from now on. It holds nothing but what it held at the start, or nothing
   * after `deviceDown`.
   */
  deviceUp(device: number): void {
    this.parts.drops.device(device, true);
    this.core.deviceUp(this.now(), device);
    this.turns.decideSoon();
  }

  /** deviceDown reports that a device has ended, and with it what it executed, loaded and kept. */
  deviceDown(device: number): void {
    this.parts.drops.device(device, false);
    this.executions.deviceDown(device);
    this.outputs.deviceDown(device);
    this.core.deviceDown(this.now(), device);
    this.turns.decideSoon();
  }

  /** drain stops taking requests in. It resolves when every request has its outcome and no batch is running. */
  drain(): Promise<void> {
    this.core.drain(this.now());
    this.turns.decideSoon();
    return new Promise((resolve) => {
      this.idle = resolve;
    });
  }

  private tellIdle(): void {
    if (this.idle !== undefined && this.pending === 0 && this.executions.count === 0) this.idle();
  }

  /** abandon ends every open request as dropped because the server closes. It gives how many these were. */
  abandon(): number {
    return this.endings.abandon();
  }

  /** stop ends what was planned for later, so that this driver no longer keeps the process alive. */
  stop(): void {
    this.turns.stop();
    this.loads.stop();
  }

  private carryOut(i: number): void {
    const { decisions, outputs, runs } = this;
    const { devices, observer } = this.parts;
    const [a, b, c, d] = [decisions.a(i), decisions.b(i), decisions.c(i), decisions.d(i)];
    const kind = decisions.kind(i);
    switch (kind) {
      case Decision.execute: {
        const fromNs = this.executions.begin(a, b);
        this.following.push(() => this.core.started(fromNs, a));
        return;
      }
      case Decision.load:
        this.loads.begin(a, b);
        return;
      case Decision.evict:
        itemAt(devices, a).release(b);
        observer.evicted(a, b);
        return;
      case Decision.fetch:
        this.fetch(a, d, { from: b, to: c });
        return;
      case Decision.spill:
        observer.spilled(a);
        outputs.spill(runs.output(b), a);
        return;
      case Decision.answer:
        this.endings.answer(a, b as Answer);
        return;
      case Decision.drop:
        this.endings.drop(a, b, c);
        return;
      case Decision.wakeAt:
        this.turns.wakeAt(a);
        return;
      case Decision.transfer:
      case Decision.activate:
      case Decision.retire:
      case Decision.shift:
      case Decision.collect:
        throw brokenPromise('a core of workflows decides what only stages have');
      default:
        unreachable(kind);
    }
  }

  private fetch(fetch: number, task: number, way: { readonly from: number; readonly to: number }): void {
    const output = this.runs.output(task);
    const names = way.to === NONE ? this.programs.namesToFront(output) : Object.keys(output.sizes);
    this.outputs.fetch(fetch, output, { ...way, names });
  }

  private tellWhatFollowed(): boolean {
    const { following } = this;
    this.following = [];
    for (const tell of following) tell();
    // The begin of a batch lets nothing else be decided, and other events of the instant ask for a decision.
    return false;
  }
}
