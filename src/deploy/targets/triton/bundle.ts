import { itemAt, largestOf, smallestOf } from '../../../collections/index.js';
import { DTYPES, oipDatatype, STRING_DTYPE } from '../../../execution/index.js';
import type { TensorSpec } from '../../../formats/index.js';
import type { StagePlan } from '../../../plans/index.js';
import type { EngineGear, EngineGraph, EngineModel, EngineStage } from '../../engine-graph.js';
import { frontKind, reachedFrom, stagesOfRoute, type TritonNames, tritonNamesOf } from './names.js';
import { type Carried, carriedBy, type Layout, layoutsOf } from './servers.js';
import { type QueueTimeouts, queueTimeouts } from './timeouts.js';

/** Each Python process has at least so much shared memory. */
const MIB = 1024 * 1024;
/** A device executes one batch, and the next one waits. */
const BATCHES_EACH = 2;
/** Of a text, whose length is not known, so much is reckoned. */
const TEXT_BYTES = 256;

/** TritonPlan is a plan as Triton's files are written from it, and checked against it. */
export interface TritonPlan {
  readonly plan: StagePlan;
  readonly graph: EngineGraph;
  readonly names: TritonNames;
  readonly layouts: readonly Layout[];
  readonly timeouts: QueueTimeouts;
  /** The digest of the plan's file; absent where files are only checked. */
  readonly planSha256?: string;
}

const MADE = new WeakMap<EngineGraph, TritonPlan>();

/** tritonPlanOf works out what each server holds and how long requests may wait. It is done once for a graph. */
export function tritonPlanOf({
  plan,
  graph,
  planSha256,
}: {
  readonly plan: StagePlan;
  readonly graph: EngineGraph;
  readonly planSha256?: string;
}): TritonPlan {
  const known = MADE.get(graph);
  if (known !== undefined) return known;
  const made: TritonPlan = {
    plan,
    graph,
    names: tritonNamesOf(graph),
    layouts: layoutsOf(plan, graph),
    timeouts: queueTimeouts(plan, graph),
    ...(planSha256 === undefined ? {} : { planSha256 }),
  };
  MADE.set(graph, made);
  return made;
}

/** isBatchFirst returns whether the rows of a tensor are its axis 0, one by one, as Triton batches them. */
export function isBatchFirst({ batchAxis, shape }: TensorSpec): boolean {
  return batchAxis === 0 && shape[0] === 1;
}

/**
 * stageBatch is the largest batch that Triton forms of a stage: the planned one, or 0 where a tensor is not batched
 * along axis 0.
 */
export function stageBatch({ inputs, outputs, batch }: EngineStage): number {
  return [...inputs, ...outputs].every(({ spec }) => isBatchFirst(spec)) ? batch : 0;
}

/** frontBatch is the most rows of a request to what clients call; 0 where Triton does not batch it. */
export function frontBatch(graph: EngineGraph, model: EngineModel): number {
  if (![...model.inputs, ...model.outputs].every(({ spec }) => isBatchFirst(spec))) return 0;
  // Rows that take other branches have other outputs.
  if (frontKind(graph, model) === 'routes') return 1;
  const stages = model.routes.flatMap(({ entry }) => stagesOfRoute(graph, entry));
  return smallestOf(stages.map((stage) => stageBatch(itemAt(graph.stages, stage))));
}

/** routeBatch is the most rows that go through a pipeline at once. */
export function routeBatch(graph: EngineGraph, model: EngineModel, entry: number): number {
  if (![...model.inputs, ...model.outputs].every(({ spec }) => isBatchFirst(spec))) return 0;
  const stages = reachedFrom(entry, graph.stages);
  return smallestOf(stages.map((stage) => stageBatch(itemAt(graph.stages, stage))));
}

/** tritonType is Triton's name of a dtype; undefined where its ONNX Runtime backend has none. */
export function tritonType(dtype: string): string | undefined {
  if (dtype === STRING_DTYPE) return 'TYPE_STRING';
  const named = oipDatatype(dtype);
  return named === undefined || named === 'BF16' ? undefined : `TYPE_${named}`;
}

