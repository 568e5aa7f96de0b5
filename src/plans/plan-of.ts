import type { RecordsOfPlan } from '../checks/index.js';
import type {
  Fault,
  FaultPlace,
  FieldChange,
  GearPlan,
  HoldRuns,
  LatencyQuantile,
  Loaded,
  PipelineLoad,
  PipelinePlan,
  PlanDifference,
  PlanTuner,
  ServingMarks,
  StageOf,
  TensorSpec,
} from '../formats/index.js';
import type { ChosenScheduler, StageTopology, Topology } from '../serving/index.js';
import type { PlanFile, PlanKind, StagePlan, StagePlanKind } from './served-plan.js';
import type { TopologyOptions } from './topology-options.js';
import type { BundledTensors, Wiring } from './wiring.js';

/**
 * PlanOf says what a plan of one kind is. `PLANS` has one for each kind, so that whoever is given any plan asks here, and a
 * kind that is added must answer everything.
 */
export interface PlanOf<K extends PlanKind> {
  /** `applications` lists what clients call by name. */
  applications(plan: PlanFile<K>): readonly Application[];
  /**
   * `topology` makes the pools, devices and links that a scheduler decides over.
   * @throws InputError where the plan contradicts itself in them, or has more than a million virtual GPUs
   */
  topology(plan: PlanFile<K>, options?: TopologyOptions): Topology;
  /**
   * `contradictions` finds where a plan contradicts itself, so that it cannot be what a planner made or cannot be served.
   * It needs nothing but the plan, and is the same for all commands.
   */
  contradictions(plan: PlanFile<K>): readonly Fault[];
  /**
   * isReadDespiteFaults says whether a plan that contradicts itself is looked at further, because what it
   * should say, or what else is wrong, tells more. Of another, the stages may lead nowhere.
   */
  readonly isReadDespiteFaults: boolean;
  /** isOfUsedDevices says whether a plan's cluster has those devices alone that the plan uses. */
  readonly isOfUsedDevices: boolean;
  /**
   * `profileFaults` says where a plan contradicts the profiles it was made from, which come in its order, with the aliases
   * of its cluster: `planProfileFaults` asks it. Where one is
   * missing it says nothing, because the plan alone is enough to simulate.
   */
  profileFaults(plan: PlanFile<K>, profiles: readonly Loaded<'profile'>[]): readonly Fault[];
  /** `recordFaults` says where a plan contradicts the records it was made from. Plans without records have no such faults. */
  recordFaults(plan: PlanFile<K>, records: RecordsOfPlan): readonly Fault[];
  /** `parts` lists what the pools of the topology execute, in their order. */
  parts(plan: PlanFile<K>): readonly PlanPart[];
  /** `profiled` lists the models of the profiles that a plan names among its inputs, in their order. */
  profiled(plan: PlanFile<K>): readonly string[];
  /** The things that have a profile each, in the plural. */
  readonly profiledWhat: string;
  /** `load` gives the load that the plan was made for or confirmed with, where it says. */
  load(plan: PlanFile<K>): LoadOfPlan | undefined;
  /** `withSlos` gives a plan whose SLOs are what `changed` makes of them. */
  withSlos(plan: PlanFile<K>, changed: (sloMs: number) => number): PlanFile<K>;
  /** `world` gives what a simulation needs besides the topology. */
  world(plan: PlanFile<K>): PlanWorld;
  /** `tuned` gives the plan a tuner, which changes its replicas while it serves; absent where none may. */
  readonly tuned?: (plan: PlanFile<K>, scheduler: ChosenScheduler, asked: AskedTuner) => Tuned;
  /** `served` lists what clients send and get, by application. */
  served(plan: PlanFile<K>): readonly ServedTensors[];
  /**
   * `unlikeSent` says in what the requests of a simulation may differ from those that clients sent to a server.
   * @param known whether verdicts on the requests are recorded, and what is known of the samples
   */
  unlikeSent(
    plan: PlanFile<K>,
    known: { readonly verdicts: boolean; readonly samples: KnownSamples },
  ): string[];
  /** `uses` says how many whole GPUs of each class it uses. */
  uses(plan: PlanFile<K>): ClassUses;
  /** `title` names the plan and its models in words. */
  title(plan: PlanFile<K>): string;
  /** `models` lists what profiles say of the models that it serves, each under the name that the plan gives it. */
  models(plan: PlanFile<K>): readonly MarkedModel[];
  /** `diff` says what the plan `after` changes in the plan `before`. */
  diff(before: PlanFile<K>, after: PlanFile<K>): ToldDifference;
}

/**
 * StagePlanOf says what a plan of stages is besides: its routes are known, each of its applications has an SLO, and
 * tensors join its parts.
 */
export interface StagePlanOf<K extends StagePlanKind> extends PlanOf<K> {
  applications(plan: PlanFile<K>): readonly TimedApplication[];
  topology(plan: PlanFile<K>, options?: TopologyOptions): StageTopology;
  /** `wiring` says how its parts are joined by tensors, once the files of the parts are known. */
  wiring(plan: PlanFile<K>, files: BundledTensors): Wiring;
}

/** ClassUses says how many whole GPUs of each class are used. */
export type ClassUses = Readonly<Record<string, { readonly used: number }>>;

/** KnownSamples says by which samples a cascade was simulated, and which were sent to its server. */
export interface KnownSamples {
  /** The labelled samples that were sent; absent where it is not known which were. */
  readonly sent?: number;
  /** The samples of the records by which it was simulated; absent of other plans. */
  readonly recorded?: number;
  /**
   * areGiven says whether these records were given beside the plan, so that they may be those of the samples
   * that were sent.
   */
  readonly areGiven: boolean;
}

