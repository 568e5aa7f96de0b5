import { Lists, largestOf, NONE as SHARED_NONE } from '../../collections/index.js';
import type { Streams } from '../../random/index.js';
import { brokenPromise } from '../broken-promise.js';
import type { Decisions } from '../decisions.js';
import {
  Durations,
  type OpenBatches,
  PlanColumns,
  RequestLife,
  type Requests,
  type WaitingTasks,
  WeighedQueues,
  waitingTasks,
  weighedQueues,
} from '../state/index.js';
import { gearsOf, type Topology } from '../topology.js';
import { type TunedPlan, Tuning } from '../tuning/index.js';
import { Background } from './dropping/background.js';
import { type BatchHearing, type Dropping, droppingOf } from './dropping/dropping.js';
import type { RequestTimeouts } from './dropping/request-timeouts.js';
import { type Formation, formationOf } from './forming/formation.js';
import { PlannedBatches } from './forming/planned-batches.js';
import { Escalation } from './onward/escalation.js';
import type { Onward, OnwardHooks } from './onward/onward.js';
import { Passing } from './onward/passing.js';
import type { Readings } from './pard-state/readings.js';
import { stateNeeds } from './pard-state/state-needs.js';
import { StatePlanner } from './pard-state/state-planner.js';
import { RequestBroker } from './placing/broker.js';
import { EarliestFree } from './placing/earliest-free.js';
import { OnArrival } from './placing/on-arrival.js';
import { ParallelStages } from './placing/parallel-stages.js';
import { PerDevice, perDeviceQueues } from './placing/per-device.js';
import { QueuePace } from './placing/queue-pace.js';
import { Sharing } from './placing/sharing.js';
import type { TaskPlacement } from './placing/task-placement.js';
import { DEFAULT_POLICY, type PlacementRule, type ScalingRule, type StageLocalPolicy } from './policy.js';
import { Gears } from './scaling/gears.js';
import { Scaler } from './scaling/scaler.js';
import type { SharedState } from './shared-state.js';

const NONE = SHARED_NONE;

const NO_SCALING: ScalingRule = { kind: 'none' };

/** CORRECTS says whether the times at which devices are free follow what happened. */
const CORRECTS: { readonly [K in StageLocalPolicy['correction']['kind']]: boolean } = {
  none: false,
  average: true,
  steps: true,
};

function queueCount(placement: PlacementRule, topology: Topology): number {
  const { models, pools } = topology;
  switch (placement) {
    case 'on-arrival':
      return pools.length;
    case 'earliest-free':
      return models.length + pools.length;
    case 'per-device':
      return perDeviceQueues(topology);
  }
}

function placementOf(
  { placement, choice, dispatch, correction }: StageLocalPolicy,
  state: SharedState,
  dropping: Dropping,
): TaskPlacement {
  switch (placement) {
    case 'on-arrival':
      return new OnArrival(state, choice, dropping);
    case 'earliest-free':
      return new EarliestFree(state, CORRECTS[correction.kind]);
    case 'per-device':
      return new PerDevice(state, { choice, dispatch });
  }
}

function hasSharedDevices({ devices }: Topology): boolean {
  return devices.some(({ otherPools }) => otherPools !== undefined);
}

/** StageLocalOptions holds the choices that differ from DEFAULT_POLICY, and by what devices come and go. */
export interface StageLocalOptions extends Partial<StageLocalPolicy> {
  scaling?: ScalingRule;
  tuning?: TunedPlan;
  /** The streams of rules that draw random numbers; absent, none may. */
  streams?: Streams;
  /** The readings that replace those of docs/pard.md where the paper of PARD leaves a choice open. */
  readings?: Readings;
}

const noStreams: Streams = (purpose) => {
  throw brokenPromise(`random numbers are to be drawn for ${purpose}, and no streams were handed in`);
};

/** PartsInput is what the parts are made of: a topology, the driver's buffer, and the choices that differ from DEFAULT_POLICY. */
export interface PartsInput {
  readonly topology: Topology;
  readonly decisions: Decisions;
  readonly options: StageLocalOptions;
}

