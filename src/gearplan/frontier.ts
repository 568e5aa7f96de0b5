import { type Cascade, floorOf } from './cascade.js';
import { modelLoads } from './placement.js';
import { type FamilyModel, leastWorkNs } from './problem.js';
import { MOST_STEPS } from './scope.js';

/** Families of more models have too many cascades to tell apart by the models that they use. */
const MOST_APART = 5;

/** SearchSpace says among which cascades the best are searched. */
export interface SearchSpace {
  readonly models: readonly FamilyModel[];
  readonly thresholds: number;
  readonly quantile: number;
  /** The memory of a device; Infinity where it is absent. */
  readonly memoryBytes?: number;
}

/**
 * cascadeFrontier finds all cascades that no other one is better than: of up to four models, from cheaper to dearer
 * ones, with thresholds among the quantiles of their certainties, none is at least as accurate with no more work and no
 * higher floor. (CascadeServe §4.2 samples cascades; this is the whole frontier of the grid.)
 *
 * Where a device does not hold all models, less work is not always better: it may be that of a model which few devices
 * hold. Families of up to five models have a frontier for each sequence of models then, without the cascades that another
 * one is better than with no more work of any model. It is not the whole frontier by the work of each model: within a
 * sequence, cascades are still compared by their whole work.
 *
 * It counts the samples of every combination of thresholds at once: a table of a cascade's samples by their certainties,
 * summed along each axis, says how many come to a step, and how many of these the step's model is right about. So it
 * takes time by the number of combinations, and by the samples once for each sequence of models.
 * @returns the most accurate first; of equally accurate ones, the one with the least work first
 */
export function cascadeFrontier(space: SearchSpace): Cascade[] {
  const grids = space.models.map(({ certainty }) => thresholdsOf(certainty, space.thresholds));
  const bins = space.models.map(({ certainty }, m) => binsOf(certainty, grids[m] as Float64Array));
  const told = (groups: Groups, models: readonly number[]): Groups => {
    new Sequence(space, { models, grids, bins }).tell(groups);
    return groups;
  };
  const all = sequences(space.models.length);
  if (!areToldApart(space)) return undominated(all.reduce(told, new Groups()).candidates());
  return withoutWorse(
    space.models,
    all.flatMap((models) => undominated(told(new Groups(), models).candidates())),
  );
}

function areToldApart({ models, memoryBytes = Number.POSITIVE_INFINITY }: SearchSpace): boolean {
  return (
    models.length <= MOST_APART && models.reduce((sum, model) => sum + model.memoryBytes, 0) > memoryBytes
  );
}

/** withoutWorse leaves out cascades that another is better than with no more work of any model, and orders the others. */
function withoutWorse(family: readonly FamilyModel[], cascades: readonly Cascade[]): Cascade[] {
  const ordered = cascades.toSorted(
    (a, b) => b.accuracy - a.accuracy || a.workNs - b.workNs || a.floorNs - b.floorNs,
  );
  const loads = ordered.map((cascade) => modelLoads(family, cascade, 1));
  const kept: number[] = [];
  for (const [i, { workNs, floorNs }] of ordered.entries()) {
    const load = loads[i] as Float64Array;
    const isWorse = kept.some((better) => {
      const other = ordered[better] as Cascade;
      if (other.workNs > workNs || other.floorNs > floorNs) return false;
      return (loads[better] as Float64Array).every((work, model) => work <= (load[model] as number));
    });
    if (!isWorse) kept.push(i);
  }
  return kept.map((i) => ordered[i] as Cascade);
}

/** sequences lists the sets of up to four models, each in order. */
function sequences(count: number): number[][] {
  const all: number[][] = [];
  const extend = (before: readonly number[]): void => {
    for (let model = (before.at(-1) ?? -1) + 1; model < count; model++) {
      const models = [...before, model];
      all.push(models);
      if (models.length < MOST_STEPS) extend(models);
    }
  };
  extend([]);
  return all;
}

