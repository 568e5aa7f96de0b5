import { type FeedbackCorrection, isListOrder, type QueueOrder } from '../state/index.js';

/**
 * PlacementRule says where a request waits, and for which devices.
 * - on-arrival: a request is given its pipeline when it comes (PipelineChoice). It waits in the queue of each
 *   of the pipeline's pools in turn, until a device falls idle.
 * - earliest-free: there is one queue per model before all its first stages together, and one before every
 *   later stage. A batch is handed ahead to the device that is free first, which may still be busy.
 * - per-device: a request is given its pipeline when it comes, and one of the stage's devices as soon as it comes to a stage
 *   (DispatchRule). Every device has a queue (PARD Fig. 4).
 */
export type PlacementRule = 'on-arrival' | 'earliest-free' | 'per-device';

/**
 * DispatchRule says which of a stage's devices that are up a task is given, where the placement is `per-device`.
 * - turns: they take turns, in the order of their numbers.
 * - least-work: it is the one that would have done all that it holds first, at the pace of planned batches.
 * - two-choices: two are drawn, and it is the one of them with less work.
 * - two-ongoing: two different ones are drawn, and it is the one that holds fewer tasks of this stage, waiting or being
 *   executed (Ray Serve's power of two choices). How long they take does not count.
 */
export type DispatchRule =
  | { kind: 'turns' }
  | { kind: 'least-work' }
  | { kind: 'two-choices' }
  | { kind: 'two-ongoing' };

/**
 * FormationRule says how large a batch is, and when a batch starts that is smaller than planned though
 * nothing else waits.
 * - gear: it takes all tasks that wait, once there are as many as the active gear asks for, or the first has waited to
 *   the gear's timeout (CascadeServe §4.5). Without gears it is as waiting.
 * - waiting: it takes all tasks that wait, whether they are in time or not, and starts at once (InferLine).
 * - delay: it takes all tasks that wait, once a planned batch waits or the first has waited for `delayNs` (Triton's
 *   `max_queue_delay_microseconds`, where the planned batch is the one preferred size).
 * - sealed: tasks are put into batches as they come to the queue of their device, whether the device is busy or not. A batch is
 *   sealed when it is as large as planned, or when `timeoutNs` have passed since its first task came, and sealed batches start in
 *   their order. So an idle device waits for the timeout too (Ray Serve's `@serve.batch`).
 * - eager: it takes as many of the waiting tasks as are all in time, and starts at once.
 * - gathered: of a plan with gears it is formed as by `gear`; of others as by `delay`, for `gatherNs`, so that tasks that were
 *   executed together and come one after the other are again (the batcher of bundles for Ray Serve).
 * - ahead: it is collected while the device executes the batch before it, task by task and up to the planned batch, and starts
 *   when that one ends (PARD §4.2).
 * - room-first: it takes all tasks that wait, up to the planned batch, and starts at once. Where more wait, it takes the most
 *   urgent of those that have room: they would end the last stage in time, by the estimate of the drop rule `end-to-end`, even
 *   if the later stages took `room` of their durations longer. Where those are too few for the batch, it takes the least urgent.
 * - last-moment: it is the largest batch in which the head is in time if the later stages execute full
 *   batches. Where fewer tasks wait, it waits for more until `stepNs` past the last moment at which a batch
 *   with one task more would be in time on a free device, and then takes those that wait. `leaves` says
 *   whether that last moment leaves time for the batch's own transfer, or for nothing but its execution and
 *   the later stages (the published simulator). In the second case a batch that waited to the end finds that
 *   only a smaller batch, or none, is in time.
 */
export type FormationRule =
  | { kind: 'gear' }
  | { kind: 'waiting' }
  | { kind: 'delay'; delayNs: number }
  | { kind: 'gathered'; gatherNs: number }
  | { kind: 'sealed'; timeoutNs: number }
  | { kind: 'eager' }
  | { kind: 'ahead' }
  | { kind: 'room-first'; room: number }
  | { kind: 'last-moment'; leaves: 'transfer' | 'nothing'; stepNs: number };

