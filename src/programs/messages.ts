import type { Fault } from '../formats/index.js';
import type { ProgramLimits } from './limits.js';
import type { ProgramTensor, TensorMetadata } from './program.js';

/** CalledFace is what clients or programs see of what they call: the tensors that it takes and gives. */
export interface CalledFace {
  readonly inputs: readonly TensorMetadata[];
  readonly outputs: readonly TensorMetadata[];
}

/** SourceName names where a tensor comes from: an input of the request, or an output of one of the run's tasks, counted from 0. */
export type SourceName =
  | { readonly from: 'request'; readonly input: string }
  | { readonly from: 'task'; readonly task: number; readonly output: string };

/** ProgramCall is a call of a component. */
export interface ProgramCall {
  /** The calls of a run are counted from 0. */
  readonly task: number;
  readonly component: string;
  /** Where each input of the component comes from. */
  readonly inputs: readonly { readonly name: string; readonly source: SourceName }[];
  /** How many rows of a batch it takes. */
  readonly rows: number;
}

/** ProgramFailure says why a run ended without an answer. */
export interface ProgramFailure {
  readonly reason: FailureReason;
  readonly message: string;
}

/**
 * FailureReason is `program-error` where the program threw or made a mistake, `program-stuck` where it went on for ever
 * or waits for nothing, `program-limit` where it took more than it may, and `program-not-deterministic` where it did
 * something else when it was replayed.
 */
export type FailureReason = 'program-error' | 'program-stuck' | 'program-limit' | 'program-not-deterministic';

/**
 * ProgramResult is what a program returned: each output by name, as a value or where it comes from, and the names of
 * those that were not made.
 */
export interface ProgramResult {
  readonly outputs: Readonly<Record<string, ProgramTensor | SourceName>>;
  readonly notTaken: readonly string[];
}

/** ProgramEnd is how a run ends. */
export type ProgramEnd = ProgramResult | ProgramFailure;

/** hasFailed tells a failure from a result. */
export function hasFailed(end: ProgramEnd): end is ProgramFailure {
  return 'reason' in end;
}

/** ThreadData is what the thread of a program begins with. */
export interface ThreadData {
  readonly url: string;
  readonly components: Readonly<Record<string, CalledFace>>;
  readonly limits: ProgramLimits;
  readonly seed: number;
  /** The time that the module sees while it is loaded: the same on every thread. */
  readonly nowMs: number;
  /** The key that the thread's answers carry, so that no message of a module is taken for one. */
  readonly key: string;
  /** The heartbeat, an Int32Array of `Beat`. */
  readonly beat: SharedArrayBuffer;
}

/** Beat has the places in the heartbeat: how many events the thread has begun, and the run whose continuation it resumed last. */
export const Beat = { events: 0, run: 1 } as const;

/** NO_RUN stands in the heartbeat where the thread runs no program. */
export const NO_RUN = -1;

/** FULL_EXIT is the code with which a thread ends itself because typed arrays hold too much. No exit code of Node is beyond 255. */
export const FULL_EXIT = 1000;

/**
 * ThreadEvent is a message to a thread: a run begins, or gets a value that it has asked for. The thread
 * answers each with a ThreadAnswer.
 */
export type ThreadEvent =
  | { readonly event: 'begin'; readonly run: number; readonly stream: number; readonly nowMs: number }
  | {
      readonly event: 'give';
      readonly run: number;
      readonly source: SourceName;
      readonly tensor: ProgramTensor;
      readonly nowMs: number;
    };

/** ThreadOrder is a message to a thread that gets no answer: a run has ended. */
export interface ThreadOrder {
  readonly event: 'cancel';
  readonly run: number;
}

/** ProgramAct is what a program did in an event. */
export type ProgramAct =
  | { readonly act: 'call'; readonly run: number; readonly call: ProgramCall }
  | { readonly act: 'want'; readonly run: number; readonly source: SourceName }
  | { readonly act: 'end'; readonly run: number; readonly end: ProgramEnd };

/**
 * ThreadAnswer is a message of a thread: how loading its module ended, then what came of each event, in the
 * order of the events.
 */
export type ThreadAnswer =
  | { readonly answer: 'loaded'; readonly face: CalledFace }
  | { readonly answer: 'refused'; readonly faults: readonly Fault[] }
  | { readonly answer: 'acted'; readonly acts: readonly ProgramAct[] };

/** KeyedAnswer is an answer as it is sent. */
export interface KeyedAnswer {
  readonly key: string;
  readonly answer: ThreadAnswer;
}

/** sourceKey gives a text that is the same for the same source. */
export function sourceKey(source: SourceName): string {
  return source.from === 'request' ? `request ${source.input}` : `${source.task} ${source.output}`;
}

/** sourceText names a source for a message. */
export function sourceText(source: SourceName): string {
  if (source.from === 'request') return `input ${source.input}`;
  return `output ${source.output} of call ${source.task}`;
}