/** Application is what clients of a plan call by name. */
export interface Application {
  readonly name: string;
  /** The time from arrival to deadline; absent where requests are never late. */
  readonly sloMs?: number | undefined;
  readonly throughputRps: number;
  /** Its part of a load that is for all applications. */
  readonly weight: number;
  /** How much a drop of one of its requests weighs; 1 where absent. */
  readonly dropWeight?: number;
  /** The name of the load that it shares with others: each request of that load belongs to one of them. */
  readonly loadOf?: string;
  /** The rate that the plan promises, where that is not its throughput. */
  readonly heldRps?: number;
  /** The pipelines of a model of a pooled plan. */
  readonly pipelines?: readonly unknown[];
}

/** TimedApplication is an application with an SLO. */
export interface TimedApplication extends Application {
  readonly sloMs: number;
}

/** PlanPart is what the devices of a pool execute: a partition of a model, or the whole model of a stage or component. */
export interface PlanPart {
  /** The index of what clients call, and its name. */
  readonly application: number;
  readonly name: string;
  readonly stage: StageOf;
  /** The model, as its profile names it. */
  readonly model: string;
  /** Its profile: the index among all that the plan names, or the name of the model by which it is found. */
  readonly profile: number | string;
  /** The class of its devices. */
  readonly device: string;
  /** v: its devices are 1/v of a GPU each. */
  readonly virtual: number;
  /** The largest batch that it executes. */
  readonly batch: number;
  /** The execution latency at batch 1 … batch; null where the profile has no such batch. */
  readonly latencyUsByBatch: readonly (number | null)[];
  /** The quantile of the profile's latencies that these are; medians where absent. */
  readonly latencyQuantile?: LatencyQuantile;
  /** The further classes of its devices; absent where all are of one class. */
  readonly otherClasses?: readonly string[];
  /** The half-open range of blocks or of layers that it executes; absent where that is all of the model. */
  readonly blocks?: readonly [number, number];
  readonly layers?: readonly [number, number];
  /** Where the manifest of a bundle has its file. */
  readonly bundled: BundledAs;
}

/**
 * BundledAs says where the manifest of a bundle has the file of a part: among the stages by the stage's name, or among the
 * partitions by the model's name and the range.
 */
export type BundledAs =
  | { readonly among: 'stages'; readonly stage: string }
  | {
      readonly among: 'partitions';
      readonly model: string;
      readonly range: readonly [number, number] | undefined;
    };

/** PlanWorld is what happens to the requests of a simulation, and to its devices, by the plan. */
export interface PlanWorld {
  /** `fates` tells what the models say of requests; absent where the plan does not know, or nothing depends on it. */
  readonly fates?: (draw: DrawnUniforms) => Fates;
  /** The time from a device's activation until it takes work; absent where no device is activated. */
  readonly activationDelayNs?: number;
  /** The stages, where the verdicts of some decide which edges are taken. */
  readonly pipeline?: Pick<PipelinePlan, 'stages' | 'exclusive'>;
  /** The cascades, where the certainty of models on samples decides who answers. */
  readonly cascade?: Pick<GearPlan, 'stages' | 'gears' | 'accuracy'>;
}

/**
 * LoadOfPlan is a load that a plan knows.
 * - held: the runs that confirmed what it promises.
 * - drawn: the load that it was planned for, drawn by a process.
 * - trace: the trace that it was planned for, by its path from the plan, or a window of it. With `groups`, the
 *   functions that the trace counts are dealt to this many applications in turn.
 */
export type LoadOfPlan =
  | { readonly kind: 'held'; readonly runs: Pick<HoldRuns, 'arrivals' | 'cv' | 'durationS' | 'warmUp'> }
  | { readonly kind: 'drawn'; readonly load: Exclude<PipelineLoad, { trace: string }> }
  | {
      readonly kind: 'trace';
      readonly load: Extract<PipelineLoad, { trace: string }>;
      readonly groups?: number;
    };

/** MarkedModel is a model with what its profile says of the rows of its batches. */
export type MarkedModel = ServingMarks & { readonly name: string };

/** DrawnUniforms gives, for a purpose, the number of [0, 1) at a place and a column: always the same one. */
export type DrawnUniforms = (purpose: string) => (place: number, column: number) => number;

/**
 * Fates gives what the model of a pool says of a row of a request: a bit for each edge that depends on it, or a certainty.
 * `order` is the number of requests that came before.
 */
export type Fates = (order: number, row: number, pool: number) => number;

/** AskedTuner is the tuner that a plan is to have. */
export interface AskedTuner {
  readonly tuner: PlanTuner | { readonly kind: 'oracle' };
  /** Where faults say that it is asked for. */
  readonly at: FaultPlace;
  /** onlyStandby says whether only the standby devices of the plan may be activated. */
  readonly onlyStandby: boolean;
}

/** Tuned is a plan with its tuner and the devices that this may activate. */
export interface Tuned {
  readonly plan: StagePlan;
  readonly scheduler: ChosenScheduler;
  readonly faults: readonly Fault[];
}

/** ServedTensors is what clients send to an application and get of it, as far as the plan says. */
export interface ServedTensors {
  readonly name: string;
  readonly inputs?: readonly TensorSpec[];
  readonly outputs?: readonly TensorSpec[];
}

/** ToldDifference is what two plans of one kind differ in. */
export interface ToldDifference {
  /** The differences that are reported, without the head of their file. */
  readonly told: Omit<PlanDifference, '$schema' | 'kind' | 'version' | 'tool' | 'inputs'>;
  /** All other fields that differ. */
  readonly fields: readonly FieldChange[];
}
