import { StreamedFile } from '../artifacts/index.js';
import {
  type CascadeFigures,
  CascadeFold,
  LevelFold,
  type LevelsFigures,
  type RunFigures,
  RunMetrics,
  type RunScaling,
  type RunShape,
  type WorstFigures,
  WorstWindowFold,
} from '../metrics/index.js';
import {
  applicationsOf,
  type PlanWorld,
  planOf,
  planTopologyOf,
  type StagePlan,
  type TopologyOptions,
} from '../plans/index.js';
import { streamOf, streamsOf, uniformAt } from '../random/index.js';
import type { FamilyRecords } from '../records/index.js';
import {
  type ChosenScheduler,
  DROP_REASONS,
  gearsOf,
  makeCore,
  poolsServedBy,
  type StageTopology,
  topologyRulesOf,
} from '../serving/index.js';
import {
  type SimulationObserver,
  type SimulatorOptions,
  simulate,
  simulatedEngine,
  type WeightOf,
} from '../simulator/index.js';
import { type Arrivals, arrivalsAhead, drawnLevels } from '../workload/index.js';
import { type Execution, executionOf } from './execution.js';
import { certaintiesOf } from './family-records.js';
import type { SimulatedPriority } from './priority-mix.js';
import { TimelineWriter, type WrittenTimeline } from './timeline.js';
import { recordedFates, type VerdictRecords } from './verdict-records.js';
import { type SimulationHooks, WatchedArrivals } from './watched-arrivals.js';
import { arrivalsOf, atLoadFactor, type Workload, warmUpNs } from './workload.js';

/** SimulationSetup is what all runs of a simulation share. It is plain data. */
export interface SimulationSetup {
  readonly plan: StagePlan;
  /** transfers says whether transfers take the time that the cluster's links give them, or none. */
  readonly transfers: NonNullable<TopologyOptions['transfers']>;
  readonly scheduler: ChosenScheduler;
  readonly execution: Execution;
  readonly workload: Workload;
  readonly seed: number;
  readonly exact: boolean;
  /**
   * The verdicts that were recorded of requests to a pipeline, in place of verdicts drawn by the plan's
   * probabilities.
   */
  readonly verdicts?: VerdictRecords;
  /** The answers of a gear plan's models to the samples that requests are. */
  readonly family?: FamilyRecords;
  /** The priorities of requests. Absent, all are of one level and weigh 1. */
  readonly priorities?: readonly SimulatedPriority[];
}

/** SimulationJob describes one run. */
export interface SimulationJob {
  /** The scheduler of this run, which replaces that of the setup. */
  readonly scheduler?: ChosenScheduler;
  /** The seed of this run, which replaces that of the setup. */
  readonly seed?: number;
  /** The load factor of every model, which replaces the load of the setup. */
  readonly loadFactor?: number;
  readonly windowNs?: number;
  /** Adds the worst windows of these lengths in whole seconds. */
  readonly worstOverS?: readonly number[];
  /** Where the run's timeline is written. */
  readonly timeline?: { readonly path: string; readonly mostBytes?: number };
}

/** SimulationRun is the result of a run. */
export interface SimulationRun {
  readonly figures: RunFigures;
  /** False when the run was interrupted. */
  readonly complete: boolean;
  /** The GPU seconds for which the devices of each class were in use (plannedClasses); of pipelines only. */
  readonly usedGpuS?: readonly number[];
  /**
   * The time from the beginning to the end of the load and of the last request, over which devices were in use; of
   * pipelines only.
   */
  readonly usedForS?: number;
  readonly timeline?: WrittenTimeline;
  /** How the requests of a gear plan were answered. */
  readonly cascade?: CascadeFigures;
  readonly worst?: readonly WorstFigures[];
  /** The outcomes of the requests of each priority, in the order of the setup. */
  readonly levels?: LevelsFigures;
}

/** simulatedTopology makes the topology that a setup's scheduler decides over. */
export function simulatedTopology({
  plan,
  transfers,
  scheduler,
}: Pick<SimulationSetup, 'plan' | 'transfers' | 'scheduler'>): StageTopology {
  return planTopologyOf(plan, { transfers, rules: topologyRulesOf(scheduler) });
}

/** plannedClasses lists the device classes of a topology, in the order of the plan. */
export function plannedClasses(plan: StagePlan, topology: StageTopology): string[] {
  const used = new Set(topology.devices.map(({ deviceClass }) => deviceClass));
  return [...new Set([...Object.keys(plan.classes), ...used])].filter((name) => used.has(name));
}

/**
 * runSimulation runs a plan once in this thread, which it blocks, and writes the timeline where the job names one. The
 * same setup and job give the same figures and the same bytes. After `interrupted`, no more requests arrive, those that
 * have are served to their end, and the figures are those of the time until then.
 * @throws InputError or the disk's own error where the timeline cannot be written
 */
