import {
  byName,
  type FieldChange,
  type PlannedPipeline,
  type PooledPlan,
  planChanges,
} from '../../formats/index.js';
import { pipelineName } from './diff.js';

/** The fields that `diffPlans` reports: rates, SLOs, pipelines that come and go, and the GPUs in use. */
const TOLD: readonly RegExp[] = [
  /^\/models\/[^/]+\/(throughputRps|heldRps|sloMs)$/,
  /^\/models\/[^/]+\/pipelines\/[^/]+(\/throughputRps)?$/,
  /^\/classes\/[^/]+\/used$/,
];

/** pooledFieldChanges lists all fields that differ and that `diffPlans` does not tell. */
export function pooledFieldChanges(a: PooledPlan, b: PooledPlan): FieldChange[] {
  const own = ({ models }: PooledPlan) => ({
    models: byName(models.map((model) => ({ ...model, pipelines: byWords(model.pipelines) }))),
  });
  return planChanges([a, b], own, TOLD);
}

/** byWords lists pipelines by their descriptions. Pipelines with the same description count as one. */
function byWords(pipelines: readonly PlannedPipeline[]): Record<string, PlannedPipeline> {
  const found = new Map<string, PlannedPipeline>();
  for (const pipeline of pipelines) {
    const name = pipelineName(pipeline);
    const before = found.get(name);
    found.set(name, before === undefined ? pipeline : together(before, pipeline));
  }
  return Object.fromEntries(found);
}

function together(one: PlannedPipeline, other: PlannedPipeline): PlannedPipeline {
  return {
    ...one,
    throughputRps: one.throughputRps + other.throughputRps,
    partitions: one.partitions.map((partition, k) => {
      const { throughputRps = 0, virtualGpus = 0, gpus = 0 } = other.partitions[k] ?? {};
      return {
        ...partition,
        throughputRps: partition.throughputRps + throughputRps,
        virtualGpus: partition.virtualGpus + virtualGpus,
        gpus: partition.gpus + gpus,
      };
    }),
  };
}
