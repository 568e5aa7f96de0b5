import { smallestOf } from '../collections/index.js';
import type { Trials } from './trials.js';

/** Beyond this many states it is left open whether replicas fit, and taken that they do. */
const MOST_STATES = 100_000;

/** Need is how many replicas a stage needs at least on a class of which there are only few devices. */
interface Need {
  readonly class: number;
  readonly replicas: number;
}

/**
 * ClassCounts says whether the classes have devices enough for a row of stages, each with the fewest replicas that it
 * needs on the class that it gets. It tries every choice of classes, and remembers with how many devices left it failed.
 * A stage that may be on a class without a limit needs nothing.
 */
export class ClassCounts {
  /** The devices that are free of each class with a limit. */
  readonly free: readonly number[];
  private readonly names: readonly string[];
  /** For each place of the order, the ways to serve its stage; undefined where some way needs no device of these classes. */
  private readonly needs: readonly (readonly Need[] | undefined)[];
  /** The fewest devices that the stages from each place on need together. */
  private readonly rest: Float64Array;
  private readonly failed = new Set<string>();

  /**
   * @param order the stages, in the order in which they are set
   * @param least how many replicas a stage needs on a candidate, whatever its batch
   */
  constructor(
    { problem }: Trials,
    order: readonly number[],
    least: (stage: number, candidate: number) => number,
  ) {
    this.names = Object.keys(problem.counts);
    this.free = Object.values(problem.counts);
    this.needs = order.map((stage) => {
      const ways = (problem.stages[stage]?.candidates ?? []).map(({ device }, candidate): Need => {
        return { class: this.classOf(device), replicas: least(stage, candidate) };
      });
      const isFree = ways.some((way) => way.class < 0 && way.replicas < Number.POSITIVE_INFINITY);
      return isFree ? undefined : ways.filter((way) => way.class >= 0);
    });
    this.rest = new Float64Array(order.length + 1);
    for (let at = order.length - 1; at >= 0; at--) {
      const fewest = smallestOf(this.needs[at]?.map(({ replicas }) => replicas) ?? [0]);
      this.rest[at] = fewest + (this.rest[at + 1] as number);
    }
  }

  /** classOf is the place of a class in `free`; −1 where it has no limit. */
  classOf(device: string): number {
    return this.names.indexOf(device);
  }

  /** fits says whether the stages from a place of the order on fit into the devices that are left. */
  fits(at: number, left: readonly number[]): boolean {
    if (at >= this.needs.length) return true;
    const needs = this.needs[at];
    if (needs === undefined) return this.fits(at + 1, left);
    if ((this.rest[at] as number) > left.reduce((sum, count) => sum + count, 0)) return false;
    if (this.failed.size >= MOST_STATES) return true;
    const key = `${at} ${left}`;
    if (this.failed.has(key)) return false;
    const fits = needs.some((need) => {
      const after = (left[need.class] as number) - need.replicas;
      return after >= 0 && this.fits(at + 1, left.with(need.class, after));
    });
    if (!fits) this.failed.add(key);
    return fits;
  }
}

/** fixedFit says whether there are devices enough for the replicas that the spec fixes, and one for each other stage. */
export function fixedFit(trials: Trials): boolean {
  const { stages, graph } = trials.problem;
  const counts = new ClassCounts(trials, graph.order, (stage) => stages[stage]?.replicas ?? 1);
  return counts.fits(0, counts.free);
}
