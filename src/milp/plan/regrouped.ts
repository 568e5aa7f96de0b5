import { smallestOf } from '../../collections/index.js';
import type { PlannedModel, PlannedPipeline } from '../../formats/index.js';
import type { PlanBody, PooledProblem } from '../problem.js';
import { placeVirtualGpus } from './placement.js';
import { poolsOf, wholeGpusUsed } from './plan.js';

/** VirtualGpuCounts holds how many virtual GPUs each pool has: by model, pipeline and partition, as a plan lists them. */
export type VirtualGpuCounts = readonly (readonly (readonly number[])[])[];

/**
 * regrouped gives a plan the same pipelines with other numbers of virtual GPUs, and places them. Rates follow from the
 * numbers; a pipeline with an empty pool is left out, and pipelines come by falling throughput. The objective, and the
 * prices of classes, stay what they were before. It is meant for plans without minimum shares, in which each pipeline
 * serves what its slowest pool does.
 * @returns undefined where the virtual GPUs cannot be placed
 */
export function regrouped(
  plan: PlanBody,
  counts: VirtualGpuCounts,
  { cluster, planner }: Pick<PooledProblem, 'cluster' | 'planner'>,
): PlanBody | undefined {
  const models = plan.models.map((model, m) => regroupedModel(model, counts[m] as VirtualGpuCounts[number]));
  const placement = placeVirtualGpus(poolsOf(models), cluster, planner);
  if (placement === undefined) return undefined;
  const used = wholeGpusUsed(placement);
  const classes = Object.entries(plan.classes).map(
    ([name, use]) => [name, { ...use, used: used.get(name) ?? 0 }] as const,
  );
  return { ...plan, models, classes: Object.fromEntries(classes), placement };
}

function regroupedModel(model: PlannedModel, counts: VirtualGpuCounts[number]): PlannedModel {
  const pipelines = model.pipelines
    .map((pipeline, p) => regroupedPipeline(pipeline, counts[p] as readonly number[]))
    .filter(({ throughputRps }) => throughputRps > 0)
    .sort((a, b) => b.throughputRps - a.throughputRps);
  return { ...model, throughputRps: pipelines.reduce((sum, p) => sum + p.throughputRps, 0), pipelines };
}

function regroupedPipeline(pipeline: PlannedPipeline, counts: readonly number[]): PlannedPipeline {
  const partitions = pipeline.partitions.map((partition, d) => {
    const virtualGpus = counts[d] as number;
    const throughputRps = (partition.throughputRps / partition.virtualGpus) * virtualGpus;
    return { ...partition, virtualGpus, gpus: virtualGpus / partition.virtual, throughputRps };
  });
  const throughputRps = smallestOf(partitions.map((one) => one.throughputRps));
  return { ...pipeline, throughputRps, partitions };
}