/**
 * DropRule says which head of a queue is given up.
 * - never: none is.
 * - expired: one whose deadline is past (Clipper).
 * - timed-out: none for its deadline. But every request ends when `slos` times the SLO of its model have passed since it came
 *   (`slos` − 1 after its deadline), wherever its tasks are; what is executed of it goes on (Ray Serve's `request_timeout_s`).
 * - hopeless: one that would miss its deadline even alone and without queueing (DREAM, as PARD §6 says).
 * - full-batch: a hopeless one. And while more than `share` of a planned batch wait, also one that would be
 *   late in a batch of that share. Serving it would force a small batch under overload, when all others need
 *   throughput (Nexus' early drop; PPipe's published rule at first sight has the same aim).
 * - gear: one that would miss its deadline whatever its model says of it. And while more wait than the active gear executes
 *   at once, also one that would be late in that batch; where they are so many that the last of them has no time to wait, one
 *   that would not have time for the gear's later steps, either (GearLimits). Without gears it is as hopeless.
 * - nearly-full: one that the next device cannot have in time, even alone. At first sight, also one that the
 *   device cannot have in time in at least `share` of a planned batch (the published simulator).
 * - queueing: as nearly-full, but at first sight only where such a batch would be in time on a free device.
 *   Then it is load that makes it late.
 *
 * These two spare the tasks that their queue has waited on: all of them, or only the last (the published
 * simulator, which keeps one number per queue).
 *
 * The other rules decide by what is planned of the batch that the task goes into, and by what is observed (StatePlanner):
 * - end-to-end: one that would end the last stage too late, by the longest path (PARD Eq. 3). Of the later stages it counts
 *   the queueing delays and the executions or not, and of their batch waits nothing, a quantile of their sum, or the most they
 *   can be. Where branches are learnt, it is instead the quantile of what tasks take that go along the edges that others took.
 * - stage-budget: one that takes longer in its stage than the stage's share of the SLO, until its batch starts or until it
 *   ends (Clipper++). The shares are by planned durations, or by the worst latencies of late; or by planned executions, of what
 *   the SLO leaves beside the executions of rows alone (SpareTimes: the timeouts of bundles for Triton).
 * - window: those before the first batch full of tasks that would all end the stage in time (Nexus), within the SLO or within
 *   the stage's share of it.
 * - overload: a share of all, while tasks queue at this stage or at a later one for longer than `thresholdNs` in the mean
 *   (DAGOR's overload control).
 */
export type DropRule =
  | { kind: 'never' }
  | { kind: 'expired' }
  | { kind: 'timed-out'; slos: number }
  | { kind: 'hopeless' }
  | { kind: 'gear' }
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

/**
 * WeighingRule says what the weights of requests change.
 * - none: nothing.
 * - levels: a task goes first by the order, unless a heavier one that waits would then be too late: it would not end the last
 *   stage a `margin` of its model's SLO before its deadline, if all devices of the stage executed full batches from now on. Then
 *   a heavier task goes first (WeighedQueues).
 */
export type WeighingRule = { kind: 'none' } | { kind: 'levels'; margin: number };

/**
 * LateRule says what becomes of a request that the drop rule gives up.
 * - drop: it is dropped at once.
 * - background: it is answered late rather than not at all, where that takes nothing from requests that can
 *   be in time. It stands behind all of them, for devices that would else be idle, until `patience` SLOs past
 *   its deadline. It is dropped at once where more than the share `mostMissed` of the last `window` requests
 *   of its model were not in time (a moving average), since that is overload and not chance. A strict request
 *   is dropped at once too.
 */
export type LateRule =
  | { kind: 'drop' }
  | { kind: 'background'; patience: number; mostMissed: number; window: number };

/**
 * PipelineChoice says which pipeline of its model a request is given on arrival, among those that are up and
 * can make its deadline.
 * - proportional: pipelines take turns by smooth weighted round robin, weighted by planned throughput.
 * - least-loaded: it takes the pipeline with the fewest requests in flight per planned throughput. In the
 *   long run this is proportional too, since an overloaded pipeline takes no more than it ends. Under bursts
 *   it evens out what chance has made uneven.
 */
