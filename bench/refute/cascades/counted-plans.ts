import type { FamilyModel, GearProblem } from '../../../src/gearplan/index.js';
import type { Tried } from './every-cascade.js';

/** What a load may surpass the devices by, as it is added up. */
const ROUNDING = 1e-9;

/**
 * mostCounted is the highest accuracy of any plan whose requests never wait, of all cascades on all placements, one by one:
 * devices need to have the time, and the quantile of requests its answer within the latency. It is below 0 where a range has
 * no cascade.
 */
export function mostCounted(problem: GearProblem, cascades: readonly Tried[]): number {
  const { ranges, latencyNs } = problem;
  const fast = unlike(cascades.filter(({ floorNs }) => floorNs <= latencyNs)).sort(
    (a, b) => b.accuracy - a.accuracy,
  );
  let most = -1;
  for (const placement of everyPlacement(problem)) {
    let sum = 0;
    for (const { toRps, share } of ranges) {
      const best = fast.find((cascade) => isServed(problem.models, { cascade, toRps, placement }));
      sum = best === undefined ? -1 : sum + share * best.accuracy;
      if (best === undefined) break;
    }
    most = Math.max(most, sum);
  }
  return most;
}

/** unlike keeps one of the cascades that are equally accurate and send as many samples to each model. */
function unlike(cascades: readonly Tried[]): Tried[] {
  const known = new Map<string, Tried>();
  for (const one of cascades) {
    const visits = one.models.map((model, step) => `${model}:${one.visits[step]}`).sort();
    known.set([one.accuracy, ...visits].join(), one);
  }
  return [...known.values()];
}

/**
 * everyPlacement lists what devices may hold, in every combination: all sets of models that fit; of more than three models,
 * whose combinations would be too many, those to which no further model fits, as a device that holds more serves no less.
 */
function everyPlacement({ models, devices, memoryBytes }: GearProblem): number[][] {
  const fit = Array.from({ length: 1 << models.length }, (_, held) => held).filter(
    (held) =>
      held > 0 &&
      models.reduce((sum, model, i) => sum + ((held >> i) & 1) * model.memoryBytes, 0) <= memoryBytes,
  );
  const sets =
    models.length > 3
      ? fit.filter((held) => !fit.some((more) => more > held && (more & held) === held))
      : fit;
  let placements: number[][] = [[]];
  for (let device = 0; device < devices; device++)
    placements = placements.flatMap((placed) =>
      sets.filter((held) => held >= (placed.at(-1) ?? 0)).map((held) => [...placed, held]),
    );
  return placements;
}

/** isServed says whether devices have the time for a cascade: every set of models has devices enough that hold any of it. */
function isServed(
  models: readonly FamilyModel[],
  { cascade, toRps, placement }: { cascade: Tried; toRps: number; placement: readonly number[] },
): boolean {
  const needed = cascade.models.map((model, step) => {
    const { latencyNs } = models[model] as FamilyModel;
    const perSampleNs = Math.min(...latencyNs.map((ns, b) => ns / (b + 1)));
    return { model, devices: (toRps * (cascade.visits[step] as number) * perSampleNs) / 1e9 };
  });
  for (let some = 1; some < 1 << needed.length; some++) {
    const chosen = needed.filter((_, i) => (some >> i) & 1);
    const holders = placement.filter((held) => chosen.some(({ model }) => (held >> model) & 1)).length;
    if (chosen.reduce((sum, { devices }) => sum + devices, 0) > holders * (1 + ROUNDING)) return false;
  }
  return true;
}
