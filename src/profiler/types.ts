import type { Device, NamedDevice, StartExecutor, Tensors } from '../execution/index.js';
import type { Boundary, DataFile, DimValues, ProfiledLayer, TensorSpec } from '../formats/index.js';
import type { Cut, CutFault, MeasuredShapes, OnnxModel, TensorType } from '../onnx/index.js';
import type { PartitionMethod } from '../partition/index.js';
import type { Source } from './source.js';

export interface PrepareOptions {
  /** Sizes of the model's free dimensions other than the batch, or `batch` for those that are the batch. */
  readonly dims?: Readonly<DimValues>;
  /**
   * The device on which the model is run to find shapes and to try batching; an emulated device's hold-back is not
   * used.
   */
  readonly device: Device;
  /**
   * How far the rows of a batch may be from those of a request alone, over the largest magnitude of a tensor, for models
   * whose rows influence one another slightly. By default only rounding is allowed.
   */
  readonly batchTolerance?: number;
  /** Whether to take batches although nothing shows that rows keep apart; an output without a batch axis stays a bar. */
  readonly trustBatch?: boolean;
  /** How tensors will cross a cut; it decides what `cutBytes` counts. By default `exact`. */
  readonly boundary?: Boundary;
  /** Values of inputs for one request in place of random ones, for inputs that take certain values only. */
  readonly feeds?: Tensors;
  /** The number that fills every element of an input, for inputs such as a sampling rate. */
  readonly fill?: Readonly<Record<string, number>>;
  /**
   * The most memory that the processes which run the model may take; by default the available memory, less a reserve.
   */
  readonly memoryLimitBytes?: number | undefined;
  /** Starts the executors that run the model; by default `startExecutor`. */
  readonly startExecutor?: StartExecutor;
  readonly signal?: AbortSignal;
  /**
   * Receives the files of external tensors, relative to the model, before it is run; an error thrown here ends the
   * work.
   */
  readonly onDataFiles?: (locations: readonly string[]) => Promise<void>;
}

/** PreparedModel is a model that is ready to be profiled: named nodes, bound dimensions, known tensors. */
export interface PreparedModel {
  readonly name: string;
  /** The path of the ONNX file. */
  readonly path: string;
  /** The digest of that file. */
  readonly sha256: string;
  /** The files that hold its external tensors, relative to it. */
  readonly data: readonly DataFile[];
  /** The model as profiled; its nodes are the layers. */
  readonly model: OnnxModel;
  readonly source: Source;
  readonly dims: Readonly<DimValues>;
  /** The only batch size that the model runs at; undefined where it takes any. */
  readonly fixedBatch: number | undefined;
  readonly fixedBatchReason: string | undefined;
  /** Shapes of inner tensors at the file's batch that were needed to make it symbolic: `bindModel` needs them again. */
  readonly measuredShapes: MeasuredShapes;
  /** The tolerance that rows of a batch were given beyond rounding. */
  readonly batchTolerance: number | undefined;
  /** Why its batches are taken on trust only; undefined where rules or runs show that rows keep apart. */
  readonly trustBatch: string | undefined;
  readonly boundary: Boundary;
  /** The model's inputs at batch 1, or at the fixed batch. */
  readonly inputs: readonly TensorSpec[];
  readonly outputs: readonly TensorSpec[];
  /** The findings about inputs, outputs, and every tensor that crosses some cut. */
  readonly tensors: ReadonlyMap<string, TensorFinding>;
  /** The tensors' types for extraction, with the batch axis open. */
  readonly types: ReadonlyMap<string, TensorType>;
  /** The crossings after each layer but the last, whether the model can be cut there or not. */
  readonly cuts: readonly Cut[];
  readonly layers: PreparedLayers;
  /** Values of the model's inputs for one request (a whole run, where the batch is fixed). */
  readonly request: Tensors;
}

/** PreparedLayers are a model's layers as profiles have them, which say in words alone where it cannot be cut. */
export interface PreparedLayers extends ReadonlyArray<ProfiledLayer> {
  /** Why the model cannot be cut after each layer; undefined where it can, and after the last. */
  readonly cutFaults: readonly (CutFault | undefined)[];
}

