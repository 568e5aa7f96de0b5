import { NS_PER_S } from '../formats/index.js';
import { outcomeRates } from './outcomes.js';
import { OUTCOME_KINDS } from './run-shape.js';

/** WorstFigures holds the worst figures over windows of one length. They are absent where requests came in none of these. */
export interface WorstFigures {
  readonly seconds: number;
  readonly leastGoodputRps?: number;
  readonly leastAttainment?: number;
  readonly largestDropRate?: number;
}

/** WorstWindowOptions says which windows of a run are looked at. */
interface WorstWindowOptions {
  /** How long requests count, from the end of the warm-up on. */
  readonly durationNs: number;
  /** Requests that arrive before this instant do not count, and windows begin with it. */
  readonly warmUpNs: number;
  /** The lengths of the windows in whole seconds. */
  readonly seconds: readonly number[];
}

type EndedRequest = [atNs: number, model: number, request: number, arrivedNs: number, outcome: number];

/**
 * WorstWindowFold observes a run and finds its worst windows. A request belongs to the window that it arrived in. Windows
 * lie side by side from the end of the warm-up on, and only those count that end within the duration, which begins there too,
 * and in which requests arrived. It keeps 16 bytes for each second of the duration.
 */
export class WorstWindowFold {
  /** The outcomes of the requests that arrived in each second. */
  private readonly outcomes: Uint32Array;

  constructor(private readonly options: WorstWindowOptions) {
    this.outcomes = new Uint32Array(OUTCOME_KINDS * Math.ceil(options.durationNs / NS_PER_S));
  }

  /** ended reports that a request has ended: when, its model and number, when it came, and its outcome. */
  ended(...[, , , arrivedNs, outcome]: EndedRequest): void {
    const { warmUpNs } = this.options;
    if (arrivedNs < warmUpNs) return;
    this.outcomes[OUTCOME_KINDS * Math.floor((arrivedNs - warmUpNs) / NS_PER_S) + outcome]! += 1;
  }

  /** figures gives the worst windows of each length of which at least one lies within the duration. */
  figures(): WorstFigures[] {
    const { durationNs, seconds } = this.options;
    return seconds.flatMap((length) => {
      const count = Math.floor(durationNs / (length * NS_PER_S));
      return count === 0 ? [] : [this.worstOf(length, count)];
    });
  }

  private worstOf(seconds: number, count: number): WorstFigures {
    let leastGoodputRps = Number.POSITIVE_INFINITY;
    let leastAttainment = Number.POSITIVE_INFINITY;
    let largestDropRate = 0;
    for (let window = 0; window < count; window++) {
      const { attainment, dropRate, goodputRps } = outcomeRates(this.outcomesOf(window, seconds), seconds);
      if (attainment === undefined || dropRate === undefined) continue;
      leastGoodputRps = Math.min(leastGoodputRps, goodputRps);
      leastAttainment = Math.min(leastAttainment, attainment);
      largestDropRate = Math.max(largestDropRate, dropRate);
    }
    if (leastAttainment === Number.POSITIVE_INFINITY) return { seconds };
    return { seconds, leastGoodputRps, leastAttainment, largestDropRate };
  }

  private outcomesOf(window: number, seconds: number) {
    const counts = [0, 0, 0, 0];
    const end = OUTCOME_KINDS * seconds * (window + 1);
    for (let i = OUTCOME_KINDS * seconds * window; i < end; i++)
      counts[i % OUTCOME_KINDS]! += this.outcomes[i] as number;
    const [inTime = 0, late = 0, dropped = 0, failed = 0] = counts;
    return { inTime, late, dropped, failed, cancelled: 0 };
  }
}
