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

/** No more fields are told one by one. */
const MOST_FIELDS = 50;

/**
 * diffPlanFiles says what the plan `after` changes in the plan `before`: rates, pipelines, SLOs, GPUs that serve something
 * else, and all else by which they are served. Plans of pipelines are compared stage by stage, and those of cascades load
 * by load.
 * @throws InputError where a file is no plan, or the plans are of two kinds; MissingError where it is missing
 */
export async function diffPlanFiles(before: string, after: string): Promise<PlanDifference> {
  const { PLAN_KINDS, planOf } = await import('../plans/index.js');
  const [a, b] = await everyInput('compare the plans', [
    loadArtifact(before, PLAN_KINDS),
    loadArtifact(after, PLAN_KINDS),
  ]);
  if (a.kind !== b.kind)
    throw new InputError(`compare ${before} with ${after}`, [
      fault(`they are of two kinds: ${a.kind} and ${b.kind}`),
    ]);
  const head = emittedHead('plan-diff', [
    inputFile('before', a, undefined),
    inputFile('after', b, undefined),
  ]);
  const { told, fields } = planOf(a.value).diff(a.value, b.value);
  return withFields({ ...head, ...told }, fields);
}

/** withFields adds fields that differ, by which plans are not the same. */
function withFields(diff: PlanDifference, fields: readonly FieldChange[]): PlanDifference {
  if (fields.length === 0) return diff;
  return { ...diff, fields: fields.slice(0, MOST_FIELDS), same: false };
}