/** thresholdsOf gives the thresholds of a model: quantiles of its certainties, without those that nothing is below. */
export function thresholdsOf(certainty: Float64Array, thresholds: number): Float64Array {
  const sorted = certainty.toSorted();
  const quantiles = Array.from(
    { length: thresholds },
    (_, i) => sorted[Math.floor(((i + 1) * sorted.length) / (thresholds + 1))] as number,
  );
  return Float64Array.from(new Set(quantiles.filter((level) => level > (sorted[0] as number))));
}

/** binsOf gives, for each sample, the index of the lowest threshold that its certainty is below; the length for none. */
function binsOf(certainty: Float64Array, grid: Float64Array): Uint8Array {
  return Uint8Array.from(certainty, (value) => {
    let bin = 0;
    while (bin < grid.length && value >= (grid[bin] as number)) bin++;
    return bin;
  });
}

interface SequenceParts {
  readonly models: readonly number[];
  /** The thresholds and the samples' bins of every model of the family. */
  readonly grids: readonly Float64Array[];
  readonly bins: readonly Uint8Array[];
}

/**
 * Sequence is a sequence of models with all its thresholds. A combination of thresholds is a place in a table with an
 * axis for each model but the last, the last axis running fastest.
 */
class Sequence {
  private readonly family: readonly FamilyModel[];
  private readonly samples: number;
  private readonly axes: readonly Float64Array[];
  private readonly work: readonly number[];
  /** `comes[j]` counts the samples that are below the first j thresholds, by these. */
  private readonly comes: readonly Int32Array[];
  /** `right[j]` counts those of `comes[j]` that the model of step j is right about; */
  private readonly right: readonly Int32Array[];
  /** `unsure[j]` counts those of `right[j]` that are below the threshold of step j too. */
  private readonly unsure: readonly Int32Array[];

  constructor(
    private readonly space: SearchSpace,
    private readonly parts: SequenceParts,
  ) {
    const { models, grids } = parts;
    this.family = space.models;
    this.samples = this.family[0]?.correct.length ?? 0;
    this.axes = models.slice(0, -1).map((model) => grids[model] as Float64Array);
    this.work = models.map((model) => leastWorkNs(this.family[model] as FamilyModel));
    this.comes = models.map((_, step) => this.table(step, undefined));
    this.right = models.map((_, step) => this.table(step, step));
    this.unsure = models.slice(0, -1).map((_, step) => this.table(step + 1, step));
  }

  /**
   * table counts the samples that are below the first `axes` thresholds, and where a step is given, only those which its
   * model is right about.
   */
  private table(axes: number, step: number | undefined): Int32Array {
    const { models, bins } = this.parts;
    const sizes = this.axes.slice(0, axes).map(({ length }) => length);
    const table = new Int32Array(sizes.reduce((all, size) => all * size, 1));
    const right =
      step === undefined ? undefined : (this.family[models[step] as number] as FamilyModel).correct;
    for (let sample = 0; sample < this.samples; sample++) {
      if (right !== undefined && right[sample] === 0) continue;
      let place = 0;
      for (let axis = 0; axis < axes && place >= 0; axis++) {
        const bin = (bins[models[axis] as number] as Uint8Array)[sample] as number;
        const size = sizes[axis] as number;
        place = bin < size ? place * size + bin : -1;
      }
      if (place >= 0) table[place]! += 1;
    }
    let stride = 1;
    for (let axis = axes - 1; axis >= 0; axis--) {
      const size = sizes[axis] as number;
      for (let i = 0; i < table.length; i++)
        if (Math.floor(i / stride) % size > 0) table[i]! += table[i - stride] as number;
      stride *= size;
    }
    return table;
  }

