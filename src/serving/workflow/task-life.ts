import { NONE as SHARED_NONE } from '../../collections/index.js';
import {
  type Decisions,
  Answer as SharedAnswer,
  Decision as SharedDecision,
  DropCode as SharedDropCode,
} from '../decisions.js';
import type { ReadyTasks } from './allocation.js';
import type { SubmittedCall } from './language.js';
import type { OpenWork } from './open-work.js';
import { Outputs } from './outputs.js';
import type { Residency } from './residency.js';
import { passTimes, type WorkflowTable } from './table.js';
import { areInputsMade, type OpenRequest, type Task } from './work.js';

const NONE = SHARED_NONE;
const Decision = SharedDecision;
const Answer = SharedAnswer;
const DropCode = SharedDropCode;

/** TaskLifeOptions holds the parts of a TaskLife. */
export interface TaskLifeOptions {
  readonly open: OpenWork;
  readonly decisions: Decisions;
  readonly residency: Residency;
  readonly table: WorkflowTable;
  /** How many executions of a task may be lost before its request is dropped. */
  readonly mostTries: number;
  readonly hearing: ReadyTasks;
}

/**
 * TaskLife follows requests from their arrival to their outcome, and tasks from their call until their
 * outputs are needed no more. It reports when all inputs of a task are made, and when this ends: each task is
 * reported as ready once, until it is executed or reported to have left.
 */
export class TaskLife {
  readonly outputs: Outputs;
  private readonly ready = new Set<Task>();
  /** Outputs that programs read, to be sent in this `decide`. */
  private readonly reads = new Set<Task>();
  /** Requests whose numbers can be used again after this `decide`. */
  private readonly retired = new Set<OpenRequest>();
  private unsettled = 0;
  private notExecuted = 0;

  constructor(private readonly options: TaskLifeOptions) {
    const { decisions, residency, table, hearing } = options;
    this.outputs = new Outputs(table.devices.length, {
      decisions,
      residency,
      passNs: passTimes(table),
      arrived: (task, device) => this.outputArrived(task, device),
      lost: (task) => this.outputLost(task),
      ended: (request) => this.retireIfDone(request),
      freed: (device) => hearing.touched(device),
    });
  }

  /** pending counts the requests without an outcome. */
  get pending(): number {
    return this.unsettled;
  }

  /** known counts the tasks that were called and have not been executed. */
  get known(): number {
    return this.notExecuted;
  }

  opened(application: number, deadlineNs: number): OpenRequest {
    this.unsettled += 1;
    return this.options.open.open(application, deadlineNs);
  }

  /** cancelled ends a request whose client has left, and returns whether it had no outcome yet. */
  cancelled(request: OpenRequest): boolean {
    if (request.isSettled) return false;
    this.settle(request);
    return true;
  }

  called(request: OpenRequest, call: SubmittedCall): Task {
    const task = this.options.open.called(request, call);
    this.notExecuted += 1;
    this.againInputs(task);
    this.offer(task);
    return task;
  }

  wanted(task: Task): void {
    if (task.request.isSettled) return;
    task.isWanted = true;
    if (task.state === 'done') this.reads.add(task);
    else if (task.state === 'lost') this.again(task);
  }

  finished(at: number, request: OpenRequest): void {
    if (request.isSettled) return;
    request.isFinished = true;
    this.answerIfDone(at, request);
  }

  /** begun reports that a device executes a task. */
  begun(task: Task, device: number): void {
    this.ready.delete(task);
    task.state = 'running';
    task.device = device;
    task.request.inBatches += 1;
  }

  /** executed reports that the device of a task has executed it, and how large its output is. */
  executed(at: number, task: Task, bytes: number): void {
    const { request } = task;
    request.inBatches -= 1;
    if (request.isSettled) {
      this.over(task);
      return;
    }
    task.state = 'done';
    task.bytes = bytes;
    for (const input of task.inputs) input.readers.delete(task);
    request.left -= 1;
    this.notExecuted -= 1;
    this.outputs.made(task, task.device);
    for (const reader of task.readers) this.offer(reader);
    this.answerIfDone(at, request);
  }

  /** failed reports that a batch gave no results. Its tasks are tried alone; one that was alone fails. */
  failed(task: Task, wasAlone: boolean): void {
    this.takenBack(task);
    if (task.request.isSettled) this.over(task);
    else if (wasAlone) this.answer(task.request, Answer.failed);
    else {
      task.isAlone = true;
      this.offer(task);
    }
  }

