import type { LoadMeter } from './load-meter.js';

/** TunedSet is a set of like devices, of which a tuner decides how many are in use. */
export interface TunedSet {
  /** The pools that its devices serve. The devices count for the first. */
  readonly pools: readonly number[];
  readonly deviceClass: string;
  /** v: each device is 1/v of a GPU. */
  readonly virtual: number;
  /** The devices that the plan has in use. */
  readonly replicas: number;
  /** The devices that there are, those on standby included. */
  readonly most: number;
  /** The device time that a request to the pipeline takes in full batches, in seconds: Σ s_m/μ_m over its stages. */
  readonly workS: number;
  /** The tasks that a request to the pipeline brings to it: Σ s_m. */
  readonly visits: number;
  /** The largest batch of its stages. */
  readonly batch: number;
  /** The share of its time that it needs at the plan's rate: ρ_m. Absent where the plan was made for no rate. */
  readonly provisioning?: number;
}

/**
 * Tuner decides how many devices each set should have in use, from the load that is reported to it. It has no
 * clock: it is called when a request arrives, and at `nextAt`. Times are nanoseconds since the run began.
 */
export interface Tuner {
  /** The devices that each set should have. At the beginning, those that the plan has in use. */
  readonly wanted: Int32Array;
  /** When `decide` is to be called at the latest. */
  readonly nextAt: number;
  /**
   * arrived reports a request.
   * @returns whether `decide` is to be called now
   */
  arrived(at: number): boolean;
  /** decide changes `wanted`, where that is due. */
  decide(at: number, meter: LoadMeter): void;
}

/** Sums of decimal numbers come out a little above the whole number that they are. */
const ROUNDING = 1e-9;

/**
 * devicesFor gives the devices of a set that serve a rate if each is busy for the share `provisioning` of its time:
 * k_m = ⌈r·s_m/(μ_m·ρ_m)⌉ (InferLine §5), at least 1.
 */
export function devicesFor(rps: number, workS: number, provisioning: number): number {
  return Math.max(1, Math.ceil((rps * workS) / provisioning - ROUNDING));
}

/** plannedReplicas gives the devices that a plan has in use, set by set. */
export function plannedReplicas(sets: readonly TunedSet[]): Int32Array<ArrayBuffer> {
  return Int32Array.from(sets, ({ replicas }) => replicas);
}
