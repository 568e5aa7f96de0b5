import type { PlannedPartition, PlannedPipeline, PooledPlan } from '../../artifacts/index.js';

/** Change is one figure in both plans. */
export interface Change {
  readonly before: number;
  readonly after: number;
}

/** PlanDiff is what a new plan changes. */
export interface PlanDiff {
  /**
   * `kind` is that of the plan after. `kindBefore` is there if the other plan's kind differs, and then the values are
   * not alike.
   */
  readonly objective: Change & { readonly kind: string; readonly kindBefore?: string };
  readonly models: readonly {
    readonly name: string;
    readonly throughputRps: Change;
    /** The SLO that requests are held to when the plan is served. */
    readonly sloMs: Change;
    /** The pipelines whose GPUs or rates differ, by what they are. */
    readonly pipelines: readonly PipelineChange[];
  }[];
  /** The whole GPUs in use by class, of classes in which they differ. */
  readonly classes: readonly { readonly name: string; readonly used: Change }[];
  /**
   * The GPUs that now serve another partition, that no longer serve one, or that now serve one for the first time.
   */
  readonly gpusMoved: number;
  readonly same: boolean;
}

export interface PipelineChange {
  /** The pipeline's cuts, devices, sizes and batch in words. */
  readonly pipeline: string;
  readonly throughputRps: Change;
  readonly gpus: Change;
}

const ROUNDING = 1e-9;

/**
 * diffPlans compares rates, pipelines and GPUs of two plans. A model, pipeline or class that one of them lacks counts
 * as 0 there.
 */
export function diffPlans(a: Omit<PooledPlan, 'inputs'>, b: Omit<PooledPlan, 'inputs'>): PlanDiff {
  const names = [...new Set([...a.models, ...b.models].map(({ name }) => name))];
  const models = names.map((name) => {
    const [before, after] = [a, b].map((plan) => plan.models.find((model) => model.name === name));
    return {
      name,
      throughputRps: change(before?.throughputRps, after?.throughputRps),
      sloMs: change(before?.sloMs, after?.sloMs),
      pipelines: pipelineChanges(before?.pipelines ?? [], after?.pipelines ?? []),
    };
  });
  const classNames = [...new Set([...Object.keys(a.classes), ...Object.keys(b.classes)])];
  const classes = classNames
    .map((name) => ({ name, used: change(a.classes[name]?.used, b.classes[name]?.used) }))
    .filter(({ used }) => differs(used));
  const [kindBefore, kind] = [a.objective.kind, b.objective.kind];
  const values = change(a.objective.value, b.objective.value);
  const objective = { kind, ...(kind === kindBefore ? {} : { kindBefore }), ...values };
  const gpusMoved = movedGpus(a, b);
  const alike = models.every(
    ({ throughputRps, sloMs, pipelines }) =>
      !differs(throughputRps) && !differs(sloMs) && pipelines.length === 0,
  );
  return { objective, models, classes, gpusMoved, same: alike && classes.length === 0 && gpusMoved === 0 };
}

function change(before = 0, after = 0): Change {
  return { before, after };
}

function differs({ before, after }: Change): boolean {
  return Math.abs(after - before) > ROUNDING * Math.max(1, Math.abs(before));
}

function pipelineChanges(
  before: readonly PlannedPipeline[],
  after: readonly PlannedPipeline[],
): PipelineChange[] {
  const [old, now] = [before, after].map((list) => new Map(list.map((p) => [pipelineName(p), p])));
  const names = [...new Set([...(old?.keys() ?? []), ...(now?.keys() ?? [])])];
  return names
    .map((pipeline) => ({
      pipeline,
      throughputRps: change(old?.get(pipeline)?.throughputRps, now?.get(pipeline)?.throughputRps),
      gpus: change(gpusOf(old?.get(pipeline)), gpusOf(now?.get(pipeline))),
    }))
    .filter(({ throughputRps, gpus }) => differs(throughputRps) || differs(gpus));
}

function pipelineName({ partitions }: PlannedPipeline): string {
  return partitions.map(partitionName).join(' → ');
}

function partitionName({ blocks, layers, device, virtual, batch }: PlannedPartition): string {
  const [unit, range] = layers === undefined ? ['blocks', blocks] : ['layers', layers];
  return `${unit} ${range?.[0]}–${(range?.[1] ?? 0) - 1} on ${device}${virtual > 1 ? ` 1/${virtual}` : ''} batch ${batch}`;
}

function gpusOf(pipeline: PlannedPipeline | undefined): number {
  return pipeline?.partitions.reduce((sum, { gpus }) => sum + gpus, 0) ?? 0;
}

type Placed = Pick<PooledPlan, 'models' | 'placement'>;

/** What each GPU serves, in words that do not depend on the order of pipelines. */
function dutyOfGpus({ models, placement }: Placed): Map<string, string> {
  const duties = new Map<string, string[]>();
  for (const { server, gpu, model, pipeline, partition } of placement) {
    const part = models[model]?.pipelines[pipeline]?.partitions[partition];
    const duty = part === undefined ? '' : `${models[model]?.name}: ${partitionName(part)}`;
    const key = `${server}/${gpu}`;
    duties.set(key, [...(duties.get(key) ?? []), duty]);
  }
  return new Map([...duties].map(([gpu, list]) => [gpu, list.sort().join('; ')]));
}

function movedGpus(a: Placed, b: Placed): number {
  const [before, after] = [dutyOfGpus(a), dutyOfGpus(b)];
  return [...new Set([...before.keys(), ...after.keys()])].filter((gpu) => before.get(gpu) !== after.get(gpu))
    .length;
}
