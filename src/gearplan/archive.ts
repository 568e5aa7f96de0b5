import type { Point } from './sequence.js';

/** Kept is a point that is kept: a cascade, or a cell of thresholds. */
export interface Kept {
  readonly models: readonly number[];
  readonly ranks: readonly number[];
  readonly comes: readonly number[];
  readonly right: number;
  readonly workNs: number;
  readonly floorNs: number;
}

/** Archive keeps the points that none of those offered is better than. */
export interface Archive {
  /** @returns whether the point is kept for now */
  offer(point: Point): boolean;
  kept(): readonly Kept[];
}

export function keptOf({ models, ranks, comes, right, workNs, floorNs }: Point): Kept {
  const steps = models.length;
  return { models, ranks: firstOf(ranks, steps - 1), comes: firstOf(comes, steps), right, workNs, floorNs };
}

/** firstOf copies the first numbers. Millions of points are kept for a while, and a loop is much faster than an iterator. */
function firstOf(numbers: Int32Array, count: number): number[] {
  const first: number[] = [];
  for (let i = 0; i < count; i++) first.push(numbers[i] as number);
  return first;
}

/**
 * WorkArchive compares points by their right answers, their whole work and their floor. For each floor it has them in order
 * of work, so that right answers grow with work.
 */
export class WorkArchive implements Archive {
  private readonly byFloor = new Map<number, Kept[]>();

  offer(point: Point): boolean {
    const { right, workNs, floorNs } = point;
    const group = this.byFloor.get(floorNs);
    if (group === undefined) {
      this.byFloor.set(floorNs, [keptOf(point)]);
      return true;
    }
    const at = firstAbove(group, workNs);
    if (at > 0 && (group[at - 1] as Kept).right >= right) return false;
    let end = at;
    while (end < group.length && (group[end] as Kept).right <= right) end++;
    const isSame = at > 0 && (group[at - 1] as Kept).workNs === workNs;
    group.splice(isSame ? at - 1 : at, end - at + (isSame ? 1 : 0), keptOf(point));
    return true;
  }

  kept(): readonly Kept[] {
    return undominated([...this.byFloor.values()].flat());
  }
}

/** firstAbove is the index of the first point with more work. */
function firstAbove(group: readonly Kept[], workNs: number): number {
  let low = 0;
  let high = group.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((group[middle] as Kept).workNs > workNs) high = middle;
    else low = middle + 1;
  }
  return low;
}

type Figures = Pick<Kept, 'right' | 'workNs' | 'floorNs'>;

/** undominated keeps the points that no other is better than in right answers, work and floor, the rightest first. */
export function undominated<T extends Figures>(points: readonly T[]): T[] {
  const best = points.toSorted((a, b) => b.right - a.right || a.workNs - b.workNs || a.floorNs - b.floorNs);
  // Of those that are right at least as often, `stairs` has the ones that are not beaten in both others, by work.
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

/** This many points of a set of models wait to be compared with each other. */
const MOST_WAITING = 4096;

/**
 * SetArchive compares the points of each set of models by their right answers, the samples that come to each model, and
 * their floor. Where more are kept than there is room for, those that are nearly alike are made one: the rightest of
 * cascades, and of cells one that is as good as any of them.
 */
export class SetArchive implements Archive {
  private readonly bySet = new Map<number, Kept[]>();

  constructor(
    private readonly what: 'cascades' | 'cells',
    /** How many points each set may keep. */
    private readonly room: number,
  ) {}

  offer(point: Point): boolean {
    const set = setOf(point.models);
    const waiting = this.bySet.get(set) ?? [];
    this.bySet.set(set, waiting);
    waiting.push(keptOf(point));
    if (waiting.length >= MOST_WAITING + this.room) this.bySet.set(set, this.compacted(waiting));
    return true;
  }

  kept(): readonly Kept[] {
    return withoutWorse([...this.bySet.values()].flatMap((waiting) => this.compacted(waiting)));
  }

  private compacted(points: readonly Kept[]): Kept[] {
    let left = withoutWorse(points);
    for (let levels = 64; left.length > this.room && levels >= 1; levels /= 2)
      left = withoutWorse(alikeAsOne(left, { levels, what: this.what }));
    return left;
  }
}

function setOf(models: readonly number[]): number {
  return models.reduce((set, model) => set | (1 << model), 0);
}

/** withoutWorse leaves out points that another is better than with no more samples at any model, the rightest first. */
export function withoutWorse(points: readonly Kept[]): Kept[] {
  const ordered = points.toSorted(
    (a, b) => b.right - a.right || a.workNs - b.workNs || a.floorNs - b.floorNs,
  );
  const count = 1 + ordered.reduce((most, { models }) => models.reduce((a, b) => Math.max(a, b), most), 0);
  const width = count + 1;
  /** By point that is kept: its work, and the samples that come to each model with its floor. */
  const works = new Float64Array(ordered.length);
  const loads = new Float64Array(ordered.length * width);
  let kept = 0;
  return ordered.filter(({ models, comes, workNs, floorNs }) => {
    const own = kept * width;
    loads.fill(0, own, own + count);
    for (let step = 0; step < models.length; step++)
      loads[own + (models[step] as number)] = comes[step] as number;
    loads[own + count] = floorNs;
    // Most of those that are right more often have more work, which is seen at once.
    for (let other = 0; other < kept; other++)
      if ((works[other] as number) <= workNs && isNoMore(loads, other * width, own, width)) return false;
    works[kept++] = workNs;
    return true;
  });
}

function isNoMore(loads: Float64Array, other: number, own: number, width: number): boolean {
  let field = width - 1;
  while (field >= 0 && (loads[other + field] as number) <= (loads[own + field] as number)) field--;
  return field < 0;
}

/** alikeAsOne makes one of the points whose samples at each model are within the same of a given number of levels. */
function alikeAsOne(
  points: readonly Kept[],
  { levels, what }: { readonly levels: number; readonly what: 'cascades' | 'cells' },
): Kept[] {
  const samples = points.reduce((most, { comes }) => Math.max(most, comes[0] as number), 1);
  const groups = new Map<string, Kept>();
  for (const point of points) {
    const places = point.models.map((model, step) => [
      model,
      Math.ceil((levels * (point.comes[step] as number)) / samples),
    ]);
    const key = places.sort((a, b) => (a[0] as number) - (b[0] as number)).join('/');
    const other = groups.get(key);
    if (other === undefined) groups.set(key, point);
    else if (what === 'cells') groups.set(key, asGood(other, point));
    else if (isPreferred(point, other)) groups.set(key, point);
  }
  return [...groups.values()];
}

function isPreferred(a: Kept, b: Kept): boolean {
  return a.right > b.right || (a.right === b.right && a.workNs < b.workNs);
}

/** asGood is a cell that is as good as either of two of the same set of models. */
function asGood(a: Kept, b: Kept): Kept {
  return {
    models: a.models,
    ranks: [],
    comes: a.models.map((model, step) =>
      Math.min(a.comes[step] as number, b.comes[b.models.indexOf(model)] as number),
    ),
    right: Math.max(a.right, b.right),
    workNs: Math.min(a.workNs, b.workNs),
    floorNs: Math.min(a.floorNs, b.floorNs),
  };
}
