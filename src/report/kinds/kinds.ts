import type { PlanDifference, SimulationReport } from '../../formats/index.js';
import type { PlanKind } from '../../plans/index.js';
import type { Part, Table } from '../table.js';
import { GEARS } from './gears.js';
import type { KindReport, SimulatedKind, SolvedPlan } from './kind-report.js';
import { PIPELINE } from './pipeline.js';
import { POOLED } from './pooled.js';
import { WORKFLOWS } from './workflow.js';

/** KINDS says of each kind of plan how it is shown. A kind that lacks an entry does not compile. */
export const KINDS: { readonly [K in PlanKind]: KindReport<K> } = {
  'pooled-plan': POOLED,
  'gear-plan': GEARS,
  'pipeline-plan': PIPELINE,
  'workflow-plan': WORKFLOWS,
};

/** EVERY_KIND are the entries of all kinds, in their order. */
export const EVERY_KIND = Object.values(KINDS) as readonly KindReport<PlanKind>[];

/** reportOf gives the entry of a plan's kind; as `planOf`, it is to be asked about that plan only. */
function reportOf<K extends PlanKind>({ plan }: SolvedPlan<K>): KindReport<K> {
  return KINDS[plan.kind as K] as KindReport<K>;
}

/** solvedRemarks are said of a search that found a plan, beside the answer. */
export function solvedRemarks(solved: SolvedPlan<PlanKind>): readonly string[] {
  return reportOf(solved).remarks(solved);
}

/**
 * solvedParts show a plan that was found, and its explanation. A table without rows says nothing, and is left out; one that follows
 * another stands apart from it.
 */
export function solvedParts(solved: SolvedPlan<PlanKind>): readonly Part[] {
  const parts = reportOf(solved)
    .solved(solved)
    .filter((part) => typeof part === 'string' || part.rows.length > 0);
  const isTable = (part: Part | undefined) => typeof part === 'object';
  return parts.flatMap((part, i) => (isTable(part) && isTable(parts[i - 1]) ? ['', part] : [part]));
}

/** differenceTables are those of every kind, each once: a difference has rows in those of its own. */
export function differenceTables(difference: PlanDifference): Table[] {
  const tables = new Set(EVERY_KIND.flatMap(({ differences }) => differences));
  return [...tables].map((table) => table(difference));
}

/** simulatedTables are those of every kind, of the whole run or of its windows: a report has rows in those of its own. */
export function simulatedTables(
  report: SimulationReport,
  of: Exclude<keyof SimulatedKind, 'lines'>,
): Table[] {
  return EVERY_KIND.flatMap(({ simulated }) => simulated[of]).map((table) => table(report));
}
