import type { Bundle, DeployTarget, InputFile, PlanChecks } from '../../artifacts/index.js';
import type { ServedPlan } from '../../plans/index.js';
import type { DeployedModel } from '../model-file.js';

/** Deployment holds all that a bundle is written from. */
export interface Deployment {
  readonly plan: ServedPlan;
  /** The plan file's bytes, which are copied as they are. */
  readonly planBytes: Uint8Array;
  /** One entry per model of a pooled plan, or per stage of another plan, in the plan's order. */
  readonly models: readonly DeployedModel[];
  readonly inputs: InputFile[];
  /** Against what the plan was checked. */
  readonly checks: PlanChecks;
  /** A signal that stops the writing. */
  readonly signal?: AbortSignal | undefined;
}

/** WrittenBundle holds the manifest as written, and the size in bytes of the files of each of its partitions or stages. */
export interface WrittenBundle<T extends DeployTarget = DeployTarget> {
  readonly manifest: Bundle & { readonly target: T };
  readonly sizes: number[];
}

/** TargetOf says how the bundles of a target are written. */
export interface TargetOf<T extends DeployTarget> {
  /**
   * write writes a bundle into a folder, which appears whole or not at all. It may replace another bundle, and no other
   * folder. The same deployment gives the same bytes.
   * @throws InputError where plan, profile and model do not fit together, or the folder holds other files; the signal's
   *   reason on abort, with the folder as it was
   */
  write(folder: string, deployment: Deployment): Promise<WrittenBundle<T>>;
}
