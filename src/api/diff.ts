import {
  emittedHead,
  everyInput,
  type FieldChange,
  fault,
  InputError,
  inputFile,
  loadArtifact,
  type PlanDifference,
} from '../artifacts/index.js';

const PLANS = ['pooled-plan', 'pipeline-plan', 'gear-plan'] as const;

/** No more fields are told one by one. */
const MOST_FIELDS = 50;

/**
 * diffPlanFiles says what the plan `after` changes in the plan `before`: rates, pipelines, SLOs, GPUs that serve something
 * else, and all else by which they are served. Plans of pipelines are compared stage by stage, and those of cascades load
 * by load.
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
    const { diffPipelines, pipelineFieldChanges } = await import('../plans/index.js');
    return withFields(
      { ...head, ...diffPipelines(a.value, b.value) },
      pipelineFieldChanges(a.value, b.value),
    );
  }
  if (a.kind === 'gear-plan' && b.kind === 'gear-plan') {
    const { diffGears, gearFieldChanges } = await import('../plans/index.js');
    return withFields({ ...head, ...diffGears(a.value, b.value) }, gearFieldChanges(a.value, b.value));
  }
  if (a.kind === 'pooled-plan' && b.kind === 'pooled-plan') {
    const { diffPlans, pooledFieldChanges } = await import('../plans/index.js');
    return withFields({ ...head, ...diffPlans(a.value, b.value) }, pooledFieldChanges(a.value, b.value));
  }
  throw new InputError(`compare ${before} with ${after}`, [
    fault(`they are of two kinds: ${a.kind} and ${b.kind}`),
  ]);
}

/** withFields adds fields that differ, by which plans are not the same. */
function withFields(diff: PlanDifference, fields: readonly FieldChange[]): PlanDifference {
  if (fields.length === 0) return diff;
  return { ...diff, fields: fields.slice(0, MOST_FIELDS), same: false };
}
