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
  const fast = cascades.filter(({ floorNs }) => floorNs <= latencyNs).sort((a, b) => b.accuracy - a.accuracy);
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

/** everyPlacement lists what devices may hold, in every combination: all sets of models that fit, and not only the largest. */
function everyPlacement({ models, devices, memoryBytes }: GearProblem): number[][] {
  const sets = Array.from({ length: 1 << models.length }, (_, held) => held).filter(
    (held) =>
      held > 0 &&
      models.reduce((sum, model, i) => sum + ((held >> i) & 1) * model.memoryBytes, 0) <= memoryBytes,
  );
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