export type PipelineChoice = { kind: 'proportional' } | { kind: 'least-loaded' };

/**
 * SharingRule says which of its pools a device serves next that is in several.
 * - oldest-deadline: it serves the pool whose first waiting task has the earliest deadline.
 * - fullest: it serves the pool with the most waiting tasks per planned batch.
 * - round-robin: it serves the pool that was served longest ago.
 */
export type SharingRule = { kind: 'oldest-deadline' } | { kind: 'fullest' } | { kind: 'round-robin' };

/**
 * ScalingRule says how many devices each pool has in use; the others are on standby.
 * - none: those that are not on standby at the beginning.
 * - schedule: from `atNs` on, the pool has `devices` in use.
 */
export type ScalingRule =
  | { kind: 'none' }
  | {
      kind: 'schedule';
      changes: readonly { readonly atNs: number; readonly pool: number; readonly devices: number }[];
    };

/**
 * InstantRule says in which order batches go on that end a step at the same instant.
 * - told: they go on in the order in which the core heard of them. Delivered tasks then enter their queue
 *   together.
 * - by-place: delivered batches go on one by one in the order of their uplinks, and each queue is served
 *   before the next batch enters. Executed batches go on in the order of their devices (the published
 *   simulator).
 */
export type InstantRule = 'told' | 'by-place';

/**
 * StageLocalPolicy holds the choices that a stage-local scheduler is put together from. Any of them can be
 * combined.
 */
export interface StageLocalPolicy {
  order: QueueOrder;
  placement: PlacementRule;
  /** `choice` is the choice of a pipeline, where the placement is `on-arrival` or `per-device`. */
  choice: PipelineChoice;
  dispatch: DispatchRule;
  formation: FormationRule;
  drop: DropRule;
  weighing: WeighingRule;
  late: LateRule;
  correction: FeedbackCorrection;
  /** `sharing` chooses among the pools of a device that is in several. */
  sharing: SharingRule;
  instant: InstantRule;
  /** `stateWindowNs` is the length of the sliding window over which stages are observed, for rules that do (StatePlanner). */
  stateWindowNs: number;
  /** The stages share what they observed at every whole multiple of `statePeriodNs`; with 0 it is known at once. */
  statePeriodNs: number;
  /** `waitSamples` is how many batch waits of each stage are kept, and drawn for a quantile of their sum. */
  waitSamples: number;
  /**
   * `slackNs` is the time that all of the above keep free before every deadline. Outcomes are judged without
   * it.
   */
  slackNs: number;
  /** `mostTasks` is how many tasks may be in flight; a request beyond them is refused. */
  mostTasks: number;
  /** `mostTries` is how many executions of a task may fail or be lost before its request ends. */
  mostTries: number;
}

/**
 * DEFAULT_POLICY is the policy of the scheduler `stage-local`, which `plan serve` runs unless told otherwise.
 */
export const DEFAULT_POLICY: StageLocalPolicy = {
  order: { kind: 'deadline' },
  placement: 'on-arrival',
  choice: { kind: 'least-loaded' },
  dispatch: { kind: 'turns' },
  formation: { kind: 'eager' },
  drop: { kind: 'full-batch', share: 1 },
  weighing: { kind: 'none' },
  late: { kind: 'background', patience: 4, mostMissed: 0.25, window: 128 },
  correction: { kind: 'average', weight: 0.1 },
  sharing: { kind: 'oldest-deadline' },
  instant: 'told',
  stateWindowNs: 5e9,
  statePeriodNs: 1e9,
  waitSamples: 10_000,
  slackNs: 0,
  mostTasks: 1 << 20,
  mostTries: 2,
};

/**
 * FIFO_POLICY serves first come, first served: a task that waits starts as soon as a device is free, and
 * nothing is given up.
 */
export const FIFO_POLICY: StageLocalPolicy = {
  ...DEFAULT_POLICY,
  order: { kind: 'fifo' },
  choice: { kind: 'proportional' },
  drop: { kind: 'never' },
  late: { kind: 'drop' },
  correction: { kind: 'none' },
};

