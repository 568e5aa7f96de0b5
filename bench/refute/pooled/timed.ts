import type { PlannedModel, PlannedPipeline, PooledPlan } from '../../../src/formats/index.js';
import type { PooledProblem, ProblemModel } from '../../../src/milp/index.js';
import type { Refutation } from '../refuter.js';
import { latencyUsOf } from './random-problem.js';

const ROUNDING = 1e-6;

/** mistimed works out a plan's latencies and rates from the profiles, and gives what the plan says better than they are. */
export function mistimed(plan: PooledPlan, problem: PooledProblem): Refutation[] {
  return plan.models.flatMap((planned, m) => {
    const model = problem.models[m] as ProblemModel;
    const rates = planned.pipelines.map((pipeline) => rateOf(pipeline, model, problem));
    const served = rates.reduce((sum, rps) => sum + rps, 0);
    return [
      ...planned.pipelines.flatMap((pipeline) => tooSlow(pipeline, model, problem)),
      ...(planned.throughputRps > served * (1 + ROUNDING)
        ? [
            {
              claim: `${planned.name} serves ${planned.throughputRps}/s`,
              found: `its pools serve ${served}/s`,
            },
          ]
        : []),
      ...unshared(planned, model),
    ];
  });
}

function gbpsOf({ cluster }: PooledProblem, device: string): number {
  return cluster.devices[device]?.linkGbps ?? cluster.networkGbps ?? 1;
}

/** crossUs gives the time that one request's tensors take across a cut. */
function crossUs({ profile }: ProblemModel, cut: number, gbps: number): number {
  return (8 * (profile.blocks[cut - 1]?.cutBytes ?? 0)) / (gbps * 1000);
}

type Partition = PlannedPipeline['partitions'][number];

function partitionUs({ profile }: ProblemModel, { device, virtual, batch, blocks }: Partition): number {
  return latencyUsOf(profile.devices[device] as never, [virtual, batch], blocks as [number, number]);
}

function rateOf({ partitions }: PlannedPipeline, model: ProblemModel, problem: PooledProblem): number {
  const { cluster, planner } = problem;
  const rates = partitions.map((partition, k) => {
    const { device, virtual, virtualGpus, batch, blocks } = partition;
    const [first, end] = blocks as [number, number];
    const gbps = gbpsOf(problem, device);
    const inUs = k > 0 ? crossUs(model, first, gbps) : 0;
    const outUs = k + 1 < partitions.length ? crossUs(model, end, gbps) : 0;
    const compute = (1e6 * batch) / partitionUs(model, partition);
    const link = 1e6 / (Math.max(inUs, outUs) * virtual * (cluster.devices[device]?.perServer ?? 1));
    return virtualGpus * (planner.linkThroughput ? Math.min(compute, link) : compute);
  });
  return Math.min(...rates);
}

function tooSlow({ partitions }: PlannedPipeline, model: ProblemModel, problem: PooledProblem): Refutation[] {
  const { name, batchFormation, sloUs, sloMarginUs } = model;
  let us = 0;
  for (const [k, partition] of partitions.entries()) {
    us += partitionUs(model, partition);
    const next = partitions[k + 1];
    if (next === undefined) continue;
    const gbps = Math.min(gbpsOf(problem, partition.device), gbpsOf(problem, next.device));
    us += partition.batch * crossUs(model, (partition.blocks as [number, number])[1], gbps);
  }
  const largest = Math.max(...partitions.map(({ batch }) => batch));
  if (batchFormation !== 'none' && largest > 1)
    us += (1e6 * batchFormation.factor * (largest - 1)) / (batchFormation.estimatedRps as number);
  const leftUs = sloUs - sloMarginUs;
  if (us <= leftUs * (1 + ROUNDING)) return [];
  return [{ claim: `a pipeline of ${name} takes at most ${leftUs} µs`, found: `it takes ${us} µs` }];
}

/** unshared finds classes that serve less than the least share of a model. */
function unshared(
  { name, throughputRps, pipelines }: PlannedModel,
  { minShare }: ProblemModel,
): Refutation[] {
  return Object.entries(minShare).flatMap(([device, share]) => {
    const using = pipelines.filter(({ partitions }) => partitions.some((one) => one.device === device));
    const rps = using.reduce((sum, pipeline) => sum + pipeline.throughputRps, 0);
    if (rps >= share * throughputRps * (1 - ROUNDING)) return [];
    return [{ claim: `${share} of ${name} uses ${device}`, found: `${rps} of ${throughputRps}/s do` }];
  });
}
