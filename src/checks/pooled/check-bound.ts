import { smallestOf } from '../../collections/index.js';
import { type DeviceClass, type Fault, fault, type PlannedModel } from '../../formats/index.js';
import { unitsOf } from './check-units.js';
import type { CheckedModel, CheckedPlan, PooledQuestion } from './question.js';

/** Simple holds, by class index, the figures from which plans are made by hand. */
interface Simple {
  readonly names: readonly string[];
  readonly devices: readonly DeviceClass[];
  /** The highest rate of one GPU that runs the whole model, by model and class; 0 if it cannot run it. */
  readonly gpuRps: readonly (readonly number[])[];
}

/** Rounding may change the sums below by this part. */
const ROUNDING = 1e-9;

/** If more GPUs than this are idle, several are given at a time. */
const STEPS = 10_000;

/**
 * boundFaults gives at most one fault: that a plan made by hand refutes the bound. For throughput such plans put whole
 * models on GPUs of their own, on all GPUs or on those that the plan leaves idle. For prices they put each whole model
 * on its cheapest class, or leave out one of the plan's pipelines. A bound that is not refuted may still be wrong,
 * because only another search could prove it. It takes one step per GPU; of very many it gives several in a step. It
 * reports nothing under minimum shares or `virtualPer: server`, nor for bounds of baselines or of the literal
 * formulation.
 */
export function boundFaults(plan: CheckedPlan, problem: PooledQuestion): Fault[] {
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
    .map((value) => fault(`is ${bound}, but a plan made by hand has the value ${value}`, '/objective/bound'));
}

function simpleOf(plan: CheckedPlan, problem: PooledQuestion): Simple {
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

/** fastestRps is the rate of one GPU with the best virtual size and batch size that meet the SLO and fit its memory. */
function fastestRps(
  model: CheckedModel,
  { batchFormationUsPerRequest }: PlannedModel,
  { planner }: PooledQuestion,
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
 * leastServed gives one GPU after another (of very many, a ten-thousandth of the rest) to the model that is served
 * least, and returns the least throughput/weight.
 * @param plan the rates that models are served with already; without it all GPUs are given
 */
function leastServed(
  { names, devices, gpuRps }: Simple,
  { models }: PooledQuestion,
  plan: CheckedPlan | undefined = undefined,
): number {
  const left = devices.map(
    ({ count, taken = 0 }, k) => count - taken - (plan?.classes[names[k] as string]?.used ?? 0),
  );
  const served = models.map((_, m) => plan?.models[m]?.throughputRps ?? 0);
  const weighed = [...models.keys()].filter((m) => (models[m] as CheckedModel).weight > 0);
  const ratio = (m: number) => (served[m] as number) / (models[m] as CheckedModel).weight;
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

function priceOf({ hourlyCost = 0, powerWatts = 0 }: DeviceClass, { planner }: PooledQuestion): number {
  return planner.objective === 'cost' ? hourlyCost : powerWatts;
}

/**
 * priceApart is the price if each model in turn meets its rate on the class that is cheapest for it. It is Infinity
 * if the GPUs do not suffice.
 */
function priceApart({ devices, gpuRps }: Simple, problem: PooledQuestion): number {
  const left = devices.map(({ count, taken = 0 }) => count - taken);
  return problem.models.reduce((sum, { rps = 0 }, m) => {
    const offers = devices.map((device, k) => {
      const gpus = Math.ceil(rps / (gpuRps[m]?.[k] as number));
      return gpus <= (left[k] as number) ? gpus * priceOf(device, problem) : Number.POSITIVE_INFINITY;
    });
    const k = offers.indexOf(smallestOf(offers));
    left[k] = (left[k] as number) - Math.ceil(rps / (gpuRps[m]?.[k] as number));
    return sum + (offers[k] as number);
  }, 0);
}

/** pricesWithout is the plan's price without each pipeline that the rate does not need, if pools share no GPUs. */
function pricesWithout({ names, devices }: Simple, problem: PooledQuestion, plan: CheckedPlan): number[] {
  if (problem.planner.wholeGpusPer !== 'pool') return [];
  return plan.models.flatMap(({ pipelines, throughputRps }, m) =>
    pipelines.flatMap((pipeline) => {
      const { rps = 0 } = problem.models[m] as CheckedModel;
      if (throughputRps - pipeline.throughputRps < rps) return [];
      const saved = pipeline.partitions.reduce((sum, { device, gpus }) => {
        const price = priceOf(devices[names.indexOf(device)] as DeviceClass, problem);
        return sum + Math.ceil(gpus - ROUNDING) * price;
      }, 0);
      return [plan.objective.value - saved];
    }),
  );
}
