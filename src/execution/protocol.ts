import type { Device } from './device.js';
import type { Optimization, SessionChoice } from './session-choice.js';
import type { TensorData } from './tensor-data.js';
import type { ModelDigests } from './verified-model.js';

/** VerifyLoad is what the files of a model must be, and the empty folder for its external data where it has some. */
export interface VerifyLoad {
  readonly digests: ModelDigests;
  readonly folder?: string;
}

/** StartRequest is the first request to any child: it starts the provider. */
export interface StartRequest {
  readonly op: 'open';
  readonly device: Device;
  readonly threads: number;
}

/** StartAnswer lists the providers of the child's build of ONNX Runtime. */
export interface StartAnswer {
  readonly backends: readonly string[];
}

/** Request is a request of the parent to the child. Tensors travel beside it, by name. */
export type Request =
  | StartRequest
  | ({ readonly op: 'load'; readonly path: string; readonly verify?: VerifyLoad } & SessionChoice)
  | { readonly op: 'run'; readonly model: number; readonly fetches?: readonly string[] }
  | {
      readonly op: 'nodeTimings';
      readonly path: string;
      readonly folder: string;
      readonly runs: number;
      readonly warmupRuns: number;
      readonly optimization: Optimization;
    }
  | { readonly op: 'release'; readonly model: number }
  | { readonly op: 'close' };

/** TensorInfo is an input or output as a model declares it, with free dimensions by name (empty where unnamed). */
export interface TensorInfo {
  readonly name: string;
  /** The element type; undefined where this is no tensor (a sequence, a map, an optional). */
  readonly dtype?: string;
  readonly shape?: readonly (number | string)[];
}

/** LoadedModel says under which number an executor holds a model, and what the model takes and gives. */
export interface LoadedModel {
  readonly model: number;
  readonly loadMs: number;
  readonly inputs: string[];
  readonly outputs: string[];
  readonly inputInfo: readonly TensorInfo[];
  readonly outputInfo: readonly TensorInfo[];
}

/** NodeTiming holds one node's times, a figure per run in µs. Nodes inside an If, Loop or Scan are part of its time. */
export interface NodeTiming {
  readonly name: string;
  readonly op: string;
  readonly us: number[];
  /**
   * The time from the node's end to the next one's start: freeing of tensors, dispatch, and 2 to 4 µs of ONNX Runtime's
   * own recording. With it the nodes account for the whole run; without it, many small nodes account for 85 to 90 %.
   * It is absent where `us` is the device's time.
   */
  readonly gapUs?: number[];
}

/** RunTimes holds the device time of one run, hold-back of an emulated device included, and when the run was. */
export interface RunTimes {
  readonly executionUs: number;
  readonly startedNs: number;
  readonly endedNs: number;
}

/** Answers are what each request is answered with, besides tensors. */
export interface Answers {
  open: StartAnswer;
  load: LoadedModel;
  run: RunTimes;
  nodeTimings: { readonly runUs: number[]; readonly nodes: NodeTiming[] };
  release: Record<string, never>;
  close: Record<string, never>;
}

/** Reply is the head of a reply: the answer, or an error. */
export type Reply<Answer = Answers[keyof Answers]> =
  | { readonly id: number; readonly answer: Answer }
  | {
      readonly id: number;
      readonly error: string;
      /** isOfFiles says whether it is that files are not what their digests say. */
      readonly isOfFiles?: boolean;
    };

/** Call is the head of a request as sent. */
export interface Call<Asked = Request> {
  readonly id: number;
  readonly request: Asked;
}

/** Tensors holds tensors by name. */
export type Tensors = Record<string, TensorData>;
