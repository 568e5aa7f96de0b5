import type {
  EngineFigures,
  PolicyFamily,
  PolicyScaling,
  ReservationChoices,
  StageLocalChoices,
} from '../formats/index.js';
import type { Streams } from '../random/index.js';
import type { ServingCore } from './core.js';
import type { Decisions } from './decisions.js';
import { busyUntilTables, PUBLISHED_POLICY, PUBLISHED_REACTIVE_POLICY } from './published/index.js';
import {
  gapTables,
  RESERVATION_POLICY,
  ReservationCore,
  type ReservationPolicy,
  type ReservationTables,
} from './reservation/index.js';
import { scalingRule } from './scheduled-scaling.js';
import {
  type Clash,
  clashes,
  DEFAULT_POLICY,
  ENGINE_POLICIES,
  FIFO_POLICY,
  GEAR_POLICY,
  INFERLINE_POLICY,
  PARD_POLICIES,
  REACTIVE_POLICY,
  ROOM_FIRST_POLICY,
  StageLocalCore,
  type StageLocalPolicy,
} from './stage-local/index.js';
import type { StageTopology, TopologyRules } from './topology.js';
import type { TunedPlan } from './tuning/index.js';

/** Written is a policy as files write it: a choice among kinds of which this one takes no parts is a word. */
type Written<P> = { [K in keyof P]: WrittenChoice<P[K]> };
type WrittenChoice<C> = C extends { kind: infer Kind } ? ([keyof C] extends ['kind'] ? Kind : C) : C;

type ChoicesOf<File> = Required<Omit<File, '$schema' | 'kind' | 'version' | 'scheduler' | 'scaling'>>;

type Agrees<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;

/**
 * FamilyOf is the family whose choices in the schema of policy files are exactly those of a policy, so that the compiler
 * finds a choice that only one of them knows.
 */
type FamilyOf<P> =
  Agrees<Written<P>, ChoicesOf<StageLocalChoices>> extends true
    ? 'stage-local'
    : Agrees<Written<P>, ChoicesOf<ReservationChoices>> extends true
      ? 'reservation'
      : never;

/** AnyPolicy is the policy of some scheduler, whose fields only that scheduler knows. */
export type AnyPolicy = Readonly<Record<string, unknown>>;

/** HandedToCore is what a driver hands to the core that it drives. */
export interface HandedToCore {
  /** The driver's buffer, where the core appends its decisions. */
  readonly decisions: Decisions;
  /**
   * Seeded streams of random numbers, for rules that draw: the same seed, events and times give the same decisions. A rule
   * takes a stream of its own purpose when it is made.
   */
  readonly streams: Streams;
}

/**
 * Scheduler holds the parts of a scheduler: its default policy, its presets, the family whose choices a person may make,
 * and its core.
 */
export interface Scheduler {
  readonly policy: AnyPolicy;
  readonly presets: Readonly<Record<string, AnyPolicy>>;
  readonly family: PolicyFamily;
  /** clashes finds choices that cannot be combined. */
  clashes(policy: AnyPolicy): Clash[];
  core(topology: StageTopology, handed: HandedToCore, policy: AnyPolicy): ServingCore;
}

interface SchedulerOf<P> {
  readonly policy: P;
  readonly presets?: Readonly<Record<string, P>>;
  readonly family: FamilyOf<P>;
  readonly clashes?: (policy: P) => Clash[];
  readonly core: (topology: StageTopology, handed: HandedToCore, policy: P) => ServingCore;
}

/**
 * scheduler checks the types of one scheduler's fields and then forgets its policy type. From there on, a
 * policy is whatever chosenScheduler has made of the choices.
 */
function scheduler<P>({ presets = {}, clashes = () => [], ...rest }: SchedulerOf<P>): Scheduler {
  return { presets, clashes, ...rest } as unknown as Scheduler;
}

const stageLocalCore = (
  topology: StageTopology,
  { decisions, streams }: HandedToCore,
  {
    scaling,
    ...policy
  }: StageLocalPolicy & { readonly scaling?: PolicyScaling; readonly tuning?: TunedPlan },
): ServingCore =>
  new StageLocalCore(topology, decisions, {
    ...policy,
    streams,
    ...(scaling && { scaling: scalingRule(scaling, topology) }),
  });

const TABLES: { readonly [K in ReservationPolicy['tables']]: ReservationTables } = {
  gaps: gapTables,
  'busy-until': busyUntilTables,
};

const stageLocal = (
  policy: StageLocalPolicy,
  presets: Readonly<Record<string, StageLocalPolicy>> = {},
): Scheduler =>
  scheduler<StageLocalPolicy>({ policy, presets, family: 'stage-local', clashes, core: stageLocalCore });

