import {
  type Fault,
  fault,
  type LoadExecutions,
  type LoadServed,
  type SimulationReport,
  type VerifiedExecutions,
} from '../../formats/index.js';
import type { PlanPart } from '../../plans/index.js';
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

/** MeasuredPool is a part of a plan, with the batches of it that a load executed. */
export interface MeasuredPool {
  readonly part: PlanPart;
  readonly cells: readonly MeasuredCell[];
}

/** measuredPools gives the parts of a plan, in their order, with what a load measured of each. */
export function measuredPools(parts: readonly PlanPart[], served: readonly LoadServed[]): MeasuredPool[] {
  return parts.map((part) => {
    // Applications that share stages have the same batches, and none may have the name of the plan.
    const ofStage = part.stage === undefined ? undefined : served[0];
    const executions = (served.find(({ model }) => model === part.name) ?? ofStage)?.executions ?? [];
    return {
      part,
      cells: executions
        .filter(({ pipeline, partition }) => pipeline === part.pipeline && partition === part.partition)
        .map((one) => ({ ...one, ...factorOf(one, part) })),
    };
  });
}

/** executedFaults finds batches of parts, devices and sizes that the plan lacks. */
export function executedFaults(parts: readonly PlanPart[], served: readonly LoadServed[]): Fault[] {
  return served.flatMap(({ model, executions }, i) =>
    executions.flatMap(({ pipeline, partition, class: name, virtual, batch }, k) => {
      const at = `/served/${i}/executions/${k}`;
      const part = parts.find(
        (one) =>
          one.pipeline === pipeline &&
          one.partition === partition &&
          (one.name === model || one.stage !== undefined),
      );
      if (part === undefined)
        return [fault(`is of partition ${partition} of pipeline ${pipeline}, which the plan lacks`, at)];
      const isPlanned = part.otherClasses !== undefined || part.device === name;
      return [
        ...(isPlanned ? [] : [fault(`is ${name}; the plan has ${part.device}`, `${at}/class`)]),
        ...(part.virtual === virtual
          ? []
          : [fault(`is ${virtual}; the plan has ${part.virtual}`, `${at}/virtual`)]),
        ...(batch <= part.latencyUsByBatch.length
          ? []
          : [
              fault(`is ${batch}; the plan has batches up to ${part.latencyUsByBatch.length}`, `${at}/batch`),
            ]),
      ];
    }),
  );
}

function factorOf({ batch, measured, medianUs }: LoadExecutions, part: PlanPart) {
  const plannedUs = part.latencyUsByBatch[batch - 1];
  // A server reports how long the batches of a stage take, whichever class executes them.
  if (part.otherClasses !== undefined) return {};
  if (medianUs === undefined || measured < LEAST_MEASURED || !plannedUs) return {};
  return { factor: medianUs / plannedUs };
}

/** verifiedExecutions lists the batches of every partition by size, as far as any were simulated or executed. */
export function verifiedExecutions(
  pools: readonly MeasuredPool[],
  { pools: simulated }: SimulationReport,
): VerifiedExecutions[] {
  return pools.flatMap(({ part, cells }, p) =>
    part.latencyUsByBatch.flatMap((plannedUs, i) => {
      const cell = cells.find(({ batch }) => batch === i + 1);
      const simulatedBatches = simulated[p]?.sizes[i] ?? 0;
      if (simulatedBatches === 0 && cell === undefined) return [];
      const { name: model, stage, pipeline, partition, device, virtual } = part;
      return [
        {
          model,
          pipeline,
          partition,
          ...(stage === undefined ? {} : { stage }),
          class: device,
          virtual,
          batch: i + 1,
          simulatedBatches,
          liveBatches: cell?.executed ?? 0,
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
 * that was not measured takes the mean factor of its part.
 */
export function measuredExecution(pools: readonly MeasuredPool[]): SimulationSetup['execution'] {
  const factors = pools.map(({ part, cells }) => {
    const known = cells.filter(({ factor }) => factor !== undefined);
    const batches = known.reduce((sum, { executed }) => sum + executed, 0);
    const mean = known.reduce((sum, { executed, factor = 1 }) => sum + (factor * executed) / batches, 0);
    const otherwise = batches === 0 ? 1 : mean;
    return Float64Array.from(
      part.latencyUsByBatch,
      (_, i) => known.find(({ batch }) => batch === i + 1)?.factor ?? otherwise,
    );
  });
  const deviations = pools.map(({ part, cells }) =>
    Float64Array.from(part.latencyUsByBatch, (_, i) =>
      deviationOf(cells.find(({ batch, factor }) => batch === i + 1 && factor !== undefined)),
    ),
  );
  return { slow: 1, factors, jitter: { kind: 'profile', deviations } };
}

function deviationOf({ medianUs = 0, p95Us = 0 }: Partial<MeasuredCell> = {}): number {
  return medianUs > 0 && p95Us > medianUs ? Math.log(p95Us / medianUs) / P95_DEVIATIONS : 0;
}
