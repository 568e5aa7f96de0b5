import { type DeviceClass, type Fault, fault, type PlannedModel } from '../../artifacts/index.js';
import type { PlanBody, PooledProblem, ProblemModel } from '../problem.js';
import { unitsOf } from './check-units.js';

/** Plans made by hand, by class index. */
interface Simple {
  readonly names: readonly string[];
  readonly devices: readonly DeviceClass[];
  /** Most requests per second of one GPU that runs the whole model, by model and class; 0 where it runs none. */
  readonly gpuRps: readonly (readonly number[])[];
}

/** What rounding may make of the sums below. */
const ROUNDING = 1e-9;

/**
 * Bounds that a plan made by hand refutes: whole models on GPUs of their own, from nothing and on the GPUs that the plan
 * leaves idle; for prices also the plan without one of its pipelines. What it does not refute need not be true: to prove a
 * bound is to search again. Costs a step per GPU. Rules that bind many pools at once, and bounds that hold for baselines or
 * the literal formulation only, are left alone.
 */
export function boundFaults(plan: PlanBody, problem: PooledProblem): Fault[] {
  const { planner, models } = problem;
  const apart = models.some(({ minShare }) => Object.keys(minShare).length > 0);
  if (plan.baseline !== undefined || plan.formulation !== undefined) return [];
  if (apart || planner.virtualPer === 'server') return [];
  const simple = simpleOf(plan, problem);
  const { bound } = plan.objective;
  const throughput = planner.objective === 'throughput';
  const values = throughput
    ? [leastServed(simple, problem), leastServed(simple, problem, plan)]
    : [priceApart(simple, problem), ...pricesWithout(simple, problem, plan)];
  return values
    .filter((value) => (throughput ? value > bound * (1 + ROUNDING) : value < bound * (1 - ROUNDING)))
    .slice(0, 1)
    .map((value) => fault(`is ${bound}, and a plan made by hand comes to ${value}`, '/objective/bound'));
}

function simpleOf(plan: PlanBody, problem: PooledProblem): Simple {
  const names = Object.keys(problem.cluster.devices);
  const devices = Object.values(problem.cluster.devices);
  const gpuRps = problem.models.map((model, m) =>
    names.map((name, k) =>
      model.classes.includes(name)
        ? fastestRps(model, plan.models[m] as PlannedModel, problem, name, devices[k] as DeviceClass)
        : 0,
    ),
  );
  return { names, devices, gpuRps };
}

/** The GPU's best size and batch that meet the SLO and fit its memory. */
function fastestRps(
  model: ProblemModel,
  { batchFormationUsPerRequest }: PlannedModel,
  { planner }: PooledProblem,
  name: string,
  { virtual: sizes = [1], memoryGiB = Number.POSITIVE_INFINITY }: DeviceClass,
): number {
  const { profile, batchFormation, sloUs, sloMarginUs } = model;
  // A rate that was estimated as none leaves batches of one, and is not written down.
  const absent = batchFormation === 'none' || batchFormation.factor === 0 ? 0 : Number.POSITIVE_INFINITY;
  const perRequestUs = batchFormationUsPerRequest ?? absent;
  const layers = [0, profile.layers?.length ?? 0] as [number, number];
  let best = 0;
  for (const virtual of sizes) {
    const whole = { blocks: [0, profile.blocks.length], layers, device: name, virtual };
    const units = unitsOf(whole as Parameters<typeof unitsOf>[0], profile, planner.granularity);
    if (units.weightBytes * virtual > memoryGiB * 1024 ** 3) continue;
    for (const batch of Object.keys(profile.devices[name]?.blockLatencyUs[virtual] ?? {}).map(Number)) {
      const us = units.latencyUs(batch) ?? Number.POSITIVE_INFINITY;
      const fillUs = batch === 1 ? 0 : perRequestUs * (batch - 1);
      if (us + fillUs <= sloUs - sloMarginUs) best = Math.max(best, (virtual * batch * 1e6) / us);
    }
  }
  return best;
}

/**
 * The least throughput/weight where one GPU after another goes to the model that is served least.
 * @param plan what is served already; without it all GPUs are given
 */
function leastServed(
  { names, devices, gpuRps }: Simple,
  { models }: PooledProblem,
  plan: PlanBody | undefined = undefined,
): number {
  const left = devices.map(
    ({ count, taken = 0 }, k) => count - taken - (plan?.classes[names[k] as string]?.used ?? 0),
  );
  const served = models.map((_, m) => plan?.models[m]?.throughputRps ?? 0);
  const weighed = [...models.keys()].filter((m) => (models[m] as ProblemModel).weight > 0);
  const ratio = (m: number) => (served[m] as number) / (models[m] as ProblemModel).weight;
  for (;;) {
    const poorest = weighed.reduce((a, b) => (ratio(b) < ratio(a) ? b : a));
    let best = -1;
    gpuRps[poorest]?.forEach((rps, k) => {
      if ((left[k] as number) > 0 && rps > (gpuRps[poorest]?.[best] ?? 0)) best = k;
    });
    if (best < 0) return ratio(poorest);
    left[best] = (left[best] as number) - 1;
    served[poorest] = (served[poorest] as number) + (gpuRps[poorest]?.[best] as number);
  }
}

function priceOf({ hourlyCost = 0, powerWatts = 0 }: DeviceClass, { planner }: PooledProblem): number {
  return planner.objective === 'cost' ? hourlyCost : powerWatts;
}

/** The price where each model in turn meets its rate on the class that is cheapest for it; Infinity where GPUs do not suffice. */
function priceApart({ devices, gpuRps }: Simple, problem: PooledProblem): number {
  const left = devices.map(({ count, taken = 0 }) => count - taken);
  return problem.models.reduce((sum, { rps = 0 }, m) => {
    const offers = devices.map((device, k) => {
      const gpus = Math.ceil(rps / (gpuRps[m]?.[k] as number));
      return gpus <= (left[k] as number) ? gpus * priceOf(device, problem) : Number.POSITIVE_INFINITY;
    });
    const k = offers.indexOf(Math.min(...offers));
    left[k] = (left[k] as number) - Math.ceil(rps / (gpuRps[m]?.[k] as number));
    return sum + (offers[k] as number);
  }, 0);
}

/** The plan's price without one of its pipelines, where the others meet the rate; of pools that share no GPUs. */
function pricesWithout({ names, devices }: Simple, problem: PooledProblem, plan: PlanBody): number[] {
  if (problem.planner.wholeGpusPer !== 'pool') return [];
  return plan.models.flatMap(({ pipelines, throughputRps }, m) =>
    pipelines.flatMap((pipeline) => {
      const { rps = 0 } = problem.models[m] as ProblemModel;
      if (throughputRps - pipeline.throughputRps < rps) return [];
      const saved = pipeline.partitions.reduce((sum, { device, gpus }) => {
        const price = priceOf(devices[names.indexOf(device)] as DeviceClass, problem);
        return sum + Math.ceil(gpus - ROUNDING) * price;
      }, 0);
      return [plan.objective.value - saved];
    }),
  );
}
