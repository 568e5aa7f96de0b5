import { NONE as SHARED_NONE } from '../../collections/index.js';
import type { Stream, Streams } from '../../random/index.js';
import { brokenPromise, must } from '../broken-promise.js';
import { type Decisions, DropCode as SharedDropCode } from '../decisions.js';
import type { Topology } from '../topology.js';
import { Agenda } from './agenda.js';
import type { ComponentDemand } from './component-demand.js';
import { componentRules } from './component-rules.js';
import { DevicesUp } from './devices-up.js';
import { Executions } from './executions.js';
import { ExpectedEnd } from './expected-end.js';
import { Futures } from './futures.js';
import { GivingUp } from './giving-up.js';
import { Guesses } from './guesses.js';
import { END, type FrequencyRow, Histories } from './histories.js';
import type { SubmittedCall, WorkflowCore } from './language.js';
import { Loads } from './loads.js';
import { Losses } from './losses.js';
import { Moves } from './moves.js';
import { lastCalls } from './open-work.js';
import { Outlook } from './outlook.js';
import { Outputs } from './outputs.js';
import type { Placing } from './placing.js';
import { placingOf } from './placing-of.js';
import { PlannedWork } from './planned-work.js';
import { DYORC_POLICY, type WorkflowPolicy } from './policy.js';
import { type Foresight, Prediction } from './prediction.js';
import { Queues } from './queues.js';
import { RecentWaits } from './recent-waits.js';
import { RequestEnds } from './request-ends.js';
import { Residency } from './residency.js';
import { Scheduling } from './scheduling.js';
import { Stranded } from './stranded.js';
import { type ComponentPool, Placeable, passTimes, type WorkflowTable } from './table.js';
import { TaskEnds } from './task-ends.js';
import type { OpenRequest, Task } from './work.js';
import { WorkNumbers } from './work-numbers.js';

const NONE = SHARED_NONE;
const DropCode = SharedDropCode;

/** No waits are drawn where nothing is decided by them. */
const NO_DRAWS = { quantile: 0, draws: 0 };

/** DynamicOptions holds the parts of a DynamicCore. */
export interface DynamicOptions {
  readonly table: WorkflowTable;
  readonly streams: Streams;
  readonly policy?: Partial<WorkflowPolicy>;
  /** How often programs call what, as it is known at the start. */
  readonly frequencies?: readonly FrequencyRow[];
  /** The calls that programs will make, in place of predictions, where they are known. */
  readonly foresight?: Foresight | undefined;
}

/**
 * DynamicCore serves dynamic workflows as DyOrc does (§5): when a program calls components that were not expected, it predicts what
 * comes next, finds devices for all of it, queues the tasks that are known, and loads what the others will need. Only known tasks
 * enter queues, so that none waits for one that never comes; the components of expected ones are loaded until they come, or
 * something else does.
 *
 * A device executes the tasks whose inputs are there, of one component that it holds (`Queues.nextBatch`).
 */
export class DynamicCore extends WorkNumbers implements WorkflowCore {
  private readonly agenda = new Agenda();
  private readonly policy: WorkflowPolicy;
  private readonly table: WorkflowTable;
  private readonly residency: Residency;
  private readonly work: PlannedWork;
  private readonly devices: DevicesUp;
  private readonly outputs: Outputs;
  private readonly queues: Queues;
  private readonly loads: Loads;
  private readonly histories: Histories;
  private readonly placing: Placing;
  private readonly taskEnds: TaskEnds;
  private readonly scheduling: Scheduling;
  private readonly ends: RequestEnds;
  private readonly losses: Losses;
  private readonly stranded: Stranded;
  private readonly moves: Moves;
  private readonly demand: ComponentDemand;
  private readonly executions: Executions;
  private readonly waits: RecentWaits;
  private lookedAt = 0;
  private isDraining = false;
  readonly guesses = new Guesses();

