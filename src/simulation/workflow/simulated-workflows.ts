import { itemAt, largestOf } from '../../collections/index.js';
import { type WorkflowFigures, WorkflowMetrics } from '../../metrics/index.js';
import {
  type CountedWorkflow,
  frequencyRowsOf,
  type PlacedWorkflows,
  type Subcluster,
  subclustersOf,
  workflowTopologyOf,
} from '../../plans/index.js';
import { streamsOf } from '../../random/index.js';
import {
  Decisions,
  DROP_REASONS,
  type FrequencyRow,
  type GuessCounts,
  type Topology,
  type WorkflowPolicy,
  type WorkflowScheduler,
  workflowCore,
} from '../../serving/index.js';
import {
  type RecordedRun,
  type SimulationObserver,
  WorkflowDriver,
  type WorkflowSummary,
} from '../../simulator/index.js';
import type { Arrivals } from '../../workload/index.js';
import { dealtArrivals, type GroupArrivals } from './dealt-arrivals.js';
import { ForeseenRuns } from './foreseen-runs.js';

/** CountedWorkflows is a plan of workflows as it is simulated: where its components are, and what followed what in its runs. */
export interface CountedWorkflows extends PlacedWorkflows {
  readonly workflows: readonly (PlacedWorkflows['workflows'][number] & CountedWorkflow)[];
}

/** WorkflowLoad is what comes, and who serves it. */
export interface WorkflowLoad {
  readonly scheduler: WorkflowScheduler;
  /** The requests by their times; their models are the workflows of the plan. */
  readonly arrivals: Arrivals;
  /** runOf gives what the program of a request does. `order` is the number of requests that came before it. */
  readonly runOf: (order: number, workflow: number) => RecordedRun;
  /** The seed of what the scheduler draws. */
  readonly seed: number;
  /** The choices that differ from the scheduler's own policy. */
  readonly policy?: Partial<WorkflowPolicy>;
  /**
   * isForeseen says whether the scheduler knows what programs will do: this bounds the worth of predictions.
   */
  readonly isForeseen?: boolean;
  /** For how long requests have arrived, once the run is over: rates are over that; over the whole run where absent. */
  readonly spanNs?: () => number;
  /** Keeps every latency, for exact quantiles; true where absent. */
  readonly exact?: boolean;
  /** Further observers of each group of devices: devices and pools have their numbers in it. */
  readonly observers?: (group: Subcluster) => readonly SimulationObserver[];
}

/** WorkflowRun is what became of the requests, and what it took. */
export interface WorkflowRun {
  readonly figures: WorkflowFigures;
  /** How many calls the requests made. */
  readonly tasks: number;
  readonly fetches: number;
  /** Until when devices are counted: when the last thing happened, or requests arrived no more, whichever was later. */
  readonly endNs: number;
  /**
   * The calls, ends included, of which something was expected, and those that were as expected; absent where the
   * scheduler expects nothing.
   */
  readonly guesses?: GuessCounts;
  /** The partial schedules that were looked at to find devices for tasks; absent where the scheduler looks at none. */
  readonly schedules?: number;
}

/**
 * simulatedWorkflows serves a load by a plan of workflows, in virtual time and in this thread. Each group of devices
 * has a core of its own, and the front deals it its requests (`dealtArrivals`). The same inputs and seed give the same
 * figures. A core keeps of the requests that are open only, and of what followed what.
 * @throws what `subclustersOf` throws, and InputError where more than two million requests wait at once
 */
export function simulatedWorkflows(plan: CountedWorkflows, load: WorkflowLoad): WorkflowRun {
  const { scheduler, arrivals, runOf, exact = true } = load;
  const groups = subclustersOf(plan, scheduler === 'static' ? 'static' : 'moving');
  const whole = workflowTopologyOf(plan);
  const metrics = new WorkflowMetrics(shapeOf(whole, exact));
  const frequencies = frequencyRowsOf(
    plan.workflows,
    plan.components.map(({ name }) => name),
  );
  const dealt = dealtArrivals(
    arrivals,
    groups.map(({ devices }) => devices.length),
  );
  let tasks = 0;
  const counted = (order: number, workflow: number): RecordedRun => {
    const run = runOf(order, workflow);
    tasks += run.calls.length;
    return run;
  };
  const driven = groups.map((group, g) =>
    drivenGroup(group, {
      load,
      frequencies,
      arrivals: itemAt(dealt, g),
      runOf: counted,
      number: g,
      observers: [inWhole(metrics, group, whole), ...(load.observers?.(group) ?? [])],
    }),
  );
  const summaries = summariesOf(driven.map(({ driver }) => driver));
  const lastNs = largestOf(summaries.map((summary) => summary.endNs));
  const spanNs = Math.max(1, load.spanNs?.() ?? lastNs);
  const endNs = Math.max(lastNs, load.spanNs === undefined ? 0 : spanNs);
  return {
    figures: metrics.figures(spanNs, endNs),
    tasks,
    endNs,
    fetches: summaries.reduce((sum, { fetches }) => sum + fetches, 0),
    ...searched(driven.map(({ core }) => core)),
  };
}

