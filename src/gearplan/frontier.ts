import { integerRoot, itemAt } from '../collections/index.js';
import type { GearScope } from '../formats/index.js';
import { type Archive, type Kept, SetArchive, undominated, WorkArchive, withoutWorse } from './archive.js';
import { type Cascade, workOf } from './cascade.js';
import { type Levels, levelsOf, type Thresholds, thresholdsOf } from './levels.js';
import { MostRightSearch } from './most-right.js';
import type { FamilyModel } from './problem.js';
import { MOST_STEPS } from './scope.js';
import { type Offered, type Point, Sequence } from './sequence.js';
import { LineSweeps } from './sweep.js';

/** The combinations of thresholds of all sequences of three or of four models that are counted one by one. */
const MOST_COMBINATIONS = 2e7;
/** The same where cascades are compared by the work of each model, which takes longer. */
const MOST_COMPARED = 2.5e5;
/** Sequences are longer only where all of them have no more samples together. */
const MOST_COUNTED = 1e8;
/** Sequences of three models have this many times the thresholds that those of four have. */
const FINER = 8;
/** The samples that are looked at while single thresholds are swept, and while the most right answers are bounded. */
const MOST_SWEPT = 1e8;
const MOST_BOUNDED = 3e7;
/**
 * Where devices do not hold all models, this many cascades and cells are kept of all sets together, and at least this
 * many of each.
 */
const MOST_KEPT = 1200;
const LEAST_KEPT = 8;

/** SearchSpace says among which cascades the best are searched. */
export interface SearchSpace {
  readonly models: readonly FamilyModel[];
  /** From this many quantiles of each model's certainties the thresholds of cascades of three and four models are searched. */
  readonly thresholds: number;
  readonly quantile: number;
  /** The memory of a device; Infinity where it is absent. */
  readonly memoryBytes?: number;
  /** This many combinations of thresholds are counted one by one, of all sequences of three or of four models: 20 million. */
  readonly combinations?: number;
}

/** CascadeSpace is what is known of the cascades of a family. */
export interface CascadeSpace {
  /** The best that were found: the most accurate first; of equally accurate ones, the one with the least work first. */
  readonly cascades: readonly Cascade[];
  /**
   * The limits that no cascade of the scope surpasses, in the same order: for each cascade there is a limit
   * that is at least as accurate, with no more work of any model and no higher floor. Where all thresholds
   * were counted, these are the cascades.
   */
  readonly limits: readonly Cascade[];
  /**
   * The same where devices do not hold all models, by the work of each model and not of all together. Both hold, and either
   * may be the closer one.
   */
  readonly limitsByModel?: readonly Cascade[];
  readonly scope: GearScope;
  /**
   * isWhole says whether all sequences were counted that ever are, so that a plan which reaches its bound is
   * optimal.
   */
  readonly isWhole: boolean;
  /** isCut says whether an interruption came before all that is counted to the end was counted. */
  readonly isCut: boolean;
}

/**
 * cascadeSpace finds the cascades of a family that no other one is better than, in accuracy, work and floor, and limits that
 * no cascade surpasses: of up to four models in any order, each once, with all thresholds. (CascadeServe §4.2 samples
 * cascades.)
 *
 * All thresholds of two models are counted, and of more models all combinations of as many quantiles as there is time for.
 * From the best of these on, single thresholds are swept over all their values until none improves. A limit holds for all
 * thresholds between two quantiles at once: samples whose way is open there come to no further model, and count as right
 * where any way is. The most right answers are bounded more closely (see `MostRightSearch`).
 *
 * Where a device does not hold all models, less work is not always better: it may be that of a model which few devices
 * hold. Cascades of each set of models are compared by the work of each model then.
 *
 * It is all counted work. Where longer sequences would take too much of it, or it is interrupted, the scope
 * says which were counted. A complete count is remembered as long as its models are.
 */
export function cascadeSpace(space: SearchSpace, interrupted: () => boolean = () => false): CascadeSpace {
  const { models, thresholds, quantile, combinations } = space;
  const key = [thresholds, quantile, combinations, isApart(space)].join('/');
  const known = spaces.get(models) ?? new Map<string, CascadeSpace>();
  const before = known.get(key);
  if (before !== undefined) return before;
  const found = new SpaceSearch(space, interrupted).run(MOST_STEPS);
  // A count that an interruption ended may be continued the next time.
  if (!found.isCut) spaces.set(models, known.set(key, found));
  return found;
}

const spaces = new WeakMap<readonly FamilyModel[], Map<string, CascadeSpace>>();

/** singleModels is the space of models without cascades. */
export function singleModels(space: SearchSpace): CascadeSpace {
  return new SpaceSearch(space, () => false).run(1);
}

