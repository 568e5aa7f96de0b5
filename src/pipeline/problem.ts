import type {
  Fault,
  LatencyQuantile,
  OpenCluster,
  OpenDeviceClass,
  PipelineSpec,
  Profile,
  StageInput,
} from '../formats/index.js';
import type { PipelinePlanBody, StageGraph } from '../plans/index.js';

/** StageProfile is a stage's profile with the file that it was read from, to which faults refer. */
export interface StageProfile {
  readonly profile: Profile;
  readonly path: string;
  /** The quantile of its latencies that the stage is planned with; by default the median. */
  readonly quantile?: LatencyQuantile;
}

/** PipelineFiles holds the contents of the files that a spec names. */
export interface PipelineFiles {
  readonly cluster: OpenCluster;
  /** The profiles of the spec's stages, in order. */
  readonly profiles: readonly StageProfile[];
  /** The mean rate of the spec's trace, where it names one that has a rate. */
  readonly traceRps?: number | undefined;
  /**
   * traceKind says whether the spec's trace lists arrivals, or counts them by interval, so that each draw
   * places them anew.
   */
  readonly traceKind?: 'arrivals' | 'counts' | undefined;
}

/** GivenProblem is a spec whose stages are all fixed, resolved and without faults. */
export interface GivenProblem {
  readonly spec: PipelineSpec;
  readonly cluster: OpenCluster;
  readonly graph: StageGraph;
  /** In the order of the spec. */
  readonly stages: readonly GivenStage[];
  /** The devices, each set with the stages that it holds. A stage has one set, or one for each class of its replicas. */
  readonly devices: readonly DeviceSet[];
  readonly rps?: number | undefined;
  readonly notes: readonly string[];
}

/** GivenStage is a stage with the figures of its profile. */
export interface GivenStage {
  readonly profile: Profile;
  /** The quantile of `latencyUsByBatch`; by default the median. */
  readonly quantile?: LatencyQuantile | undefined;
  readonly batch: number;
  /** At batch 1 … batch; null where the profile has no such batch. */
  readonly latencyUsByBatch: readonly (number | null)[];
  readonly weightBytes: number | undefined;
  readonly inputs: readonly StageInput[] | undefined;
  /** The index of its devices in `devices`: of those of its first class, where there are several. */
  readonly devices: number;
  /** Its devices of further classes. */
  readonly others?: readonly OtherDevices[];
}

/** OtherDevices are devices of a stage of another class than its first. */
export interface OtherDevices {
  /** Their index in the problem's `devices`. */
  readonly devices: number;
  /** At batch 1 … the stage's batch; null where the profile has no such batch. */
  readonly latencyUsByBatch: readonly (number | null)[];
}

/** DeviceSet is a set of like devices of one class, with the stages that each of them holds. */
export interface DeviceSet {
  readonly device: string;
  readonly virtual: number;
  readonly stages: readonly number[];
  readonly replicas: number;
  readonly standby: number;
  /** shared says whether the spec lists it as shared. */
  readonly shared: boolean;
}

/** GivenReason is a reason why what a spec fixes is no plan: a code, the figures, and all of it in words. */
export interface GivenReason {
  readonly code:
    | 'too-few-gpus'
    | 'weights-exceed-memory'
    | 'slo-too-short'
    | 'rate-too-high'
    | 'links-too-busy'
    | 'other';
  readonly text: string;
  /** The stages that it is about. */
  readonly stages?: readonly string[];
  readonly class?: string;
  readonly available?: Readonly<Record<string, number>>;
  readonly missing?: Readonly<Record<string, number>>;
  readonly sloMs?: number;
  readonly latencyMs?: number;
  readonly overMs?: number;
  /** The share of requests that must be in time, and for which share of the time the busiest server's uplink is busy. */
  readonly attainment?: number;
  readonly busyShare?: number;
  /** The rate that was asked for, and the one that the devices can serve. */
  readonly rps?: number;
  readonly servedRps?: number;
  readonly neededGiB?: number;
  readonly memoryGiB?: number;
}

/** GivenOutcome is the answer to a spec whose stages are all fixed. */
export type GivenOutcome =
  | { readonly status: 'feasible'; readonly plan: PipelinePlanBody }
  | {
      readonly status: 'infeasible';
      readonly reasons: readonly GivenReason[];
      /** The SLO that the longest path needs. */
      readonly smallestFeasibleSloMs: number;
    };

/** Resolved is a problem, or every fault of the spec and its files. */
export type Resolved =
  | { readonly problem: GivenProblem; readonly faults?: undefined }
  | { readonly faults: readonly Fault[]; readonly problem?: undefined };

/** freeCounts lists the GPUs that are not taken, of the classes that have a limit. */
export function freeCounts({ devices }: Pick<OpenCluster, 'devices'>): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const [name, device] of Object.entries(devices)) {
    const free = freeGpus(device);
    if (free !== undefined) counts[name] = free;
  }
  return counts;
}

/** serverCounts lists the servers that GPUs which are not taken stand on, of the classes that have a limit. */
export function serverCounts({ devices }: Pick<OpenCluster, 'devices'>): Record<string, number> {
  const free = Object.entries(freeCounts({ devices }));
  return Object.fromEntries(
    free.map(([name, count]) => [name, Math.ceil(count / (devices[name]?.perServer ?? 1))]),
  );
}

/** freeGpus counts the GPUs of a class that are not taken; undefined where there is no limit. */
export function freeGpus({ count, taken = 0 }: OpenDeviceClass): number | undefined {
  return count === undefined ? undefined : Math.max(0, count - taken);
}
