import { emittedHead, everyInput, inputFile, loadArtifact, type PlanDifference } from '../artifacts/index.js';

/**
 * diffPlanFiles says what the plan `after` changes in the plan `before`: rates, pipelines, SLOs, and GPUs that serve
 * something else.
 * @throws InputError where a file is not a pooled plan; MissingError where it is missing
 */
export async function diffPlanFiles(before: string, after: string): Promise<PlanDifference> {
  const [a, b] = await everyInput('compare the plans', [
    loadArtifact(before, ['pooled-plan']),
    loadArtifact(after, ['pooled-plan']),
  ]);
  const { diffPlans } = await import('../milp/index.js');
  const { objective, ...changes } = diffPlans(a.value, b.value);
  const { before: valueBefore, after: value } = objective;
  const [kindBefore, kind] = [a.value.objective.kind, b.value.objective.kind];
  return {
    ...emittedHead('plan-diff', [inputFile('before', a, undefined), inputFile('after', b, undefined)]),
    objective: {
      kind,
      ...(kind === kindBefore ? {} : { kindBefore }),
      before: valueBefore,
      after: value,
    },
    ...changes,
  };
}
