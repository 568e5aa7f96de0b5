import { NONE } from '../../collections/index.js';
import { Answer as SharedAnswer, DropCode as SharedDropCode } from '../decisions.js';
import type { Agenda } from './agenda.js';
import type { OpenWork } from './open-work.js';
import type { Outputs } from './outputs.js';
import type { PlannedWork } from './planned-work.js';
import type { Queues } from './queues.js';
import type { RequestEnds } from './request-ends.js';
import type { Residency } from './residency.js';
import type { Scheduling } from './scheduling.js';
import { isQueued, type Task } from './work.js';

const Answer = SharedAnswer;
const DropCode = SharedDropCode;

/** LossesOptions holds the parts of Losses. */
export interface LossesOptions {
  readonly open: OpenWork;
  readonly agenda: Agenda;
  readonly queues: Queues;
  readonly work: PlannedWork;
  readonly residency: Residency;
  readonly outputs: Outputs;
  readonly scheduling: Scheduling;
  readonly ends: RequestEnds;
  /** How many executions of a task may be lost before its request is dropped. */
  readonly mostTries: number;
}

/** Losses says what becomes of tasks whose batch fails, whose device goes down, or whose outputs are lost with one. */
export class Losses {
  constructor(private readonly options: LossesOptions) {}

  /**
   * failed reports that a batch gave no results although its device is well. A task that was alone in it fails.
   * @returns the tasks that the device is to execute again, each in a batch of its own
   */
  failed(device: number, tasks: readonly Task[]): readonly Task[] {
    const again: Task[] = [];
    for (const task of tasks) {
      task.state = 'called';
      if (task.request.isSettled) this.over(task);
      else if (tasks.length === 1) {
        task.device = NONE;
        this.options.ends.answer(task.request, Answer.failed);
      } else again.push(Object.assign(task, { device, isAlone: true }));
    }
    return again;
  }

  /** deviceDown reports that a device is gone, with what it held and the tasks that it executed. */
  deviceDown(device: number, executed: readonly Task[]): void {
    const { open, agenda, queues, work, residency, outputs, scheduling } = this.options;
    for (const request of open.all())
      if (request.expected.some((one) => one.device === device)) {
        scheduling.withdraw(request);
        agenda.ask(request);
      }
    for (const task of queues.all(device)) {
      queues.leave(task);
      this.unplace(task);
    }
    work.empty(device);
    residency.empty(device);
    outputs.deviceDown(device);
    for (const task of executed) this.lost(task);
    agenda.touched.delete(device);
  }

  /**
   * loadFailed takes tasks back from a device that could not load their component, and what was expected of it. A task
   * that has been tried as often as it may fails.
   */
  loadFailed(device: number, component: number): void {
    const { open, queues, work, scheduling, ends, mostTries } = this.options;
    for (const request of open.all())
      if (request.expected.some((one) => one.device === device && one.component === component))
        scheduling.withdraw(request);
    for (const task of queues.all(device)) {
      // Its request may have ended with the task before it.
      if (task.component !== component || task.request.isSettled) continue;
      queues.leave(task);
      work.withdraw(device, component, task.rows);
      task.tries += 1;
      this.unplace(task);
      if (task.tries >= mostTries) ends.answer(task.request, Answer.failed);
    }
  }

  /**
   * outputLost fetches an output from elsewhere that is no more where it was; one that is nowhere is made again if it
   * is needed.
   */
  outputLost(task: Task): void {
    if (task.state !== 'done') return;
    if (task.places.length > 0) {
      if (task.isWanted && !task.isSent) this.options.agenda.reads.add(task);
      this.tellReaders(task);
      return;
    }
    task.state = 'lost';
    task.isSent = false;
    this.tellReaders(task);
    if (task.isWanted || [...task.readers].some(isQueued)) this.again(task);
  }

  /** unneeded lets go of an output that nothing takes any more. Where something does after all, it is made again. */
  unneeded(task: Task): void {
    if (task.state !== 'done') return;
    this.options.outputs.giveUp(task);
    task.state = 'lost';
    this.tellReaders(task);
    if ([...task.readers].some(isQueued)) this.again(task);
  }

  /** again calls a lost task again, and those of its inputs that are lost too. */
  again(task: Task): void {
    task.state = 'called';
    task.device = NONE;
    this.options.ends.again(task.request);
    for (const input of task.inputs) input.readers.add(task);
    this.againInputs(task);
    this.options.agenda.ask(task.request);
  }

  /** againInputs calls the lost inputs of a task again. */
  againInputs({ inputs }: Task): void {
    for (const input of inputs) if (input.state === 'lost') this.again(input);
  }

  /** tellReaders tells the tasks that wait for an output that it is elsewhere than before. */
  tellReaders(task: Task): void {
    const { queues, agenda } = this.options;
    for (const reader of task.readers) {
      if (!isQueued(reader)) continue;
      queues.changed(reader);
      agenda.touched.add(reader.device);
    }
  }

  /** lost calls a task again that was executed by a device which is gone. */
  private lost(task: Task): void {
    task.state = 'called';
    task.tries += 1;
    this.unplace(task);
    if (task.request.isSettled) this.over(task);
    else if (task.tries >= this.options.mostTries) this.options.ends.drop(task.request, DropCode.deviceDown);
  }

  private unplace(task: Task): void {
    task.device = NONE;
    this.options.agenda.ask(task.request);
  }

  /** over lets go of a task in a batch whose request has ended. */
  private over(task: Task): void {
    task.state = 'done';
    for (const input of task.inputs) input.readers.delete(task);
    this.options.outputs.release(task.request);
    this.options.ends.retireIfDone(task.request);
  }
}
