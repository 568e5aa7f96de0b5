import type { Kept } from './archive.js';
import type { Levels } from './levels.js';
import { type FamilyModel, leastWorkNs, shortestNs } from './problem.js';
import { MOST_STEPS } from './scope.js';
import type { Offered, Point } from './sequence.js';

/** SweepParts is what thresholds are swept over. */
export interface SweepParts {
  readonly family: readonly FamilyModel[];
  readonly levels: readonly Levels[];
  readonly quantile: number;
}

/** Line is the cascades that have all thresholds but one of a cascade, and any threshold at its step. */
type Line = Pick<Kept, 'models' | 'ranks'> & { readonly swept: number };

/** Ordered holds what models say of the samples, which stand in the order of one model's certainties. */
interface Ordered {
  readonly ranks: readonly Int32Array[];
  readonly correct: readonly Uint8Array[];
}

/**
 * LineSweeps reports the cascades of lines. As the swept threshold rises, the samples that come to its step
 * go on one by one, in the order of their certainties, so that a line takes time by the samples.
 */
export class LineSweeps {
  private readonly samples: number;
  private readonly units: readonly number[];
  private readonly alone: readonly number[];
  /** The samples below which a step is not counted into the floor: those that the quantile leaves out. */
  private readonly leftOut: number;
  private readonly ordered: (Ordered | undefined)[];
  /** By sample of a line: the step at which it stays where it goes on from the swept one, 0 where it does not come there. */
  private readonly ends: Uint8Array;

  constructor(private readonly parts: SweepParts) {
    const { family, quantile } = parts;
    this.samples = (family[0] as FamilyModel).correct.length;
    this.units = family.map((model) => leastWorkNs(model) / this.samples);
    this.alone = family.map(shortestNs);
    this.leftOut = this.samples * (1 - quantile + 1e-12);
    this.ordered = family.map(() => undefined);
    this.ends = new Uint8Array(this.samples);
  }

  /** tell reports the cascades of a line that are right more often than those with less work. */
  tell(line: Line, offered: Offered): void {
    const { models, swept } = line;
    const { ends, samples } = this;
    const by = this.orderedBy(models[swept] as number);
    const own = by.ranks[models[swept] as number] as Int32Array;
    const stay = by.correct[models[swept] as number] as Uint8Array;
    const goOn = models.map((model) => by.correct[model] as Uint8Array);
    const point = this.begun(line, by);
    const { comes } = point;
    const last = models.length - 1;
    // Below a higher threshold no fewer come, so that a point has to be right more often than those before.
    let most = -1;
    let { right } = point;
    for (let i = 0; i + 1 < samples; i++) {
      const end = ends[i] as number;
      if (end !== 0) {
        right += ((goOn[end] as Uint8Array)[i] as number) - (stay[i] as number);
        for (let step = swept + 1; step <= end; step++) comes[step]! += 1;
      }
      if (right <= most || own[i + 1] === own[i] || comes[last] === 0) continue;
      most = right;
      point.right = right;
      point.ranks[swept] = (own[i] as number) + 1;
      this.addUp(point);
      offered(point);
    }
  }

  /** begun is the point of a line at which nothing goes on from the swept step. */
  private begun({ models, ranks, swept }: Line, by: Ordered): Point {
    const point: Point = {
      models,
      ranks: new Int32Array(MOST_STEPS - 1),
      comes: new Int32Array(MOST_STEPS),
      right: 0,
      workNs: 0,
      floorNs: 0,
    };
    point.ranks.set(ranks);
    const { ends, samples } = this;
    const { comes } = point;
    const last = models.length - 1;
    const places = models.map((model) => by.ranks[model] as Int32Array);
    const correct = models.map((model) => by.correct[model] as Uint8Array);
    let right = 0;
    for (let i = 0; i < samples; i++) {
      let step = 0;
      while (step < swept && ((places[step] as Int32Array)[i] as number) < (ranks[step] as number))
        comes[step++]! += 1;
      comes[step]! += 1;
      right += (correct[step] as Uint8Array)[i] as number;
      let end = 0;
      if (step === swept) {
        end = swept + 1;
        while (end < last && ((places[end] as Int32Array)[i] as number) < (ranks[end] as number)) end++;
      }
      ends[i] = end;
    }
    point.right = right;
    return point;
  }

  private orderedBy(model: number): Ordered {
    const before = this.ordered[model];
    if (before !== undefined) return before;
    const { family, levels } = this.parts;
    const { order } = levels[model] as Levels;
    const made = {
      ranks: levels.map(({ ranks }) => Int32Array.from(order, (sample) => ranks[sample] as number)),
      correct: family.map(({ correct }) => Uint8Array.from(order, (sample) => correct[sample] as number)),
    };
    this.ordered[model] = made;
    return made;
  }

  /** addUp gives a point its work and floor by the samples that come to each step. */
  private addUp(point: Point): void {
    const { models, comes } = point;
    let workNs = this.samples * (this.units[models[0] as number] as number);
    let floorNs = this.alone[models[0] as number] as number;
    for (let step = 1; step < models.length; step++) {
      const model = models[step] as number;
      const come = comes[step] as number;
      workNs += come * (this.units[model] as number);
      if (come > this.leftOut) floorNs += this.alone[model] as number;
    }
    point.workNs = workNs;
    point.floorNs = floorNs;
  }
}
