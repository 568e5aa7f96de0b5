import type {
  LoadExecutions,
  LoadServed,
  PlannedPartition,
  SimulationReport,
  VerifiedExecutions,
} from '../../artifacts/index.js';
import type { ServedPlan } from '../../plans/index.js';
import type { SimulationSetup } from '../../simulation/index.js';

/** The median of fewer batches says little. */
export const LEAST_MEASURED = 5;
/** The 95th percentile of a normal distribution lies this many deviations above the median. */
const P95_DEVIATIONS = 1.6448536269514722;

/** MeasuredCell is what a load says of a partition's batches of one size. */
interface MeasuredCell extends LoadExecutions {
  /** The median over the planned time. */
  factor?: number;
}

/** PlannedPool is what is planned of a partition, or of a stage of a pipeline or cascade. */
type PlannedPool = Pick<PlannedPartition, 'device' | 'virtual' | 'latencyUsByBatch'>;

/** MeasuredPool is a partition of a plan, or a stage, with the batches of it that a load executed. */
export interface MeasuredPool {
  readonly model: string;
  /** The model as its profile names it. */
  readonly profiled: string;
  /** The stage of a pipeline or cascade. */
  readonly stage?: string;
  readonly planned: PlannedPool;
  readonly pipeline: number;
  readonly partition: number;
  readonly cells: readonly MeasuredCell[];
}

/** measuredPools gives the partitions of a plan, in the order of its pools, with what a load measured of each. */
export function measuredPools(plan: ServedPlan, served: readonly LoadServed[]): MeasuredPool[] {
  return plannedPools(plan).map((pool) => {
    const executions = served.find(({ model }) => model === pool.model)?.executions ?? [];
    return {
      ...pool,
      cells: executions
        .filter((one) => one.pipeline === pool.pipeline && one.partition === pool.partition)
        .map((one) => ({ ...one, ...factorOf(one, pool.planned) })),
    };
  });
}

/** plannedPools lists the pools of a plan: a server counts the stages of a pipeline or cascade as partitions. */
function plannedPools(plan: ServedPlan): Omit<MeasuredPool, 'cells'>[] {
  if (plan.kind !== 'pooled-plan')
    return plan.stages.map((planned, partition) => ({
      ...{ model: plan.name, profiled: planned.model, stage: planned.name },
      ...{ planned, pipeline: 0, partition },
    }));
  return plan.models.flatMap(({ name, pipelines }) =>
    pipelines.flatMap(({ partitions }, pipeline) =>
      partitions.map((planned, partition) => ({ model: name, profiled: name, planned, pipeline, partition })),
    ),
  );
}

function factorOf({ batch, measured, medianUs }: LoadExecutions, planned: PlannedPool) {
  const plannedUs = planned.latencyUsByBatch[batch - 1];
  if (medianUs === undefined || measured < LEAST_MEASURED || !plannedUs) return {};
  return { factor: medianUs / plannedUs };
}

/** verifiedExecutions lists the batches of every partition by size, as far as any were simulated or executed. */
export function verifiedExecutions(
  pools: readonly MeasuredPool[],
  { pools: simulated }: SimulationReport,
): VerifiedExecutions[] {
  return pools.flatMap(({ model, stage, planned, pipeline, partition, cells }, p) =>
    planned.latencyUsByBatch.flatMap((plannedUs, i) => {
      const cell = cells.find(({ batch }) => batch === i + 1);
      const simulatedBatches = simulated[p]?.sizes[i] ?? 0;
      if (simulatedBatches === 0 && cell === undefined) return [];
      const { device, virtual } = planned;
      return [
        {
          ...{ model, pipeline, partition, ...(stage === undefined ? {} : { stage }) },
          ...{ class: device, virtual, batch: i + 1 },
          ...{ simulatedBatches, liveBatches: cell?.executed ?? 0 },
          ...(plannedUs === null ? {} : { plannedUs }),
          ...(cell?.medianUs === undefined ? {} : { measuredUs: cell.medianUs }),
          ...(cell?.factor === undefined ? {} : { factor: cell.factor }),
        },
      ];
    }),
  );
}

/**
 * measuredExecution gives executions as a load measured them: the median and the spread of each size of batch. A size
 * that was not measured takes the mean factor of its partition.
 */
export function measuredExecution(pools: readonly MeasuredPool[]): SimulationSetup['execution'] {
  const factors = pools.map(({ planned, cells }) => {
    const known = cells.filter(({ factor }) => factor !== undefined);
    const batches = known.reduce((sum, { executed }) => sum + executed, 0);
    const mean = known.reduce((sum, { executed, factor = 1 }) => sum + (factor * executed) / batches, 0);
    const otherwise = batches === 0 ? 1 : mean;
    return Float64Array.from(
      planned.latencyUsByBatch,
      (_, i) => known.find(({ batch }) => batch === i + 1)?.factor ?? otherwise,
    );
  });
  const deviations = pools.map(({ planned, cells }) =>
    Float64Array.from(planned.latencyUsByBatch, (_, i) =>
      deviationOf(cells.find(({ batch, factor }) => batch === i + 1 && factor !== undefined)),
    ),
  );
  return { slow: 1, factors, jitter: { kind: 'profile', deviations } };
}

function deviationOf({ medianUs = 0, p95Us = 0 }: Partial<MeasuredCell> = {}): number {
  return medianUs > 0 && p95Us > medianUs ? Math.log(p95Us / medianUs) / P95_DEVIATIONS : 0;
}