/** longestOf is how many models the longest cascades have that are counted to the end. */
export function longestOf(models: readonly FamilyModel[]): number {
  const samples = models[0]?.correct.length ?? 0;
  let longest = 1;
  while (longest < Math.min(MOST_STEPS, models.length) && isCounted(models.length, longest + 1, samples))
    longest += 1;
  return longest;
}

function isCounted(models: number, steps: number, samples: number): boolean {
  let sequences = samples;
  for (let step = 0; step < steps; step++) sequences *= models - step;
  return sequences <= MOST_COUNTED;
}

/** isApart says whether a device does not hold all models. */
function isApart({ models, memoryBytes = Number.POSITIVE_INFINITY }: SearchSpace): boolean {
  return models.reduce((sum, model) => sum + model.memoryBytes, 0) > memoryBytes;
}

/** Layer keeps cascades and limits by one comparison: by their whole work or, where devices do not hold all models, by model. */
interface Layer {
  /** The thresholds of each model. */
  readonly grids: readonly Thresholds[];
  readonly cascades: Archive;
  readonly limits: Archive;
}

class SpaceSearch {
  private readonly levels: readonly Levels[];
  private readonly samples: number;
  private readonly isApart: boolean;
  private readonly sweeps: LineSweeps;
  private sweepsLeft = MOST_SWEPT;
  /** The lines of cascades that were swept for sequences of this many models. */
  private lines = new Set<string>();
  private readonly bounding = { left: MOST_BOUNDED };
  /** How many samples the best cascade is right about. */
  private known = 0;

  constructor(
    private readonly space: SearchSpace,
    private readonly interrupted: () => boolean,
  ) {
    const { models } = space;
    this.levels = models.map(({ certainty }) => levelsOf(certainty));
    this.samples = models[0]?.correct.length ?? 0;
    this.isApart = isApart(space);
    this.sweeps = new LineSweeps({ family: models, levels: this.levels, quantile: space.quantile });
  }

  run(longest: number): CascadeSpace {
    const phases: (readonly Layer[])[] = [];
    const last = Math.min(longest, longestOf(this.space.models));
    for (let steps = 1; steps <= last; steps++) {
      const layers = this.phase(steps);
      if (layers === undefined) break;
      phases.push(layers);
    }
    const kept = (layer: number, what: 'cascades' | 'limits') =>
      phases.flatMap((layers) => layers[layer]?.[what].kept() ?? []);
    const byWork = undominated(kept(0, 'cascades'));
    return {
      cascades: this.cascadesOf(this.isApart ? withoutWorse([...byWork, ...kept(1, 'cascades')]) : byWork),
      limits: this.cascadesOf(undominated(kept(0, 'limits'))),
      ...(this.isApart ? { limitsByModel: this.cascadesOf(withoutWorse(kept(1, 'limits'))) } : {}),
      scope: { mostModels: phases.length, orders: 'any', thresholds: 'all' },
      isWhole: phases.length === Math.min(longest, this.space.models.length),
      isCut: phases.length < last,
    };
  }

  /** phase finds the cascades and limits of sequences of a given number of models; undefined where it was interrupted. */
  private phase(steps: number): readonly Layer[] | undefined {
    const all = sequences(this.space.models.length, steps);
    this.lines = new Set();
    const layers = this.layers(steps, all.length);
    for (const { grids, cascades } of layers)
      if (!this.tell(all, grids, (sequence) => sequence.tellCascades(this.offeredTo(cascades))))
        return undefined;
    let most = this.samples;
    if (!layers.every(({ grids }) => isWhole(grids))) {
      const byWork = itemAt(layers, 0).cascades;
      const found = this.sweep(byWork) ? this.mostRight(all, byWork) : undefined;
      if (found === undefined) return undefined;
      most = found;
    }
    for (const { grids, cascades, limits } of layers) {
      if (limits === cascades) continue;
      const offered = (point: Point): unknown => limits.offer(point);
      const isTold = this.tell(all, grids, (sequence) =>
        isWhole(grids) ? sequence.tellCascades(offered) : sequence.tellCells(most, offered),
      );
      if (!isTold) return undefined;
    }
    return layers;
  }

  private layers(steps: number, sequences: number): Layer[] {
    const { combinations = MOST_COMBINATIONS, models } = this.space;
    const grids = this.grids(steps, combinations / sequences);
    const cascades = new WorkArchive();
    const byWork = { grids, cascades, limits: isWhole(grids) ? cascades : new WorkArchive() };
    if (!this.isApart) return [byWork];
    const room = Math.max(LEAST_KEPT, Math.floor(MOST_KEPT / subsets(models.length)));
    return [
      byWork,
      {
        grids: this.grids(steps, Math.min(MOST_COMPARED, combinations) / sequences),
        cascades: new SetArchive('cascades', room),
        limits: new SetArchive('cells', room),
      },
    ];
  }

