import { performance } from 'node:perf_hooks';
import type { Arrivals } from '../workload/index.js';

const TELL_EVERY_MS = 100;
/** A run that ends sooner shows no progress. */
const TELL_AFTER_MS = 500;
const LOOK_EVERY = 4096;

/** SimulationProgress says how far a run has come. */
export interface SimulationProgress {
  /** Virtual seconds simulated so far, and how many there are. */
  readonly seconds: number;
  readonly ofSeconds: number;
  readonly requests: number;
}

/**
 * SimulationHooks lets a run be watched and ended early. Both are called from time to time, in the run's own thread.
 */
export interface SimulationHooks {
  readonly interrupted?: () => boolean;
  readonly onProgress?: (progress: SimulationProgress) => void;
}

/** Watched says what of arrivals is watched. */
interface Watched {
  /** For so long requests arrive. */
  readonly durationNs: number;
  /** After this many requests it is looked whether the run is interrupted; 4096 where absent, which take a moment. */
  readonly lookEvery?: number;
  /** onStop says when the run was interrupted. */
  readonly onStop?: (atNs: number) => void;
}

/**
 * WatchedArrivals reports progress and ends when it is told to. Requests that have arrived by then are served
 * to their end.
 */
export class WatchedArrivals implements Arrivals {
  stopped = false;
  atNs = 0;
  model = 0;
  private pulled = 0;
  private toldAtMs = performance.now() + TELL_AFTER_MS - TELL_EVERY_MS;

  constructor(
    private readonly arrivals: Arrivals,
    private readonly hooks: SimulationHooks,
    private readonly watched: Watched,
  ) {}

  next(): boolean {
    this.pulled += 1;
    if (this.pulled % (this.watched.lookEvery ?? LOOK_EVERY) === 0 && this.isToStop()) return false;
    if (!this.arrivals.next()) return false;
    this.atNs = this.arrivals.atNs;
    this.model = this.arrivals.model;
    return true;
  }

  private isToStop(): boolean {
    const { interrupted, onProgress } = this.hooks;
    if (interrupted?.()) {
      this.stopped = true;
      this.watched.onStop?.(this.atNs);
      return true;
    }
    const now = performance.now();
    if (now - this.toldAtMs >= TELL_EVERY_MS) {
      this.toldAtMs = now;
      onProgress?.({
        seconds: this.atNs / 1e9,
        ofSeconds: this.watched.durationNs / 1e9,
        requests: this.pulled,
      });
    }
    return false;
  }
}
