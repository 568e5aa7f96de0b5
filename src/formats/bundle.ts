import type { Emitted, TensorSpec } from './common.js';
import type { StageInput } from './pipeline-plan.js';
import type { PlanChecks } from './plan-checks.js';

/** A bundle's folder holds its manifest under this name. */
export const BUNDLE_MANIFEST = 'manifest.json';

/** DeployTarget is what a bundle is written for, and so what runs it. */
export type DeployTarget = 'local' | 'ray-serve' | 'kuberay' | 'kubernetes' | 'triton' | 'kserve';

/**
 * Bundle is a bundle's manifest.json: the plan, the ONNX files of its partitions or stages, and how to run each device
 * class.
 */
export interface Bundle extends Emitted, PlanChecks {
  kind: 'bundle';
  target: DeployTarget;
  plan: BundleFile;
  /**
   * The models that clients call: those of a pooled plan, a pipeline as one model, or workflows with what
   * their programs export.
   */
  models: BundledModel[];
  /** The partitions of a pooled plan; none for other plans. */
  partitions: BundledPartition[];
  /** The stages of a pipeline plan, in its order. */
  stages?: BundledStage[];
  /** The components of a workflow plan, in its order. */
  components?: BundledComponent[];
  /** The programs of a workflow plan, in the order of its workflows. */
  programs?: BundledProgram[];
  /** For another engine than this server, without the classes of which the profiles do not say how they are run. */
  devices: Record<string, BundledDevice>;
  /** The files of the engine, where another than this server runs the bundle. */
  files?: BundleFile[];
}

/**
 * BundleFile names a file of the bundle: its path relative to the manifest, and the SHA-256 digest of its bytes in
 * hex.
 */
export interface BundleFile {
  path: string;
  sha256: string;
}

/** BundledModel holds the inputs and outputs of what clients call by a name, as they send and get them. */
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

/** BundledStage is a stage of a pipeline plan. Stages of one model have the same file. */
export interface BundledStage {
  /** The name of the stage in the plan, which has its edges. */
  name: string;
  /** The path of its model's ONNX file, relative to the manifest. */
  file: string;
  sha256: string;
  /** The external data files beside it. */
  data?: BundleFile[];
  /** The model's inputs, and where they come from. */
  inputs: StageInput[];
  /** The tensors that the model answers. */
  outputs: TensorSpec[];
}

/** BundledComponent is a component of a workflow plan. Components of one model have the same file. */
export interface BundledComponent {
  name: string;
  /** The path of its model's ONNX file, relative to the manifest. */
  file: string;
  sha256: string;
  /** The external data files beside it. */
  data?: BundleFile[];
  inputs: TensorSpec[];
  outputs: TensorSpec[];
}

/** BundledProgram is the program of a workflow, a module of JavaScript. */
export interface BundledProgram {
  workflow: string;
  /** The path of the module, relative to the manifest. */
  file: string;
  sha256: string;
  /** The modules and other files that it imports of its folder. */
  modules?: BundleFile[];
}

/** BundledParts are the entries of a manifest that name what is executed. */
type BundledParts = Pick<Bundle, 'partitions' | 'stages' | 'components' | 'programs'>;

/** bundledModelFiles lists the ONNX files of a manifest, each with itself and its external data. */
export function bundledModelFiles({
  partitions,
  stages = [],
  components = [],
}: Omit<BundledParts, 'programs'>): { readonly file: string; readonly parts: readonly BundleFile[] }[] {
  return [...partitions, ...stages, ...components].map(({ file, sha256, data = [] }) => ({
    file,
    parts: [{ path: file, sha256 }, ...data],
  }));
}

/**
 * bundledPartFiles lists all files of what a bundle executes: ONNX files with their external data, and programs with
 * what they import.
 */
export function bundledPartFiles({ programs = [], ...models }: BundledParts): BundleFile[] {
  return [
    ...bundledModelFiles(models).flatMap(({ parts }) => parts),
    ...programs.flatMap(({ file, sha256, modules = [] }) => [{ path: file, sha256 }, ...modules]),
  ];
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