export async function runSimulation(
  shared: SimulationSetup,
  job: SimulationJob,
  hooks: SimulationHooks = {},
): Promise<SimulationRun> {
  const { scheduler = shared.scheduler, seed = shared.seed, loadFactor, windowNs, timeline } = job;
  const setup = { ...shared, scheduler, seed };
  const { plan, execution, workload, exact } = setup;
  const topology = simulatedTopology(setup);
  const world = planOf(plan).world(plan);
  const applications = applicationsOf(plan);
  const load = loadFactor === undefined ? workload : atLoadFactor(workload, applications, loadFactor);
  const shape = shapeOf(topology, plannedClasses(plan, topology), { durationNs: load.durationNs, scheduler });
  const warmedNs = warmUpNs(load);
  const metrics = new RunMetrics(shape, {
    exact,
    warmUpNs: warmedNs,
    ...(windowNs === undefined ? {} : { windowNs }),
  });
  const arrivals = new WatchedArrivals(arrivalsAhead(arrivalsOf(load, applications, seed)), hooks, {
    durationNs: warmedNs + load.durationNs,
    onStop: (atNs) => metrics.endAt(atNs),
  });
  const executed = executionOf(execution, topology, seed);
  const served = foreseeing(scheduler, () => arrivalsOf(load, applications, seed));
  const { levels, weight } = weighedRequests(setup, warmedNs);
  let usedNs: Float64Array = new Float64Array(0);
  let endNs = 0;
  const run = (observers: SimulationObserver[]) => {
    ({ usedNs, endNs } = simulate({
      topology,
      arrivals,
      observers,
      makeCore: (decisions) => makeCore(served, topology, { decisions, streams: streamsOf(seed, 'core') }),
      ...(executed === undefined ? {} : { execution: executed }),
      ...worldOptions(world, setup, () => (arrivals.stopped ? 0 : warmedNs + load.durationNs)),
      ...(weight === undefined ? {} : { weight }),
    }));
  };
  const times = { durationNs: load.durationNs, warmUpNs: warmedNs, windowNs };
  const cascade = cascadeFold(setup, topology, times);
  const worst = job.worstOverS && new WorstWindowFold({ ...times, seconds: job.worstOverS });
  const written = await withTimeline(timeline, topology, (writer) =>
    run([metrics, cascade, worst, levels, writer].filter((observer) => observer !== undefined)),
  );
  const complete = !arrivals.stopped;
  const spanNs = complete ? load.durationNs : Math.max(1, arrivals.atNs - warmedNs);
  return {
    figures: metrics.figures(spanNs),
    complete,
    ...(world.activationDelayNs === undefined
      ? {}
      : { usedGpuS: usedGpuSeconds(plan, topology, usedNs), usedForS: endNs / 1e9 }),
    ...(cascade === undefined ? {} : { cascade: cascade.figures(spanNs) }),
    ...(worst === undefined ? {} : { worst: worst.figures() }),
    ...(levels === undefined ? {} : { levels: levels.figures(spanNs) }),
    ...(written === undefined ? {} : { timeline: written }),
  };
}

/** Without priorities, all requests are of the default level. */
const ONE_LEVEL: readonly SimulatedPriority[] = [{ priority: 0, share: 1, weight: 1 }];

/**
 * weighedRequests makes the weights of requests, by their priority times by their application, and what counts their outcomes.
 * It gives nothing where neither says anything.
 */
export function weighedRequests(
  { plan, priorities, seed }: Pick<SimulationSetup, 'plan' | 'priorities' | 'seed'>,
  warmUpNs: number,
): { readonly levels?: LevelFold; readonly weight?: WeightOf } {
  const applications = applicationsOf(plan);
  const areWeighed = applications.some(({ dropWeight }) => dropWeight !== undefined);
  if (priorities === undefined && !areWeighed) return {};
  const mix = priorities ?? ONE_LEVEL;
  const weights = mix.map(({ weight }) => weight);
  const modelWeights = applications.map(({ dropWeight = 1 }) => dropWeight);
  const levelOf = drawnLevels(mix, (purpose) => uniformAt(seed, purpose));
  return {
    levels: new LevelFold({ weights, levelOf, warmUpNs, ...(areWeighed ? { modelWeights } : {}) }),
    weight: (order, model) => (modelWeights[model] as number) * (weights[levelOf(order)] as number),
  };
}

