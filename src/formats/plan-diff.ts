import type { Emitted } from './common.js';
import type { GateVerdicts } from './gate-check.js';
import type { GearObjective } from './gear-plan.js';
import type { PlanObjective } from './pooled-plan.js';

/** PlanDifference is what `plan diff` prints as JSON: what a new plan changes in another. */
export interface PlanDifference extends Emitted, GateVerdicts {
  kind: 'plan-diff';
  /** `kind` is the objective of the second plan; `kindBefore` is that of the first, where it is another. */
  objective: Changed & {
    readonly kind: PlanObjective['kind'] | GearObjective['kind'];
    readonly kindBefore?: PlanObjective['kind'] | GearObjective['kind'];
  };
  models: readonly {
    readonly name: string;
    /** Of a cascade: the largest rate that the plan was made for. Of a workflow: its rate in the plan's load. */
    readonly throughputRps: Changed;
    /** The rates that the plans hold; a side is absent where its plan promises none, and all where neither does. */
    readonly heldRps?: Partial<Changed>;
    /** A side is absent where its plan has no objective. */
    readonly sloMs: Partial<Changed>;
    /**
     * The objectives of a pipeline or cascade, such as shares of requests in time; absent where they are the
     * same.
     */
    readonly objectives?: ChangedWords;
    /** Of a cascade: the accuracy that is expected over the distribution of loads. */
    readonly accuracy?: Changed;
    /** Of a workflow: the mean latency of the plan's sample. A side is absent where its plan has no such workflow. */
    readonly meanMs?: Partial<Changed>;
    /** Of a cascade: the largest p95 of a gear. Of a workflow: that of the plan's sample. */
    readonly p95Ms?: Partial<Changed>;
    /** Of a cascade: how certainty is computed, how loads are counted, and the scheduler; absent where it is the same. */
    readonly switching?: ChangedWords;
    /** The pipelines whose GPUs or rates differ. */
    readonly pipelines: readonly {
      readonly pipeline: string;
      readonly throughputRps: Changed;
      readonly gpus: Changed;
    }[];
  }[];
  /** The stages that differ, where the plans are of pipelines or cascades; the components, where they are of workflows. */
  stages?: readonly StageDifference[];
  /** The loads that cascades serve differently, from lower to higher ones. */
  gears?: readonly GearDifference[];
  classes: readonly { readonly name: string; readonly used: Changed }[];
  /**
   * The cost per hour of the devices in use, by the prices of each plan's cluster; absent where it is the
   * same in one currency, or not known of both.
   */
  hourlyCost?: Changed;
  /** The currencies of the plans' prices, where they are not one: their costs do not compare. */
  currency?: ChangedWords;
  gpusMoved: number;
  /** Further fields that differ, such as the scheduler, the cluster or what was asked of the planner; absent where none does. */
  fields?: readonly FieldChange[];
  /** Where a plan contradicts itself, so that no command uses it; absent where neither does. */
  notes?: readonly string[];
  same: boolean;
}

/** FieldChange is a field that differs, by its JSON pointer, with its values as JSON. A plan without it has none. */
export interface FieldChange {
  readonly path: string;
  readonly before?: string;
  readonly after?: string;
}

/**
 * StageDifference says how a stage is served in both plans; a plan that lacks the stage has 0, and no words. Stages of
 * cascades have no standby, visits, rate and next stages of their own: these are their gears'.
 */
export interface StageDifference {
  readonly name: string;
  /** The replicas of the stage, such as `1/2 L4`. */
  readonly devices: ChangedWords;
  readonly batch: Changed;
  readonly replicas: Changed;
  readonly standby?: Changed;
  readonly scaleFactor?: Changed;
  /** The rate of one replica. */
  readonly throughputRps?: Changed;
  /** The stages that its results go to, with probabilities and conditions. */
  readonly next?: ChangedWords;
  /** Where the inputs of its model come from. */
  readonly inputs?: ChangedWords;
}

/** GearDifference says how loads from one rate to another are served in both plans; a plan not made for them has nothing. */
export interface GearDifference {
  readonly fromRps: number;
  readonly toRps: number;
  /** The models in order, with the certainties below which requests go on, such as `small < 0.4 → large`. */
  readonly cascade: ChangedWords;
  /** How many requests make a batch start before each model, and after which time it starts anyway. */
  readonly batching: ChangedWords;
  readonly accuracy: Partial<Changed>;
  readonly p95Ms: Partial<Changed>;
  /** sharesDiffer says whether devices serve other shares of the same models' requests. */
  readonly sharesDiffer: boolean;
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
