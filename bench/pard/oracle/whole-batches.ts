import type { OfflineProblem, OfflineStage } from './problem.js';

/** StageTimes are the shortest times before and after a stage, of all routes that take it. */
export interface StageTimes {
  readonly headNs: number;
  readonly tailNs: number;
}

/** Covered is what the covers of a stage need to know of requests. */
interface Covered {
  /** The stages of each request as bits. */
  readonly takes: Int32Array;
  readonly times: readonly StageTimes[];
  /** A cover has at most so many arrivals. */
  readonly mostArrivals: number;
}

/**
 * WholeBatches tries covers of one stage in which workers serve whole batches one after the other: of n workers, each can
 * serve no more than fit into the interval. This is less than what a fluid serves, by up to a batch a worker, but costs time
 * for each pair of requests. It is tried where the number of workers does not change within the interval.
 */
export class WholeBatches {
  private readonly quickestNs: readonly Float64Array[];
  /** By stage, the step of its workers at the end of the last cover; ends ascend. */
  private readonly step: Int32Array;

  constructor(
    private readonly problem: OfflineProblem,
    private readonly covered: Covered,
  ) {
    this.quickestNs = problem.stages.map((stage) => quickestNs(stage, covered.mostArrivals));
    this.step = new Int32Array(problem.stages.length);
  }

  /** least gives the least that is paid for the requests before `end`, by `paid` or by what is paid before a cover. */
  least(end: number, closed: Float64Array, paid: number): number {
    let least = paid;
    for (let stage = 0; stage < this.quickestNs.length; stage++)
      if ((this.covered.takes[end - 1]! >> stage) & 1) least = this.byCovers(end, stage, { closed, least });
    return least;
  }

  private byCovers(
    end: number,
    stage: number,
    { closed, least: known }: { readonly closed: Float64Array; readonly least: number },
  ): number {
    const { arrivalNs, deadlineNs, stages } = this.problem;
    const { takes, times, mostArrivals } = this.covered;
    const { headNs, tailNs } = times[stage]!;
    const quickest = this.quickestNs[stage]!;
    const endNs = deadlineNs[end - 1]! - tailNs;
    const { fromNs, count } = stages[stage]!.workers;
    while (this.step[stage]! + 1 < fromNs.length && fromNs[this.step[stage]! + 1]! <= endNs)
      this.step[stage]! += 1;
    const workers = count[this.step[stage]!]!;
    // Before the first step there were as many workers as after it.
    const steadyNs = this.step[stage] === 0 ? Number.NEGATIVE_INFINITY : fromNs[this.step[stage]!]!;
    let least = known;
    let others = 0;
    let each = 0;
    for (let i = end - 1; i >= 0 && end - i <= mostArrivals; i--) {
      if (((takes[i]! >> stage) & 1) === 0) {
        others += 1;
        continue;
      }
      const startNs = arrivalNs[i]! + headNs;
      if (startNs < steadyNs) break;
      while (each < mostArrivals && startNs + quickest[each + 1]! <= endNs) each += 1;
      if (each === mostArrivals) break;
      least = Math.min(least, closed[i]! + others + workers * each);
    }
    return least;
  }
}

/**
 * quickestNs finds the shortest time in which one worker can serve so many requests in whole batches one after the other,
 * at the index of their number, up to `most` of them.
 */
export function quickestNs({ latencyNs }: OfflineStage, most: number): Float64Array {
  const quickest = new Float64Array(most + 1);
  for (let requests = 1; requests <= most; requests++) {
    let least = Number.POSITIVE_INFINITY;
    for (let b = 1; b <= latencyNs.length; b++)
      least = Math.min(least, quickest[Math.max(0, requests - b)]! + latencyNs[b - 1]!);
    quickest[requests] = least;
  }
  return quickest;
}
