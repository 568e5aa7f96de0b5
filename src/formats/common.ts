/** Tool is the program that wrote an artifact. */
export interface Tool {
  name: string;
  version: string;
}

/** InputFile is a file that an artifact was made from. `path` is relative to the file that holds it. */
export interface InputFile {
  role: string;
  path: string;
  sha256: string;
}

/**
 * TensorSpec is a tensor by name, with ONNX Runtime's element type (`float32`, `int64`, …) and the shape at batch 1.
 */
export interface TensorSpec {
  name: string;
  dtype: string;
  shape: number[];
  /** The axis that grows with the batch; absent where none does. */
  batchAxis?: number;
  /** The axes whose size depends on the data; `shape` has there what was profiled. */
  variableAxes?: number[];
  /** The value that an input was profiled with, where it takes certain values only. */
  fill?: number;
}

/**
 * LatencyHistogram counts latencies between fixed bounds (docs/metrics.md): `counts[i]` those from `boundsMs[i]` to
 * before `boundsMs[i + 1]`. Empty buckets at either end are left out.
 */
export interface LatencyHistogram {
  boundsMs: number[];
  counts: number[];
}

/** Boundary says how tensors cross a cut: as they are, or float32 as float16 (PPipe §6). */
export type Boundary = 'exact' | 'float16';

/** Emitted is what every emitted file carries. */
export interface Emitted {
  $schema?: string;
  version: string;
  tool?: Tool;
  inputs?: InputFile[];
}

/** FORMAT_VERSION is the version that emitted files carry. Files of any version 1.x are read. */
export const FORMAT_VERSION = '1.0';
