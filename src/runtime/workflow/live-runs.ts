import { type Tensors, tensorBytes } from '../../execution/index.js';
import type { ProgramCall, ProgramResult } from '../../programs/index.js';
import type { Done } from '../live-driver.js';
import type { BatchPhases } from '../request-times.js';
import type { AnsweredRow } from '../tensors-of-rows.js';
import type { KeptOutput } from './live-outputs.js';

/** OpenWorkflow is a request of a client that has no outcome yet: a run of the program for each of its rows. */
export interface OpenWorkflow {
  readonly application: number;
  readonly runs: (LiveRun | undefined)[];
  /** What the rows came to that have been answered, by their order. */
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
  /** What the client sent for the row, which lies at the front. */
  readonly inputs: Tensors;
  readonly body: KeptOutput;
  /** Its calls, in their order. */
  readonly tasks: CalledTask[];
  /** What the program returned; undefined as long as it goes on. */
  result: ProgramResult | undefined;
  /** The tasks whose outputs the result names and that are not at the front yet. */
  readonly awaited: Set<CalledTask>;
  isOver: boolean;
}

/** CalledTask is a call of a component with its output. */
export interface CalledTask {
  readonly run: LiveRun;
  readonly call: ProgramCall;
  /** The number of the task at the core. */
  readonly number: number;
  readonly output: KeptOutput;
  /** The tensors of its output that the program waits for. */
  readonly wanted: Set<string>;
}

/** outputAtFront gives the output that lies at the front, as what a client sent does. */
export function outputAtFront(front: Tensors): KeptOutput {
  const bytes = Object.values(front).reduce((sum, tensor) => sum + tensorBytes(tensor), 0);
  return { places: new Map(), front, coming: undefined, bytes, isOver: false };
}

/** futureOutput gives the output of a task that was not executed yet. */
export function futureOutput(): KeptOutput {
  return { places: new Map(), front: undefined, coming: undefined, bytes: 0, isOver: false };
}
