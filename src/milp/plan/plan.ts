import {
  type ClassUse,
  FORMAT_VERSION,
  isEmulated,
  type Placement,
  type PlannedModel,
  type PlannedPartition,
  type PlannedPipeline,
  type PlanObjective,
  servingMarks,
} from '../../formats/index.js';
import type { Column, ColumnPart } from '../columns/index.js';
import type { PlanBody, PooledProblem, ProblemModel } from '../problem.js';
import { type ModelTable, type ProblemTables, type Slot, spanUs } from '../tables/index.js';
import { canPlace, type PoolToPlace, placeVirtualGpus } from './placement.js';
import { type UsedColumn, usedRps } from './plan-model.js';

/** PlanFacts holds the facts about a plan that only its search knows. */
export interface PlanFacts {
  readonly used: readonly UsedColumn[];
  readonly status: 'optimal' | 'feasible';
  readonly objective: PlanObjective;
  readonly reproducible: boolean;
  readonly shadowPrices: readonly (number | undefined)[];
}

/**
 * assemblePlan makes a plan from the columns that it uses, in the units of the spec, and places it on servers. The
 * pipelines of a model come by falling throughput, ties by `compareColumns`. A pipeline gives back virtual GPUs (or
 * whole GPUs, if each pool fills its own) that its throughput does not need.
 * @returns undefined if its virtual GPUs cannot be placed
 */
export function assemblePlan(
  problem: PooledProblem,
  { classes, tables }: ProblemTables,
  facts: PlanFacts,
): PlanBody | undefined {
  const ordered = [...facts.used].sort(byThroughput);
  const models = tables.map((table, m) =>
    plannedModel(
      problem,
      table,
      ordered.filter(({ column }) => column.model === m),
    ),
  );
  const pools = poolsOf(models);
  const placement = placeVirtualGpus(pools, problem.cluster, problem.planner);
  if (placement === undefined) return undefined;
  const whole = wholeGpusUsed(placement);
  const uses = classes.names.map((name, k): [string, ClassUse] => {
    const shadowPrice = facts.shadowPrices[k];
    const emulated = problem.models.some(({ profile }) => isEmulated(profile.devices[name]));
    const counts = { used: whole.get(name) ?? 0, count: classes.available[k] as number };
    const use = emulated ? { emulated: true as const, ...counts } : counts;
    return [name, shadowPrice === undefined ? use : { ...use, shadowPrice }];
  });
  return {
    kind: 'pooled-plan',
    version: FORMAT_VERSION,
    status: facts.status,
    ...(facts.reproducible ? {} : { reproducible: false }),
    objective: facts.objective,
    cluster: problem.cluster,
    planner: plannerOf(problem),
    models,
    classes: Object.fromEntries(uses),
    placement,
  };
}

/** wholeGpusUsed counts whole GPUs by class; the entries of one GPU are consecutive. */
export function wholeGpusUsed(placement: readonly Placement[]): Map<string, number> {
  const used = new Map<string, number>();
  let last: Placement | undefined;
  for (const seat of placement) {
    if (seat.gpu !== last?.gpu || seat.server !== last.server)
      used.set(seat.class, (used.get(seat.class) ?? 0) + (seat.count ?? 1));
    last = seat;
  }
  return used;
}

function plannerOf({ planner }: PooledProblem): PlanBody['planner'] {
  const { sloMarginMs, ...rest } = planner;
  return sloMarginMs === undefined ? rest : { ...rest, sloMarginMs };
}

function byThroughput(a: UsedColumn, b: UsedColumn): number {
  return usedRps(b) - usedRps(a) || compareColumns(a.column, b.column);
}

/**
 * compareColumns orders columns for sorting: by model, then fewer partitions first, and then partition by partition the
 * earlier end, the earlier slot and the smaller batch. It is negative if `a` comes first, and 0 for the same pipeline.
 */
export function compareColumns(a: Column, b: Column): number {
  if (a.model !== b.model) return a.model - b.model;
  if (a.parts.length !== b.parts.length) return a.parts.length - b.parts.length;
  for (let d = 0; d < a.parts.length; d++) {
    const p = a.parts[d] as ColumnPart;
    const q = b.parts[d] as ColumnPart;
    const order = p.end - q.end || p.slot - q.slot || p.batch - q.batch;
    if (order !== 0) return order;
  }
  return 0;
}

/**
 * fitsServers says whether the virtual GPUs of columns in use can be placed on the free GPUs of the cluster, at a cost
 * that does not grow with the cluster.
 */
export function fitsServers(
  { cluster, planner }: PooledProblem,
  tables: readonly ModelTable[],
  used: readonly UsedColumn[],
): boolean {
  const pools = used.flatMap(({ column, virtualGpus }, pipeline) =>
    column.parts.map(({ slot: s }, partition): PoolToPlace => {
      const slot = tables[column.model]?.slots[s] as Slot;
      const { className, virtual } = slot;
      const count = virtualGpus[partition] as number;
      return { model: column.model, pipeline, partition, class: className, virtual, virtualGpus: count };
    }),
  );
  return canPlace(pools, cluster, planner);
}

