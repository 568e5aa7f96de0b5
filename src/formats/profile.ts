import type { Boundary, Emitted, TensorSpec } from './common.js';

/** LatencyTable has µs by virtual size v, then batch size: one figure per block (or layer), null where not measured. */
export type LatencyTable = Record<string, Record<string, (number | null)[]>>;

/** WholeLatency has µs of the whole model (or a ratio to it) by virtual size v, then batch size. */
export type WholeLatency = Record<string, Record<string, number>>;

/** ProfiledSpan is the latency of the layers [from, to), which are whole blocks or cut where the model can be cut. */
export interface ProfiledSpan {
  layers: [number, number];
  us: number;
}

/** SpanTable holds timed spans by virtual size v, then batch size. */
export type SpanTable = Record<string, Record<string, ProfiledSpan[]>>;

/** Profile says what one model costs on each device class. See docs/formats.md. */
export interface Profile extends Emitted {
  kind: 'profile';
  model: ProfiledModel;
  boundary?: Boundary;
  layers?: ProfiledLayer[];
  blocks: ProfiledBlock[];
  devices: Record<string, DeviceProfile>;
  measurement?: Measurement;
}

/** DimValues gives free dimensions their sizes, by name or as `<input>.<axis>`, or declares them the batch. */
export type DimValues = Record<string, number | 'batch'>;

/** DataFile names a file of external tensors: its path relative to the ONNX file, and its SHA-256 digest in hex. */
export interface DataFile {
  path: string;
  sha256: string;
}

/** ProfiledModel says which model was profiled, and what it takes and gives for one request. */
export interface ProfiledModel {
  name: string;
  /** The path of the ONNX file, relative to the profile. */
  file?: string;
  sha256?: string;
  /** The files that hold its external tensors, relative to the ONNX file. */
  data?: DataFile[];
  inputs?: TensorSpec[];
  outputs?: TensorSpec[];
  /** The values given to the model's free dimensions: sizes, or `batch` for one that is declared the batch. */
  dims?: DimValues;
  /** The only batch size that the graph runs at, where it could not be made symbolic. */
  fixedBatch?: number;
  /** Shapes of inner tensors at the file's batch, as measured, without which it could not be made symbolic. */
  measuredShapes?: Record<string, number[]>;
  /**
   * How far the rows of a batch may be from those of a request alone, over the largest magnitude of a tensor; absent
   * where only rounding was allowed.
   */
  batchTolerance?: number;
  /**
   * Why its batches are taken on trust: what stands against that the rows of a batch keep apart. Absent where rules or
   * runs show that they do.
   */
  trustBatch?: string;
  /** The outputs that are no tensors, such as the sequence of a ZipMap: they are not served. */
  unservedOutputs?: string[];
}

/** ProfiledLayer is one node of the graph, in topological order, and what cutting after it would send. */
export interface ProfiledLayer {
  name: string;
  op: string;
  /** The bytes that cross for one request, as sent, when cut after this layer; absent where it cannot be cut. */
  cutBytes?: number;
  /** The reason why the model cannot be cut after this layer. */
  noCut?: string;
  weightBytes?: number;
}

/** ProfiledBlock is a run of layers that is never cut inside. */
export interface ProfiledBlock {
  /** The names of the nodes it holds, in order. */
  nodes?: string[];
  /** The bytes that cross after it for one request, as sent; for the last block, the output's size or 0. */
  cutBytes: number;
  weightBytes?: number;
  /** The tensors that cross after it, before any conversion of the boundary. */
  tensors?: TensorSpec[];
}

/**
 * layersBeforeBlocks counts the layers before each block, and last those of all blocks: block k is the layers
 * [before[k], before[k + 1]).
 */
export function layersBeforeBlocks(blocks: readonly ProfiledBlock[]): number[] {
  const before = [0];
  for (const { nodes = [] } of blocks) before.push((before.at(-1) as number) + nodes.length);
  return before;
}

/**
 * DeviceProfile holds what was measured on one device class. Latencies are medians, or 95th percentiles where named
 * so.
 */
export interface DeviceProfile {
  provider?: string;
  /** The CPU threads of one whole device. */
  threads?: number;
  deviceId?: number;
  /** The factor of an emulated device: results are held back to this multiple of the measured time. */
  slowdown?: number;
  emulated?: true;
  /** imported says whether its figures come from the files of another tool. */
  imported?: true;
  driver?: string;
  memoryBytes?: number;
  blockLatencyUs: LatencyTable;
  blockLatencyP95Us?: LatencyTable;
  layerLatencyUs?: LatencyTable;
  /** Figure k is of blocks k and k + 1 in one piece: one figure fewer than blocks. */
  pairLatencyUs?: LatencyTable;
  wholeLatencyUs?: WholeLatency;
  /**
   * The part of `wholeLatencyUs` that the run within the executor takes; the rest is sending a batch there
   * and its outputs back. Absent where latencies are of the run alone, as earlier versions and other tools
   * measured them.
   */
  wholeExecutionUs?: WholeLatency;
  /** Other spans of layers that were timed in one piece. */
  spanLatencyUs?: SpanTable;
  /** The milliseconds to load each block. */
  loadMs?: (number | null)[];
}

