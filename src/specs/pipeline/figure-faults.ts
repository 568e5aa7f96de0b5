import { type Fault, fault, fieldChanges, type PipelinePlan } from '../../artifacts/index.js';
import type { PipelinePlanBody } from '../../plans/index.js';

/** What is compared otherwise, or only a search knows. */
const NOT_RECOMPUTED: readonly (keyof PipelinePlan)[] = [
  ...(['$schema', 'version', 'tool', 'inputs'] as const),
  ...(['serving', 'notes', 'load', 'share', 'reproducible'] as const),
];

/**
 * figureFaults finds where a plan differs from the one that its spec and profiles give. Figures may differ by a part in
 * 10⁹.
 */
export function figureFaults(plan: PipelinePlan, expected: PipelinePlanBody): Fault[] {
  const faults: Fault[] = [];
  for (const key of Object.keys({ ...expected, ...plan }) as (keyof PipelinePlan)[]) {
    if (NOT_RECOMPUTED.includes(key)) continue;
    const changes = fieldChanges(plan[key], expected[key as keyof PipelinePlanBody], `/${key}`);
    for (const { path, before = 'absent', after = 'absent' } of changes)
      faults.push(fault(`is ${before}; its spec and profiles give ${after}`, path));
  }
  return faults;
}