/** PartsHooks is what the parts ask of the scheduler that they make up. */
export interface PartsHooks {
  /** leave takes a task out of the queue that it waits in. */
  leave(queue: number, task: number): void;
  /** requeue queues a task again whose batch was lost. */
  requeue(at: number, task: number): void;
  /** judged reports that a request was served to its end, in time or not, or was turned away. */
  judged(request: number, inTime: boolean): void;
  /** comesTo puts a task into the queue of a stage. */
  comesTo(at: number, task: number, stage: number): void;
  /** giveUp takes a task that waits out of its queue, since it cannot be in time. */
  giveUp(queue: number, task: number): void;
  /** relax gives a pool another chance whose device is idle, where its expected times keep it from work. */
  relax(at: number, pool: number, head: number, device: number): void;
  /** startCollected hands what is collected of a queue to its device, which is idle. */
  startCollected(at: number, queue: number, device: number): void;
  /** retire puts a device on standby. */
  retire(at: number, device: number): void;
}

/** StageLocalParts makes the parts that the choices of one stage-local scheduler ask for, and holds them. */
export class StageLocalParts {
  readonly topology: Topology;
  readonly decisions: Decisions;
  readonly life: RequestLife;
  readonly requests: Requests;
  readonly batches: OpenBatches;
  readonly policy: StageLocalPolicy;
  readonly columns: PlanColumns;
  readonly durations: Durations;
  readonly queues: WaitingTasks;
  /** `weighed` is the same queues where they weigh their tasks, and `pace` how fast they are served. */
  readonly weighed: WeighedQueues | undefined;
  readonly pace: QueuePace;
  /** `collected` holds the tasks that are collected for the next batch of each device, where batches are formed ahead. */
  readonly collected: Lists;
  /** `formation` is absent where batches are formed ahead, by the broker; else the broker is. */
  readonly formation: Formation | undefined;
  readonly broker: RequestBroker | undefined;
  /** `planner` is what is observed of the stages; it is absent where no rule decides by it. */
  readonly planner: StatePlanner | undefined;
  readonly dropping: Dropping;
  /** `hearing` is what the drop rule hears of batches; it is absent where the rule does not listen. */
  readonly hearing: BatchHearing | undefined;
  /** `timeouts` end requests wherever their tasks are; they are absent where the drop rule has none. */
  readonly timeouts: RequestTimeouts | undefined;
  readonly placement: TaskPlacement;
  readonly background: Background;
  /** `passing` moves the tasks of routes that are DAGs, or cascades. */
  readonly passing: Onward;
  /** `gears` chooses by which cascade a request is served; it is absent where the plan has no gears. */
  readonly gears: Gears | undefined;
  /** `sharing` orders the queues whose devices serve several pools; it is absent where no device does. */
  readonly sharing: Sharing | undefined;
  readonly scaler: Scaler;
  /** `tuning` says how many devices the scaler is to have in use; it is absent where the plan has no tuner. */
  readonly tuning: Tuning | undefined;

  constructor({ topology, decisions, options }: PartsInput, hooks: PartsHooks) {
    const { scaling = NO_SCALING, tuning, streams = noStreams, readings = {}, ...policy } = options;
    this.topology = topology;
    this.decisions = decisions;
    const chosen = { ...DEFAULT_POLICY, ...policy };
    const life = new RequestLife(
      { topology, decisions, limits: chosen },
      {
        leaveQueue: (task) => hooks.leave(this.placement.queueOf(task), task),
        requeue: (at, task) => hooks.requeue(at, task),
        ended: (task) => {
          this.placement.ended(task);
          this.timeouts?.ended(this.requests.requestOf(task));
        },
        judged: (request, inTime) => hooks.judged(request, inTime),
      },
    );
    const { requests, batches } = life;
    this.life = life;
    this.requests = requests;
    this.batches = batches;
    this.pace = new QueuePace(chosen.weighing, this);
    const queues = this.queuesOf(chosen);
    const durations = new Durations(topology, chosen.correction);
    const columns = new PlanColumns(topology);
    this.policy = chosen;
    this.columns = columns;
    this.durations = durations;
    this.queues = queues;
    this.weighed = queues instanceof WeighedQueues ? queues : undefined;
    this.collected = new Lists(queues.count);
    const gears = this.gearsOver(topology);
    this.gears = gears;
    this.planner = this.plannerOver({ requests, readings, streams });
    const state: SharedState = {
      topology,
      columns,
      requests,
      batches,
      queues,
      collected: this.collected,
      durations,
      planned: new PlannedBatches(columns, durations),
      planner: this.planner,
      gears,
      readings,
      streams,
    };
    this.formation = formationOf(chosen.formation, state);
    this.dropping = droppingOf(chosen.drop, state);
    this.hearing = this.dropping.hearing;
    this.timeouts = this.dropping.timeouts;
    this.placement = placementOf(chosen, state, this.dropping);
    this.sharing = hasSharedDevices(topology) ? new Sharing(chosen.sharing, state) : undefined;
    this.broker = this.brokerOver(state, hooks);
    this.background = new Background(chosen.late, state);
    this.passing = this.onward(hooks);
    this.scaler = this.scalerOver(scaling, tuning, hooks);
    this.tuning = tuning && new Tuning(tuning, topology, this.scaler);
  }