/** Measurement says how, when and where a profile was measured, and what was noticed. */
export interface Measurement {
  host?: Record<string, unknown>;
  date?: string;
  warmupRuns?: number;
  minRuns?: number;
  minMs?: number;
  maxMs?: number;
  /** The pause before each run on a whole device; absent where there was none. */
  pauseMs?: number;
  /** How its blocks were asked for; absent where they are another profile's. */
  partition?: { method: 'greedy' | 'min-transfer'; blocks: number };
  /** The cells that were asked for of a profile that is not complete: `resume` goes on with it. */
  asked?: {
    /** Devices as the command line writes them. */
    devices: string[];
    batch: number[];
    virtual: number[];
  };
  /**
   * complete says whether everything was measured; false when it was interrupted, and profiling with `resume`
   * goes on.
   */
  complete?: boolean;
  /** The sum of the blocks' medians over the whole model's, by class, virtual size and batch. */
  blockSumOverWhole?: Record<string, WholeLatency>;
  /**
   * The latency of the whole model as blocks and pairs of blocks predict it, over the measured one, by class,
   * virtual size and batch: how well latencies of spans that were not timed are known.
   */
  predictedOverWhole?: Record<string, WholeLatency>;
  /**
   * The factors that measured latencies were multiplied by after a load on a server (`plan verify
   * --correct`), by class, virtual size and batch.
   */
  correctedBy?: Record<string, WholeLatency>;
  /**
   * The largest change of any output element, with boundary float16, when every block's boundary is converted, over the
   * largest magnitude of that output.
   */
  boundaryChange?: number;
  /** The figures that are unfit; absent where none is. Before version 1.4 only the warnings say so. */
  unfit?: UnfitFigures[];
  warnings?: string[];
}

/** UnfitFigures are figures of one cell that were measured together and are unfit. */
export interface UnfitFigures {
  class: string;
  virtual: number;
  batch: number;
  figures: UnfitFigure[];
  /** The one of `warnings` that says so, and why. */
  warning: string;
}

/** UnfitFigure names a figure of a cell: that of the whole model, of a block, or of a block and the next one. */
export interface UnfitFigure {
  part: 'whole' | 'block' | 'pair';
  /** The block, or the first of the pair. */
  block?: number;
}

/** batchToleranceNote says to a person what a profile's `batchTolerance` means. */
function batchToleranceNote(model: string, tolerance: number): string {
  return `${model}: the rows of a batch influence one another; they may differ from those of a request alone by up to ${tolerance} of the largest value (batch tolerance)`;
}

/** batchTrustNote says to a person what a profile's `trustBatch` means. */
function batchTrustNote(model: string, why: string): string {
  return `${model}: its batches are trusted not to mix the rows of requests (trust batch), although ${why}`;
}

/** ServingMarks are what a model's profile says of the rows of a batch and of its outputs, which its plan repeats. */
export type ServingMarks = Pick<ProfiledModel, 'batchTolerance' | 'trustBatch' | 'unservedOutputs'>;

/** servingNotes says what a profile or plan has to say of the rows of a model's batches, and of its outputs. */
export function servingNotes(
  model: string,
  { batchTolerance, trustBatch, unservedOutputs = [] }: ServingMarks,
): string[] {
  return [
    ...(batchTolerance === undefined ? [] : [batchToleranceNote(model, batchTolerance)]),
    ...(trustBatch === undefined ? [] : [batchTrustNote(model, trustBatch)]),
    ...unservedOutputs.map((name) => `${model}: ${unservedOutputNote(name)}`),
  ];
}

/** unservedOutputNote says to a person what becomes of an output that is no tensor. */
export function unservedOutputNote(name: string): string {
  return `output ${name} is not a tensor: it is not served`;
}

/** servingMarks gives the marks that there are. */
export function servingMarks({ batchTolerance, trustBatch, unservedOutputs }: ServingMarks): ServingMarks {
  return {
    ...(batchTolerance === undefined ? {} : { batchTolerance }),
    ...(trustBatch === undefined ? {} : { trustBatch }),
    ...(unservedOutputs === undefined ? {} : { unservedOutputs }),
  };
}

/** ProfiledCell names the figures of a device class at one virtual size and batch size. */
export interface ProfiledCell {
  readonly className: string;
  readonly virtual: number;
  readonly batch: number;
}

/** cellName names a cell as the warnings of a profile do. */
export function cellName({ className, virtual, batch }: ProfiledCell): string {
  return `${className} 1/${virtual} batch ${batch}`;
}
