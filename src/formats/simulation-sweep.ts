import type { Emitted } from './common.js';
import type { EngineFigures } from './engine-profile.js';
import type { PlanChecks } from './plan-checks.js';
import type {
  SimulatedExecution,
  SimulatedScheduler,
  SimulatedVerdicts,
  SimulatedWorkload,
} from './simulation-report.js';

/** SimulationSweep is a plan simulated at many load factors, with the largest at which its attainment holds. */
export interface SimulationSweep extends Emitted, PlanChecks {
  kind: 'simulation-sweep';
  seed: number;
  /** complete says whether the sweep was finished; false when it was interrupted: points are missing. */
  complete: boolean;
  workload: SweptWorkload;
  scheduler: SimulatedScheduler;
  /**
   * transfers says whether transfers took the time of the cluster's links, or none, as in the server of a
   * bundle.
   */
  transfers?: 'links' | 'none';
  execution: SimulatedExecution;
  /** The engine's own figures, where they were simulated. */
  engine?: EngineFigures;
  /** Where the verdicts of a pipeline's models are from; absent where they were drawn by the plan's probabilities. */
  verdicts?: SimulatedVerdicts;
  /** The attainment that was asked for. */
  target: number;
  /** The notes of the plan. */
  notes?: string[];
  /** The points by load factor: those that were asked for, and those between them that the search tried. */
  points: SweptPoint[];
  largest?: LargestLoad;
  models: SweptModel[];
}

/** SweptWorkload describes what the loads of all points have in common. */
export interface SweptWorkload {
  arrivals: SimulatedWorkload['arrivals'];
  cv?: number;
  durationS: number;
  /** How the requests of a trace's intervals were placed in them; absent where it has none. */
  spread?: NonNullable<SimulatedWorkload['spread']>;
}

/** SweptPoint holds the figures of one run, at one load factor. */
export interface SweptPoint {
  loadFactor: number;
  attainment?: number;
  /** The requests answered too late; absent in files that were written before it was counted. */
  late?: number;
  dropRate?: number;
  invalidRate?: number;
  offeredRps: number;
  goodputRps: number;
  p99Ms?: number;
  /** The attainments by model. */
  attainments: (number | null)[];
}

/**
 * LargestLoad is among the load factors in steps of 0.01; it is absent where every one that was tried misses the
 * target.
 */
export interface LargestLoad {
  /** The target is reached at this load factor and, unless `atLeast`, missed 0.01 above. */
  loadFactor: number;
  /** atLeast says whether it is the largest that was tried. */
  atLeast: boolean;
}

/** SweptModel says at which load one model still reaches the target. */
export interface SweptModel {
  name: string;
  largest?: LargestLoad;
}