/** TensorFinding is what a run of the model showed about a tensor. */
export type TensorFinding =
  | { readonly kind: 'tensor'; readonly spec: TensorSpec; readonly batching: Batching }
  | { readonly kind: 'not-a-tensor' };

/**
 * Batching says how a tensor of several requests follows from theirs: it is joined along `axis` (which is
 * `spec.batchAxis`), it is the same for all, or it is neither, for a reason.
 */
export type Batching =
  | { readonly kind: 'stacked'; readonly axis: number }
  | { readonly kind: 'common' }
  | {
      readonly kind: 'mixed';
      readonly why: string;
      /**
       * How far a request's values are from those it has alone, over the largest magnitude, where that depends on the
       * other request: Infinity where integers differ. Absent where it was not compared, or no request's data is in it.
       */
      readonly difference?: number;
      /** The axis that grows with the batch, where one does. */
      readonly grows?: number;
      /** Present where the tensor's size depends on the data. */
      readonly dataSized?: true;
    };

/**
 * Limits say when a cell has been measured enough: after `minRuns` runs and `minMs`, or after `maxMs`. The cells of a
 * batch size and virtual size are measured in rotation, each once before any is again: all get as many runs, and the
 * times hold for each on average, pauses included. Before each run on a whole device there is a pause of `pauseMs`, since
 * a device that was idle is slower, and a server's mostly was. Virtual GPUs are measured without one: their neighbours
 * are to be busy all the while.
 */
export interface Limits {
  readonly warmupRuns: number;
  readonly minRuns: number;
  readonly minMs: number;
  readonly maxMs: number;
  readonly pauseMs: number;
}

/** DEFAULT_LIMITS are the limits that hold where options give none. */
export const DEFAULT_LIMITS: Limits = { warmupRuns: 3, minRuns: 10, minMs: 200, maxMs: 2000, pauseMs: 2 };

export interface ProfileOptions {
  readonly devices: readonly NamedDevice[];
  readonly batchSizes: readonly number[];
  /** Virtual GPU sizes v (1/v of the device) by class; by default [1]. */
  readonly virtualSizes?: Readonly<Record<string, readonly number[]>>;
  /** How layers are grouped into blocks; by default `greedy` into 10. */
  readonly partition?: {
    readonly method?: PartitionMethod;
    readonly blocks?: number;
    readonly device?: string;
  };
  /** A profile whose blocks (known by their nodes) are measured instead. */
  readonly blocksOf?: import('../formats/index.js').Profile;
  readonly limits?: Partial<Limits>;
  /**
   * The most memory that the processes which run the model may take; by default the available memory, less a reserve.
   */
  readonly memoryLimitBytes?: number | undefined;
  /** Starts the executors that run the model; by default `startExecutor`. */
  readonly startExecutor?: StartExecutor;
  /** An interrupted profile to continue: only its missing figures are measured. */
  readonly resume?: import('../formats/index.js').Profile;
  readonly signal?: AbortSignal;
  readonly onProgress?: (event: ProgressEvent) => void;
  /**
   * Receives the profile as it stands when a batch size and virtual size is measured, but at most every 5 s, and before
   * an error is thrown. A profile that is saved here can be resumed. Measuring waits for it, and an error thrown here
   * ends the profiling.
   */
  readonly onCheckpoint?: (profile: import('../formats/index.js').Profile) => Promise<void>;
  /** The value of `measurement.date`; by default nothing is written. */
  readonly date?: string;
}

export type ProgressEvent =
  | { readonly kind: 'unavailable'; readonly className: string; readonly missing: string }
  | { readonly kind: 'phase'; readonly phase: 'layers' | 'blocks'; readonly className: string }
  | { readonly kind: 'partitioned'; readonly blocks: number; readonly notes: readonly string[] }
  | {
      readonly kind: 'progress';
      /** The measurements that are done, and all of them. */
      readonly done: number;
      readonly total: number;
      /** An estimate from the pace so far; undefined before anything is done. */
      readonly leftMs: number | undefined;
      readonly cells: Cells;
    }
  | { readonly kind: 'warning'; readonly message: string };

/** Cells are the cells that are measured together: blocks and the whole model, in rotation. */
export interface Cells {
  readonly className: string;
  readonly virtual: number;
  readonly batch: number;
  /** The number of cells: the blocks that were missing, and the whole model. */
  readonly count: number;
}