/** Searching holds a core's counts of how it finds devices, where it expects calls or looks at schedules. */
interface Searching {
  readonly guesses?: GuessCounts;
  readonly schedulesLookedAt?: number;
}

/**
 * searched adds up the counts of cores of how they found devices; it leaves out counts that none of them has.
 */
function searched(cores: readonly object[]): Pick<WorkflowRun, 'guesses' | 'schedules'> {
  const sum = (of: (core: Searching) => number | undefined) =>
    cores.reduce((all, core) => all + (of(core) ?? 0), 0);
  const guesses: GuessCounts = {
    made: sum((core) => core.guesses?.made),
    right: sum((core) => core.guesses?.right),
    rightComponents: sum((core) => core.guesses?.rightComponents),
  };
  const schedules = sum(({ schedulesLookedAt }) => schedulesLookedAt);
  return {
    ...(guesses.made === 0 ? {} : { guesses }),
    ...(schedules === 0 ? {} : { schedules }),
  };
}

/** GroupLoad is what one group of devices serves. */
interface GroupLoad {
  readonly load: WorkflowLoad;
  readonly frequencies: readonly FrequencyRow[];
  readonly arrivals: GroupArrivals;
  readonly runOf: WorkflowLoad['runOf'];
  readonly observers: readonly SimulationObserver[];
  readonly number: number;
}

function drivenGroup({ topology, table }: Subcluster, group: GroupLoad) {
  const { load, frequencies, arrivals, runOf, observers, number } = group;
  const { scheduler, policy, seed, isForeseen = false } = load;
  const decisions = new Decisions();
  const foreseen = new ForeseenRuns();
  const core = workflowCore(scheduler, topology, {
    decisions,
    table,
    frequencies,
    streams: streamsOf(seed, `core/${number}`),
    ...(policy === undefined ? {} : { policy }),
    ...(isForeseen ? { foresight: foreseen.foresight } : {}),
  });
  const driver = new WorkflowDriver({
    topology,
    table,
    decisions,
    core,
    arrivals,
    observers: isForeseen ? [foreseen.observer, ...observers] : observers,
    // A group's order is not that of all requests.
    runOf: (_, workflow) => foreseen.next(runOf(arrivals.order, workflow)),
  });
  return { core, driver };
}

/** summariesOf takes the steps of several drivers side by side, so that requests are dealt as time goes on. */
function summariesOf(drivers: readonly WorkflowDriver[]): WorkflowSummary[] {
  for (const driver of drivers) driver.open();
  for (;;) {
    let [next] = drivers as [WorkflowDriver];
    for (const driver of drivers) if (driver.nextAt < next.nextAt) next = driver;
    if (next.nextAt === Number.POSITIVE_INFINITY) return drivers.map((driver) => driver.summary());
    next.step();
  }
}

function shapeOf({ models, pools, devices }: Topology, exact: boolean) {
  const classes = classesOfDevices(devices);
  return {
    models: models.length,
    poolBatch: pools.map(({ batch }) => batch),
    deviceClass: devices.map(({ deviceClass }) => classes.indexOf(deviceClass)),
    classes: classes.length,
    dropReasons: DROP_REASONS.length,
    exact,
  };
}

/** classesOfDevices lists the classes of devices, in the order in which they come first. */
export function classesOfDevices(devices: Topology['devices']): string[] {
  return [...new Set(devices.map(({ deviceClass }) => deviceClass))];
}

/** inWhole tells metrics of the whole plan what happens in a group, whose devices and pools have other numbers there. */
function inWhole(
  metrics: WorkflowMetrics,
  { topology, devices }: Subcluster,
  whole: Topology,
): SimulationObserver {
  const pools = topology.pools.map(({ owner, deviceClass }) =>
    whole.pools.findIndex((pool) => pool.owner === owner && pool.deviceClass === deviceClass),
  );
  const poolOf = (pool: number) => (pool < 0 ? pool : itemAt(pools, pool));
  const deviceOf = (device: number) => itemAt(devices, device);
  return {
    arrived: (atNs, model) => metrics.arrived(atNs, model),
    ended: (atNs, model, request, arrivedNs, outcome, reason, pool) =>
      metrics.ended(atNs, model, request, arrivedNs, outcome, reason, poolOf(pool)),
    started: (batch, pool, device, rows, handedNs, startNs) =>
      metrics.started(batch, poolOf(pool), deviceOf(device), rows, handedNs, startNs),
    executed: (batch, pool, device, rows, handedNs, startNs, endNs) =>
      metrics.executed(batch, poolOf(pool), deviceOf(device), rows, handedNs, startNs, endNs),
    loadBegun: (atNs, device, pool) => metrics.loadBegun(atNs, deviceOf(device), poolOf(pool)),
    loaded: (atNs, device) => metrics.loaded(atNs, deviceOf(device)),
    evicted: (atNs, device, pool) => metrics.evicted(atNs, deviceOf(device), poolOf(pool)),
  };
}