  private queuesOf({ placement, order, slackNs, weighing }: StageLocalPolicy): WaitingTasks {
    const { topology, requests, pace } = this;
    const count = queueCount(placement, topology);
    const options = {
      order,
      slackNs,
      isOverloaded: (queue: number) => this.planner?.isOverloaded(this.placement.placeOf(queue)) ?? false,
    };
    switch (weighing.kind) {
      case 'none':
        return waitingTasks(count, requests, options);
      case 'levels':
        return weighedQueues(count, requests, {
          ...options,
          paceOf: (queue, into) => pace.of(queue, into),
          longestSloNs: largestOf(topology.models.map(({ sloNs }) => sloNs)),
        });
    }
  }

  private gearsOver({ routes, pools }: Topology): Gears | undefined {
    const table = gearsOf(routes);
    return table && new Gears(table, pools.length, (pool) => this.placement.waitingBefore(pool));
  }

  private plannerOver({
    requests,
    readings,
    streams,
  }: Pick<SharedState, 'requests' | 'readings' | 'streams'>): StatePlanner | undefined {
    const observed = stateNeeds(this.policy);
    const needs = observed && { ...observed, readings };
    const { topology, columns, durations } = this;
    const stream = () => streams('pard/waits');
    const devicesUp = (pool: number) => this.placement.devicesUp(pool);
    return needs && new StatePlanner({ topology, columns, requests, durations, stream, devicesUp }, needs);
  }

  private scalerOver(scaling: ScalingRule, tuning: TunedPlan | undefined, hooks: PartsHooks): Scaler {
    const { topology, decisions } = this;
    return new Scaler(
      scaling,
      { topology, decisions, ...(tuning && { gpus: tuning.gpus }) },
      {
        retire: (at, device) => hooks.retire(at, device),
        isRunning: (device) => this.placement.running(device) !== NONE,
      },
    );
  }

  private brokerOver(state: SharedState, hooks: PartsHooks): RequestBroker | undefined {
    if (this.formation !== undefined) return undefined;
    const { placement, dropping, decisions, requests, queues } = this;
    if (!(placement instanceof PerDevice))
      throw brokenPromise('batches are to be formed ahead on devices that have no queues of their own');
    const { graph, flows } = this.life;
    const queueOf = (task: number) => placement.queueOf(task);
    const parallel = new ParallelStages(this.topology.pools.length, {
      graph,
      flows,
      requests,
      queues,
      queueOf,
    });
    return new RequestBroker(
      state,
      { placement, dropping, decisions, parallel, isShared: this.sharing !== undefined },
      {
        giveUp: (queue, task) => hooks.giveUp(queue, task),
        relax: (at, pool, head, device) => hooks.relax(at, pool, head, device),
        start: (at, queue, device) => hooks.startCollected(at, queue, device),
      },
    );
  }

  private onward(hooks: PartsHooks): Onward {
    const { topology, decisions, gears, life } = this;
    const onwardHooks: OnwardHooks = {
      comesTo: (at, task, stage) => hooks.comesTo(at, task, stage),
      branched: (task) => this.placement.branched(task),
      watchesEdges: (stage) => this.planner?.watchesEdges(stage) ?? false,
      took: (stage, edges) => this.planner?.took(stage, edges),
    };
    if (gears !== undefined) return new Escalation({ topology, gears, life, decisions }, onwardHooks);
    return new Passing(life, decisions, onwardHooks);
  }
}
