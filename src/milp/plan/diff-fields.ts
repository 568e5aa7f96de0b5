import {
  type FieldChange,
  fieldChanges,
  type PlannedModel,
  type PlannedPipeline,
  type PooledPlan,
  picked,
} from '../../artifacts/index.js';

/** pooledFieldChanges lists the fields that `diffPlans` does not compare, by which plans are served or answer other questions. */
export function pooledFieldChanges(a: PooledPlan, b: PooledPlan): FieldChange[] {
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
