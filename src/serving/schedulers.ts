import type {
  PolicyFamily,
  PolicyScaling,
  ReservationChoices,
  StageLocalChoices,
} from '../artifacts/index.js';
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
  DEFAULT_POLICY,
  FIFO_POLICY,
  GEAR_POLICY,
  INFERLINE_POLICY,
  REACTIVE_POLICY,
  StageLocalCore,
  type StageLocalPolicy,
} from './stage-local/index.js';
import type { Topology, TopologyRules } from './topology.js';
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
  core(topology: Topology, handed: HandedToCore, policy: AnyPolicy): ServingCore;
}

interface SchedulerOf<P> {
  readonly policy: P;
  readonly presets?: Readonly<Record<string, P>>;
  readonly family: FamilyOf<P>;
  readonly core: (topology: Topology, handed: HandedToCore, policy: P) => ServingCore;
}

/**
 * scheduler checks the types of one scheduler's fields and then forgets its policy type. From there on, a
 * policy is whatever chosenScheduler has made of the choices.
 */
function scheduler<P>({ presets = {}, ...rest }: SchedulerOf<P>): Scheduler {
  return { presets, ...rest } as unknown as Scheduler;
}

const stageLocalCore = (
  topology: Topology,
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
  reactive: scheduler<StageLocalPolicy>({
    policy: REACTIVE_POLICY,
    presets: { published: PUBLISHED_REACTIVE_POLICY },
    family: 'stage-local',
    core: stageLocalCore,
  }),
  /** The scheduler `stage-local` lets every pool form its own batches. */
  'stage-local': scheduler<StageLocalPolicy>({
    policy: DEFAULT_POLICY,
    family: 'stage-local',
    core: stageLocalCore,
  }),
  /** The scheduler `fifo` serves first come, first served at every pool, and drops nothing. */
  fifo: scheduler<StageLocalPolicy>({
    policy: FIFO_POLICY,
    family: 'stage-local',
    core: stageLocalCore,
  }),
  /** The scheduler `inferline` serves as the Estimator assumes that pipelines are served (InferLine §4.2). */
  inferline: scheduler<StageLocalPolicy>({
    policy: INFERLINE_POLICY,
    family: 'stage-local',
    core: stageLocalCore,
  }),
  /** The scheduler `gears` serves gear plans as their planner assumes (CascadeServe §4.5, §5). */
  gears: scheduler<StageLocalPolicy>({
    policy: GEAR_POLICY,
    family: 'stage-local',
    core: stageLocalCore,
  }),
};

export type SchedulerName = keyof typeof SCHEDULERS;

/** SCHEDULER_NAMES lists the names of the schedulers. */
export const SCHEDULER_NAMES = Object.keys(SCHEDULERS) as readonly SchedulerName[];

/** ChosenScheduler is a scheduler with its whole policy. */
export interface ChosenScheduler {
  readonly name: SchedulerName;
  readonly preset?: string;
  readonly policy: AnyPolicy;
  /** The tuner that changes the replicas, with what it knows of the plan. */
  readonly tuner?: TunedPlan;
}

/** makeCore makes a core of the chosen scheduler, with what its driver hands to it. */
export function makeCore(
  { name, policy, tuner }: ChosenScheduler,
  topology: Topology,
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
