import { NONE } from '../../collections/index.js';
import type { TensorData, Tensors } from '../../execution/index.js';
import {
  hasFailed,
  type ProgramCall,
  type ProgramDriver,
  type ProgramEnd,
  type ProgramTensor,
  type SourceName,
} from '../../programs/index.js';
import { programTensor, tensorOfProgram } from '../../protocol/index.js';
import {
  Answer,
  brokenPromise,
  Decision,
  Decisions,
  DROP_REASONS,
  type LogEntry,
  recorded,
  unreachable,
  type WorkflowCore,
} from '../../serving/index.js';
import { CoreTurns } from '../core-turns.js';
import type { Drops } from '../drops.js';
import type { Arrival, BatchRecord, Done, Ending, Ticket } from '../live-driver.js';
import type { LiveModel } from '../pool-work.js';
import { type BatchPhases, NO_TIME, timesOf } from '../request-times.js';
import { type AnsweredRow, answerOf } from '../tensors-of-rows.js';
import { toldOf } from '../told-of.js';
import type { DrivenDevice, RanBatch, TaskToRun } from './driven-device.js';
import { type KeptCounts, type KeptOutput, LiveOutputs } from './live-outputs.js';
import {
  type CalledTask,
  futureOutput,
  type LiveRun,
  type OpenWorkflow,
  outputAtFront,
} from './live-runs.js';

/** What `Drops.ending` calls the entry. */
const NOWHERE = -1;

/** WorkflowObserver hears of the batches, loads and moves of a driver, for the counters and the log. */
export interface WorkflowObserver {
  batch(record: BatchRecord): void;
  failure(pool: number, device: number, why: string): void;
  loaded(device: number, pool: number): void;
  loadFailed(device: number, pool: number, why: string): void;
  evicted(device: number, pool: number): void;
  fetched(from: number, to: number, bytes: number): void;
  spilled(device: number, bytes: number): void;
}

/** RunPrograms runs the programs of applications, as `ProgramHost` does for one. */
export interface RunPrograms {
  begin(application: number, run: number): void;
  give(
    run: { readonly application: number; readonly number: number },
    source: SourceName,
    tensor: ProgramTensor,
  ): void;
  cancel(application: number, run: number): void;
}

/** LiveWorkflows holds the parts of a LiveWorkflowDriver. */
export interface LiveWorkflows {
  /** What clients call, by the number of the application. */
  readonly models: readonly LiveModel[];
  /** The names of the components, by their numbers. */
  readonly components: readonly string[];
  readonly devices: readonly DrivenDevice[];
  readonly drops: Pick<Drops, 'took' | 'gave' | 'device' | 'ending'>;
  readonly programs: RunPrograms;
  readonly makeCore: (decisions: Decisions) => WorkflowCore;
  readonly observer: WorkflowObserver;
  /** Where the core's events and decisions are told, so that they can be replayed. */
  readonly log?: ((entry: LogEntry) => void) | undefined;
}

/** Running is a batch that a device executes, with all that is needed when it has ended, whatever has ended meanwhile. */
interface Running {
  readonly batch: number;
  readonly pool: number;
  readonly rows: number;
  readonly tasks: readonly CalledTask[];
  readonly toRun: readonly TaskToRun[];
  readonly fromNs: number;
  readonly generation: number;
}

/**
 * LiveWorkflowDriver drives a core of workflows in real time and carries out its decisions: it runs the program of each row of a request,
 * tells the core what it calls, lets devices load and execute, has outputs sent to where they are needed, and answers when all rows have
 * ended. All events of one turn of the event loop are one instant for the core.
 */
export class LiveWorkflowDriver {
  private readonly decisions = new Decisions();
  private readonly core: WorkflowCore;
  private readonly turns: CoreTurns;
  private readonly outputs: LiveOutputs;
  private readonly open = new Set<OpenWorkflow>();
  /** The runs that go on by their numbers, and by the numbers of their requests at the core. */
  private readonly runs = new Map<number, LiveRun>();
  private readonly byRequest = new Map<number, LiveRun>();
  /** What each task of the core in use gives, what clients sent included. */
  private readonly outputOf = new Map<number, KeptOutput>();
  private readonly taskOf = new Map<number, CalledTask>();
  private readonly readBy = new Map<KeptOutput, CalledTask>();
  private readonly running = new Map<number, Running>();
  private readonly componentOf: ReadonlyMap<string, number>;
  /** What is to be told once all decisions are carried out, as the core may use their numbers again once it is told anything. */
  private following: (() => void)[] = [];
  private nextRun = 0;
  private idle: (() => void) | undefined;
  requestCount = 0;
  /** What the programs of all applications tell. */
  readonly programDriver: ProgramDriver = {
    called: (run, call) => this.called(run, call),
    wanted: (run, source) => this.wanted(run, source),
    ended: (run, end) => this.ended(run, end),
  };