  /** grids gives the thresholds of each model: all where they are few, and else as many quantiles as there is time for. */
  private grids(steps: number, combinations: number): Thresholds[] {
    const most = steps < 3 ? this.samples : integerRoot(combinations, steps - 1);
    const quantiles = this.space.thresholds * (steps === 3 ? FINER : 1);
    return this.levels.map((levels) =>
      thresholdsOf(levels, levels.values.length - 1 <= most ? most : Math.min(most, quantiles)),
    );
  }

  /**
   * tell has each sequence report its cascades or cells.
   * @returns whether it was not interrupted
   */
  private tell(
    all: readonly (readonly number[])[],
    grids: readonly Thresholds[],
    telling: (sequence: Sequence) => void,
  ): boolean {
    const { models: family, quantile } = this.space;
    for (const models of all) {
      if (models.length > 1 && this.interrupted()) return false;
      const own = models.slice(0, -1).map((model) => itemAt(grids, model));
      telling(new Sequence({ family, models, quantile, grids: own }));
    }
    return true;
  }

  private offeredTo(archive: Archive): Offered {
    return (point) => {
      if (point.right > this.known) this.known = point.right;
      archive.offer(point);
    };
  }

  /**
   * sweep sweeps each threshold of the cascades that were found, and of those that this finds, as long as that is better.
   * @returns whether it was not interrupted
   */
  private sweep(cascades: Archive): boolean {
    const swept = new Set<string>();
    const isNew = ({ models, ranks }: Kept) => !swept.has(`${models}/${ranks}`);
    for (let left = cascades.kept(); left.length > 0; left = cascades.kept().filter(isNew))
      for (const cascade of left) {
        if (this.interrupted()) return false;
        if (this.sweepsLeft <= 0) return true;
        swept.add(`${cascade.models}/${cascade.ranks}`);
        for (let step = 0; step < cascade.ranks.length; step++) this.sweepOne(cascade, step, cascades);
      }
    return true;
  }

  /** sweepOne sweeps a line once. Another cascade of the same line counts as work too, so that what is found does not change. */
  private sweepOne(cascade: Pick<Kept, 'models' | 'ranks'>, step: number, found: Archive): void {
    this.sweepsLeft -= this.samples;
    const { models, ranks } = cascade;
    const line = `${models}/${ranks.map((rank, at) => (at === step ? '' : rank))}`;
    if (this.lines.has(line)) return;
    this.lines.add(line);
    this.sweeps.tell({ models, ranks, swept: step }, this.offeredTo(found));
  }

  /** mostRight bounds how many samples any cascade of the sequences is right about; undefined where it is interrupted. */
  private mostRight(all: readonly (readonly number[])[], found: Archive): number | undefined {
    const search = new MostRightSearch(this.space.models, this.levels);
    let most = 0;
    for (const models of all) {
      if (this.interrupted()) return undefined;
      const { bound, ranks = [] } = search.of(models, this.known, this.bounding);
      most = Math.max(most, bound);
      if (ranks.length > 0) this.sweepOne({ models: models.slice(0, ranks.length + 1), ranks }, 0, found);
    }
    return Math.max(most, this.known);
  }

  private cascadesOf(points: readonly Kept[]): Cascade[] {
    const { models: family } = this.space;
    return points.map(({ models, ranks, comes, right, floorNs }) => {
      const visits = comes.map((count) => count / this.samples);
      return {
        models,
        visits,
        accuracy: right / this.samples,
        workNs: workOf(family, models, visits),
        thresholds: ranks.map((rank, step) => this.levels[models[step] as number]?.values[rank] as number),
        floorNs,
      };
    });
  }
}

function isWhole(grids: readonly Thresholds[]): boolean {
  return grids.every((grid) => grid.isWhole);
}

/** sequences lists the sequences of a given number of models, each of which comes once. */
function sequences(count: number, steps: number): number[][] {
  let all: number[][] = [[]];
  for (let step = 0; step < steps; step++)
    all = all.flatMap((before) =>
      Array.from({ length: count }, (_, model) => model)
        .filter((model) => !before.includes(model))
        .map((model) => [...before, model]),
    );
  return all;
}

/** subsets counts the sets of up to four models. */
function subsets(count: number): number {
  let [sets, ofSize] = [0, 1];
  for (let size = 1; size <= Math.min(MOST_STEPS, count); size++) {
    ofSize = (ofSize * (count - size + 1)) / size;
    sets += ofSize;
  }
  return sets;
}
