import type { Emitted, TensorSpec } from './common.js';

/** A bundle's folder holds its manifest under this name. */
export const BUNDLE_MANIFEST = 'manifest.json';

/** Bundle is a bundle's manifest.json: the plan, the partitions' ONNX files, and how to run each device class. */
export interface Bundle extends Emitted {
  kind: 'bundle';
  target: 'local';
  plan: BundleFile;
  models: BundledModel[];
  partitions: BundledPartition[];
  devices: Record<string, BundledDevice>;
}

/**
 * BundleFile names a file of the bundle: its path relative to the manifest, and the SHA-256 digest of its bytes in
 * hex.
 */
export interface BundleFile {
  path: string;
  sha256: string;
}

/** BundledModel holds the inputs and outputs of a model, as clients send and get them. */
export interface BundledModel {
  name: string;
  inputs: TensorSpec[];
  outputs: TensorSpec[];
}

/** BundledPartition is one distinct partition; several pipelines may use it. */
export interface BundledPartition {
  /** The path of its ONNX file, relative to the manifest. */
  file: string;
  sha256: string;
  /** The external data files beside it. */
  data?: BundleFile[];
  /** The index of its model in `models`. */
  model: number;
  /** Its first block. */
  from: number;
  /** The block after its last. */
  to: number;
  /** The tensors it is fed, by name; as sent. */
  inputs: TensorSpec[];
  /** The tensors it answers, by name; as sent. */
  outputs: TensorSpec[];
}

/** BundledDevice says how an executor of this class is started. */
export interface BundledDevice {
  provider: string;
  threads?: number;
  deviceId?: number;
  /** The factor of an emulated device: results are held back to this multiple of the measured time. */
  slowdown?: number;
  emulated?: true;
}
