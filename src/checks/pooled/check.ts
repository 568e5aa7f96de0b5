import { itemAt, largestOf, pushAll, smallestOf } from '../../collections/index.js';
import {
  type DeviceClass,
  type Fault,
  fault,
  fieldChanges,
  type PlannedModel,
  type PlannedPartition,
  type PlannedPipeline,
  type Profile,
  proofFaults,
  shown,
} from '../../formats/index.js';
import { boundFaults } from './check-bound.js';
import { placementFaults } from './check-placement.js';
import { same, TOLERANCE, type Told, unitsOf } from './check-units.js';
import { crossingFaults, describedFaults } from './described.js';
import type { CheckedModel, CheckedPlan, PooledQuestion } from './question.js';

/**
 * checkPlan checks a plan against the problem that it answers, from profiles, spec and cluster alone: cuts, latencies,
 * rates, counts, SLOs, shares, placement and objective. If all of these hold, it also checks whether a plan made by
 * hand refutes the bound. It shares no code with the planner. Figures may differ by a part in 10⁹.
 * @returns every fault found; none for a good plan, and only one if the number of models differs
 */
export function checkPlan(plan: CheckedPlan, problem: PooledQuestion): Fault[] {
  const told: Told = [];
  if (plan.models.length !== problem.models.length) {
    told.push(fault(`has ${plan.models.length} models, the spec ${problem.models.length}`, '/models'));
    return told;
  }
  for (const { path, before = 'absent', after = 'absent' } of fieldChanges(
    plan.cluster,
    problem.cluster,
    '/cluster',
  ))
    told.push(fault(`is ${before}; its spec and profiles give ${after}`, path));
  problem.models.forEach((model, m) => {
    checkModel(itemAt(plan.models, m), model, problem, `/models/${m}`, told);
  });
  pushAll(told, placementFaults(plan, problem));
  pushAll(told, emulatedFaults(plan, problem));
  checkObjective(plan, problem, told);
  return told.length > 0 ? told : boundFaults(plan, problem);
}

/** emulatedFaults finds classes that profiles say are emulated, or are not, and the plan says otherwise. */
function emulatedFaults({ classes }: CheckedPlan, { models }: PooledQuestion): Fault[] {
  return Object.entries(classes).flatMap(([name, { emulated = false }]) => {
    const should = models.some(({ profile }) => profile.devices[name]?.emulated === true);
    return emulated === should
      ? []
      : [fault(`is ${emulated}; the profiles say ${should}`, `/classes/${name}/emulated`)];
  });
}

/**
 * checkedOutcome returns the outcome as it is if it has no plan, or one that passes `checkPlan`, so that no wrong plan
 * is written.
 * @param others faults of the plan that were found besides
 * @throws Error with the first ten faults of the plan, which are a bug in the planner
 */
export function checkedOutcome<Outcome extends { readonly status: string; readonly plan?: CheckedPlan }>(
  outcome: Outcome,
  problem: PooledQuestion,
  others: readonly Fault[] = [],
): Outcome {
  if (outcome.plan === undefined) return outcome;
  const faults = [...checkPlan(outcome.plan, problem), ...others];
  if (faults.length === 0) return outcome;
  const told = faults.slice(0, 10).map(({ path, message }) => `${path} ${message}`);
  throw new Error(`The plan that was found does not pass its check, and is not written: ${told.join('; ')}`);
}

