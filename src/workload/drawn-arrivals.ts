import type { Load } from './load.js';
import type { Arrivals } from './stream-of-arrivals.js';

/**
 * ARRIVAL_PROCESSES lists how requests can arrive: as a Poisson process, evenly spaced, or with gaps from a
 * gamma distribution. The coefficient of variation of gamma gaps says how bursty they are: 0 is evenly
 * spaced, 1 is Poisson (InferLine, section 6).
 */
export const ARRIVAL_PROCESSES = ['poisson', 'uniform', 'gamma'] as const;
export type ArrivalProcess = (typeof ARRIVAL_PROCESSES)[number];

/**
 * Below the least, gaps are even to the nanosecond. Above the most, nearly all requests come at one instant.
 */
const LEAST_CV = 1e-6;
const MOST_CV = 1000;

/** variationFault says what is wrong with a coefficient of variation of gamma arrivals (valid: 0 and 1e-6 to 1000). */
export function variationFault(cv: number): string | undefined {
  if (cv === 0 || (cv >= LEAST_CV && cv <= MOST_CV)) return undefined;
  return `is ${cv}; valid values are 0 and ${LEAST_CV} to ${MOST_CV}`;
}

/** GapSource is where a process draws its gaps. A Stream of src/random is one. */
export interface GapSource {
  /** exponential draws from the exponential distribution with mean 1. */
  exponential(): number;
  /** gamma draws from the gamma distribution with this shape and scale 1. */
  gamma(shape: number): number;
}

/** DrawnOptions says how arrivals are drawn, and from which load. */
export interface DrawnOptions {
  process: ArrivalProcess;
  load: Load;
  /** The source of random gaps, which only these arrivals may use. The uniform process draws nothing. */
  stream: GapSource;
  /** The index of the model that the requests ask for. The default is 0. */
  model?: number;
  /**
   * The position of the first of evenly spaced arrivals, in arrivals. With 0 they begin at the start of the
   * load; with 0.5 each lies in the middle of its share of the load. The default is 0.
   */
  uniformOffset?: number;
}

/**
 * DrawnArrivals generates the arrivals of a load that may change with time, in integer nanoseconds,
 * ascending, within the load's duration.
 *
 * Gaps of mean 1 are drawn in operational time, which is the expected number of requests so far, and mapped
 * back to real time. This is exact for rates that change, also to and from 0: a Poisson process becomes the
 * inhomogeneous Poisson process of that rate. Each gap uses the coefficient of variation at the arrival
 * before it. Positions are kept unrounded, so that rounding shifts no rate.
 */
export class DrawnArrivals implements Arrivals {
  atNs = 0;
  readonly model: number;
  private readonly process: ArrivalProcess;
  private readonly load: Load;
  private readonly stream: GapSource;

  /** The operational time of the last arrival. */
  private reached: number;
  private begun = false;
  /**
   * The current piece of the load: its start and end in operational time, its start in real time, and its
   * rates.
   */
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

  /**
   * timeOf gives the time into the piece at which the expected number of its requests is `area`: it solves
   * rate·t + slope·t²/2 = area.
   */
  private timeOf(area: number): number {
    const { rate, slope } = this;
    if (area === 0) return 0;
    if (slope === 0) return area / rate;
    return (2 * area) / (rate + Math.sqrt(Math.max(0, rate * rate + 2 * slope * area)));
  }
}
