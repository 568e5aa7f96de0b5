import { NS_PER_S as SHARED_NS_PER_S, OutcomeIndex as SharedOutcomeIndex } from './run-shape.js';

const OutcomeIndex = SharedOutcomeIndex;
const NS_PER_S = SHARED_NS_PER_S;
const OUTCOMES = Object.keys(OutcomeIndex).length;

/** LevelShape is what a LevelFold must know of a run. */
export interface LevelShape {
  /** The weight of the requests of each level. */
  readonly weights: readonly number[];
  /** levelOf is the level of a request, by the number of requests before it. */
  readonly levelOf: (order: number) => number;
  /** Requests that come before this do not count. */
  readonly warmUpNs: number;
}

/** LevelFigures counts the requests of one level by their outcomes. */
export interface LevelFigures {
  readonly arrived: number;
  readonly inTime: number;
  readonly late: number;
  readonly dropped: number;
  readonly failed: number;
  readonly goodputRps: number;
  /** The share in time; absent where none came. */
  readonly attainment?: number;
}

/** LevelsFigures is what a run made of requests of several levels. */
export interface LevelsFigures {
  readonly levels: readonly LevelFigures[];
  /** The share that requests not in time have of the weight of all; absent where none came. */
  readonly weightedDropRate?: number;
}

/** LevelFold observes a run and counts outcomes by the level of requests. Its memory follows the number of requests in flight. */
export class LevelFold {
  private arrivals = 0;
  /** The level of each open request, by its number. */
  private readonly level: number[] = [];
  private readonly arrivedOf: Float64Array;
  private readonly counts: Float64Array;

  constructor(private readonly shape: LevelShape) {
    this.arrivedOf = new Float64Array(shape.weights.length);
    this.counts = new Float64Array(OUTCOMES * shape.weights.length);
  }

  arrived(atNs: number, _model: number, request: number): void {
    const level = this.shape.levelOf(this.arrivals++);
    this.level[request] = level;
    if (atNs >= this.shape.warmUpNs) this.arrivedOf[level]! += 1;
  }

  /** ended tells that a request has ended: when, its model and number, when it came, and its outcome. */
  ended(...[, , request, arrivedNs, outcome]: [number, number, number, number, number, ...number[]]): void {
    if (arrivedNs < this.shape.warmUpNs) return;
    this.counts[OUTCOMES * (this.level[request] as number) + outcome]! += 1;
  }

  /** figures gives the figures of a run of so many nanoseconds. */
  figures(spanNs: number): LevelsFigures {
    const { weights } = this.shape;
    let all = 0;
    let inTime = 0;
    const levels = weights.map((weight, level) => {
      const figures = this.levelFigures(level, spanNs);
      all += weight * figures.arrived;
      inTime += weight * figures.inTime;
      return figures;
    });
    return { levels, ...(all === 0 ? {} : { weightedDropRate: 1 - inTime / all }) };
  }

  private levelFigures(level: number, spanNs: number): LevelFigures {
    const of = (outcome: number) => this.counts[OUTCOMES * level + outcome] as number;
    const arrived = this.arrivedOf[level] as number;
    const inTime = of(OutcomeIndex.inTime);
    return {
      ...{ arrived, inTime, late: of(OutcomeIndex.late), dropped: of(OutcomeIndex.dropped) },
      failed: of(OutcomeIndex.failed),
      goodputRps: inTime / (spanNs / NS_PER_S),
      ...(arrived === 0 ? {} : { attainment: inTime / arrived }),
    };
  }
}
