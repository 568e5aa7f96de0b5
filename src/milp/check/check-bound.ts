import { type DeviceClass, type Fault, fault, type PlannedModel } from '../../artifacts/index.js';
import type { PlanBody, PooledProblem, ProblemModel } from '../problem.js';
import { unitsOf } from './check-units.js';

/** Simple holds what plans made by hand are made of, by class index. */
interface Simple {
  readonly names: readonly string[];
  readonly devices: readonly DeviceClass[];
  /** The highest rate of one GPU that runs the whole model, by model and class; 0 if it runs none. */
  readonly gpuRps: readonly (readonly number[])[];
}

/** The sums below may be off by this part through rounding. */
const ROUNDING = 1e-9;

/** Of more idle GPUs than this, several are given at a time. */
const STEPS = 10_000;

/**
 * boundFaults finds bounds that a plan made by hand refutes. Such plans put whole models on GPUs of their own, on all
 * GPUs or on those that the plan leaves idle; for prices they also leave out one of the plan's pipelines. A bound
 * that is not refuted may still be wrong, because only another search could prove it. It costs a step per GPU, up to some ten thousand. It
 * says nothing under rules that bind many pools at once, or of bounds that hold for baselines or the literal
 * formulation only.
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

/** fastestRps takes the GPU's best virtual size and batch size that meet the SLO and fit its memory. */
function fastestRps(
  model: ProblemModel,
  { batchFormationUsPerRequest }: PlannedModel,
  { planner }: PooledProblem,
  name: string,
  { virtual: sizes = [1], memoryGiB = Number.POSITIVE_INFINITY }: DeviceClass,
): number {
  const { profile, batchFormation, sloUs, sloMarginUs } = model;
  // A rate that was estimated as 0 leaves batches of one, and is not written into the plan.
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
 * leastServed gives one GPU after another (of very many, a ten-thousandth of those left) to the model that is served
 * least, and returns the least throughput/weight.
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
    const step = Math.max(1, Math.floor((left[best] as number) / STEPS));
    left[best] = (left[best] as number) - step;
    served[poorest] = (served[poorest] as number) + step * (gpuRps[poorest]?.[best] as number);
  }
}

function priceOf({ hourlyCost = 0, powerWatts = 0 }: DeviceClass, { planner }: PooledProblem): number {
  return planner.objective === 'cost' ? hourlyCost : powerWatts;
}

/**
 * priceApart is the price if each model in turn meets its rate on the class that is cheapest for it. It is Infinity
 * if the GPUs do not suffice.
 */
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

/** pricesWithout is the plan's price without each pipeline that the rate does not need, if pools share no GPUs. */
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
