import type { Emitted, TensorSpec } from './common.js';

/** manifest.json of a bundle: the plan, the partitions' ONNX files, and how to run each device class. */
export interface Bundle extends Emitted {
  kind: 'bundle';
  target: 'local';
  plan: BundleFile;
  models: BundledModel[];
  partitions: BundledPartition[];
  devices: Record<string, BundledDevice>;
}

export interface BundleFile {
  path: string;
  sha256: string;
}

export interface BundledModel {
  name: string;
  inputs: TensorSpec[];
  outputs: TensorSpec[];
}

/** One distinct partition; several pipelines may use it. */
export interface BundledPartition {
  /** Relative to the manifest. */
  file: string;
  sha256: string;
  /** External data files beside it. */
  data?: BundleFile[];
  /** Index into models. */
  model: number;
  /** First block. */
  from: number;
  /** Block after the last. */
  to: number;
  /** What it is fed, by name; as sent. */
  inputs: TensorSpec[];
  /** What it answers, by name; as sent. */
  outputs: TensorSpec[];
}

/** How an executor of this class is started. */
export interface BundledDevice {
  provider: string;
  threads?: number;
  deviceId?: number;
  /** Emulated: results are held back to this multiple of the measured time. */
  slowdown?: number;
  emulated?: true;
}