/** plannedGear is the gear that Triton keeps: that of the rate which the plan promises. */
export function plannedGear({
  gears,
  models,
}: EngineGraph): { readonly index: number; readonly gear: EngineGear } | undefined {
  if (gears === undefined) return undefined;
  const rps = models[0]?.plannedRps ?? 0;
  const found = gears.gears.findIndex(({ toRps }) => rps <= toRps);
  const index = found < 0 ? gears.gears.length - 1 : found;
  return { index, gear: itemAt(gears.gears, index) };
}

/** queueDelayUs is how long a batch of a stage waits for more rows: 0, or by a gear that waits for several the gear's timeout. */
export function queueDelayUs({ graph, timeouts }: TritonPlan, stage: number): number {
  const gear = plannedGear(graph)?.gear;
  const step = gear?.steps.find((one) => one.stage === stage);
  if (gear === undefined || step === undefined || step.minQueue <= 1) return 0;
  // A request that waits longer than its policy allows would be dropped before its batch begins.
  return Math.min(Math.round(1e3 * gear.timeoutMs), Math.floor(itemAt(timeouts.stageUs, stage) / 2));
}

/** FrontOn is a model that clients call as a server has it. */
export interface FrontOn extends Carried {
  readonly model: EngineModel;
  /** The model's place in the graph. */
  readonly index: number;
  readonly name: string;
  /** The requests per second that the plan brings to the server. */
  readonly rps: number;
  /**
   * The requests that are in flight: those that fill a batch on each device and one more that waits for it, or fewer where the
   * planned rate brings fewer within the SLO (Little's law).
   */
  readonly inFlight: number;
}

/** frontsOn lists the models that clients call on a server; those of which it lacks stages are left out. */
export function frontsOn({ graph, names, layouts }: TritonPlan, layout: Layout): FrontOn[] {
  const carried = carriedBy(layout, layouts, graph);
  return graph.models.flatMap((model, index) => {
    const { part, shares } = itemAt(carried, index);
    if (part === 0) return [];
    const rps = model.plannedRps * part;
    const within = Math.ceil((rps * model.sloMs) / 1e3 - 1e-9);
    const inFlight = Math.max(1, Math.min(within, BATCHES_EACH * rowsOn(graph, model, layout)));
    return [{ model, index, name: itemAt(names.fronts, index), part, shares, rps, inFlight }];
  });
}

/** rowsOn counts the rows that the devices of a server execute at a time for a model, with full batches. */
function rowsOn(graph: EngineGraph, { routes }: EngineModel, { held }: Layout): number {
  const stages = new Set(routes.flatMap(({ entry }) => stagesOfRoute(graph, entry)));
  return [...stages].reduce((sum, stage) => {
    const devices = [...(held.get(stage)?.values() ?? [])].reduce((all, one) => all + one, 0);
    return sum + devices * itemAt(graph.stages, stage).batch;
  }, 0);
}

/** isPython returns whether what clients call is a Python model. */
export function isPython({ graph }: Pick<TritonPlan, 'graph'>, model: EngineModel): boolean {
  return frontKind(graph, model) !== 'ensemble';
}

/** SharedMemory is what the Python models of a server need of the memory that processes share. */
export interface SharedMemory {
  readonly processes: number;
  readonly bytesEach: number;
}

/** sharedMemoryOn sizes the shared memory of a server's Python models, each for the tensors of a request twice. */
export function sharedMemoryOn(triton: TritonPlan, layout: Layout): SharedMemory | undefined {
  const { graph } = triton;
  const fronts = frontsOn(triton, layout).filter(({ model }) => isPython(triton, model));
  if (fronts.length === 0) return undefined;
  const bytes = fronts.map(({ model }) => {
    const stages = model.routes.flatMap(({ entry }) => stagesOfRoute(graph, entry));
    const tensors = stages.flatMap((stage) => {
      const { inputs, outputs } = itemAt(graph.stages, stage);
      return [...inputs, ...outputs];
    });
    const all = [...model.inputs, ...model.outputs, ...tensors];
    const sum = all.reduce((total, { spec }) => total + bytesOf(spec), 0);
    return 2 * sum * Math.max(1, frontBatch(graph, model));
  });
  return {
    processes: fronts.reduce((sum, { inFlight }) => sum + inFlight, 0),
    bytesEach: MIB * Math.max(1, Math.ceil(largestOf(bytes) / MIB)),
  };
}

function bytesOf({ dtype, shape }: TensorSpec): number {
  return shape.reduce((product, size) => product * size, DTYPES[dtype]?.bytes ?? TEXT_BYTES);
}