  /** @param decisions the driver's buffer, where decisions are appended */
  constructor(
    topology: Topology,
    private readonly decisions: Decisions,
    { table, streams, policy = {}, frequencies = [], foresight }: DynamicOptions,
  ) {
    super(topology);
    const { agenda, open } = this;
    const count = topology.devices.length;
    this.policy = { ...DYORC_POLICY, ...policy };
    this.table = table;
    const placeable = new Placeable(topology, table);
    const residency = new Residency(table, placeable);
    const work = new PlannedWork(topology, placeable, this.policy.reserving.kind === 'work');
    const queues = new Queues(count, { components: placeable.components, work, residency });
    const outputs = this.outputsOf(residency);
    const devices = new DevicesUp({ topology, table, placeable, residency, work });
    this.residency = residency;
    this.work = work;
    this.queues = queues;
    this.outputs = outputs;
    this.devices = devices;
    const rules = componentRules(this.policy, { residency, work, placeable });
    const { demand, spreading, costs } = rules;
    this.demand = demand;
    const parts = { decisions, open, agenda, queues, work, residency, placeable, outputs, devices };
    this.loads = new Loads({ ...parts, spreading, ...rules.leaving });
    this.histories = new Histories(topology.models.length);
    this.histories.add(frequencies);
    const outlook = new Outlook(work, residency, placeable);
    this.placing = placingOf(this.policy.placing, { outlook, devices, costs });
    this.taskEnds = new TaskEnds({ outlook, devices, costs });
    const known = { histories: this.histories, stream: streams('prediction'), foresight };
    const prediction = new Prediction(this.policy.prediction, known);
    const scheduling = new Scheduling({ placing: this.placing, prediction, work, demand });
    const ends = new RequestEnds({ ...parts, scheduling });
    const { mostTries, dropping } = this.policy;
    const { quantile, draws } = dropping.kind === 'end-to-end' ? dropping : NO_DRAWS;
    const waiting = { devices: count, draws, stream: streams('waits') };
    const waits = new RecentWaits(table.components.length, waiting);
    const futures = new Futures(this.futuresBy(streams('futures'), foresight));
    const expected = new ExpectedEnd({ ...parts, waits, quantile, draws, futures });
    const givingUp = new GivingUp(dropping, { ends, expected, waits, queues });
    this.waits = waits;
    this.executions = new Executions(count, { ...parts, batches: this.batches, givingUp, waits });
    this.scheduling = scheduling;
    this.ends = ends;
    this.losses = new Losses({ ...parts, scheduling, ends, mostTries });
    this.stranded = new Stranded({ decisions, devices, ends });
    this.moves = new Moves({
      ...parts,
      rule: this.policy.moving,
      ends: this.taskEnds,
      enqueue: (at, task) => this.enqueue(at, task),
    });
  }

  get pending(): number {
    return this.ends.unsettled;
  }

  /** inUse counts the numbers that are in use. Memory follows these counts. */
  get inUse(): { requests: number; tasks: number; batches: number; fetches: number } {
    return { ...this.open.counts, batches: this.batches.count, fetches: this.outputs.count };
  }

  /** frequencies lists what programs did so far, and what was known of them at the start. */
  get frequencies(): readonly FrequencyRow[] {
    return this.histories.table();
  }

  /** schedulesLookedAt counts them: each is a task on a device, beside what has devices already. */
  get schedulesLookedAt(): number {
    return this.placing.looked;
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
    const { ends } = this;
    const request = ends.opened(application, deadlineNs);
    if (this.isDraining) ends.drop(request, DropCode.draining);
    else if (ends.known >= this.policy.mostTasks) ends.drop(request, DropCode.queueFull);
    return request.number;
  }

  turnedAway(at: number, application: number): number {
    const request = this.ends.opened(application, at);
    this.ends.drop(request, DropCode.overload);
    return request.number;
  }

  sized(_at: number, request: number, bytes: number): void {
    this.open.request(request).body.bytes = bytes;
  }

  cancelled(_at: number, number: number): boolean {
    const request = this.open.request(number);
    if (request.isSettled) return false;
    this.ends.settle(request);
    return true;
  }

  submitted(at: number, number: number, call: SubmittedCall): number {
    const request = this.open.request(number);
    if (request.isSettled) return NONE;
    this.queues.nowNs = at;
    const task = this.open.called(request, call);
    this.ends.known += 1;
    const { component } = call;
    const { application } = request;
    task.bytes = this.histories.bytesOf(application, task.calledBefore, task);
    this.histories.saw(application, task.calledBefore, task);
    this.demand.saw(at, component);
    if (!this.guesses.isAsExpected(request, task)) this.scheduling.withdraw(request);
    else if (this.tookKept(at, task, this.scheduling.taken(request).device)) return task.number;
    this.agenda.ask(request);
    return task.number;
  }

