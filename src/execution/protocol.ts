import type { Device } from './device.js';
import type { TensorData } from './tensor.js';

export type Optimization = 'disabled' | 'basic' | 'extended' | 'all';

/**
 * When a measurement ends: after `minRuns` rotations and `minMs`, or after `maxMs` whatever came. Rotations are whole, and
 * there is one at least.
 */
export interface MeasureStop {
  /** Rotations before those that count; not part of the times. */
  readonly warmupRuns: number;
  readonly minRuns: number;
  readonly minMs: number;
  readonly maxMs: number;
  /** CLOCK_MONOTONIC (`process.hrtime`) nanoseconds before which no measured run starts; so that copies start together. */
  readonly startAtNs?: number;
}

/** What the parent asks of the child. Tensors travel beside it, by name. */
export type Request =
  | { readonly op: 'open'; readonly device: Device; readonly threads: number }
  | {
      readonly op: 'load';
      readonly path: string;
      readonly optimization: Optimization;
      readonly memoryPattern: boolean;
    }
  | { readonly op: 'run'; readonly model: number; readonly fetches?: readonly string[] }
  | { readonly op: 'measureRotation'; readonly models: readonly number[]; readonly stop: MeasureStop }
  | { readonly op: 'hold'; readonly model: number }
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

/** An input or output of a model as it declares it: free dimensions by name (empty where unnamed). */
export interface ValueInfo {
  readonly name: string;
  /** Undefined for what is not a tensor (a sequence, a map, an optional). */
  readonly dtype?: string;
  readonly shape?: readonly (number | string)[];
}

export interface LoadedModel {
  readonly model: number;
  readonly loadMs: number;
  readonly inputs: string[];
  readonly outputs: string[];
  readonly inputInfo: readonly ValueInfo[];
  readonly outputInfo: readonly ValueInfo[];
}

/** One node's times, a figure a run in µs; nodes inside an If, Loop or Scan are part of that node's. */
export interface NodeTiming {
  readonly name: string;
  readonly op: string;
  readonly us: number[];
  /**
   * From the node's end to the next one's start: freeing of tensors, dispatch, and 2 to 4 µs of ONNX Runtime's own
   * recording. With it the nodes account for the whole run; without it, of many small nodes, for 85 to 90 %.
   * Absent where `us` is the device's time.
   */
  readonly gapUs?: number[];
}

/** Device time of one run: `executionUs` with the hold-back of an emulated device, and when, in CLOCK_MONOTONIC ns. */
export interface RunTimes {
  readonly executionUs: number;
  readonly startedNs: number;
  readonly endedNs: number;
}

/** What each request is answered with, besides tensors. */
export interface Answers {
  open: { readonly backends: readonly string[] };
  load: LoadedModel;
  run: RunTimes;
  measureRotation: Record<string, never>;
  hold: Record<string, never>;
  nodeTimings: { readonly runUs: number[]; readonly nodes: NodeTiming[] };
  release: Record<string, never>;
  close: Record<string, never>;
}

/** A reply's head: the answer, or what went wrong. */
export type Reply =
  | { readonly id: number; readonly answer: Answers[keyof Answers] }
  | { readonly id: number; readonly error: string };

/** A request's head as sent. */
export interface Call {
  readonly id: number;
  readonly request: Request;
}

export type Tensors = Record<string, TensorData>;