/** poolsOf lists the pools of planned models, to be placed on servers. */
export function poolsOf(models: readonly PlannedModel[]): PoolToPlace[] {
  return models.flatMap(({ pipelines }, model) =>
    pipelines.flatMap(({ partitions }, pipeline) =>
      partitions.map(({ device, virtual, virtualGpus }, partition) => ({
        model,
        pipeline,
        partition,
        class: device,
        virtual,
        virtualGpus,
      })),
    ),
  );
}

function plannedModel(problem: PooledProblem, table: ModelTable, used: readonly UsedColumn[]): PlannedModel {
  const model = problem.models[table.index] as ProblemModel;
  const { profile } = model;
  const { inputs } = profile.model;
  const inputBytes = inputs === undefined ? undefined : bytesOf(inputs);
  const pipelines = used.map((one) => plannedPipeline(problem, table, one));
  return {
    name: model.name,
    sloMs: model.spec.sloMs,
    sloMarginMs: model.sloMarginUs / 1000,
    weight: model.weight,
    ...(model.rps === undefined ? {} : { rps: model.rps }),
    throughputRps: pipelines.reduce((sum, p) => sum + p.throughputRps, 0),
    ...(Number.isFinite(table.batchFormationUsPerRequest) && table.batchFormationUsPerRequest > 0
      ? { batchFormationUsPerRequest: table.batchFormationUsPerRequest }
      : {}),
    blocks: profile.blocks.length,
    ...(profile.boundary === undefined ? {} : { boundary: profile.boundary }),
    ...servingMarks(profile.model),
    ...(inputs === undefined ? {} : { inputs }),
    ...(profile.model.outputs === undefined ? {} : { outputs: profile.model.outputs }),
    ...(inputBytes === undefined ? {} : { inputBytes }),
    pipelines,
  };
}

const BYTES_BY_DTYPE: Readonly<Record<string, number>> = {
  float64: 8,
  int64: 8,
  uint64: 8,
  float32: 4,
  int32: 4,
  uint32: 4,
  float16: 2,
  bfloat16: 2,
  int16: 2,
  uint16: 2,
  int8: 1,
  uint8: 1,
  bool: 1,
};

/** The bytes of one request's inputs; undefined if a tensor has no fixed size. */
function bytesOf(tensors: readonly { dtype: string; shape: readonly number[] }[]): number | undefined {
  let sum = 0;
  for (const { dtype, shape } of tensors) {
    const size = BYTES_BY_DTYPE[dtype];
    if (size === undefined) return undefined;
    sum += size * shape.reduce((product, n) => product * n, 1);
  }
  return sum;
}

function plannedPipeline(problem: PooledProblem, table: ModelTable, used: UsedColumn): PlannedPipeline {
  const { column } = used;
  const throughputRps = usedRps(used);
  const partitions = column.parts.map((part, d) =>
    plannedPartition(
      problem,
      table,
      part,
      leastUnits(problem, table, part, used.virtualGpus[d] as number, throughputRps),
    ),
  );
  return { throughputRps, batch: partitions[0]?.batch as number, latencyUs: column.latencyUs, partitions };
}

/** A pipeline keeps no more virtual GPUs than its throughput needs, or no more whole GPUs if a pool fills them. */
function leastUnits(
  { planner }: PooledProblem,
  table: ModelTable,
  { slot, rps }: ColumnPart,
  given: number,
  throughputRps: number,
): number {
  const step = planner.wholeGpusPer === 'pool' ? (table.slots[slot] as Slot).virtual : 1;
  let units = given;
  while (units - step > 0 && (units - step) * rps >= throughputRps) units -= step;
  return units;
}

function plannedPartition(
  problem: PooledProblem,
  table: ModelTable,
  { first, end, slot: s, batch: b, rps }: ColumnPart,
  virtualGpus: number,
): PlannedPartition {
  const slot = table.slots[s] as Slot;
  const batch = table.batches[b] as number;
  const profile = (problem.models[table.index] as ProblemModel).profile;
  const layered = problem.planner.granularity === 'layer';
  const last = end === table.units;
  const tensors = last || layered ? undefined : profile.blocks[end - 1]?.tensors;
  return {
    ...(layered ? { layers: [first, end] } : { blocks: [first, end] }),
    device: slot.className,
    virtual: slot.virtual,
    virtualGpus,
    gpus: virtualGpus / slot.virtual,
    batch,
    latencyUsByBatch: Array.from({ length: batch }, (_, i) => latencyAt(table, s, i + 1, first, end)),
    throughputRps: rps * virtualGpus,
    transferBytes: last ? 0 : (table.cutBytes[end] as number),
    ...(tensors === undefined ? {} : { tensors }),
  };
}

function latencyAt(table: ModelTable, slot: number, size: number, first: number, end: number): number | null {
  const b = table.batches.indexOf(size);
  const latencies = b < 0 ? undefined : table.latencies[slot * table.batches.length + b];
  return latencies === undefined ? null : spanUs(latencies, first, end);
}