  wanted(_at: number, number: number): void {
    const task = this.open.task(number);
    if (task.request.isSettled) return;
    task.isWanted = true;
    if (task.state === 'done') this.agenda.reads.add(task);
    else if (task.state === 'lost') this.losses.again(task);
  }

  finished(at: number, number: number): void {
    const request = this.open.request(number);
    if (request.isSettled) return;
    const end = { component: END, back: [], rows: 1 };
    this.histories.saw(request.application, lastCalls(request), end);
    this.guesses.isAsExpected(request, end);
    this.scheduling.withdraw(request);
    request.isFinished = true;
    this.ends.answerIfDone(at, request);
  }

  started(): void {}

  /** executed reports a batch, with the bytes of the output of each of its tasks. */
  executed(...[at, batch, , endedAt, bytes]: Parameters<WorkflowCore['executed']>): void {
    const device = this.batches.device(batch);
    this.queues.nowNs = at;
    for (const [i, task] of this.closed(batch).entries()) {
      const { request } = task;
      task.state = 'done';
      for (const input of task.inputs) input.readers.delete(task);
      if (request.isSettled) {
        this.outputs.release(request);
        this.ends.retireIfDone(request);
        continue;
      }
      task.endNs = endedAt;
      task.bytes = bytes?.[i] ?? 0;
      this.ends.executed(request);
      this.histories.sized(request.application, task.calledBefore, task);
      this.outputs.made(task, device);
      this.ends.answerIfDone(at, request);
    }
  }

  failed(at: number, batch: number): void {
    const device = this.batches.device(batch);
    this.queues.nowNs = at;
    for (const task of this.losses.failed(device, this.closed(batch))) this.enqueue(at, task);
  }

  transferred(): void {
    throw brokenPromise('a batch of a workflow was sent on, but outputs are fetched');
  }

  fetched(at: number, fetch: number): void {
    this.queues.nowNs = at;
    this.outputs.fetched(fetch);
  }

  loaded(at: number, device: number, pool: number): void {
    const { component } = this.table.pools[pool] as ComponentPool;
    this.residency.loaded(at, device, component);
    this.waits.loaded(at, device, component);
    this.work.copies(device, 0);
    this.agenda.touched.add(device);
  }

  loadFailed(at: number, device: number, pool: number): void {
    const { component } = this.table.pools[pool] as ComponentPool;
    this.queues.nowNs = at;
    this.residency.notLoaded(device, component);
    this.work.copies(device, 0);
    this.losses.loadFailed(device, component);
    this.agenda.touched.add(device);
  }

  outputLost(at: number, number: number): void {
    this.queues.nowNs = at;
    const task = this.open.task(number);
    if (!task.request.isSettled) this.outputs.frontLost(task);
  }

  unneeded(at: number, number: number): void {
    this.queues.nowNs = at;
    const task = this.open.task(number);
    if (!task.request.isSettled) this.losses.unneeded(task);
  }

  /** due lets a later wake-up be asked for. Requests without a device are looked at in `decide`. */
  due(): void {
    this.stranded.woken();
  }

  deviceUp(_at: number, device: number): void {
    this.devices.set(device, true);
    this.agenda.touched.add(device);
    for (const request of this.stranded.all()) this.agenda.ask(request);
  }

  deviceDown(_at: number, device: number): void {
    if (!this.devices.isUp(device)) return;
    this.devices.set(device, false);
    this.moves.has(device, false);
    const batch = this.executions.on(device);
    this.losses.deviceDown(device, batch === NONE ? [] : this.closed(batch));
  }

  drain(): void {
    this.isDraining = true;
  }

  decide(at: number): void {
    this.queues.nowNs = at;
    for (const request of this.agenda.takeAsked()) {
      if (request.isSettled) continue;
      this.schedule(at, request);
      // The calls change what devices should hold, even where nothing happens to the devices.
      if (this.policy.spreading.kind !== 'never') this.agenda.touched.add(this.nextLookedAt());
    }
    this.stranded.dropLate(at);
    this.move(at);
    this.ends.closeRetired();
    this.outputs.decided();
  }