function checkModel(
  planned: PlannedModel,
  model: CheckedModel,
  problem: PooledQuestion,
  at: string,
  told: Told,
): void {
  if (planned.name !== model.name)
    told.push(fault(`is ${planned.name}; the spec has ${model.name}`, `${at}/name`));
  same(told, `${at}/sloMs`, { is: planned.sloMs, should: model.sloUs / 1000 });
  same(told, `${at}/sloMarginMs`, { is: planned.sloMarginMs, should: model.sloMarginUs / 1000 });
  same(told, `${at}/weight`, { is: planned.weight, should: model.weight });
  pushAll(told, describedFaults(planned, model.profile, at));
  if (planned.rps !== model.rps)
    told.push(fault(`is ${planned.rps ?? 'absent'}; the spec has ${model.rps ?? 'none'}`, `${at}/rps`));
  checkFormation(planned, model, at, told);
  const sum = planned.pipelines.reduce((total, p) => total + p.throughputRps, 0);
  same(told, `${at}/throughputRps`, { is: planned.throughputRps, should: sum });
  planned.pipelines.forEach((pipeline, i) => {
    checkPipeline(pipeline, planned, model, problem, `${at}/pipelines/${i}`, told);
  });
  for (const [name, share] of Object.entries(model.minShare)) {
    const using = planned.pipelines.filter((p) => p.partitions.some((part) => part.device === name));
    const rps = using.reduce((total, p) => total + p.throughputRps, 0);
    if (rps < share * sum * (1 - TOLERANCE))
      told.push(fault(`${name} takes part in ${rps} of ${sum} requests/s, less than ${share} of them`, at));
  }
  if (problem.planner.objective !== 'throughput' && sum < (model.rps ?? 0) * (1 - TOLERANCE))
    told.push(fault(`serves ${sum} requests/s of the ${model.rps} asked for`, `${at}/throughputRps`));
}

/** A rate that the planner estimated cannot be recomputed here, but a given one can. */
function checkFormation(
  planned: PlannedModel,
  { batchFormation }: CheckedModel,
  at: string,
  told: Told,
): void {
  const perRequest = planned.batchFormationUsPerRequest ?? 0;
  if (batchFormation === 'none')
    same(told, `${at}/batchFormationUsPerRequest`, { is: perRequest, should: 0 });
  else if (typeof batchFormation.estimatedRps === 'number')
    same(told, `${at}/batchFormationUsPerRequest`, {
      is: perRequest,
      should: (batchFormation.factor / batchFormation.estimatedRps) * 1e6,
    });
}

function checkPipeline(
  pipeline: PlannedPipeline,
  planned: PlannedModel,
  model: CheckedModel,
  problem: PooledQuestion,
  at: string,
  told: Told,
): void {
  const { partitions } = pipeline;
  const { planner } = problem;
  if (partitions.length > planner.maxPartitions)
    told.push(fault(`has ${partitions.length} partitions, more than ${planner.maxPartitions}`, at));
  same(told, `${at}/batch`, { is: pipeline.batch, should: partitions[0]?.batch ?? 0 });
  if (planner.unifiedBatch && partitions.some(({ batch }) => batch !== pipeline.batch))
    told.push(fault(`has batches ${partitions.map(({ batch }) => batch).join(', ')}, not one`, at));
  checkCuts(partitions, model.profile, problem, at, told);
  let totalUs = 0;
  let slowest = Number.POSITIVE_INFINITY;
  partitions.forEach((partition, d) => {
    const place = {
      partition,
      before: partitions[d - 1],
      after: partitions[d + 1],
      at: `${at}/partitions/${d}`,
    };
    const seen = checkPartition(place, { model, problem }, told);
    totalUs += seen.latencyUs + seen.transferUs;
    slowest = Math.min(slowest, seen.throughputRps);
  });
  same(told, `${at}/latencyUs`, { is: pipeline.latencyUs, should: totalUs });
  // A pipeline may be held back so that another class serves its minimum share.
  const mayWait = Object.keys(model.minShare).length > 0 && pipeline.throughputRps < slowest;
  if (!mayWait) same(told, `${at}/throughputRps`, { is: pipeline.throughputRps, should: slowest });
  const largest = largestOf(partitions.map(({ batch }) => batch));
  const formationUs = (planned.batchFormationUsPerRequest ?? 0) * (largest - 1);
  const allowedUs = model.sloUs - model.sloMarginUs;
  if (totalUs + formationUs > allowedUs * (1 + TOLERANCE))
    told.push(
      fault(`takes ${totalUs + formationUs} µs with batch formation; the SLO leaves ${allowedUs}`, at),
    );
}

