import type { Thresholds } from './levels.js';
import { type FamilyModel, leastWorkNs, shortestNs } from './problem.js';

/** The longest sequence has three thresholds. */
const MOST_AXES = 3;

/**
 * Point is a cascade of a sequence, or a cell of its thresholds, with what was counted. It is overwritten by the next one:
 * whoever keeps it copies it.
 */
export interface Point {
  readonly models: readonly number[];
  /** The rank of each threshold; of a cell, that of its upper end, and 0 where it has none. */
  readonly ranks: Int32Array;
  /** The samples that come to each step; in a cell, those that come whatever its thresholds are. */
  readonly comes: Int32Array;
  /** The samples that are answered rightly; in a cell, as many as may be. */
  right: number;
  workNs: number;
  floorNs: number;
}

/** Offered receives each point in turn. */
export type Offered = (point: Point) => unknown;

/** SequenceParts is a sequence of models with the thresholds of each. */
export interface SequenceParts {
  readonly family: readonly FamilyModel[];
  /** The models by their places in the family. */
  readonly models: readonly number[];
  /** The grid of each model but the last. */
  readonly grids: readonly Thresholds[];
  readonly quantile: number;
}

/**
 * Sequence is a sequence of models with combinations of thresholds, all of which it counts at once: tables of the samples
 * by their bins, summed along each axis, say how many come to a step and how many of these its model is right about. It
 * takes time by the samples once, and by the combinations.
 */
export class Sequence {
  private readonly samples: number;
  private readonly sizes: readonly number[];
  private readonly units: readonly number[];
  private readonly alone: readonly number[];
  /** The samples below which a step is not counted into the floor: those that the quantile leaves out. */
  private readonly leftOut: number;
  /** `comes[j]` counts the samples that are below the first j thresholds, by these. */
  private readonly comes: readonly Int32Array[];
  private readonly point: Point;

  constructor(private readonly parts: SequenceParts) {
    const { family, models, grids, quantile } = parts;
    this.samples = (family[0] as FamilyModel).correct.length;
    this.sizes = grids.map(({ thresholds }) => thresholds.length + 1);
    this.units = models.map((model) => leastWorkNs(family[model] as FamilyModel) / this.samples);
    this.alone = models.map((model) => shortestNs(family[model] as FamilyModel));
    // A rest that comes of adding shares is no request.
    this.leftOut = this.samples * (1 - quantile + 1e-12);
    this.comes = models.map((_, steps) => this.counted(steps, { places: this.bins(steps), stays: false }));
    this.point = {
      models,
      ranks: new Int32Array(MOST_AXES),
      comes: new Int32Array(MOST_AXES + 1),
      right: 0,
      workNs: 0,
      floorNs: 0,
    };
  }

  /** tellCascades reports the cascade of every combination of thresholds. */
  tellCascades(offered: Offered): void {
    const { models } = this.parts;
    const last = models.length - 1;
    const stays = models.slice(0, -1).map((_, step) => this.rightIn(step, this.bins(step + 1), 1));
    const ends = this.counted(last, { places: this.bins(last), right: last, stays: false });
    this.walk({ stays, ends, shift: 0, most: this.samples }, offered);
  }

  /**
   * tellCells reports every cell between the thresholds: all cascades in it have at least its work and floor,
   * and no more right answers. Samples whose way is open in a cell count as right where any way is: so one
   * that its model is right about goes on only in the next cell, and stays in this one too.
   * @param most no cascade of the sequence is right about more samples
   */
  tellCells(most: number, offered: Offered): void {
    const { models, family, grids } = this.parts;
    const last = models.length - 1;
    const late = (steps: number): Int32Array[] =>
      models.slice(0, steps).map((model, axis) => {
        const { bins, isWhole } = grids[axis] as Thresholds;
        const { correct } = family[model] as FamilyModel;
        return isWhole ? bins : bins.map((bin, sample) => bin + (correct[sample] as number));
      });
    const stays = models.slice(0, -1).map((_, step) => {
      const { bins, isWhole } = grids[step] as Thresholds;
      return this.rightIn(step, [...late(step), bins], isWhole ? 1 : 0);
    });
    const ends = this.counted(last, { places: late(last), right: last, stays: false });
    this.walk({ stays, ends, shift: 1, most }, offered);
  }

  private bins(steps: number): Int32Array[] {
    return this.parts.grids.slice(0, steps).map(({ bins }) => bins);
  }

  /** rightIn counts those that stay at a step, rightly: whose place on its axis is at least the threshold's, plus `above`. */
  private rightIn(step: number, places: readonly Int32Array[], above: number): Int32Array {
    return this.counted(step + 1, { places, right: step, stays: true, above });
  }

