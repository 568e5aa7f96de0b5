import type { Emitted } from './common.js';
import type { PlanObjective } from './pooled-plan.js';

/** PlanDifference is what `plan diff` prints as JSON: what a new plan changes in another. */
export interface PlanDifference extends Emitted {
  kind: 'plan-diff';
  /** `kind` is the objective of the second plan; `kindBefore` is that of the first, where it is another. */
  objective: Changed & {
    readonly kind: PlanObjective['kind'];
    readonly kindBefore?: PlanObjective['kind'];
  };
  models: readonly {
    readonly name: string;
    readonly throughputRps: Changed;
    /** The rates that the plans hold; a side is absent where its plan promises none, and all where neither does. */
    readonly heldRps?: Partial<Changed>;
    readonly sloMs: Changed;
    /** The shares of requests that a pipeline must answer in time, and within which SLOs; absent where they are the same. */
    readonly objectives?: ChangedWords;
    /** The pipelines whose GPUs or rates differ. */
    readonly pipelines: readonly {
      readonly pipeline: string;
      readonly throughputRps: Changed;
      readonly gpus: Changed;
    }[];
  }[];
  /** The stages that differ, where the plans are of pipelines. */
  stages?: readonly StageDifference[];
  classes: readonly { readonly name: string; readonly used: Changed }[];
  gpusMoved: number;
  same: boolean;
}

/** StageDifference says how a stage is served in both plans; a plan that lacks the stage has 0, and no words. */
export interface StageDifference {
  readonly name: string;
  /** What its replicas are, such as `1/2 L4`. */
  readonly devices: ChangedWords;
  readonly batch: Changed;
  readonly replicas: Changed;
  readonly standby: Changed;
  readonly scaleFactor: Changed;
  /** The rate of one replica. */
  readonly throughputRps: Changed;
  /** The stages that its results go to, with probabilities and conditions. */
  readonly next: ChangedWords;
  /** Where the inputs of its model come from. */
  readonly inputs?: ChangedWords;
}

/** ChangedWords is a description in both plans. */
export interface ChangedWords {
  readonly before?: string;
  readonly after?: string;
}

/** Changed is one figure in both plans. */
export interface Changed {
  readonly before: number;
  readonly after: number;
}
