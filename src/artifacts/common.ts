/** The program that wrote an artifact. */
export interface Tool {
  name: string;
  version: string;
}

/** A file an artifact was made from. `path` is relative to the file that holds it. */
export interface InputFile {
  role: string;
  path: string;
  sha256: string;
}

/** A tensor by name: element type as ONNX Runtime names it (`float32`, `int64`, …) and shape at batch 1. */
export interface TensorSpec {
  name: string;
  dtype: string;
  shape: number[];
  /** The axis that grows with the batch; absent where none does. */
  batchAxis?: number;
  /** Of an input that takes certain values only: the value it was profiled with. */
  fill?: number;
}

/** How tensors cross a cut: as they are, or float32 as float16 (PPipe §6). */
export type Boundary = 'exact' | 'float16';

/** What every emitted file carries. */
export interface Emitted {
  $schema?: string;
  version: string;
  tool?: Tool;
  inputs?: InputFile[];
}

export const FORMAT_VERSION = '1.0';
