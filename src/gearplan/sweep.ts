import type { Kept } from './archive.js';
import type { Levels } from './levels.js';
import { type FamilyModel, leastWorkNs, shortestNs } from './problem.js';
import type { Offered, Point } from './sequence.js';

/** The longest cascade has so many steps. */
const MOST_STEPS = 4;

/** SweepParts is what thresholds are swept over. */
export interface SweepParts {
  readonly family: readonly FamilyModel[];
  readonly levels: readonly Levels[];
  readonly quantile: number;
}

/**
 * sweptThreshold tells of the cascades that have all thresholds but one of a cascade, and any threshold at its step. As that
 * rises, the samples that come to the step go on one by one, in the order of their certainties, so that it takes time by
 * the samples.
 */
export function sweptThreshold(
  { family, levels, quantile }: SweepParts,
  { models, ranks, swept }: Pick<Kept, 'models' | 'ranks'> & { readonly swept: number },
  offered: Offered,
): void {
  const samples = (family[0] as FamilyModel).correct.length;
  const steps = models.length;
  const correct = models.map((model) => (family[model] as FamilyModel).correct);
  const places = models.map((model) => (levels[model] as Levels).ranks);
  const units = models.map((model) => leastWorkNs(family[model] as FamilyModel) / samples);
  const alone = models.map((model) => shortestNs(family[model] as FamilyModel));
  const leftOut = samples * (1 - quantile + 1e-12);
  const point: Point = {
    ...{ models, ranks: new Int32Array(MOST_STEPS - 1), comes: new Int32Array(MOST_STEPS) },
    ...{ right: 0, workNs: 0, floorNs: 0 },
  };
  point.ranks.set(ranks);
  const { comes } = point;
  /** The step at which each sample stays, where it goes on from the swept one; −1 where it does not come there. */
  const ends = new Int8Array(samples).fill(-1);
  for (let sample = 0; sample < samples; sample++) {
    let step = 0;
    while (step < swept && isBelow(sample, step)) comes[step++]! += 1;
    comes[step]! += 1;
    point.right += (correct[step] as Uint8Array)[sample] as number;
    if (step < swept) continue;
    let end = swept + 1;
    while (end < steps - 1 && isBelow(sample, end)) end++;
    ends[sample] = end;
  }
  function isBelow(sample: number, step: number): boolean {
    return ((places[step] as Int32Array)[sample] as number) < (ranks[step] as number);
  }
  const { order } = levels[models[swept] as number] as Levels;
  const own = places[swept] as Int32Array;
  const stay = correct[swept] as Uint8Array;
  // Below a higher threshold no fewer come, so that a point has to be right more often than those before.
  let most = -1;
  for (let i = 0; i + 1 < samples; i++) {
    const sample = order[i] as number;
    const end = ends[sample] as number;
    if (end >= 0) {
      point.right += ((correct[end] as Uint8Array)[sample] as number) - (stay[sample] as number);
      for (let step = swept + 1; step <= end; step++) comes[step]! += 1;
    }
    const rank = own[sample] as number;
    if (own[order[i + 1] as number] === rank || comes[steps - 1] === 0) continue;
    if (point.right <= most) continue;
    most = point.right;
    point.ranks[swept] = rank + 1;
    addUp(point, { samples, units, alone, leftOut });
    offered(point);
  }
}

/** addUp gives a point its work and floor by the samples that come to each step. */
function addUp(
  point: Point,
  {
    samples,
    units,
    alone,
    leftOut,
  }: {
    readonly samples: number;
    readonly units: readonly number[];
    readonly alone: readonly number[];
    readonly leftOut: number;
  },
): void {
  let workNs = samples * (units[0] as number);
  let floorNs = alone[0] as number;
  for (let step = 1; step < units.length; step++) {
    const comes = point.comes[step] as number;
    workNs += comes * (units[step] as number);
    if (comes > leftOut) floorNs += alone[step] as number;
  }
  point.workNs = workNs;
  point.floorNs = floorNs;
}
