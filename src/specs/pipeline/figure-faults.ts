import { type Fault, fault, fieldChanges, type PipelinePlan } from '../../formats/index.js';
import type { PipelinePlanBody } from '../../plans/index.js';

/** The fields that are compared otherwise, or that only a search knows. */
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
    const again = key === 'sample' ? sampleAsOf(plan, expected) : expected[key as keyof PipelinePlanBody];
    const changes = fieldChanges(plan[key], again, `/${key}`);
    for (const { path, before = 'absent', after = 'absent' } of changes)
      faults.push(fault(`is ${before}; its spec and profiles give ${after}`, path));
  }
  return faults;
}

/** sampleAsOf gives the sample of a plan without what plans lack that were made before there were misses by stage and digests. */
function sampleAsOf(
  { sample }: PipelinePlan,
  { sample: expected }: PipelinePlanBody,
): PipelinePlanBody['sample'] {
  const isOlder = sample?.missesByStage === undefined && sample?.sha256 === undefined;
  if (!isOlder || expected === undefined) return expected;
  const { missesByStage: _, sha256: __, ...older } = expected;
  return older;
}