  private nextLookedAt(): number {
    this.lookedAt = (this.lookedAt + 1) % this.devices.count;
    return this.lookedAt;
  }

  /**
   * move lets devices that may have something to do begin it. Outputs find room before any is sent on, since what is
   * being sent cannot leave.
   */
  private move(at: number): void {
    const { touched, reads } = this.agenda;
    for (const device of touched) this.loads.relieve(device);
    for (const task of reads) if (!task.request.isSettled && task.state === 'done') this.outputs.read(task);
    reads.clear();
    // A request that is dropped gives room to devices that were asked before it.
    while (touched.size > 0)
      for (const device of this.agenda.takeTouched()) if (this.devices.isUp(device)) this.serve(at, device);
  }

  /** serve begins what a device can load, fetch and execute now. */
  private serve(at: number, device: number): void {
    let head = this.queues.head(device);
    while (head !== undefined && !this.devices.hasMemoryFor(head, device)) {
      this.ends.drop(head.request, DropCode.deviceDown);
      head = this.queues.head(device);
    }
    this.loads.begin(at, device);
    if (this.executions.on(device) === NONE) this.executions.begin(at, device);
    if (this.executions.on(device) === NONE) this.moves.toIdle(at, device);
    const isIdle = this.executions.on(device) === NONE && this.queues.head(device) === undefined;
    this.moves.has(device, isIdle);
    if (!isIdle) this.moves.fromBusy(at, device);
  }

  /** schedule finds devices for the tasks of a request, and queues those that got one. */
  private schedule(at: number, request: OpenRequest): void {
    for (const task of request.tasks) if (task.state === 'called') this.losses.againInputs(task);
    for (const task of this.scheduling.schedule(at, request)) this.enqueue(at, task);
    // A further request to schedule that came meanwhile is part of this one.
    request.isAsked = false;
    this.stranded.scheduled(request);
  }

  /**
   * tookKept gives a call that was expected the device that was kept for it, and returns whether it did: if no other
   * would end it sooner, and no call before it is about to get a device.
   */
  private tookKept(at: number, task: Task, device: number): boolean {
    const { taskEnds } = this;
    if (task.request.isAsked || !this.devices.canRun(device, task.component, task.rows)) return false;
    const end = taskEnds.on(at, device, task);
    if (!taskEnds.isAtOnce(end, task)) return false;
    const { readyNs, endNs } = end;
    this.enqueue(at, Object.assign(task, { device, readyNs, endNs }));
    return true;
  }

  /** enqueue puts a known task among those of its device. */
  private enqueue(at: number, task: Task): void {
    const { device, component, rows } = task;
    task.endNs = Math.max(task.endNs, at);
    this.queues.push(task);
    this.work.add(device, { component, rows, fromNs: Math.max(at, task.readyNs) });
    this.losses.againInputs(task);
    this.agenda.touched.add(device);
  }

  private outputArrived(task: Task, device: number): void {
    this.losses.tellReaders(task);
    if (device === NONE) return;
    if (task.isWanted && !task.isSent) this.agenda.reads.add(task);
    this.agenda.touched.add(device);
  }

  /** closed closes a batch that a device has ended or lost, and gives its tasks. */
  private closed(batch: number): Task[] {
    const tasks = this.tasksOf(batch);
    this.executions.closed(batch, tasks);
    return tasks;
  }

  /** futuresBy draws what programs may call, however they are expected to go on; nothing where nothing is expected. */
  private futuresBy(stream: Stream, foresight: Foresight | undefined): Prediction {
    const { prediction } = this.policy;
    const rule =
      prediction.kind === 'none' ? prediction : { kind: 'sampled' as const, most: prediction.most };
    return new Prediction(rule, { histories: this.histories, stream, foresight });
  }

  private outputsOf(residency: Residency): Outputs {
    return new Outputs(this.topology.devices.length, {
      decisions: this.decisions,
      residency,
      passNs: passTimes(this.table),
      arrived: (task, device) => this.outputArrived(task, device),
      lost: (task) => this.losses.outputLost(task),
      ended: (request) => this.ends.retireIfDone(request),
      freed: (device) => this.agenda.touched.add(device),
    });
  }
}
