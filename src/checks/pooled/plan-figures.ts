import { smallestOf } from '../../collections/index.js';
import {
  type Fault,
  fault,
  type PlannedPartition,
  type PlannedPipeline,
  type PooledPlan,
  proofFaults,
  toldApart,
} from '../../formats/index.js';

import { ownFigureFaults } from './own-figures.js';
import { promiseFaults } from './promise-faults.js';

/** Rates and latencies in a plan agree up to rounding. */
const ROUNDING = 1e-6;

/**
 * planFaults finds what a plan says against itself: classes that its cluster lacks, rates that do not add up or are
 * beyond what the devices do in the times stated, latencies beyond the SLO, numbers of GPUs that do not follow from
 * those of virtual GPUs. It finds what `proofFaults` finds too. It needs none of the plan's inputs, so it also checks a
 * plan that names none and the plan of a bundle.
 */
export function planFaults(plan: PooledPlan): Fault[] {
  const faults = [...proofFaults(plan), ...figureFaults(plan), ...promiseFaults(plan)];
  // Finer figures of a plan whose rates contradict one another say nothing more.
  return faults.length > 0 ? faults : ownFigureFaults(plan);
}

function figureFaults({ cluster, models }: PooledPlan): Fault[] {
  return models.flatMap(({ name, sloMs, throughputRps, pipelines }, m) => {
    const total = pipelines.reduce((sum, pipeline) => sum + pipeline.throughputRps, 0);
    const at = `/models/${m}`;
    return [
      ...(Math.abs(total - throughputRps) <= ROUNDING * Math.max(total, throughputRps)
        ? []
        : [fault(`${name} has ${throughputRps} requests/s, its pipelines together ${total}`, at)]),
      ...pipelines.flatMap((pipeline, p) => {
        const path = `${at}/pipelines/${p}`;
        return [
          ...pipelineFaults(pipeline, sloMs, path),
          ...pipeline.partitions.flatMap((partition, k) => [
            ...(cluster.devices[partition.device] === undefined
              ? [
                  fault(
                    `is on ${partition.device}, which the plan's cluster lacks`,
                    `${path}/partitions/${k}`,
                  ),
                ]
              : []),
            ...partitionFaults(partition, `${path}/partitions/${k}`),
          ]),
        ];
      }),
    ];
  });
}

function pipelineFaults(pipeline: PlannedPipeline, sloMs: number, path: string): Fault[] {
  const { throughputRps, latencyUs, partitions } = pipeline;
  const most = smallestOf(partitions.map((partition) => partition.throughputRps));
  const needed = partitions.reduce((sum, partition) => sum + (fullBatchUs(partition) ?? 0), 0);
  return [
    ...(beyond(throughputRps, most)
      ? [fault(`has ${told(throughputRps, most, ' requests/s, its slowest partition ')}`, path)]
      : []),
    ...(beyond(needed, latencyUs)
      ? [fault(`takes ${told(latencyUs, needed, ' µs, its partitions alone ')} µs`, path)]
      : []),
    ...(beyond(latencyUs, 1000 * sloMs)
      ? [fault(`takes ${told(latencyUs / 1000, sloMs, ' ms; the SLO is ')} ms`, path)]
      : []),
  ];
}

/** told puts words between two figures, which it rounds as far as they stay apart. */
function told(one: number, other: number, between: string): string {
  return toldApart([one, other] as const).join(between);
}

function partitionFaults(partition: PlannedPartition, path: string): Fault[] {
  const { gpus, virtual, virtualGpus } = partition;
  const should = virtualGpus / virtual;
  if (Math.abs(gpus - should) <= ROUNDING * should) return rateFaults(partition, path);
  const told = fault(
    `is ${gpus}; ${virtualGpus} virtual GPUs of 1/${virtual} each are ${should}`,
    `${path}/gpus`,
  );
  return [told, ...rateFaults(partition, path)];
}

function rateFaults(partition: PlannedPartition, path: string): Fault[] {
  const us = fullBatchUs(partition);
  if (us === undefined || us === 0) return [];
  const { throughputRps, virtualGpus, batch } = partition;
  const most = (1e6 * virtualGpus * batch) / us;
  if (!beyond(throughputRps, most)) return [];
  return [
    fault(
      `has ${throughputRps} requests/s; ${virtualGpus} virtual GPUs do ${most} in the times stated`,
      path,
    ),
  ];
}

function fullBatchUs({ batch, latencyUsByBatch }: PlannedPartition): number | undefined {
  return latencyUsByBatch[batch - 1] ?? undefined;
}

function beyond(value: number, most: number): boolean {
  return value > most * (1 + ROUNDING);
}