  /** tell adds the sequence's cascades that may be on the frontier. */
  tell(groups: Groups): void {
    const { samples, axes, parts, space } = this;
    const steps = parts.models.length;
    const count = axes.reduce((all, { length }) => all * length, 1);
    const visits = new Array<number>(steps).fill(1);
    const place = new Int32Array(steps);
    for (let i = 0; i < count; i++) {
      let rest = i;
      for (let step = steps - 1; step >= 0; step--) {
        place[step] = rest;
        if (step > 0) rest = Math.floor(rest / (axes[step - 1] as Float64Array).length);
      }
      let right = 0;
      let workNs = 0;
      for (let step = 0; step < steps; step++) {
        // A table of the first j axes is read at the place that these have within the whole.
        const comes = (this.comes[step] as Int32Array)[place[step] as number] as number;
        visits[step] = comes / samples;
        workNs += (comes / samples) * (this.work[step] as number);
        right += (this.right[step] as Int32Array)[place[step] as number] as number;
        if (step + 1 < steps) right -= (this.unsure[step] as Int32Array)[place[step + 1] as number] as number;
      }
      const floorNs = floorOf(this.family, { models: parts.models, visits }, space.quantile);
      groups.offer({ accuracy: right / samples, workNs, floorNs }, () => ({
        models: parts.models,
        thresholds: axes.map((axis, step) => axis[this.indexAt(place, step)] as number),
        visits: [...visits],
      }));
    }
  }

  /** indexAt is the index of the threshold of a step, from the places in the tables. */
  private indexAt(place: Int32Array, step: number): number {
    return (place[step + 1] as number) % (this.axes[step] as Float64Array).length;
  }
}

type Figures = Pick<Cascade, 'accuracy' | 'workNs' | 'floorNs'>;

/**
 * Groups keeps, for each floor, the cascades that none of the same floor is better than so far, in order of their work,
 * so that accuracy grows with work.
 */
class Groups {
  private readonly byFloor = new Map<number, Cascade[]>();

  offer(figures: Figures, rest: () => Omit<Cascade, keyof Figures>): void {
    const { accuracy, workNs, floorNs } = figures;
    const group = this.byFloor.get(floorNs);
    if (group === undefined) {
      this.byFloor.set(floorNs, [{ ...figures, ...rest() }]);
      return;
    }
    const at = firstAbove(group, workNs);
    if (at > 0 && (group[at - 1] as Cascade).accuracy >= accuracy) return;
    let end = at;
    while (end < group.length && (group[end] as Cascade).accuracy <= accuracy) end++;
    const isSame = at > 0 && (group[at - 1] as Cascade).workNs === workNs;
    group.splice(isSame ? at - 1 : at, end - at + (isSame ? 1 : 0), { ...figures, ...rest() });
  }

  candidates(): Cascade[] {
    return [...this.byFloor.values()].flat();
  }
}

/** firstAbove is the index of the first cascade with more work. */
function firstAbove(group: readonly Cascade[], workNs: number): number {
  let low = 0;
  let high = group.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((group[middle] as Cascade).workNs > workNs) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** undominated keeps the cascades that no other is better than in accuracy, work and floor. */
export function undominated(cascades: readonly Cascade[]): Cascade[] {
  const best = cascades.toSorted(
    (a, b) => b.accuracy - a.accuracy || a.workNs - b.workNs || a.floorNs - b.floorNs,
  );
  // Of those that are at least as accurate, `stairs` has the ones that are not beaten in both others, by work.
  const stairs: { readonly workNs: number; readonly floorNs: number }[] = [];
  return best.filter(({ workNs, floorNs }) => {
    let low = 0;
    for (let high = stairs.length; low < high; ) {
      const middle = (low + high) >>> 1;
      if ((stairs[middle] as { workNs: number }).workNs > workNs) high = middle;
      else low = middle + 1;
    }
    if (low > 0 && (stairs[low - 1] as { floorNs: number }).floorNs <= floorNs) return false;
    let end = low;
    while (end < stairs.length && (stairs[end] as { floorNs: number }).floorNs >= floorNs) end++;
    stairs.splice(low, end - low, { workNs, floorNs });
    return true;
  });
}
