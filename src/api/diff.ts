import { everyInput, loadArtifact } from '../artifacts/index.js';
import type { PlanDiff } from '../milp/index.js';

/**
 * diffPlanFiles says what the plan `after` changes in the plan `before`: rates, pipelines, SLOs, and GPUs that serve
 * something else.
 * @throws InputError where a file is not a pooled plan; MissingError where it is missing
 */
export async function diffPlanFiles(before: string, after: string): Promise<PlanDiff> {
  const [a, b] = await everyInput('compare the plans', [
    loadArtifact(before, ['pooled-plan']),
    loadArtifact(after, ['pooled-plan']),
  ]);
  const { diffPlans } = await import('../milp/index.js');
  return diffPlans(a.value, b.value);
}
