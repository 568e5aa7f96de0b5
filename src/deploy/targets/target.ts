import type { Bundle, DeployTarget, InputFile, LintReport, PlanChecks } from '../../formats/index.js';
import type { ServedPlan, StagePlan } from '../../plans/index.js';
import type { DeployedModel } from '../model-file.js';
import type { ProgramToWrite } from '../program-files.js';

/** Deployment holds all that a bundle is written from. */
export interface Deployment {
  readonly plan: ServedPlan;
  /** The plan file's bytes, which are copied as they are. */
  readonly planBytes: Uint8Array;
  /**
   * The models: one entry per model of a pooled plan, per component of a workflow plan, or per stage of
   * another plan, in the plan's order.
   */
  readonly models: readonly DeployedModel[];
  /** The programs of a workflow plan, in the order of its workflows. */
  readonly programs?: readonly ProgramToWrite[] | undefined;
  readonly inputs: InputFile[];
  /** Against what the plan was checked. */
  readonly checks: PlanChecks;
  /** A signal that stops the writing. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * WrittenBundle holds the manifest as written, the size in bytes of the files of each of its partitions or stages, and for
 * another engine what may go wrong there.
 */
export interface WrittenBundle<T extends DeployTarget = DeployTarget> {
  readonly manifest: Bundle & { readonly target: T };
  readonly sizes: number[];
  readonly lint?: LintReport;
}

/** DeployedBundle is a bundle that was written earlier. */
export interface DeployedBundle {
  readonly plan: StagePlan;
  readonly manifest: Bundle;
  /** The texts of the engine's files, by path, as they are now. */
  readonly texts: ReadonlyMap<string, string>;
}

/** TargetOf says how the bundles of a target are written. */
export interface TargetOf<T extends DeployTarget> {
  /**
   * write writes a bundle into a folder, which appears whole or not at all. It may replace another bundle, and no other
   * folder. The same deployment gives the same bytes.
   * @throws InputError where plan, profile and model do not fit together, the target's engine cannot run the plan, or the
   *   folder holds other files; the signal's reason on abort, with the folder as it was
   */
  write(folder: string, deployment: Deployment): Promise<WrittenBundle<T>>;
  /** lint looks at the engine's files of a bundle; absent where this server runs it, which checks bundles itself. */
  readonly lint?: (bundle: DeployedBundle) => LintReport;
}
