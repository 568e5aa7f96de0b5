import { NS_PER_S } from '../formats/index.js';
import { OutcomeIndex } from './run-shape.js';

const OUTCOMES = Object.keys(OutcomeIndex).length;

/** LevelShape is what a LevelFold must know of a run. */
export interface LevelShape {
  /** The weight of the requests of each level. */
  readonly weights: readonly number[];
  /** The factor of the weight of the requests of each model; 1 for all where absent. */
  readonly modelWeights?: readonly number[];
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
  /** The weight of all over that of the heaviest: of how many of these it is. */
  readonly asHeaviest: number;
}

/** LevelFold observes a run and counts outcomes by the level of requests. Its memory follows the number of requests in flight. */
export class LevelFold {
  private arrivals = 0;
  private readonly modelWeights: readonly number[];
  /** The level of each open request, by its number. */
  private readonly level: number[] = [];
  /** By level and model, the requests that came, and their outcomes. */
  private readonly arrivedOf: Float64Array;
  private readonly counts: Float64Array;

  constructor(private readonly shape: LevelShape) {
    this.modelWeights = shape.modelWeights ?? [1];
    const cells = shape.weights.length * this.modelWeights.length;
    this.arrivedOf = new Float64Array(cells);
    this.counts = new Float64Array(OUTCOMES * cells);
  }

  arrived(atNs: number, model: number, request: number): void {
    const level = this.shape.levelOf(this.arrivals++);
    this.level[request] = level;
    if (atNs >= this.shape.warmUpNs) this.arrivedOf[this.cellOf(level, model)]! += 1;
  }

  private cellOf(level: number, model: number): number {
    return this.shape.modelWeights === undefined ? level : level * this.modelWeights.length + model;
  }

  /** ended reports that a request has ended: when, its model and number, when it came, and its outcome. */
  ended(
    ...[, model, request, arrivedNs, outcome]: [number, number, number, number, number, ...number[]]
  ): void {
    if (arrivedNs < this.shape.warmUpNs) return;
    this.counts[OUTCOMES * this.cellOf(this.level[request] as number, model) + outcome]! += 1;
  }

  /** figures gives the figures of a run of a given number of nanoseconds. */
  figures(spanNs: number): LevelsFigures {
    const { weights } = this.shape;
    let all = 0;
    let inTime = 0;
    let heaviest = 0;
    const levels = weights.map((weight, level) => {
      for (const [model, factor] of this.modelWeights.entries()) {
        const cell = this.cellOf(level, model);
        const arrived = this.arrivedOf[cell] as number;
        all += weight * factor * arrived;
        if (arrived > 0) heaviest = Math.max(heaviest, weight * factor);
        inTime += weight * factor * (this.counts[OUTCOMES * cell + OutcomeIndex.inTime] as number);
      }
      return this.levelFigures(level, spanNs);
    });
    if (all === 0) return { levels, asHeaviest: 0 };
    return { levels, weightedDropRate: 1 - inTime / all, asHeaviest: all / heaviest };
  }

  private levelFigures(level: number, spanNs: number): LevelFigures {
    const cells = this.modelWeights.map((_, model) => this.cellOf(level, model));
    const sum = (of: (cell: number) => number | undefined) =>
      cells.reduce((all, cell) => all + (of(cell) ?? 0), 0);
    const of = (outcome: number) => sum((cell) => this.counts[OUTCOMES * cell + outcome]);
    const arrived = sum((cell) => this.arrivedOf[cell]);
    const inTime = of(OutcomeIndex.inTime);
    return {
      arrived,
      inTime,
      late: of(OutcomeIndex.late),
      dropped: of(OutcomeIndex.dropped),
      failed: of(OutcomeIndex.failed),
      goodputRps: inTime / (spanNs / NS_PER_S),
      ...(arrived === 0 ? {} : { attainment: inTime / arrived }),
    };
  }
}
