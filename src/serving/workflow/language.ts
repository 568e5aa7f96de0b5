import type { ServingCore } from '../core.js';

/**
 * SubmittedCall is a call of a component: how many rows of a batch it takes, and the tasks of its request whose outputs
 * it takes.
 */
export interface SubmittedCall {
  readonly component: number;
  readonly rows: number;
  readonly inputs: readonly number[];
}

/**
 * WorkflowCore is a core of dynamic workflows as its driver sees it: a request is a program, which calls
 * components as it goes. Each call is a *task*, which the driver reports when the program makes it. A task
 * has one output, which lies on the device where it was executed, and is fetched by whatever needs it
 * elsewhere. The client's tensors are the output of a task too, the *body*, which lies at the front: where
 * programs run.
 *
 * A pool is a component on a class of devices. A device is in all pools of its class, holds several components in its memory, and
 * executes one batch at a time while it loads another component.
 */
export interface WorkflowCore extends ServingCore {
  /**
   * sized says how many bytes clients sent with a request. It comes right after `arrived`; a request without
   * this event has none.
   */
  sized(at: number, request: number, bytes: number): void;
  /** bodyOf is the task that stands for what the client of a request sent. */
  bodyOf(request: number): number;
  /**
   * submitted reports that the program of a request calls a component.
   * @returns the number of the task, in use as long as its request is; NONE where the request has its outcome already
   */
  submitted(at: number, request: number, call: SubmittedCall): number;
  /** wanted reports that the program reads the output of a task, which is therefore brought to the front. */
  wanted(at: number, task: number): void;
  /** finished reports that the program of a request has returned: it is answered once its tasks are done. */
  finished(at: number, request: number): void;
  /**
   * loaded reports that a device holds the component of a pool, as a decision `load` asked. Of a device that
   * goes down, nothing more is reported of its load, nor of the fetches from it or to it.
   */
  loaded(at: number, device: number, pool: number): void;
  /** loadFailed reports that a device could not load a component, as a decision `load` asked, and holds all else that it held. */
  loadFailed(at: number, device: number, pool: number): void;
  /** fetched reports that an output is where a decision `fetch` sent it. */
  fetched(at: number, fetch: number): void;
  /**
   * outputLost reports that an output is not at the front, where it had moved to: its device ended before it
   * was there. Nothing more is reported of fetches of it from the front or to it, and a program that still
   * reads it has it `wanted` again.
   */
  outputLost(at: number, task: number): void;
  /**
   * unneeded reports that neither the program nor a task that it has called takes the output of a task any more: it is
   * dropped wherever it lies, and nothing more is reported of fetches of it. Should a task that has taken it be
   * executed again, it is made again.
   */
  unneeded(at: number, task: number): void;
  /** takersOf counts the tasks that take an output and have not been executed. */
  takersOf(task: number): number;
  /** outputBytes is how large the output of an executed task is. */
  outputBytes(task: number): number;
  /** batchRows is how many rows the tasks of a batch have together. */
  batchRows(batch: number): number;
  /** guesses counts what was expected of programs, and what came as expected; it is absent of cores that expect nothing. */
  readonly guesses?: GuessCounts;
  /** schedulesLookedAt counts the schedules that were looked at to find devices; it is absent of cores that look at none. */
  readonly schedulesLookedAt?: number;
}

/**
 * GuessCounts are the calls, ends included, where something was expected, those that were as expected, and those of
 * which at least the component was: the accuracy of DyOrc's Fig. 12.
 */
export interface GuessCounts {
  readonly made: number;
  readonly right: number;
  readonly rightComponents: number;
}
