import {
  emittedHead,
  everyInput,
  type FieldChange,
  fault,
  fieldChanges,
  type GearPlan,
  InputError,
  inputFile,
  type Loaded,
  loadArtifact,
  type PipelinePlan,
  type PlanDifference,
  type PlannedModel,
  type PlannedPipeline,
  type PooledPlan,
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
    const { diffPipelines } = await import('../pipeline/index.js');
    return withFields({ ...head, ...diffPipelines(a.value, b.value) }, stagedFields(a.value, b.value));
  }
  if (a.kind === 'gear-plan' && b.kind === 'gear-plan') {
    const { diffGears } = await import('../gearplan/index.js');
    return withFields({ ...head, ...diffGears(a.value, b.value) }, stagedFields(a.value, b.value));
  }
  if (a.kind === 'pooled-plan' && b.kind === 'pooled-plan')
    return withFields({ ...head, ...(await pooledDiff(a, b)) }, pooledFields(a.value, b.value));
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

/** withFields adds fields that differ, by which plans are not the same. */
function withFields(diff: PlanDifference, fields: readonly FieldChange[]): PlanDifference {
  if (fields.length === 0) return diff;
  return { ...diff, fields: fields.slice(0, MOST_FIELDS), same: false };
}

/** pooledFields lists the fields that `diffPlans` does not compare, by which plans are served or answer other questions. */
function pooledFields(a: PooledPlan, b: PooledPlan): FieldChange[] {
  const names = [...new Set([...a.models, ...b.models].map(({ name }) => name))];
  const models = ({ models: of }: PooledPlan) =>
    Object.fromEntries(names.map((name) => [name, askedOf(of.find((model) => model.name === name))]));
  return fieldChanges(
    { ...picked(a, ['serving', 'planner', 'cluster', 'hold']), models: models(a) },
    { ...picked(b, ['serving', 'planner', 'cluster', 'hold']), models: models(b) },
  );
}

function askedOf(model: PlannedModel | undefined): object | undefined {
  if (model === undefined) return undefined;
  const asked = picked(model, [
    'weight',
    'rps',
    'sloMarginMs',
    'batchFormationUsPerRequest',
    'blocks',
    'boundary',
  ]);
  return { ...asked, latencies: latenciesOf(model.pipelines) };
}

/** latenciesOf lists the latencies of a model's pipelines by what else is known of their partitions. */
function latenciesOf(pipelines: readonly PlannedPipeline[]): Record<string, unknown> {
  return Object.fromEntries(
    pipelines.map(({ partitions }) => [
      partitions
        .map(({ device, virtual, batch, blocks, layers }) =>
          [blocks ?? layers, `1/${virtual} ${device}`, batch].join(' '),
        )
        .join(' → '),
      partitions.map(({ latencyUsByBatch }) => latencyUsByBatch),
    ]),
  );
}

/** stagedFields lists the fields that are not compared stage by stage. A trace is told by the envelope that it gives. */
function stagedFields<Plan extends PipelinePlan | GearPlan>(a: Plan, b: Plan): FieldChange[] {
  const of = (plan: PipelinePlan | GearPlan) => ({
    ...picked(plan, ['serving', 'cluster']),
    ...(plan.kind === 'pipeline-plan' ? picked(plan, ['share', 'shared', 'envelope']) : {}),
    ...(plan.kind === 'pipeline-plan' && plan.load !== undefined && !('trace' in plan.load)
      ? { load: plan.load }
      : {}),
    stages: Object.fromEntries(plan.stages.map(({ name, latencyUsByBatch }) => [name, { latencyUsByBatch }])),
  });
  return fieldChanges(of(a), of(b)).filter(({ path, before, after }) => !isWholeStage(path, before, after));
}

/** isWholeStage says whether a change is a stage that only one plan has, which is told already. */
function isWholeStage(path: string, before: string | undefined, after: string | undefined): boolean {
  return /^\/stages\/[^/]*$/.test(path) && (before === undefined || after === undefined);
}

function picked<T extends object, K extends keyof T>(from: T, keys: readonly K[]): Partial<Pick<T, K>> {
  return Object.fromEntries(
    keys.flatMap((key) => (from[key] === undefined ? [] : [[key, from[key]]])),
  ) as Partial<Pick<T, K>>;
}
