import type { Load } from './load.js';
import type { Arrivals } from './stream-of-arrivals.js';

/**
 * How requests arrive: memoryless; evenly spaced; or with gaps of a gamma distribution, whose coefficient of variation says
 * how bursty they are (0: evenly spaced, 1: memoryless; InferLine §6).
 */
export const ARRIVAL_PROCESSES = ['poisson', 'uniform', 'gamma'] as const;
export type ArrivalProcess = (typeof ARRIVAL_PROCESSES)[number];

/** Where a process draws its gaps: a Stream of src/random is one. */
export interface GapSource {
  /** Exponential with mean 1. */
  exponential(): number;
  /** Gamma of this shape, scale 1. */
  gamma(shape: number): number;
}

export interface DrawnOptions {
  process: ArrivalProcess;
  load: Load;
  /** Drawn from by this process only; not at all by the uniform one. */
  stream: GapSource;
  /** Index of the model asked for. Default 0. */
  model?: number;
  /**
   * Where the first of evenly spaced arrivals stands: 0, one arrival's share of the load after the other from the start on, or
   * 0.5, each in the middle of its share. Default 0.
   */
  uniformOffset?: number;
}

/**
 * Arrivals of a load that may change with time, in integer nanoseconds, ascending, within the load's duration.
 *
 * Gaps of mean 1 are drawn in operational time, the expected number of requests so far, and taken back to real time: exact for
 * rates that change, also to and from 0 (a memoryless process becomes the inhomogeneous Poisson process of that rate). The
 * coefficient of variation is that at the arrival before. Positions are kept unrounded, so that rounding shifts no rate.
 */
export class DrawnArrivals implements Arrivals {
  atNs = 0;
  readonly model: number;
  private readonly process: ArrivalProcess;
  private readonly load: Load;
  private readonly stream: GapSource;

  /** Operational time of the last arrival. */
  private reached: number;
  private begun = false;
  /** The piece of the load it is in: where it begins and ends in operational time, where in real time, and its shape. */
  private piece = -1;
  private areaBefore = 0;
  private areaEnd = 0;
  private startNs = 0;
  private rate = 0;
  private slope = 0;
  private cv = 1;
  private cvSlope = 0;

  constructor({ process, load, stream, model = 0, uniformOffset = 0 }: DrawnOptions) {
    this.process = process;
    this.load = load;
    this.stream = stream;
    this.model = model;
    this.reached = uniformOffset;
    this.enter(0);
  }

  next(): boolean {
    if (this.process === 'poisson') this.reached += this.stream.exponential();
    else if (this.process === 'gamma') this.reached += this.gammaGap();
    else if (this.begun) this.reached += 1;
    this.begun = true;
    while (this.reached >= this.areaEnd) {
      if (this.piece + 1 >= this.load.pieces) return false;
      this.enter(this.piece + 1);
    }
    const at = Math.round(this.startNs + this.timeOf(this.reached - this.areaBefore));
    if (at >= this.load.durationNs) return false;
    this.atNs = at;
    return true;
  }

  private gammaGap(): number {
    const cv = this.cv + this.cvSlope * Math.max(0, this.atNs - this.startNs);
    if (cv === 0) return 1;
    const shape = 1 / (cv * cv);
    return this.stream.gamma(shape) / shape;
  }

  private enter(piece: number): void {
    const { lengthNs, startRate, endRate, startCv, endCv } = this.load;
    if (piece > 0) this.startNs += lengthNs[piece - 1] as number;
    const length = lengthNs[piece] as number;
    this.piece = piece;
    this.rate = startRate[piece] as number;
    this.slope = ((endRate[piece] as number) - this.rate) / length;
    this.cv = startCv[piece] as number;
    this.cvSlope = ((endCv[piece] as number) - this.cv) / length;
    this.areaBefore = this.areaEnd;
    this.areaEnd += 0.5 * (this.rate + (endRate[piece] as number)) * length;
  }

  /** How far into the piece the expected number of its requests is `area`: rate·t + slope·t²/2 = area. */
  private timeOf(area: number): number {
    const { rate, slope } = this;
    if (area === 0) return 0;
    if (slope === 0) return area / rate;
    return (2 * area) / (rate + Math.sqrt(Math.max(0, rate * rate + 2 * slope * area)));
  }
}
