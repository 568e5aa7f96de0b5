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

/** What may stand in each field of a policy: a number, true or false, or one of several kinds with the numbers each takes. */
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

export type AnyPolicy = Readonly<Record<string, unknown>>;

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

/** Fields' types are checked where a scheduler is put in; from there on a policy is what `policyFrom` has made of its choices. */
function scheduler<P>({ presets = {}, ...rest }: SchedulerOf<P>): Scheduler {
  return { presets, ...rest } as unknown as Scheduler;
}

const STAGE_LOCAL: Choices<StageLocalPolicy> = {
  order: { fifo: [], deadline: [] },
  placement: { 'on-arrival': [], 'earliest-free': [] },
  choice: { proportional: [], 'least-loaded': [] },
  formation: { eager: [], wait: ['share'], 'last-moment': ['leaves', 'stepNs'] },
  drop: {
    never: [],
    expired: [],
    hopeless: [],
    'full-batch': ['share'],
    unservable: [],
    'nearly-full': ['share', 'spares'],
    queueing: ['share', 'spares'],
  },
  late: { drop: [], background: ['patience', 'mostMissed', 'window'] },
  correction: { none: [], average: ['weight'], steps: ['weight', 'deviations'] },
  instant: { told: [], 'by-place': [] },
  slackNs: 'number',
  mostTasks: 'number',
  mostTries: 'number',
};

const RESERVATION: Choices<ReservationPolicy> = {
  tables: { gaps: [], 'busy-until': [] },
  offer: { 'least-waiting': [], 'behind-share': [] },
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

/** The schedulers that a plan can be simulated with, by name. */
export const SCHEDULERS = {
  /** Devices and links are reserved for a batch over its whole way (PPipe §5.4). */
  reservation: scheduler<ReservationPolicy>({
    policy: RESERVATION_POLICY,
    presets: { published: PUBLISHED_POLICY },
    choices: RESERVATION,
    core: (topology, decisions, policy) =>
      new ReservationCore(
        topology,
        decisions,
        policy,
        policy.tables === 'gaps' ? gapTables : busyUntilTables,
      ),
  }),
  /** Every stage decides for itself, links are not looked at (PPipe §7.4). */
  reactive: scheduler<StageLocalPolicy>({
    policy: REACTIVE_POLICY,
    presets: { published: PUBLISHED_REACTIVE_POLICY },
    choices: STAGE_LOCAL,
    core: stageLocalCore,
  }),
  /** Every pool forms its own batches, as plan serve does. */
  'stage-local': scheduler<StageLocalPolicy>({
    policy: DEFAULT_POLICY,
    choices: STAGE_LOCAL,
    core: stageLocalCore,
  }),
  /** First come first served at every pool, nothing is dropped. */
  fifo: scheduler<StageLocalPolicy>({
    policy: FIFO_POLICY,
    choices: STAGE_LOCAL,
    core: stageLocalCore,
  }),
};

export type SchedulerName = keyof typeof SCHEDULERS;
export const DEFAULT_SCHEDULER: SchedulerName = 'reservation';

/** A scheduler with everything chosen. */
export interface ChosenScheduler {
  readonly name: SchedulerName;
  readonly preset?: string;
  readonly policy: AnyPolicy;
}

export function makeCore(
  { name, policy }: ChosenScheduler,
  topology: Topology,
  decisions: Decisions,
): ServingCore {
  return SCHEDULERS[name].core(topology, decisions, policy);
}

/** The preset of the published simulator goes with a topology by its rules. */
export function topologyRulesOf({ preset }: ChosenScheduler): NonNullable<TopologyOptions['rules']> {
  return preset === 'published' ? 'published' : 'own';
}
