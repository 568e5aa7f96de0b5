import type { Tensors } from '../../execution/index.js';
import type { ProgramCall, ProgramResult } from '../../programs/index.js';
import type { Done } from '../live/live-requests.js';
import type { BatchPhases } from '../live/request-times.js';
import type { AnsweredRow } from '../tensors/tensors-of-rows.js';
import type { KeptOutput } from './kept-output.js';

/** OpenWorkflow is a request of a client that has no outcome yet: a run of the program for each of its rows. */
export interface OpenWorkflow {
  readonly application: number;
  readonly runs: (LiveRun | undefined)[];
  /** The answers of the rows that have been answered, by their order. */
  readonly answers: (AnsweredRow | undefined)[];
  /** When it came, and when it had been read and was submitted; undefined of one that was turned away unread. */
  readonly cameNs: number | undefined;
  readonly readNs: number;
  readonly deadlineNs: number;
  readonly weight: number | undefined;
  /** The batches that were executed with tasks of it. */
  readonly batches: BatchPhases[];
  lastFailure: string;
  isInTime: boolean;
  isOver: boolean;
  readonly done: Done;
}

/** LiveRun is a run of a program for a row of a request, which is a request of its own for the core. */
export interface LiveRun {
  /** Its number for the program's host, which no other run has had. */
  readonly number: number;
  /** The numbers of its request at the core, and of the task that stands for what the client sent. */
  readonly request: number;
  readonly bodyTask: number;
  readonly of: OpenWorkflow;
  readonly row: number;
  /** The tensors that the client sent for the row, which lie at the front. */
  readonly inputs: Tensors;
  readonly body: KeptOutput;
  /** Its calls, in their order. */
  readonly tasks: CalledTask[];
  /** The result that the program returned; undefined as long as the program goes on. */
  result: ProgramResult | undefined;
  /** The tasks of which the result names tensors that are not at the front yet. */
  readonly awaited: Set<CalledTask>;
  /** isFinished says whether the core was told that it has ended. */
  isFinished: boolean;
  isOver: boolean;
}

/** CalledTask is a call of a component with its output. */
export interface CalledTask {
  readonly run: LiveRun;
  readonly call: ProgramCall;
  /** The number of the task at the core. */
  readonly number: number;
  readonly output: KeptOutput;
  /** The tensors of its output that the program waits for, and those that the result names. */
  readonly wanted: Set<string>;
  readonly answers: Set<string>;
  /**
   * isAtFront says whether the core has had the output brought to the front, and the tensors that are brought
   * there since.
   */
  isAtFront: boolean;
  readonly bringing: Set<string>;
}

/** OpenRuns finds the runs that go on, and their tasks, by the numbers that programs and the core have for them. */
export class OpenRuns {
  private readonly byNumber = new Map<number, LiveRun>();
  private readonly byRequest = new Map<number, LiveRun>();
  private readonly tasks = new Map<number, CalledTask>();
  private readonly outputs = new Map<number, KeptOutput>();
  private readonly makers = new Map<KeptOutput, CalledTask>();

  /** counts says how many runs and tasks there are. */
  get counts(): { readonly runs: number; readonly tasks: number } {
    return { runs: this.byNumber.size, tasks: this.tasks.size };
  }

  add(run: LiveRun): void {
    this.byNumber.set(run.number, run);
    this.byRequest.set(run.request, run);
    this.outputs.set(run.bodyTask, run.body);
  }

  addTask(task: CalledTask): void {
    this.tasks.set(task.number, task);
    this.outputs.set(task.number, task.output);
    this.makers.set(task.output, task);
  }

  run(number: number): LiveRun | undefined {
    return this.byNumber.get(number);
  }

  ofRequest(request: number): LiveRun | undefined {
    return this.byRequest.get(request);
  }

  /** task gives the task to which the core has given a number. */
  task(number: number): CalledTask {
    return this.tasks.get(number)!;
  }

  /** allTasks lists the tasks of all runs. */
  allTasks(): Iterable<CalledTask> {
    return this.tasks.values();
  }

  /** output gives what a task, or the client, gives. */
  output(task: number): KeptOutput {
    return this.outputs.get(task)!;
  }

  /** makerOf gives the task that makes an output; undefined of what clients sent, and of runs that are over. */
  makerOf(output: KeptOutput): CalledTask | undefined {
    return this.makers.get(output);
  }

  remove({ number, request, bodyTask, tasks }: LiveRun): void {
    this.byNumber.delete(number);
    this.byRequest.delete(request);
    this.outputs.delete(bodyTask);
    for (const task of tasks) {
      this.tasks.delete(task.number);
      this.outputs.delete(task.number);
      this.makers.delete(task.output);
    }
  }
}
