import {
  emittedHead,
  everyInput,
  fault,
  InputError,
  inputFile,
  type Loaded,
  loadArtifact,
  type PlanDifference,
} from '../artifacts/index.js';

const PLANS = ['pooled-plan', 'pipeline-plan', 'gear-plan'] as const;

/**
 * diffPlanFiles says what the plan `after` changes in the plan `before`: rates, pipelines, SLOs, and GPUs that serve
 * something else. Plans of pipelines are compared stage by stage, and those of cascades load by load.
 * @throws InputError where a file is no plan, or the plans are of two kinds; MissingError where it is missing
 */
export async function diffPlanFiles(before: string, after: string): Promise<PlanDifference> {
  const [a, b] = await everyInput('compare the plans', [
    loadArtifact(before, PLANS),
    loadArtifact(after, PLANS),
  ]);
  const head = emittedHead('plan-diff', [
    inputFile('before', a, undefined),
    inputFile('after', b, undefined),
  ]);
  if (a.kind === 'pipeline-plan' && b.kind === 'pipeline-plan') {
    const { diffPipelines } = await import('../pipeline/index.js');
    return { ...head, ...diffPipelines(a.value, b.value) };
  }
  if (a.kind === 'gear-plan' && b.kind === 'gear-plan') {
    const { diffGears } = await import('../gearplan/index.js');
    return { ...head, ...diffGears(a.value, b.value) };
  }
  if (a.kind === 'pooled-plan' && b.kind === 'pooled-plan') return { ...head, ...(await pooledDiff(a, b)) };
  throw new InputError(`compare ${before} with ${after}`, [
    fault(`they are of two kinds: ${a.kind} and ${b.kind}`),
  ]);
}

async function pooledDiff(
  a: Loaded<'pooled-plan'>,
  b: Loaded<'pooled-plan'>,
): Promise<Omit<PlanDifference, 'kind' | 'version'>> {
  const { diffPlans } = await import('../milp/index.js');
  const { objective, ...changes } = diffPlans(a.value, b.value);
  const { before: valueBefore, after: value } = objective;
  const [kindBefore, kind] = [a.value.objective.kind, b.value.objective.kind];
  return {
    objective: {
      kind,
      ...(kind === kindBefore ? {} : { kindBefore }),
      before: valueBefore,
      after: value,
    },
    ...changes,
  };
}
