import type { ServingCore } from './core.js';
import type { Decisions } from './decisions.js';
import { busyUntilTables, PUBLISHED_POLICY, PUBLISHED_REACTIVE_POLICY } from './published/index.js';
import {
  gapTables,
  RESERVATION_POLICY,
  ReservationCore,
  type ReservationPolicy,
} from './reservation/index.js';
import {
  DEFAULT_POLICY,
  FIFO_POLICY,
  REACTIVE_POLICY,
  StageLocalCore,
  type StageLocalPolicy,
} from './stage-local/index.js';
import type { Topology, TopologyOptions } from './topology.js';

/**
 * Choices lists what each field of a policy may be: a number, true or false, or one of several kinds with the
 * parts that each takes.
 */
type Choices<P> = {
  readonly [K in keyof P]: P[K] extends number
    ? 'number'
    : P[K] extends boolean
      ? 'boolean'
      : P[K] extends string
        ? Readonly<Record<P[K], readonly []>>
        : P[K] extends { kind: string }
          ? {
              readonly [Kind in P[K]['kind']]: readonly Exclude<
                keyof Extract<P[K], { kind: Kind }>,
                'kind'
              >[];
            }
          : never;
};

/** AnyPolicy is the policy of some scheduler, whose fields only that scheduler knows. */
export type AnyPolicy = Readonly<Record<string, unknown>>;

/**
 * Scheduler holds the parts of a scheduler: its default policy, its presets, the choices that a person may make, and
 * its core.
 */
export interface Scheduler {
  readonly policy: AnyPolicy;
  readonly presets: Readonly<Record<string, AnyPolicy>>;
  readonly choices: Readonly<
    Record<string, 'number' | 'boolean' | Readonly<Record<string, readonly string[]>>>
  >;
  core(topology: Topology, decisions: Decisions, policy: AnyPolicy): ServingCore;
}

interface SchedulerOf<P> {
  readonly policy: P;
  readonly presets?: Readonly<Record<string, P>>;
  readonly choices: Choices<P>;
  readonly core: (topology: Topology, decisions: Decisions, policy: P) => ServingCore;
}

/**
 * scheduler checks the types of one scheduler's fields and then forgets its policy type. From there on, a
 * policy is whatever chosenScheduler has made of the choices.
 */
function scheduler<P>({ presets = {}, ...rest }: SchedulerOf<P>): Scheduler {
  return { presets, ...rest } as unknown as Scheduler;
}

const STAGE_LOCAL: Choices<StageLocalPolicy> = {
  order: { fifo: [], deadline: [] },
  placement: { 'on-arrival': [], 'earliest-free': [] },
  choice: { proportional: [], 'least-loaded': [] },
  formation: { eager: [], 'last-moment': ['leaves', 'stepNs'] },
  drop: {
    never: [],
    expired: [],
    hopeless: [],
    'full-batch': ['share'],
    'nearly-full': ['share', 'spares'],
    queueing: ['share', 'spares'],
  },
  late: { drop: [], background: ['patience', 'mostMissed', 'window'] },
  correction: { none: [], average: ['weight'], steps: ['weight', 'deviations'] },
  sharing: { 'oldest-deadline': [], fullest: [], 'round-robin': [] },
  instant: { told: [], 'by-place': [] },
  slackNs: 'number',
  mostTasks: 'number',
  mostTries: 'number',
};

const RESERVATION: Choices<ReservationPolicy> = {
  tables: { gaps: [], 'busy-until': [] },
  lateSingles: { 'as-others': [], shunned: [] },
  askOthers: 'boolean',
  firstSight: { never: [], 'nearly-full': ['share'], queueing: ['share'] },
  review: { 'when-due': [], 'every-arrival': [] },
  correction: { none: [], average: ['weight', 'deviations'] },
  lastMoment: { 'in-time': [], 'one-more': [] },
  wakeStepNs: 'number',
  mostTasks: 'number',
  mostTries: 'number',
};

const stageLocalCore = (topology: Topology, decisions: Decisions, policy: StageLocalPolicy): ServingCore =>
  new StageLocalCore(topology, decisions, policy);

/** SCHEDULERS lists the schedulers of plans, by the names that `--scheduler` takes. */
export const SCHEDULERS = {
  /** The scheduler `reservation` reserves devices and links for a batch over its whole path (PPipe §5.4). */
  reservation: scheduler<ReservationPolicy>({
    policy: RESERVATION_POLICY,
    presets: { published: PUBLISHED_POLICY },
    choices: RESERVATION,
    core: (topology, decisions, policy) =>
      new ReservationCore(topology, decisions, {
        ...policy,
        makeTables: policy.tables === 'gaps' ? gapTables : busyUntilTables,
      }),
  }),
  /** The scheduler `reactive` lets every stage decide for itself without looking at links (PPipe §7.4). */
  reactive: scheduler<StageLocalPolicy>({
    policy: REACTIVE_POLICY,
    presets: { published: PUBLISHED_REACTIVE_POLICY },
    choices: STAGE_LOCAL,
    core: stageLocalCore,
  }),
  /** The scheduler `stage-local` lets every pool form its own batches. */
  'stage-local': scheduler<StageLocalPolicy>({
    policy: DEFAULT_POLICY,
    choices: STAGE_LOCAL,
    core: stageLocalCore,
  }),
  /** The scheduler `fifo` serves first come, first served at every pool, and drops nothing. */
  fifo: scheduler<StageLocalPolicy>({
    policy: FIFO_POLICY,
    choices: STAGE_LOCAL,
    core: stageLocalCore,
  }),
};

export type SchedulerName = keyof typeof SCHEDULERS;

/** DEFAULT_SCHEDULER serves plans that name no scheduler, and is named in plans whose spec names none. */
export const DEFAULT_SCHEDULER: SchedulerName = 'stage-local';

/** ChosenScheduler is a scheduler with its whole policy. */
export interface ChosenScheduler {
  readonly name: SchedulerName;
  readonly preset?: string;
  readonly policy: AnyPolicy;
}

/** makeCore makes a core of the chosen scheduler that appends its decisions to `decisions`. */
export function makeCore(
  { name, policy }: ChosenScheduler,
  topology: Topology,
  decisions: Decisions,
): ServingCore {
  return SCHEDULERS[name].core(topology, decisions, policy);
}

/**
 * topologyRulesOf gives the rules for the topology of a chosen scheduler: the preset `published` needs a
 * topology by the published simulator's rules.
 */
export function topologyRulesOf({ preset }: ChosenScheduler): NonNullable<TopologyOptions['rules']> {
  return preset === 'published' ? 'published' : 'own';
}