/**
 * INFERLINE_POLICY is how InferLine serves (§4.2, §6): each stage has one queue, from which a replica that falls free
 * takes what waits, in order of arrival and up to its batch, at once. Nothing is given up. The Estimator of `inferline/`
 * computes what this policy does in its own way, as it has no time for a queue of events: test/inferline/estimator.test.ts
 * fails where one request of a random pipeline ends at another nanosecond. (`estimatorOf` says where the two may differ.)
 */
export const INFERLINE_POLICY: StageLocalPolicy = {
  ...FIFO_POLICY,
  formation: { kind: 'waiting' },
};

/**
 * GEAR_POLICY is how gear plans are served (CascadeServe §4.5, §5): each model has one queue, from which an idle device
 * that holds the model takes what waits, as soon as the active gear lets it. Nothing is given up. `gearplan` tries
 * gears by these rules in its own way, which is faster: test/gearplan/gear-run.test.ts fails where one request of a random
 * gear ends at another nanosecond.
 */
export const GEAR_POLICY: StageLocalPolicy = {
  ...FIFO_POLICY,
  order: { kind: 'deadline' },
  formation: { kind: 'gear' },
};

/**
 * REACTIVE_POLICY is the reactive scheduler that PPipe is compared with (§7.4). Every stage batches for
 * itself and knows nothing of links. A batch is as large as is in time if the later stages take what was
 * planned, and is handed ahead to the device that is free first.
 */
export const REACTIVE_POLICY: StageLocalPolicy = {
  ...DEFAULT_POLICY,
  placement: 'earliest-free',
  formation: { kind: 'last-moment', leaves: 'transfer', stepNs: 1 },
  drop: { kind: 'queueing', share: 1, spares: 'all-waited' },
  late: { kind: 'drop' },
  correction: { kind: 'steps', weight: 0.1, deviations: 2 },
};

/** Clash is a choice that cannot be combined with another, and what it needs instead. */
export interface Clash {
  readonly choice: keyof StageLocalPolicy;
  readonly said: string;
}

/** clashes finds the choices of a policy that cannot be combined. */
export function clashes({ order, placement, formation, drop, weighing }: StageLocalPolicy): Clash[] {
  const isAhead = formation.kind === 'ahead';
  const found: Clash[] = [];
  if (isAhead && placement !== 'per-device')
    found.push({ choice: 'formation', said: `ahead needs placement=per-device, and it is ${placement}` });
  if (formation.kind === 'sealed' && (placement !== 'per-device' || order.kind !== 'fifo'))
    found.push({
      choice: 'formation',
      said: `sealed needs placement=per-device and order=fifo, and they are ${placement} and ${order.kind}`,
    });
  if (!isListOrder(order) && !isAhead)
    found.push({ choice: 'order', said: `${order.kind} needs formation=ahead, and it is ${formation.kind}` });
  if (!isListOrder(order) && drop.kind === 'window')
    found.push({
      choice: 'drop',
      said: `window needs order=fifo or order=deadline, and it is ${order.kind}`,
    });
  if (formation.kind === 'room-first' && (order.kind !== 'deadline' || drop.kind !== 'end-to-end'))
    found.push({
      choice: 'formation',
      said: `room-first needs order=deadline and drop=end-to-end, and they are ${order.kind} and ${drop.kind}${drop.kind === 'never' ? '; the scheduler inferline drops nothing' : ''}`,
    });
  if (
    weighing.kind === 'levels' &&
    !(isAhead || (formation.kind === 'room-first' && placement !== 'earliest-free'))
  )
    found.push({
      choice: 'weighing',
      said: `levels needs formation=ahead, or room-first without placement=earliest-free, and they are ${formation.kind} and ${placement}`,
    });
  if (weighing.kind === 'levels' && drop.kind === 'window')
    found.push({
      choice: 'weighing',
      said: 'levels needs another drop rule than window, which looks at the order of arrival',
    });
  return found;
}
