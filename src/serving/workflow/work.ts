import { NONE } from '../../collections/index.js';
import type { PredictedCall } from './histories.js';

/**
 * TaskState says how far a task is.
 * - called: no device has begun it.
 * - running: a device executes it.
 * - done: its output lies somewhere.
 * - lost: it was executed, and every device that had its output is gone. It is executed again if something needs it.
 */
export type TaskState = 'called' | 'running' | 'done' | 'lost';

/** OutputPlace is a place where the output of a task lies or will: a device, or NONE for the front. */
export interface OutputPlace {
  readonly device: number;
  /** The fetch that brings the output, NONE once it is there. */
  fetch: number;
  /** How many fetches take the output from here. */
  sends: number;
}

/** Task is a call of a component, or the body of a request. */
export interface Task {
  readonly number: number;
  readonly request: OpenRequest;
  /** NONE for a body. */
  readonly component: number;
  readonly rows: number;
  readonly inputs: readonly Task[];
  /** How many calls its request made before it. */
  readonly position: number;
  /** Where its inputs came from, and the components of the last calls before it: what histories know it by. */
  readonly back: readonly number[];
  readonly calledBefore: readonly number[];
  state: TaskState;
  /** The device that is to execute it or has executed it, NONE where none is chosen. */
  device: number;
  /** When its inputs are expected to be on its device, and its execution to end, once it has a device, or has ended. */
  readyNs: number;
  endNs: number;
  /** When its inputs came to be on its device, where it could be executed since. */
  thereNs: number;
  /** The bytes of its output: expected until it is executed. */
  bytes: number;
  /** How often its execution was lost, and how often it left the device that it had got. */
  tries: number;
  moves: number;
  places: OutputPlace[];
  /** The tasks that take its output and have not been executed. */
  readonly readers: Set<Task>;
  /** isWanted says whether its request's program reads it, and whether it has been sent there. */
  isWanted: boolean;
  isSent: boolean;
  /** isAlone says whether a batch that it was in has failed, so that it is executed in one of its own. */
  isAlone: boolean;
}

/** Reserved is a task that is expected, and the device that it will have if it comes. */
export interface Reserved extends PredictedCall {
  device: number;
  readyNs: number;
  endNs: number;
}

/** OpenRequest is a request that has a number. */
export interface OpenRequest {
  readonly number: number;
  readonly application: number;
  readonly deadlineNs: number;
  readonly body: Task;
  /** All calls so far, in their order, without the body. */
  readonly tasks: Task[];
  /** The calls that are expected next, in order, and whether the end is expected behind them. */
  expected: Reserved[];
  isToEnd: boolean;
  /**
   * isSettled says whether its outcome is decided, its program has returned, or it is to be scheduled in this
   * `decide`.
   */
  isSettled: boolean;
  isFinished: boolean;
  isAsked: boolean;
  /** Its tasks that have not been executed, and those in batches. */
  left: number;
  inBatches: number;
  /** Fetches of its outputs that are on their way. */
  fetches: number;
}

/** placeOn gives the place of an output on a device, if it lies or comes there. */
export function placeOn(task: Task, device: number): OutputPlace | undefined {
  return task.places.find((place) => place.device === device);
}

/** isQueued returns whether a task waits on a device for its inputs, or to be executed. */
export function isQueued({ state, device }: Task): boolean {
  return state === 'called' && device !== NONE;
}

/** isExecuted returns whether a task was executed, and is not to be executed again. */
export function isExecuted({ state }: Task): boolean {
  return state === 'done' || state === 'lost';
}

/** areInputsMade returns whether all inputs of a task exist. */
export function areInputsMade({ inputs }: Task): boolean {
  return inputs.every(({ state }) => state === 'done');
}

/** isTakenNow returns whether a device executes a task that takes an output. */
export function isTakenNow({ readers }: Task, device: number): boolean {
  for (const reader of readers) if (reader.state === 'running' && reader.device === device) return true;
  return false;
}

/** isAtRest returns whether an output lies in a place, and nothing takes it from there. */
export function isAtRest({ fetch, sends }: OutputPlace): boolean {
  return fetch === NONE && sends === 0;
}

/** isThere returns whether an output lies on a device. */
export function isThere(task: Task, device: number): boolean {
  return placeOn(task, device)?.fetch === NONE;
}