function checkCuts(
  partitions: readonly PlannedPartition[],
  profile: Profile,
  { planner }: PooledQuestion,
  at: string,
  told: Told,
): void {
  const layered = planner.granularity === 'layer';
  const units = layered ? (profile.layers?.length ?? 0) : profile.blocks.length;
  let next = 0;
  partitions.forEach((partition, d) => {
    const range = layered ? partition.layers : partition.blocks;
    if (range === undefined || range[0] !== next || range[1] <= range[0])
      told.push(
        fault(`spans ${shown(range)}; it must begin at ${next} and not be empty`, `${at}/partitions/${d}`),
      );
    next = range?.[1] ?? next;
  });
  if (next !== units) told.push(fault(`ends at ${next} of ${units}`, at));
}

interface SeenPartition {
  readonly latencyUs: number;
  readonly transferUs: number;
  readonly throughputRps: number;
}

/** PartitionPlace is a partition with those before and after it in its pipeline, where it has them. */
interface PartitionPlace {
  readonly partition: PlannedPartition;
  readonly before: PlannedPartition | undefined;
  readonly after: PlannedPartition | undefined;
  readonly at: string;
}

function checkPartition(
  { partition, before, after, at }: PartitionPlace,
  { model, problem }: { readonly model: CheckedModel; readonly problem: PooledQuestion },
  told: Told,
): SeenPartition {
  const device = problem.cluster.devices[partition.device];
  if (device === undefined || !model.classes.includes(partition.device)) {
    told.push(fault(`is on ${partition.device}, which ${model.name} may not use`, `${at}/device`));
    return { latencyUs: 0, transferUs: 0, throughputRps: 0 };
  }
  if (!(device.virtual ?? [1]).includes(partition.virtual))
    told.push(
      fault(`is ${partition.virtual}, which is not a virtual size of ${partition.device}`, `${at}/virtual`),
    );
  same(told, `${at}/gpus`, { is: partition.gpus, should: partition.virtualGpus / partition.virtual });
  if (!Number.isInteger(partition.virtualGpus) || partition.virtualGpus < 1)
    told.push(fault(`is ${partition.virtualGpus}, not a number of virtual GPUs`, `${at}/virtualGpus`));
  const units = unitsOf(partition, model.profile, problem.planner.granularity);
  const latencyUs = checkLatencies(partition, units.latencyUs, at, told);
  const bytes = after === undefined ? 0 : units.cutBytes;
  same(told, `${at}/transferBytes`, { is: partition.transferBytes, should: bytes });
  pushAll(told, crossingFaults(partition, model.profile, { isLast: after === undefined, at }));
  checkMemory(partition, units.weightBytes, device, at, told);
  const link = device.linkGbps ?? problem.cluster.networkGbps;
  const next = after === undefined ? undefined : problem.cluster.devices[after.device];
  const nextLink = next?.linkGbps ?? problem.cluster.networkGbps;
  const throughputRps =
    partition.virtualGpus *
    rateOf(partition, latencyUs, {
      bytes: problem.planner.linkThroughput ? [before?.transferBytes ?? 0, bytes] : [],
      gbps: link,
      perServer: device.perServer ?? 1,
    });
  same(told, `${at}/throughputRps`, { is: partition.throughputRps, should: throughputRps });
  const slower = link === undefined || nextLink === undefined ? undefined : Math.min(link, nextLink);
  return {
    latencyUs,
    transferUs: after === undefined ? 0 : partition.batch * crossUs(bytes, slower),
    throughputRps,
  };
}