/** SCHEDULERS lists the schedulers of plans, by the names that `--scheduler` takes. */
export const SCHEDULERS = {
  /** The scheduler `reservation` reserves devices and links for a batch over its whole path (PPipe §5.4). */
  reservation: scheduler<ReservationPolicy>({
    policy: RESERVATION_POLICY,
    presets: { published: PUBLISHED_POLICY },
    family: 'reservation',
    core: (topology, { decisions }, policy) =>
      new ReservationCore(topology, decisions, {
        ...policy,
        makeTables: TABLES[policy.tables],
      }),
  }),
  /** The scheduler `reactive` lets every stage decide for itself without looking at links (PPipe §7.4). */
  reactive: stageLocal(REACTIVE_POLICY, { published: PUBLISHED_REACTIVE_POLICY }),
  /** The scheduler `stage-local` lets every pool form its own batches. */
  'stage-local': stageLocal(DEFAULT_POLICY),
  /** The scheduler `fifo` serves first come, first served at every pool, and drops nothing. */
  fifo: stageLocal(FIFO_POLICY),
  /** The scheduler `inferline` serves as the Estimator assumes that pipelines are served (InferLine §4.2). */
  inferline: stageLocal(INFERLINE_POLICY),
  /** The scheduler `gears` serves gear plans as their planner assumes (CascadeServe §4.5, §5). */
  gears: stageLocal(GEAR_POLICY),
  /** The scheduler `pard` drops early, by when a request would leave its last stage, and picks by remaining budgets (PARD §4). */
  pard: stageLocal(PARD_POLICIES.pard),
  /** PARD with one part left out or replaced (Table 1). */
  'pard-back': stageLocal(PARD_POLICIES['pard-back']),
  'pard-sf': stageLocal(PARD_POLICIES['pard-sf']),
  'pard-oc': stageLocal(PARD_POLICIES['pard-oc']),
  'pard-split': stageLocal(PARD_POLICIES['pard-split']),
  'pard-wcl': stageLocal(PARD_POLICIES['pard-wcl']),
  'pard-lower': stageLocal(PARD_POLICIES['pard-lower']),
  'pard-upper': stageLocal(PARD_POLICIES['pard-upper']),
  'pard-fcfs': stageLocal(PARD_POLICIES['pard-fcfs']),
  'pard-hbf': stageLocal(PARD_POLICIES['pard-hbf']),
  'pard-lbf': stageLocal(PARD_POLICIES['pard-lbf']),
  'pard-instant': stageLocal(PARD_POLICIES['pard-instant']),
  /** The schedulers that PARD is compared with, on its runtime (§5.1). */
  nexus: stageLocal(PARD_POLICIES.nexus),
  'clipper++': stageLocal(PARD_POLICIES['clipper++']),
  naive: stageLocal(PARD_POLICIES.naive),
  /** The scheduler `room-first` drops by PARD's estimates, and serves first who has time to spare: ours (docs/pard.md). */
  'room-first': stageLocal(ROOM_FIRST_POLICY),
  /** The schedulers of other engines, which serve plans that are deployed for them (docs/serving.md). */
  'ray-serve': stageLocal(ENGINE_POLICIES['ray-serve']),
  'ray-serve-batch': stageLocal(ENGINE_POLICIES['ray-serve-batch']),
  triton: stageLocal(ENGINE_POLICIES.triton),
};

export type SchedulerName = keyof typeof SCHEDULERS;

/** ENGINE_SCHEDULERS are the schedulers that stand for another engine, and that engine, as the deploy target is called. */
export const ENGINE_SCHEDULERS = {
  'ray-serve': 'ray-serve',
  'ray-serve-batch': 'ray-serve',
  triton: 'triton',
} as const satisfies Partial<Record<SchedulerName, string>>;

export type EngineScheduler = keyof typeof ENGINE_SCHEDULERS;

/** engineOf gives the engine for which a scheduler stands, undefined for our own. */
export function engineOf(scheduler: string): string | undefined {
  return Object.hasOwn(ENGINE_SCHEDULERS, scheduler)
    ? ENGINE_SCHEDULERS[scheduler as EngineScheduler]
    : undefined;
}

/** SCHEDULER_NAMES lists the names of the schedulers. */
export const SCHEDULER_NAMES = Object.keys(SCHEDULERS) as readonly SchedulerName[];

/** ChosenScheduler is a scheduler with its whole policy. */
export interface ChosenScheduler {
  readonly name: SchedulerName;
  readonly preset?: string;
  readonly policy: AnyPolicy;
  /** The tuner that changes the replicas, with what it knows of the plan. */
  readonly tuner?: TunedPlan;
  /**
   * The figures of the engine that the scheduler stands for, beside its devices. Only simulations look at it.
   */
  readonly engine?: EngineFigures;
}

/** choiceClashes finds the choices of a scheduler's policy that cannot be combined. */
export function choiceClashes({ name, policy }: ChosenScheduler): readonly Clash[] {
  return SCHEDULERS[name].clashes(policy);
}

/** makeCore makes a core of the chosen scheduler, with what its driver hands to it. */
export function makeCore(
  { name, policy, tuner }: ChosenScheduler,
  topology: StageTopology,
  handed: HandedToCore,
): ServingCore {
  const all = tuner === undefined ? policy : { ...policy, tuning: tuner };
  return SCHEDULERS[name].core(topology, handed, all);
}

/**
 * topologyRulesOf gives the rules for the topology of a chosen scheduler: the preset `published` needs a
 * topology by the published simulator's rules.
 */
export function topologyRulesOf({ preset }: ChosenScheduler): TopologyRules {
  return preset === 'published' ? 'published' : 'own';
}