  /**
   * counted counts samples by their places on the first `axes` axes, summed from below along each, and along the last one
   * from above where they stay.
   */
  private counted(
    axes: number,
    {
      places,
      right,
      stays,
      above = 0,
    }: {
      readonly places: readonly Int32Array[];
      readonly right?: number;
      readonly stays: boolean;
      readonly above?: number;
    },
  ): Int32Array {
    const { family, models } = this.parts;
    const sizes = this.sizes.slice(0, axes);
    const table = new Int32Array(sizes.reduce((all, size) => all * size, 1));
    const correct =
      right === undefined ? undefined : (family[models[right] as number] as FamilyModel).correct;
    for (let sample = 0; sample < this.samples; sample++) {
      if (correct !== undefined && correct[sample] === 0) continue;
      let place = 0;
      for (let axis = 0; axis < axes && place >= 0; axis++) {
        const size = sizes[axis] as number;
        const own = (places[axis] as Int32Array)[sample] as number;
        const at = stays && axis === axes - 1 ? own - above : own;
        place = at >= 0 && at < size ? place * size + at : -1;
      }
      if (place >= 0) table[place]! += 1;
    }
    let stride = 1;
    for (let axis = axes - 1; axis >= 0; axis--) {
      if (stays && axis === axes - 1) sumFromAbove(table, sizes[axis] as number);
      else sumFromBelow(table, sizes[axis] as number, stride);
      stride *= sizes[axis] as number;
    }
    return table;
  }

  private walk(tables: Tables, offered: Offered): void {
    const { point, samples, units, alone } = this;
    point.comes[0] = samples;
    if (this.sizes.length > 0) {
      this.step({ tables, offered }, 0, 0, -1, 0, samples * (units[0] as number), alone[0] as number);
      return;
    }
    point.right = Math.min(tables.ends[0] as number, tables.most);
    point.workNs = samples * (units[0] as number);
    point.floorNs = alone[0] as number;
    offered(point);
  }

  /**
   * step goes through the thresholds of a step. It is called for each threshold of the step before, and takes plain numbers.
   * @param place where the thresholds before stand in the tables, and `lower` where the lower ends of their cells do, −1
   *   where nothing is sure to come on
   */
  private step(
    goal: { readonly tables: Tables; readonly offered: Offered },
    step: number,
    place: number,
    lower: number,
    right: number,
    workNs: number,
    floorNs: number,
  ): void {
    const { point, sizes } = this;
    const { tables } = goal;
    const size = sizes[step] as number;
    const stays = tables.stays[step] as Int32Array;
    const comes = this.comes[step + 1] as Int32Array;
    const { isWhole, thresholds } = this.parts.grids[step] as Thresholds;
    const isCells = tables.shift === 1 && !isWhole;
    const isFirst = step === 0;
    const unit = this.units[step + 1] as number;
    const alone = this.alone[step + 1] as number;
    const end = isCells ? size : size - 1;
    const isEnd = step + 1 === sizes.length;
    // Below a higher threshold no fewer come, so that a point has to be right more often than those before.
    let most = -1;
    for (let at = 0; at < end; at++) {
      const own = isCells ? at - 1 : at;
      const from = own < 0 || (!isFirst && lower < 0) ? -1 : (isFirst ? 0 : lower * size) + own;
      const sure = from < 0 ? 0 : (comes[from] as number);
      const next = place * size + at;
      // Where nothing comes on, this is a shorter sequence.
      if (!isCells && tables.shift === 0 && sure === 0) continue;
      point.ranks[step] = thresholds[at] ?? 0;
      point.comes[step + 1] = sure;
      const rights = right + (stays[next] as number);
      const works = workNs + sure * unit;
      const floors = sure <= this.leftOut ? floorNs : floorNs + alone;
      if (isEnd) {
        point.right = Math.min(rights + (tables.ends[next] as number), tables.most);
        if (point.right <= most) continue;
        most = point.right;
        point.workNs = works;
        point.floorNs = floors;
        goal.offered(point);
      } else this.step(goal, step + 1, next, from, rights, works, floors);
    }
  }
}

interface Tables {
  /** The samples that stay at each step but the last, and are answered rightly there. */
  readonly stays: readonly Int32Array[];
  /** The samples that come to the last step and are answered rightly there. */
  readonly ends: Int32Array;
  /** 1 where a place is a cell, whose lower end is the threshold before. */
  readonly shift: 0 | 1;
  readonly most: number;
}

function sumFromBelow(table: Int32Array, size: number, stride: number): void {
  const block = size * stride;
  for (let from = 0; from < table.length; from += block)
    for (let i = from + stride; i < from + block; i++) table[i]! += table[i - stride] as number;
}

function sumFromAbove(table: Int32Array, size: number): void {
  for (let from = 0; from < table.length; from += size)
    for (let i = from + size - 2; i >= from; i--) table[i]! += table[i + 1] as number;
}
