import { everyInput, loadArtifact } from '../artifacts/index.js';
import type { PlanDiff } from '../milp/index.js';

/**
 * What a new plan changes: rates, pipelines, SLOs, GPUs that serve something else.
 * @throws InputError where a file is no pooled plan, MissingError where it is not there
 */
export async function diffPlanFiles(before: string, after: string): Promise<PlanDiff> {
  const [a, b] = await everyInput('compare the plans', [
    loadArtifact(before, ['pooled-plan']),
    loadArtifact(after, ['pooled-plan']),
  ]);
  const { diffPlans } = await import('../milp/index.js');
  return diffPlans(a.value, b.value);
}
