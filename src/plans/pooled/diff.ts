import { itemAt, largestOf } from '../../collections/index.js';
import {
  type Changed,
  changeOf,
  classChanges,
  differs,
  gpuNumber,
  type Placement,
  type PlanDifference,
  type PlannedPartition,
  type PlannedPipeline,
  type PooledPlan,
  runsOf,
  type Spanned,
  sidesOf,
} from '../../formats/index.js';

/** PlanDiff holds the changes of a new plan. */
export interface PlanDiff {
  /**
   * `kind` is the objective of the second plan. `kindBefore` is present if that of the first differs, and then the
   * values cannot be compared.
   */
  readonly objective: PlanDifference['objective'];
  readonly models: readonly {
    readonly name: string;
    readonly throughputRps: Changed;
    /** The rate that the plan promises to hold, where one of the plans promises any. */
    readonly heldRps?: Partial<Changed>;
    /** The SLO that requests are held to when the plan is served. */
    readonly sloMs: Partial<Changed>;
    /** The pipelines whose GPUs or rates differ, by their description. */
    readonly pipelines: readonly PipelineChange[];
  }[];
  /** The whole GPUs in use by class, of classes in which they differ. */
  readonly classes: readonly { readonly name: string; readonly used: Changed }[];
  /**
   * The GPUs that now serve another partition, that no longer serve one, or that now serve one for the first time.
   */
  readonly gpusMoved: number;
  readonly same: boolean;
}

/** PipelineChange holds the rates and GPUs of one pipeline in both plans. */
export interface PipelineChange {
  /** The pipeline's cuts, devices, sizes and batch in words. */
  readonly pipeline: string;
  readonly throughputRps: Changed;
  readonly gpus: Changed;
}

/**
 * diffPlans compares rates, those that are held, SLOs, pipelines and GPUs of two plans, `a` before and `b` after. It
 * finds models by name, and pipelines by their cuts, devices, sizes and batches; those that agree in all of these count
 * as one. A model, pipeline or class that one of them lacks counts as 0 there. All models are listed, but only
 * pipelines and classes that differ by more than a part in 10⁹. `same` does not look at the objective.
 */
export function diffPlans(a: Omit<PooledPlan, 'inputs'>, b: Omit<PooledPlan, 'inputs'>): PlanDiff {
  const names = [...new Set([...a.models, ...b.models].map(({ name }) => name))];
  const models = names.map((name) => {
    const [before, after] = [a, b].map((plan) => plan.models.find((model) => model.name === name));
    return {
      name,
      throughputRps: changeOf(before?.throughputRps, after?.throughputRps),
      ...heldChange(before?.heldRps, after?.heldRps),
      sloMs: changeOf(before?.sloMs, after?.sloMs),
      pipelines: pipelineChanges(before?.pipelines ?? [], after?.pipelines ?? []),
    };
  });
  const classes = classChanges(a.classes, b.classes);
  const [kindBefore, kind] = [a.objective.kind, b.objective.kind];
  const values = changeOf(a.objective.value, b.objective.value);
  const objective = { kind, ...(kind === kindBefore ? {} : { kindBefore }), ...values };
  const gpusMoved = movedGpus(a, b);
  const alike = models.every(
    ({ throughputRps, heldRps = {}, sloMs, pipelines }) =>
      !differs(throughputRps) && !heldDiffers(heldRps) && !differs(sloMs) && pipelines.length === 0,
  );
  return { objective, models, classes, gpusMoved, same: alike && classes.length === 0 && gpusMoved === 0 };
}

/** A plan without a promise does not promise 0, so its side is absent. */
function heldChange(before: number | undefined, after: number | undefined): { heldRps?: Partial<Changed> } {
  if (before === undefined && after === undefined) return {};
  return { heldRps: sidesOf(before, after) };
}

function heldDiffers({ before, after }: Partial<Changed>): boolean {
  if (before === undefined || after === undefined) return before !== after;
  return differs({ before, after });
}

function pipelineChanges(
  before: readonly PlannedPipeline[],
  after: readonly PlannedPipeline[],
): PipelineChange[] {
  const [old, now] = [byName(before), byName(after)];
  const names = [...new Set([...old.keys(), ...now.keys()])];
  return names
    .map((pipeline) => ({
      pipeline,
      throughputRps: changeOf(old.get(pipeline)?.throughputRps, now.get(pipeline)?.throughputRps),
      gpus: changeOf(old.get(pipeline)?.gpus, now.get(pipeline)?.gpus),
    }))
    .filter(({ throughputRps, gpus }) => differs(throughputRps) || differs(gpus));
}

interface PipelineSum {
  readonly throughputRps: number;
  readonly gpus: number;
}