  constructor(private readonly parts: LiveWorkflows) {
    const { devices, components, makeCore, log } = parts;
    this.componentOf = new Map(components.map((name, i) => [name, i]));
    const core = makeCore(this.decisions);
    this.core = log === undefined ? core : recorded(core, this.decisions, log);
    this.outputs = new LiveOutputs({
      devices,
      moved: (fetch, output, to) => this.moved(fetch, output, to),
      lost: (output) => this.outputLost(output),
    });
    this.turns = new CoreTurns({
      ...{ core: this.core, decisions: this.decisions },
      carryOut: (i) => this.carryOut(i),
      tellWhatFollowed: () => this.tellWhatFollowed(),
      decided: () => this.tellIdle(),
    });
  }

  /** pending counts the requests without an outcome. */
  get pending(): number {
    return this.open.size;
  }

  /** inUse counts what the driver holds, and what devices keep: all are 0 once every request has its outcome and what was begun has ended. */
  get inUse(): KeptCounts & {
    readonly runs: number;
    readonly tasks: number;
    readonly batches: number;
    readonly moves: number;
  } {
    const { runs, taskOf, running, outputs } = this;
    return {
      ...outputs.counts,
      runs: runs.size,
      tasks: taskOf.size,
      batches: running.size,
      moves: outputs.moving,
    };
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
      ...{ application: model, runs: [], answers: [], deadlineNs, weight, batches: [], done },
      ...{ cameNs: wholeNs, readNs: this.now(), lastFailure: '', isInTime: true, isOver: false },
    };
    this.open.add(workflow);
    this.requestCount += 1;
    this.parts.drops.took(model, rows.length);
    for (const [row, inputs] of rows.entries()) this.begin(workflow, row, { inputs, at: arrival.at });
    this.turns.decideSoon();
    return { request: workflow.runs[0]?.request ?? NONE, cancel: () => this.cancel(workflow) };
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
    this.core.sized(at, request, body.bytes);
    const run: LiveRun = {
      ...{ number: this.nextRun++, request, bodyTask: this.core.bodyOf(request), of, row, inputs, body },
      ...{ tasks: [], result: undefined, awaited: new Set(), isOver: false },
    };
    of.runs[row] = run;
    this.runs.set(run.number, run);
    this.byRequest.set(request, run);
    this.outputOf.set(run.bodyTask, body);
    this.parts.programs.begin(application, run.number);
  }

  /** wouldDrop says whether the core would drop a request that came now, with `ahead` others being read before it. It changes nothing. */
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

  /** deviceUp tells that a device takes work from now on. It holds nothing but what it held at the start, or nothing after `deviceDown`. */
  deviceUp(device: number): void {
    this.parts.drops.device(device, true);
    this.core.deviceUp(this.now(), device);
    this.turns.decideSoon();
  }

  /** deviceDown tells that a device has ended, and with it what it executed, loaded and kept. */
  deviceDown(device: number): void {
    this.parts.drops.device(device, false);
    const lost = this.running.get(device);
    if (lost !== undefined) this.batchLost(lost, device, 'its device went down');
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
    if (this.idle !== undefined && this.open.size === 0 && this.running.size === 0) this.idle();
  }

  /** abandon ends every open request as dropped because the server closes. It gives how many these were. */
  abandon(): number {
    const open = [...this.open];
    for (const workflow of open)
      this.end(workflow, this.parts.drops.ending(workflow.application, 'draining', NOWHERE));
    return open.length;
  }

  /** stop ends what was planned for later, so that this driver no longer keeps the process alive. */
  stop(): void {
    this.turns.stop();
  }

  private cancel(workflow: OpenWorkflow): boolean {
    if (workflow.isOver) return false;
    this.close(workflow);
    this.turns.decideSoon();
    return true;
  }

  private called(number: number, call: ProgramCall): void {
    const run = this.runs.get(number);
    if (run === undefined) return;
    const at = this.now();
    const { component, rows, inputs } = call;
    const body = run.bodyTask;
    const sources = inputs.map(({ source }) =>
      source.from === 'request' ? body : run.tasks[source.task]!.number,
    );
    const told = { component: this.componentOf.get(component) as number, rows, inputs: sources };
    const task: CalledTask = {
      ...{ run, call, number: this.core.submitted(at, run.request, told) },
      ...{ output: futureOutput(), wanted: new Set() },
    };
    run.tasks.push(task);
    if (task.number === NONE) return;
    this.taskOf.set(task.number, task);
    this.outputOf.set(task.number, task.output);
    this.readBy.set(task.output, task);
    this.turns.decideSoon();
  }

  private wanted(number: number, source: SourceName): void {
    const run = this.runs.get(number);
    if (run === undefined) return;
    if (source.from === 'request') {
      this.give(run, source, run.inputs);
      return;
    }
    const task = run.tasks[source.task]!;
    if (task.output.front !== undefined) this.give(run, source, task.output.front);
    else {
      task.wanted.add(source.output);
      this.bring(task);
    }
  }

  /** bring has the output of a task brought to the front. */
  private bring({ number }: CalledTask): void {
    if (number === NONE) return;
    this.core.wanted(this.now(), number);
    this.turns.decideSoon();
  }

  private give(run: LiveRun, source: SourceName, tensors: Tensors): void {
    const name = source.from === 'request' ? source.input : source.output;
    const tensor = tensors[name];
    const { application } = run.of;
    if (tensor === undefined)
      this.end(run.of, {
        kind: 'failed',
        why: `the program reads ${name}, which its component did not give`,
      });
    else this.parts.programs.give({ application, number: run.number }, source, programTensor(tensor));
  }

  private ended(number: number, end: ProgramEnd): void {
    const run = this.runs.get(number);
    if (run === undefined) return;
    if (hasFailed(end)) {
      this.end(run.of, { kind: 'failed', why: `${end.reason}: ${end.message}` });
      this.turns.decideSoon();
      return;
    }
    run.result = end;
    for (const output of Object.values(end.outputs)) {
      if (!('from' in output) || output.from === 'request') continue;
      const task = run.tasks[output.task]!;
      if (task.output.front !== undefined || run.awaited.has(task)) continue;
      run.awaited.add(task);
      this.bring(task);
    }
    this.finishIfThere(run);
  }

  /** finishIfThere tells that a program has ended once all that it answers with is at the front. */
  private finishIfThere(run: LiveRun): void {
    if (run.result === undefined || run.awaited.size > 0) return;
    this.core.finished(this.now(), run.request);
    this.turns.decideSoon();
  }

  private moved(fetch: number, output: KeptOutput, to: number): void {
    this.core.fetched(this.now(), fetch);
    if (to === NONE) this.cameToFront(output);
    this.turns.decideNow();
  }

  /** cameToFront hands an output to the program that reads it. */
  private cameToFront(output: KeptOutput): void {
    const task = this.readBy.get(output);
    const { front } = output;
    if (task === undefined || front === undefined) return;
    const { run, call, wanted } = task;
    for (const name of wanted) this.give(run, { from: 'task', task: call.task, output: name }, front);
    wanted.clear();
    if (run.awaited.delete(task)) this.finishIfThere(run);
  }

  /** outputLost runs the program of a row anew, of which an output was lost on its way to the front, where the core takes it to be. */
  private outputLost(output: KeptOutput): void {
    const { run } = this.readBy.get(output) as CalledTask;
    this.core.cancelled(this.now(), run.request);
    this.over(run);
    this.begin(run.of, run.row, { inputs: run.inputs, at: this.now() });
    this.turns.decideSoon();
  }

  private carryOut(i: number): void {
    const { decisions } = this;
    const [a, b, c, d] = [decisions.a(i), decisions.b(i), decisions.c(i), decisions.d(i)];
    const kind = decisions.kind(i);
    switch (kind) {
      case Decision.execute:
        this.execute(a, b);
        return;
      case Decision.load:
        this.load(a, b);
        return;
      case Decision.evict:
        this.parts.devices[a]!.release(b);
        this.parts.observer.evicted(a, b);
        return;
      case Decision.fetch:
        this.fetch(a, this.outputOf.get(d)!, { from: b, to: c });
        return;
      case Decision.spill:
        this.spill(a, this.outputOf.get(b)!, c === 1);
        return;
      case Decision.answer:
        this.answer(a, b as Answer);
        return;
      case Decision.drop:
        this.drop(a, b, c);
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

  private fetch(
    fetch: number,
    output: KeptOutput,
    way: { readonly from: number; readonly to: number },
  ): void {
    if (way.from !== way.to) this.parts.observer.fetched(way.from, way.to, output.bytes);
    this.outputs.fetch(fetch, output, way);
  }

  private spill(device: number, output: KeptOutput, isLast: boolean): void {
    this.parts.observer.spilled(device, output.bytes);
    this.outputs.spill(output, device, isLast);
  }

  private execute(batch: number, device: number): void {
    const { core } = this;
    const tasks = Array.from(
      { length: core.batchSize(batch) },
      (_, k) => this.taskOf.get(core.batchTask(batch, k))!,
    );
    const running: Running = {
      ...{ batch, pool: core.batchPool(batch), rows: core.batchRows(batch), tasks },
      toRun: tasks.map((task) => this.toRun(task, device)),
      ...{ fromNs: this.now(), generation: this.parts.devices[device]!.generation },
    };
    this.running.set(device, running);
    this.outputs.begins(device);
    this.following.push(() => core.started(running.fromNs, batch));
    this.parts.devices[device]!.run(running.pool, running.toRun).then(
      (ran) => this.executed(device, running, ran),
      (error: unknown) => this.refused(device, running, error),
    );
  }

  private toRun({ run, call }: CalledTask, device: number): TaskToRun {
    const inputs = call.inputs.map(({ name, source }) => {
      const output = source.from === 'request' ? run.body : run.tasks[source.task]!.output;
      const tensor = source.from === 'request' ? source.input : source.output;
      return { name, kept: output.places.get(device)!, tensor };
    });
    return { rows: call.rows, inputs, keepAs: this.outputs.unusedId() };
  }

  private executed(device: number, running: Running, { bytes, startedNs, endedNs }: RanBatch): void {
    if (this.running.get(device) !== running) return;
    this.running.delete(device);
    const at = this.now();
    const { batch, pool, rows, tasks, toRun, fromNs } = running;
    const inferFromNs = this.turns.at(startedNs);
    const inferToNs = this.turns.at(endedNs);
    const phases: BatchPhases = {
      ...{ fromNs, stackedNs: fromNs, inferFromNs, inferToNs, cameNs: at, toNs: at },
    };
    this.parts.observer.batch({ pool, device, size: rows, phases, busyUs: (at - fromNs) / 1e3 });
    for (const request of new Set(tasks.map(({ run }) => run.of))) request.batches.push(phases);
    for (const [i, { output }] of tasks.entries()) {
      output.bytes = bytes[i]!;
      this.outputs.made(output, device, toRun[i]!.keepAs);
    }
    this.outputs.ends(device);
    this.core.executed(at, batch, fromNs, at, bytes);
    this.turns.decideNow();
  }

  /**
   * refused handles a batch that failed. It waits until this turn of the event loop is over: if the executor ended, the end of the
   * device has been told by then and covers the batch.
   */
  private refused(device: number, running: Running, error: unknown): void {
    setImmediate(() => {
      if (this.running.get(device) !== running) return;
      if (this.parts.devices[device]!.generation !== running.generation) return;
      const { pool, rows, batch, fromNs } = running;
      this.parts.observer.batch({ pool, device, size: rows, busyUs: (this.now() - fromNs) / 1e3 });
      this.batchLost(running, device, toldOf(error));
      this.outputs.ends(device);
      this.core.failed(this.now(), batch);
      this.turns.decideSoon();
    });
  }

  private batchLost({ pool, tasks }: Running, device: number, why: string): void {
    this.running.delete(device);
    this.parts.observer.failure(pool, device, why);
    for (const { run } of tasks) run.of.lastFailure = why;
  }

  private load(device: number, pool: number): void {
    const { devices, observer } = this.parts;
    const { generation } = devices[device]!;
    devices[device]!.load(pool).then(
      () => {
        if (devices[device]!.generation !== generation) return;
        observer.loaded(device, pool);
        this.core.loaded(this.now(), device, pool);
        this.turns.decideNow();
      },
      (error: unknown) =>
        setImmediate(() => {
          if (devices[device]!.generation !== generation) return;
          const why = toldOf(error);
          observer.loadFailed(device, pool, why);
          devices[device]!.end(why);
        }),
    );
  }

  private tellWhatFollowed(): boolean {
    const { following } = this;
    this.following = [];
    for (const tell of following) tell();
    return following.length > 0;
  }

  private answer(request: number, how: Answer): void {
    const run = this.byRequest.get(request);
    if (run === undefined) return;
    const { of, row } = run;
    switch (how) {
      case Answer.inTime:
      case Answer.late:
        of.isInTime &&= how === Answer.inTime;
        of.answers[row] = this.rowAnswer(run);
        this.over(run);
        if (of.runs.every((one) => one?.isOver)) this.end(of, this.answered(of));
        return;
      case Answer.failed:
        this.over(run);
        this.following.push(() => this.end(of, { kind: 'failed', why: of.lastFailure }));
        return;
      default:
        unreachable(how);
    }
  }

  private rowAnswer({ result, tasks, inputs }: LiveRun): AnsweredRow {
    const tensors: Record<string, TensorData> = {};
    for (const [name, output] of Object.entries(result!.outputs)) {
      if ('from' in output) {
        const given =
          output.from === 'request'
            ? inputs[output.input]
            : tasks[output.task]!.output.front?.[output.output];
        tensors[name] = given as TensorData;
      } else tensors[name] = tensorOfProgram(output);
    }
    return { tensors, answered: undefined };
  }

  private answered({ application, answers, isInTime }: OpenWorkflow): Ending {
    try {
      const rows = answers.map((answer) => answer!);
      return { kind: 'answered', inTime: isInTime, ...answerOf(this.parts.models[application]!, rows) };
    } catch (error) {
      return { kind: 'failed', why: toldOf(error) };
    }
  }

  private drop(request: number, reason: number, pool: number): void {
    const run = this.byRequest.get(request);
    if (run === undefined) return;
    const { of } = run;
    this.over(run);
    const ending = this.parts.drops.ending(of.application, DROP_REASONS[reason]!, pool);
    this.following.push(() => this.end(of, ending));
  }

  /** end ends a request, with all of its runs. */
  private end(workflow: OpenWorkflow, ending: Ending): void {
    if (workflow.isOver) return;
    this.close(workflow);
    const { cameNs, readNs, batches, done } = workflow;
    const times = cameNs === undefined ? NO_TIME : timesOf({ cameNs, readNs, endNs: this.now() }, batches);
    // Whoever is answered may use the memory again of what was sent.
    const bodies = workflow.runs.flatMap((run) => run?.body ?? []);
    const sent = ending.kind === 'answered' ? this.outputs.sentFromFront(bodies) : undefined;
    if (sent === undefined) done(ending, times);
    else void sent.then(() => done(ending, times));
  }

  private close(workflow: OpenWorkflow): void {
    workflow.isOver = true;
    this.open.delete(workflow);
    this.parts.drops.gave(workflow.application, workflow.runs.length);
    for (const run of workflow.runs) {
      if (run === undefined || run.isOver) continue;
      this.core.cancelled(this.now(), run.request);
      this.over(run);
    }
  }

  /** over lets go of a run for which nobody can ask any more. */
  private over(run: LiveRun): void {
    run.isOver = true;
    this.parts.programs.cancel(run.of.application, run.number);
    this.runs.delete(run.number);
    this.byRequest.delete(run.request);
    this.outputOf.delete(run.bodyTask);
    this.outputs.forget(run.body);
    for (const { number, output } of run.tasks) {
      this.taskOf.delete(number);
      this.outputOf.delete(number);
      this.readBy.delete(output);
      this.outputs.forget(output);
    }
  }
}
