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

  /** Operational time of the arrival before. */
  private reached = 0;
  private started = false;
  private readonly first: number;
  /** The piece of the load it is in, with what came before that. */
  private piece = 0;
  private areaBefore = 0;
  private startNs = 0;

  constructor({ process, load, stream, model = 0, uniformOffset = 0 }: DrawnOptions) {
    this.process = process;
    this.load = load;
    this.stream = stream;
    this.model = model;
    this.first = uniformOffset;
  }

  next(): boolean {
    this.reached += !this.started && this.process === 'uniform' ? this.first : this.gap();
    this.started = true;
    if (!this.enterPiece()) return false;
    const at = Math.round(this.startNs + this.timeOf(this.reached - this.areaBefore));
    if (at >= this.load.durationNs) return false;
    this.atNs = at;
    return true;
  }

  private gap(): number {
    switch (this.process) {
      case 'poisson':
        return this.stream.exponential();
      case 'uniform':
        return 1;
      case 'gamma': {
        const cv = this.cv();
        if (cv === 0) return 1;
        const shape = 1 / (cv * cv);
        return this.stream.gamma(shape) / shape;
      }
    }
  }

  private cv(): number {
    const { load, piece } = this;
    const from = load.startCv[piece] as number;
    const to = load.endCv[piece] as number;
    if (from === to) return from;
    const passed = Math.max(0, this.atNs - this.startNs) / (load.lengthNs[piece] as number);
    return from + (to - from) * Math.min(1, passed);
  }

  /** Goes on to the piece in which the operational time reached lies; @returns whether there is one */
  private enterPiece(): boolean {
    const { load } = this;
    for (; this.piece < load.pieces; this.piece++) {
      const { piece } = this;
      const length = load.lengthNs[piece] as number;
      const area = 0.5 * ((load.startRate[piece] as number) + (load.endRate[piece] as number)) * length;
      if (this.reached - this.areaBefore < area) return true;
      this.areaBefore += area;
      this.startNs += length;
    }
    this.piece = load.pieces - 1;
    return false;
  }

  /** How far into the piece the expected number of its requests is `area`: rate·t + slope·t²/2 = area. */
  private timeOf(area: number): number {
    const { load, piece } = this;
    const rate = load.startRate[piece] as number;
    const slope = ((load.endRate[piece] as number) - rate) / (load.lengthNs[piece] as number);
    if (area === 0) return 0;
    if (slope === 0) return area / rate;
    return (2 * area) / (rate + Math.sqrt(Math.max(0, rate * rate + 2 * slope * area)));
  }
}