  /** takenBack reports that a device executes a task no more, without a result. */
  takenBack(task: Task): void {
    task.request.inBatches -= 1;
    task.state = 'called';
    task.device = NONE;
  }

  /** deviceDown reports that a device is gone, what it executed, and what it had been given and not begun. */
  deviceDown(device: number, executing: readonly Task[], given: readonly Task[]): void {
    for (const task of executing) this.takenBack(task);
    for (const task of given) {
      this.ready.delete(task);
      task.device = NONE;
    }
    this.options.residency.empty(device);
    this.outputs.deviceDown(device);
    for (const task of executing) this.lost(task);
    for (const task of given) this.offer(task);
  }

  drop(request: OpenRequest, reason: SharedDropCode): void {
    this.options.decisions.push(Decision.drop, request.number, reason, NONE);
    this.settle(request);
  }

  /** unneeded lets go of an output that nothing takes any more. Where something does after all, it is made again. */
  unneeded(task: Task): void {
    if (task.request.isSettled || task.state !== 'done') return;
    this.outputs.giveUp(task);
    task.state = 'lost';
    for (const reader of task.readers) this.unready(reader);
    if (task.readers.size > 0) this.again(task);
  }

  /** sendReads sends the outputs to the front that programs read. */
  sendReads(): void {
    for (const task of this.reads)
      if (!task.request.isSettled && task.state === 'done') this.outputs.read(task);
    this.reads.clear();
  }

  /** decided lets the numbers be used again that nothing needs any more. */
  decided(): void {
    for (const { number } of this.retired) this.options.open.close(number);
    this.retired.clear();
    this.outputs.decided();
  }

  private outputArrived(task: Task, device: number): void {
    if (device === NONE) return;
    if (task.isWanted && !task.isSent) this.reads.add(task);
    this.options.hearing.touched(device);
  }

  /**
   * outputLost has an output fetched from elsewhere that is no more where it was; one that is nowhere is made again if
   * it is needed.
   */
  private outputLost(task: Task): void {
    if (task.state !== 'done') return;
    if (task.places.length > 0) {
      if (task.isWanted && !task.isSent) this.reads.add(task);
      for (const { device } of task.readers) if (device !== NONE) this.options.hearing.touched(device);
      return;
    }
    task.state = 'lost';
    task.isSent = false;
    for (const reader of task.readers) this.unready(reader);
    if (task.isWanted || task.readers.size > 0) this.again(task);
  }

  /** again calls a lost task again, and those of its inputs that are lost too. */
  private again(task: Task): void {
    task.state = 'called';
    task.device = NONE;
    task.request.left += 1;
    this.notExecuted += 1;
    for (const input of task.inputs) input.readers.add(task);
    this.againInputs(task);
    this.offer(task);
  }

  private againInputs({ inputs }: Task): void {
    for (const input of inputs) if (input.state === 'lost') this.again(input);
  }

  /** lost calls a task again that a device which is gone has executed in part. */
  private lost(task: Task): void {
    task.tries += 1;
    if (task.request.isSettled) this.over(task);
    else if (task.tries >= this.options.mostTries) this.drop(task.request, DropCode.deviceDown);
    else this.offer(task);
  }

  /** over lets go of a task in a batch whose request has ended. */
  private over(task: Task): void {
    task.state = 'done';
    for (const input of task.inputs) input.readers.delete(task);
    this.outputs.release(task.request);
    this.retireIfDone(task.request);
  }

  private offer(task: Task): void {
    const isCalled = task.state === 'called' && !task.request.isSettled;
    if (!isCalled || this.ready.has(task) || !areInputsMade(task)) return;
    this.ready.add(task);
    this.options.hearing.ready(task);
  }

  private unready(task: Task): void {
    if (!this.ready.delete(task)) return;
    this.options.hearing.left(task);
    task.device = NONE;
  }

  private answerIfDone(at: number, request: OpenRequest): void {
    if (request.isSettled || !request.isFinished || request.left > 0) return;
    this.answer(request, at <= request.deadlineNs ? Answer.inTime : Answer.late);
  }

  private answer(request: OpenRequest, how: number): void {
    this.options.decisions.push(Decision.answer, request.number, how);
    this.settle(request);
  }

  private settle(request: OpenRequest): void {
    request.isSettled = true;
    this.unsettled -= 1;
    this.notExecuted -= request.left;
    for (const task of request.tasks) this.unready(task);
    this.outputs.release(request);
    this.retireIfDone(request);
  }

  private retireIfDone(request: OpenRequest): void {
    if (request.isSettled && request.inBatches === 0 && request.fetches === 0) this.retired.add(request);
  }
}