/** cascadeFold makes the fold over the answers of a gear plan. Other plans have none. */
function cascadeFold(
  { family }: SimulationSetup,
  { routes, pools }: StageTopology,
  { durationNs, windowNs }: { readonly durationNs: number; readonly windowNs: number | undefined },
): CascadeFold | undefined {
  const gears = gearsOf(routes);
  if (family === undefined || gears === undefined) return undefined;
  const { correct, samples } = family;
  return new CascadeFold({
    stages: pools.length,
    gears: gears.gears.length,
    durationNs,
    ...(windowNs === undefined ? {} : { windowNs }),
    isRight: (order, stage) => (correct[stage] as Uint8Array)[order % samples] === 1,
  });
}

/** The oracle looks ahead by the second. */
const AHEAD_NS = 1e9;

/** foreseeing tells the oracle among the tuners what comes. Other tuners are left as they are. */
function foreseeing(scheduler: ChosenScheduler, arrivals: () => Arrivals): ChosenScheduler {
  const { tuner } = scheduler;
  if (tuner?.settings.kind !== 'oracle') return scheduler;
  const requests: number[] = [];
  const coming = arrivals();
  while (coming.next()) {
    const second = Math.floor(coming.atNs / AHEAD_NS);
    while (requests.length <= second) requests.push(0);
    requests[second]! += 1;
  }
  return { ...scheduler, tuner: { ...tuner, ahead: { windowS: AHEAD_NS / 1e9, requests } } };
}

/**
 * worldOptions says what the engine takes, what models say of requests, how long a device takes to come up,
 * and until when devices are paid for that may come up. Recorded verdicts take precedence over those drawn by
 * the plan.
 */
function worldOptions(
  { fates, activationDelayNs }: PlanWorld,
  { scheduler, verdicts, family, seed }: Pick<SimulationSetup, 'scheduler' | 'verdicts' | 'family' | 'seed'>,
  servedUntilNs: () => number,
): Pick<SimulatorOptions, 'engine' | 'verdict' | 'activationDelayNs' | 'servedUntilNs'> {
  const drawn = fates?.((purpose) => uniformAt(seed, purpose));
  const recorded = verdicts === undefined ? drawn : recordedFates(verdicts);
  const verdict = family === undefined ? recorded : certaintiesOf(family);
  return {
    engine: simulatedEngine(scheduler, streamOf(seed, 'engine')),
    ...(verdict === undefined ? {} : { verdict }),
    ...(activationDelayNs === undefined ? {} : { activationDelayNs, servedUntilNs }),
  };
}

function usedGpuSeconds(plan: StagePlan, topology: StageTopology, usedNs: Float64Array): number[] {
  return plannedClasses(plan, topology).map((name) =>
    topology.devices.reduce(
      (sum, { deviceClass, virtual }, device) =>
        deviceClass === name ? sum + (usedNs[device] as number) / virtual / 1e9 : sum,
      0,
    ),
  );
}

async function withTimeline(
  timeline: SimulationJob['timeline'],
  topology: StageTopology,
  run: (writer: TimelineWriter | undefined) => void,
): Promise<WrittenTimeline | undefined> {
  if (timeline === undefined) {
    run(undefined);
    return undefined;
  }
  const file = await StreamedFile.open(timeline.path);
  try {
    const writer = new TimelineWriter(file, topology, timeline.mostBytes);
    run(writer);
    return writer.finish();
  } catch (error) {
    file.discard();
    throw error;
  }
}

function shapeOf(
  { models, pools, devices, links }: StageTopology,
  classes: readonly string[],
  {
    durationNs,
    scheduler: { tuner, policy },
  }: { readonly durationNs: number; readonly scheduler: ChosenScheduler },
): RunShape {
  const isScaled = tuner !== undefined || policy.scaling !== undefined || devices.some(isStandby);
  return {
    models: models.length,
    poolBatch: Int32Array.from(pools, ({ batch }) => batch),
    poolDevices: Int32Array.from(
      pools,
      (pool) =>
        pool.devices.filter((device) => !isStandby(devices[device] as StageTopology['devices'][number]))
          .length,
    ),
    deviceClass: Int32Array.from(devices, ({ deviceClass }) => classes.indexOf(deviceClass)),
    deviceShare: Float64Array.from(devices, ({ virtual }) => 1 / virtual),
    classes: classes.length,
    uplinkOf: links.uplinkOf,
    downlinkOf: links.downlinkOf,
    uplinks: links.uplinkCount,
    downlinks: links.downlinkCount,
    dropReasons: DROP_REASONS.length,
    durationNs,
    ...(isScaled ? { scaling: scalingOf(devices) } : {}),
  };
}

function isStandby({ standby }: StageTopology['devices'][number]): boolean {
  return standby === true;
}

function scalingOf(devices: StageTopology['devices']): RunScaling {
  return {
    inUse: Uint8Array.from(devices, (device) => (isStandby(device) ? 0 : 1)),
    poolsOf: devices.map(poolsServedBy),
  };
}
