import type { LoadedModel, RunTimes, StartAnswer, StartRequest, VerifyLoad } from './protocol.js';
import type { RowTensor } from './row-tensors.js';
import type { SessionChoice } from './session-choice.js';

/** KeptInput takes an input from an output that the executor keeps: the output `name` of the task `kept`. */
export interface KeptInput {
  readonly kept: number;
  readonly name: string;
  /**
   * isLast says whether nothing takes it afterwards: its memory moves into the run where it can, and it is
   * gone when the run has ended well.
   */
  readonly isLast?: boolean;
}

/** AskedTask is a task of a batch as it is sent: what of its inputs is kept. All others travel beside it. */
export interface AskedTask {
  /** The number under which its outputs are kept. */
  readonly id: number;
  /** How many rows of the batch it takes. */
  readonly rows: number;
  readonly kept: Readonly<Record<string, KeptInput>>;
}

/** ModelSource is where a model's bytes come from: files, or what travels beside the request. */
export type ModelSource =
  | { readonly path: string; readonly verify?: VerifyLoad }
  | { readonly dataLocations: readonly string[] };

/** BatchTensors says which tensors a batch of a model takes and gives, and how its rows lie in them. */
export interface BatchTensors {
  readonly inputs: readonly RowTensor[];
  /** The outputs that are kept. */
  readonly outputs: readonly RowTensor[];
}

/** SessionSource says how the session of a component is made. */
export interface SessionSource {
  readonly source: ModelSource;
  readonly choice: SessionChoice;
}

/** ComponentRequest is a request of the parent to the child of a component executor. */
export type ComponentRequest =
  | StartRequest
  | ({ readonly op: 'load'; readonly tensors: BatchTensors } & SessionSource)
  | {
      readonly op: 'run';
      readonly model: number;
      readonly tasks: readonly AskedTask[];
      readonly read: readonly string[];
    }
  | { readonly op: 'put'; readonly id: number }
  | { readonly op: 'fetch'; readonly id: number; readonly names: readonly string[] }
  | { readonly op: 'drop'; readonly ids: readonly number[] }
  | { readonly op: 'release'; readonly model: number }
  | { readonly op: 'stats' }
  | { readonly op: 'close' };

/** OutputBytes is how large each kept output of a task is, by name. */
export type OutputBytes = Readonly<Record<string, number>>;

/** ComponentStats counts what a component executor holds. */
export interface ComponentStats {
  /** The models that are loaded or being released. */
  readonly models: number;
  /** The batches that are executed or wait for the device. */
  readonly batches: number;
  /** The tasks and other sources whose outputs are kept, and how many outputs these are. */
  readonly kept: number;
  readonly outputs: number;
  /** The memory of these outputs; an output that a run may still give back counts. */
  readonly bytes: number;
}

/** ComponentAnswers are what each request is answered with, besides tensors. */
export interface ComponentAnswers {
  open: StartAnswer;
  load: LoadedModel;
  run: RunTimes & { readonly bytes: readonly OutputBytes[] };
  put: { readonly bytes: OutputBytes };
  fetch: Record<string, never>;
  drop: Record<string, never>;
  release: Record<string, never>;
  stats: ComponentStats;
  close: Record<string, never>;
}

/** MODEL_BYTES names the bytes of a model that travel beside a request. */
export const MODEL_BYTES = 'model';

/** taskTensor names a tensor of a batch's i-th task in a message. */
export function taskTensor(i: number, name: string): string {
  return `${i}/${name}`;
}

/** taskOfTensor gives the parts of a name that `taskTensor` made. */
export function taskOfTensor(text: string): { readonly i: number; readonly name: string } {
  const at = text.indexOf('/');
  return { i: Number(text.slice(0, at)), name: text.slice(at + 1) };
}
