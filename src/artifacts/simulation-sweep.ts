import type { Emitted } from './common.js';
import type { SimulatedExecution, SimulatedScheduler, SimulatedWorkload } from './simulation-report.js';

/** A plan simulated at many load factors, and the largest at which its attainment holds. */
export interface SimulationSweep extends Emitted {
  kind: 'simulation-sweep';
  seed: number;
  /** false when it was interrupted: points are missing. */
  complete: boolean;
  workload: SweptWorkload;
  scheduler: SimulatedScheduler;
  execution: SimulatedExecution;
  /** The attainment asked for. */
  target: number;
  /** By load factor; those asked for, and those between them that the search went to. */
  points: SweptPoint[];
  largest?: LargestLoad;
  models: SweptModel[];
}

export interface SweptWorkload {
  arrivals: SimulatedWorkload['arrivals'];
  cv?: number;
  durationS: number;
  /** How the requests of a trace's intervals were placed in them; absent where it has none. */
  spread?: NonNullable<SimulatedWorkload['spread']>;
}

export interface SweptPoint {
  loadFactor: number;
  attainment?: number;
  dropRate?: number;
  invalidRate?: number;
  offeredRps: number;
  goodputRps: number;
  p99Ms?: number;
  /** By model. */
  attainments: (number | null)[];
}

/** Of the load factors in steps of 0.01; absent where the target is missed at every one tried. */
export interface LargestLoad {
  /** The target is reached here and, unless atLeast, missed 0.01 above. */
  loadFactor: number;
  /** It is the largest that was tried. */
  atLeast: boolean;
}

export interface SweptModel {
  name: string;
  largest?: LargestLoad;
}
