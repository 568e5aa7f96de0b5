/**
 * PolicyFile holds choices of a scheduler, for `--policy`. A choice that is left out is as the plan or the
 * scheduler has it. The three families of schedulers have choices of their own.
 */
export type PolicyFile = StageLocalChoices | ReservationChoices | WorkflowChoices;

/**
 * StageLocalChoices are the choices of the schedulers in which every stage forms its own batches. A kind without parts is
 * written as a word.
 */
export interface StageLocalChoices {
  $schema?: string;
  kind: 'policy';
  version?: string;
  /** The scheduler that makes these choices; without it, the one that serves the plan. */
  scheduler?:
    | 'stage-local'
    | 'fifo'
    | 'inferline'
    | 'gears'
    | 'reactive'
    | 'pard'
    | 'pard-back'
    | 'pard-sf'
    | 'pard-oc'
    | 'pard-split'
    | 'pard-wcl'
    | 'pard-lower'
    | 'pard-upper'
    | 'pard-fcfs'
    | 'pard-hbf'
    | 'pard-lbf'
    | 'pard-instant'
    | 'nexus'
    | 'clipper++'
    | 'naive'
    | 'room-first'
    | 'ray-serve'
    | 'ray-serve-batch'
    | 'triton';
  order?: 'fifo' | 'deadline' | 'latest-deadline' | { kind: 'adaptive'; transition: 'delayed' | 'instant' };
  placement?: 'on-arrival' | 'earliest-free' | 'per-device';
  choice?: 'proportional' | 'least-loaded';
  dispatch?: 'turns' | 'least-work' | 'two-choices' | 'two-ongoing';
  formation?:
    | 'gear'
    | 'waiting'
    | 'eager'
    | 'ahead'
    | { kind: 'delay'; delayNs: number }
    | { kind: 'gathered'; gatherNs: number }
    | { kind: 'sealed'; timeoutNs: number }
    | { kind: 'room-first'; room: number }
    | { kind: 'last-moment'; leaves: 'transfer' | 'nothing'; stepNs: number };
  drop?:
    | 'never'
    | 'expired'
    | 'hopeless'
    | 'gear'
    | { kind: 'timed-out'; slos: number }
    | { kind: 'full-batch'; share: number }
    | { kind: 'nearly-full'; share: number; spares: 'all-waited' | 'last-waited' }
    | { kind: 'queueing'; share: number; spares: 'all-waited' | 'last-waited' }
    | {
        kind: 'end-to-end';
        queueing: boolean;
        execution: boolean;
        wait: 'none' | 'quantile' | 'most';
        quantile: number;
        branches: 'worst' | 'learnt';
      }
    | { kind: 'stage-budget'; shares: 'durations' | 'worst-case' | 'spare'; until: 'start' | 'end' }
    | { kind: 'window'; within: 'slo' | 'stage' }
    | { kind: 'overload'; thresholdNs: number; share: number };
  weighing?: 'none' | { kind: 'levels'; margin: number };
  late?: 'drop' | { kind: 'background'; patience: number; mostMissed: number; window: number };
  correction?:
    | 'none'
    | { kind: 'average'; weight: number }
    | { kind: 'steps'; weight: number; deviations: number };
  sharing?: 'oldest-deadline' | 'fullest' | 'round-robin';
  instant?: 'told' | 'by-place';
  stateWindowNs?: number;
  statePeriodNs?: number;
  waitSamples?: number;
  slackNs?: number;
  mostTasks?: number;
  mostTries?: number;
  scaling?: PolicyScaling;
}

/** ReservationChoices are the choices of the scheduler that reserves the whole way of a batch. */
export interface ReservationChoices {
  $schema?: string;
  kind: 'policy';
  version?: string;
  /** The scheduler that makes these choices; without it, the one that serves the plan. */
  scheduler?: 'reservation';
  tables?: 'gaps' | 'busy-until';
  lateSingles?: 'as-others' | 'shunned';
  askOthers?: boolean;
  firstSight?: 'never' | { kind: 'nearly-full'; share: number } | { kind: 'queueing'; share: number };
  review?: 'when-due' | 'every-arrival';
  correction?: 'none' | { kind: 'average'; weight: number; deviations: number };
  lastMoment?: 'in-time' | 'one-more';
  wakeStepNs?: number;
  mostTasks?: number;
  mostTries?: number;
}

/** WorkflowChoices are the choices of the schedulers of dynamic workflows. A kind without parts is written as a word. */
export interface WorkflowChoices {
  $schema?: string;
  kind: 'policy';
  version?: string;
  /** The scheduler that makes these choices; without it, the one that serves the plan. */
  scheduler?: 'dyorc' | 'greedy' | 'round-robin' | 'static' | 'ray-like';
  prediction?: 'none' | { kind: 'sampled'; most: number } | { kind: 'likeliest'; most: number };
  reserving?: 'work' | 'memory';
  dropping?: 'never' | 'expired' | { kind: 'end-to-end'; quantile: number; draws: number };
  moving?: 'never' | 'to-idle';
  evicting?: 'least-recent' | 'least-worth';
  sparing?: 'none' | { kind: 'reloads'; most: number };
  spreading?: 'never' | { kind: 'by-work'; least: number; ratio: number };
  halfLifeNs?: number;
  mostTasks?: number;
  mostTries?: number;
}

/** PolicyScaling says how many devices each pool has in use; the others are on standby. */
export interface PolicyScaling {
  /** From `atS` seconds after the beginning on, the pool has `devices` in use. */
  schedule: ScheduledScaling[];
}

/** ScheduledScaling is one change of a pool's devices. */
export interface ScheduledScaling {
  atS: number;
  /** The stage of a pipeline plan; of a pooled plan `<model>/pipeline<p>/partition<q>`, counted from 0. */
  pool: string;
  devices: number;
}

/** PolicyGiven is one `--policy`: a choice as a person wrote it, `drop.share=0.5`, or the choices of a file. */
export type PolicyGiven = string | PolicyChoices;

/** PolicyChoices holds choices that somebody wrote down together, and where. */
export interface PolicyChoices {
  /** The prefix that faults write before the place of a choice, which is a JSON pointer. */
  readonly at: string;
  /** The scheduler that the choices are made for, where the file names it. */
  readonly scheduler?: string | undefined;
  /** The choices by name: whole, or parts of them as `drop.share`. */
  readonly choices: Readonly<Record<string, unknown>>;
  readonly file?: { readonly path: string; readonly sha256: string };
}

/** PolicyFamily is a family of schedulers whose policies are put together from the same choices. */
export type PolicyFamily = 'stage-local' | 'reservation' | 'workflow';

/**
 * ChoiceParts lists the choices of a family of schedulers. Of one that is among several kinds, it lists these with the
 * parts that each takes; one that is a number or a structure of its own has none.
 */
export type ChoiceParts = ReadonlyMap<string, ReadonlyMap<string, readonly string[]>>;