function checkLatencies(
  partition: PlannedPartition,
  latencyUs: (batch: number) => number | undefined,
  at: string,
  told: Told,
): number {
  if (partition.latencyUsByBatch.length !== partition.batch)
    told.push(
      fault(
        `lists ${partition.latencyUsByBatch.length} batches, not ${partition.batch}`,
        `${at}/latencyUsByBatch`,
      ),
    );
  for (let size = 1; size <= partition.batch; size++) {
    const listed = partition.latencyUsByBatch[size - 1] ?? null;
    const profiled = latencyUs(size) ?? null;
    if (listed === null || profiled === null) {
      if (listed !== profiled)
        told.push(fault(`is ${listed}; the profile has ${profiled}`, `${at}/latencyUsByBatch/${size - 1}`));
    } else same(told, `${at}/latencyUsByBatch/${size - 1}`, { is: listed, should: profiled });
  }
  const own = latencyUs(partition.batch);
  if (own === undefined) told.push(fault(`is ${partition.batch}, which was not profiled`, `${at}/batch`));
  return own ?? 0;
}

function checkMemory(
  partition: PlannedPartition,
  bytes: number,
  device: DeviceClass,
  at: string,
  told: Told,
): void {
  if (device.memoryGiB === undefined) return;
  const each = (device.memoryGiB * 1024 ** 3) / partition.virtual;
  if (bytes > each * (1 + TOLERANCE))
    told.push(fault(`weighs ${bytes} bytes; its virtual GPU has ${each}`, at));
}

function crossUs(bytes: number, gbps: number | undefined): number {
  return gbps === undefined ? 0 : (bytes * 8) / gbps / 1000;
}

/**
 * rateOf is the rate of one virtual GPU: that of its executions, bounded by what its share of the server's link lets in
 * and out.
 */
function rateOf(
  { batch, virtual }: PlannedPartition,
  latencyUs: number,
  link: {
    /** What each row moves over the link; nothing where links bound no rates. */
    readonly bytes: readonly number[];
    readonly gbps: number | undefined;
    readonly perServer: number;
  },
): number {
  const rates = [(batch / latencyUs) * 1e6];
  for (const bytes of link.bytes) {
    const us = crossUs(bytes, link.gbps) * virtual * link.perServer;
    if (us > 0) rates.push(1e6 / us);
  }
  return smallestOf(rates);
}

/** checkObjective checks what a plan says that it reaches, and how near that is to the best. */
export function checkObjective(
  plan: CheckedPlan,
  {
    planner,
    cluster,
  }: { readonly planner: Pick<PooledQuestion['planner'], 'objective'> } & Pick<PooledQuestion, 'cluster'>,
  told: Told,
): void {
  const { kind, value, gap } = plan.objective;
  if (kind !== planner.objective)
    told.push(fault(`is ${kind}; the spec has ${planner.objective}`, '/objective/kind'));
  same(told, '/objective/value', {
    is: value,
    should: objectiveValue(plan, planner.objective, cluster.devices),
  });
  const faults = proofFaults(plan);
  pushAll(told, faults);
  // The rule asks for no gap where value or bound is 0, and a pooled plan says the largest number there.
  if (faults.length === 0 && isUnbounded(plan) && gap !== Number.MAX_VALUE)
    told.push(
      fault(`is ${gap}; without a ratio of value and bound it is the largest number`, '/objective/gap'),
    );
}

/** isUnbounded returns whether no ratio says how far the value is from the bound. */
function isUnbounded({ objective: { value, bound } }: CheckedPlan): boolean {
  return value !== bound && (value === 0 || bound === 0);
}

function objectiveValue(
  plan: CheckedPlan,
  kind: string,
  devices: Readonly<Record<string, DeviceClass>>,
): number {
  if (kind === 'throughput')
    return smallestOf(plan.models.filter((m) => m.weight > 0).map((m) => m.throughputRps / m.weight));
  return Object.entries(plan.classes).reduce((sum, [name, { used }]) => {
    const price = kind === 'cost' ? devices[name]?.hourlyCost : devices[name]?.powerWatts;
    return sum + used * (price ?? 0);
  }, 0);
}