/** byName adds up the rates and GPUs of pipelines that have the same description. */
function byName(pipelines: readonly PlannedPipeline[]): Map<string, PipelineSum> {
  const sums = new Map<string, PipelineSum>();
  for (const pipeline of pipelines) {
    const name = pipelineName(pipeline);
    const { throughputRps, gpus } = sums.get(name) ?? { throughputRps: 0, gpus: 0 };
    sums.set(name, {
      throughputRps: throughputRps + pipeline.throughputRps,
      gpus: gpus + gpusOf(pipeline),
    });
  }
  return sums;
}

/** pipelineName describes a pipeline by its cuts, devices, sizes and batches. */
export function pipelineName({ partitions }: PlannedPipeline): string {
  return partitions.map(partitionName).join(' → ');
}

function partitionName({ blocks, layers, device, virtual, batch }: PlannedPartition): string {
  const [unit, range] = layers === undefined ? ['blocks', blocks] : ['layers', layers];
  return `${unit} ${range?.[0]}–${(range?.[1] ?? 0) - 1} on ${device}${virtual > 1 ? ` 1/${virtual}` : ''} batch ${batch}`;
}

function gpusOf({ partitions }: PlannedPipeline): number {
  return partitions.reduce((sum, { gpus }) => sum + gpus, 0);
}

type Placed = Pick<PooledPlan, 'models' | 'placement' | 'cluster'>;

/**
 * Duties are runs of GPUs of one class with the partitions that they serve, in words that do not depend on the order of
 * pipelines.
 */
type Duties = readonly { readonly from: number; readonly to: number; readonly serves: string }[];

function dutiesOf(
  { models, placement, cluster }: Placed,
  row: string,
  { class: name, stride }: { readonly class: string; readonly stride: number },
): Duties {
  const perServer = cluster.devices[name]?.perServer ?? 1;
  const spanned = placement.flatMap((place) =>
    rowOf(place) === row ? spansOf(place, perServer, stride) : [],
  );
  return runsOf(name, spanned).map(({ first, count, places }) => {
    const duties = places.map(({ model, pipeline, partition, virtual }) => {
      const part = models[model]?.pipelines[pipeline]?.partitions[partition];
      if (part === undefined) return '';
      const size = virtual === part.virtual ? '' : ` in 1/${virtual}`;
      return `${models[model]?.name}: ${partitionName(part)}${size}`;
    });
    return { from: first, to: first + count, serves: duties.sort().join('; ') };
  });
}

/** rowOf names the row in which GPUs are numbered together: a class, or a server that is not named after one. */
function rowOf(place: Placement): string {
  return Number.isNaN(gpuNumber(place, 1)) ? `${place.class}/${place.server}` : place.class;
}

/** spansOf numbers the GPUs of an entry as if each server had `stride` of them. */
function spansOf(place: Placement, perServer: number, stride: number): Spanned[] {
  const { gpu, count = 1 } = place;
  let number = gpuNumber(place, perServer);
  if (Number.isNaN(number)) return [{ place, from: gpu, to: gpu + count }];
  if (stride === perServer) return [{ place, from: number, to: number + count }];
  const spans: Spanned[] = [];
  for (let left = count; left > 0; ) {
    const at = number % perServer;
    const here = Math.min(left, perServer - at);
    const from = ((number - at) / perServer) * stride + at;
    spans.push({ place, from, to: from + here });
    number += here;
    left -= here;
  }
  return spans;
}

/** movedGpus counts the GPUs that serve another partition in `b` than in `a`, or serve in only one of the two. */
function movedGpus(a: Placed, b: Placed): number {
  const classOf = new Map([...a.placement, ...b.placement].map((place) => [rowOf(place), place.class]));
  let moved = 0;
  for (const [row, name] of classOf) {
    const stride = largestOf([a, b].map(({ cluster }) => cluster.devices[name]?.perServer ?? 1));
    const at = { class: name, stride };
    moved += unlike(dutiesOf(a, row, at), dutiesOf(b, row, at));
  }
  return moved;
}

/** unlike counts the GPUs whose duties differ. */
function unlike(before: Duties, after: Duties): number {
  const ends = [...new Set([...before, ...after].flatMap(({ from, to }) => [from, to]))].sort(
    (a, b) => a - b,
  );
  let [i, k, count] = [0, 0, 0];
  for (let e = 0; e + 1 < ends.length; e++) {
    const at = ends[e]!;
    while (i < before.length && itemAt(before, i).to <= at) i += 1;
    while (k < after.length && itemAt(after, k).to <= at) k += 1;
    const [was, is] = [before[i], after[k]].map((duty) =>
      duty !== undefined && duty.from <= at ? duty.serves : undefined,
    );
    if (was !== is) count += ends[e + 1]! - at;
  }
  return count;
}
