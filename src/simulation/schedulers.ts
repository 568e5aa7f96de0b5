import { fault } from '../artifacts/index.js';
import type { ToldFaults } from '../artifacts/told-faults.js';
import {
  DEFAULT_POLICY,
  type Decisions,
  FIFO_POLICY,
  PUBLISHED_POLICY,
  PUBLISHED_REACTIVE_POLICY,
  REACTIVE_POLICY,
  RESERVATION_POLICY,
  ReservationCore,
  type ReservationPolicy,
  type ServingCore,
  StageLocalCore,
  type StageLocalPolicy,
  type Topology,
  type TopologyOptions,
} from '../serving/index.js';

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

type AnyPolicy = Readonly<Record<string, unknown>>;

interface Scheduler {
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

/** Shares, of which more than all is none. */
const AT_MOST_1 = new Set([
  'formation.share',
  'drop.share',
  'firstSight.share',
  'late.mostMissed',
  'correction.weight',
]);

/** What is not a number. */
const WORDS: Readonly<Record<string, readonly string[]>> = {
  'formation.leaves': ['transfer', 'nothing'],
  'drop.spares': ['all-waited', 'last-waited'],
};

const stageLocalCore = (topology: Topology, decisions: Decisions, policy: StageLocalPolicy): ServingCore =>
  new StageLocalCore(topology, decisions, policy);

/** The schedulers that a plan can be simulated with, by the names of `--scheduler`. */
const SCHEDULERS = {
  /** Devices and links are reserved for a batch over its whole way (PPipe §5.4). */
  reservation: scheduler<ReservationPolicy>({
    policy: RESERVATION_POLICY,
    presets: { published: PUBLISHED_POLICY },
    choices: RESERVATION,
    core: (topology, decisions, policy) => new ReservationCore(topology, decisions, policy),
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

/**
 * A scheduler by name, preset and `key=value` choices.
 * @param told where every fault is added
 */
export function chosenScheduler(
  { scheduler: name = DEFAULT_SCHEDULER, preset, policy: assignments = [] }: SchedulerOptions,
  told: ToldFaults,
): ChosenScheduler | undefined {
  const known = Object.keys(SCHEDULERS).join(', ');
  if (!Object.hasOwn(SCHEDULERS, name)) {
    told.add(fault(`is ${JSON.stringify(name)}; valid are ${known}`, '--scheduler'));
    return undefined;
  }
  const found: Scheduler = SCHEDULERS[name as SchedulerName];
  const start = preset === undefined ? found.policy : found.presets[preset];
  if (start === undefined || (preset !== undefined && !Object.hasOwn(found.presets, preset))) {
    const presets = Object.keys(found.presets);
    const has = presets.length === 0 ? 'has no presets' : `has ${presets.join(', ')}`;
    told.add(fault(`is ${JSON.stringify(preset)}; the scheduler ${name} ${has}`, '--preset'));
    return undefined;
  }
  const policy = withAssignments(found, start, assignments, told);
  return { name: name as SchedulerName, ...(preset === undefined ? {} : { preset }), policy };
}

export interface SchedulerOptions {
  readonly scheduler?: string | undefined;
  readonly preset?: string | undefined;
  /** `drop=hopeless`, `formation=wait`, `formation.share=0.5`, `slackNs=1000000`. */
  readonly policy?: readonly string[] | undefined;
}

function withAssignments(
  { choices }: Scheduler,
  start: AnyPolicy,
  assignments: readonly string[],
  told: ToldFaults,
): AnyPolicy {
  const policy: Record<string, unknown> = structuredClone(start) as Record<string, unknown>;
  for (const text of assignments) {
    const at = `--policy "${text}"`;
    const match = /^([A-Za-z]+)(?:\.([A-Za-z]+))?=(.+)$/.exec(text);
    const [, key = '', part, value = ''] = match ?? [];
    const allowed = Object.hasOwn(choices, key) ? choices[key] : undefined;
    if (match === null) told.add(fault('is not key=value, such as drop=hopeless', at));
    else if (allowed === undefined)
      told.add(fault(`there is no ${key}; there are ${Object.keys(choices).join(', ')}`, at));
    else {
      const wrong = assign(policy, key, part, value, allowed);
      if (wrong !== undefined) told.add(fault(wrong, at));
    }
  }
  for (const [key, allowed] of Object.entries(choices)) {
    const missing = missingParts(policy[key], allowed);
    if (missing.length > 0)
      told.add(
        fault(`${missing.map((part) => `${key}.${part}=…`).join(' and ')} is needed`, `--policy ${key}`),
      );
  }
  return policy;
}

/** @returns what is wrong, if anything */
function assign(
  policy: Record<string, unknown>,
  key: string,
  part: string | undefined,
  value: string,
  allowed: Scheduler['choices'][string],
): string | undefined {
  if (part !== undefined) return assignPart(policy, key, part, value, allowed);
  if (allowed === 'boolean') {
    if (value !== 'true' && value !== 'false') return `${value} is neither true nor false`;
    policy[key] = value === 'true';
  } else if (allowed === 'number') {
    const number = numberOf(value);
    if (number === undefined) return `${value} is not a number of 0 or more`;
    if (!Number.isSafeInteger(number)) return `${value} is not a whole number`;
    policy[key] = number;
  } else {
    const parts = Object.hasOwn(allowed, value) ? allowed[value] : undefined;
    if (parts === undefined) return `there is no ${value}; there are ${Object.keys(allowed).join(', ')}`;
    const before = policy[key];
    if (typeof before === 'string') policy[key] = value;
    else {
      const kept = Object.entries(before as object).filter(([name]) => parts.includes(name));
      policy[key] = { kind: value, ...Object.fromEntries(kept) };
    }
  }
  return undefined;
}

function assignPart(
  policy: Record<string, unknown>,
  key: string,
  part: string,
  value: string,
  allowed: Scheduler['choices'][string],
): string | undefined {
  const now = policy[key];
  const kind = typeof now === 'object' ? (now as { kind: string }).kind : undefined;
  const parts = kind === undefined || typeof allowed === 'string' ? [] : (allowed[kind] ?? []);
  if (!parts.includes(part)) {
    const of = kind === undefined ? key : `${key}=${kind}`;
    return `${of} takes ${parts.length === 0 ? 'nothing more' : parts.join(', ')}`;
  }
  const words = WORDS[`${key}.${part}`];
  if (words !== undefined) {
    if (!words.includes(value)) return `there is no ${value}; there are ${words.join(', ')}`;
    policy[key] = { ...(now as object), [part]: value };
    return undefined;
  }
  const number = numberOf(value);
  if (number === undefined) return `${value} is not a number of 0 or more`;
  if (part.endsWith('Ns') && !Number.isSafeInteger(number)) return `${value} is not a whole number`;
  if (number > 1 && AT_MOST_1.has(`${key}.${part}`)) return `${value} is more than 1, which is all`;
  policy[key] = { ...(now as object), [part]: number };
  return undefined;
}

function missingParts(chosen: unknown, allowed: Scheduler['choices'][string]): string[] {
  if (typeof allowed === 'string' || typeof chosen !== 'object' || chosen === null) return [];
  const parts = allowed[(chosen as { kind: string }).kind] ?? [];
  return parts.filter((part) => !(part in chosen));
}

function numberOf(text: string): number | undefined {
  const value = Number(text);
  return text.trim() !== '' && Number.isFinite(value) && value >= 0 ? value : undefined;
}
