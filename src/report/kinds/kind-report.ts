import type { PlanDifference, SimulationReport } from '../../formats/index.js';
import type { GearExplanation } from '../../gearplan/index.js';
import type { PipelineExplanation } from '../../inferline/index.js';
import type { PlanExplanation } from '../../milp/index.js';
import type { PlanFile, PlanKind } from '../../plans/index.js';
import type { BestFigure, CompareColumn } from '../compare-cells.js';
import type { Part, Table } from '../table.js';

/** Explanations are what explains a plan of each kind. */
interface Explanations {
  'pooled-plan': PlanExplanation;
  'pipeline-plan': PipelineExplanation;
  'gear-plan': GearExplanation;
  'workflow-plan': object;
}

/** SolvedPlan is the answer of `plan solve` where it found a plan of a kind. */
export interface SolvedPlan<K extends PlanKind> {
  readonly plan: PlanFile<K>;
  readonly explanation?: Explanations[K];
  readonly document: {
    readonly solver: { readonly ms: number; readonly phases: Readonly<Record<string, number>> };
  };
}

/** KindReport says how plans of a kind, and what is said of them, are shown. `KINDS` has one for each kind. */
export interface KindReport<K extends PlanKind> {
  /** `remarks` are said of the search, beside the answer. */
  remarks(solved: SolvedPlan<K>): readonly string[];
  /** `solved` shows a plan and its explanation. */
  solved(solved: SolvedPlan<K>): readonly Part[];
  /**
   * The tables of differences between two plans of the kind, besides the figures of their models and classes;
   * a table without rows is left out.
   */
  readonly differences: readonly ((difference: PlanDifference) => Table)[];
  readonly simulated: SimulatedKind;
  readonly compared: ComparedKind;
}

/** SimulatedKind is what only simulations of plans of a kind have; a table without rows is left out. */
export interface SimulatedKind {
  /** The lines below those that tell the run. */
  readonly lines: (report: SimulationReport) => readonly string[];
  /** The tables of the whole run, and those of its windows. */
  readonly tables: readonly ((report: SimulationReport) => Table)[];
  readonly windows: readonly ((report: SimulationReport) => Table)[];
}

/** ComparedKind is what only comparisons of specs of a kind have. */
export interface ComparedKind {
  /** The columns that say how good a plan is, how its requests fare, and how much of the devices it uses. */
  readonly merit: readonly CompareColumn[];
  readonly service: readonly CompareColumn[];
  readonly use: readonly CompareColumn[];
  /** The figures of which a summary of many rows names the best. */
  readonly best: readonly BestFigure[];
}
