import { emittedHead } from '../artifacts/index.js';
import { itemAt } from '../collections/index.js';
import type {
  InputFile,
  SimulatedCascade,
  SimulatedClass,
  SimulatedCost,
  SimulatedDrop,
  SimulatedPool,
  SimulatedPriorities,
  SimulatedScheduler,
  SimulatedVerdicts,
  SimulationReport,
} from '../formats/index.js';
import { stageFields, stageName } from '../formats/index.js';
import { type DropCount, HISTOGRAM_RELATIVE_ERROR, type RunFigures } from '../metrics/index.js';
import { applicationsOf, planOf } from '../plans/index.js';
import { type ChosenScheduler, DROP_REASONS, ownerOf, type Topology } from '../serving/index.js';
import { describedEngine, describedExecution } from './execution.js';
import { plannedClasses, type SimulationRun, type SimulationSetup, simulatedTopology } from './run.js';
import { overRuns } from './runs.js';
import { describedWorkload } from './workload.js';

/**
 * simulationReport makes the report of a run, as it is written and printed, with figures over all runs where there are
 * more.
 * @param run the run of the setup's own seed
 * @param windowS the length of the windows in seconds, as the run had them; undefined where it had none
 * @param more the runs of the seeds that follow
 */
export function simulationReport(
  setup: SimulationSetup,
  run: SimulationRun,
  {
    windowS,
    inputs,
    more = [],
  }: {
    readonly windowS: number | undefined;
    readonly inputs: InputFile[];
    readonly more?: readonly SimulationRun[];
  },
): SimulationReport {
  const { figures } = run;
  const names = applicationsOf(setup.plan).map(({ name }) => name);
  const runs = overRuns([run, ...more], names);
  const complete = [run, ...more].every((one) => one.complete);
  const { plan, scheduler, execution, workload, seed, exact } = setup;
  const topology = simulatedTopology(setup);
  const classes = plannedClasses(plan, topology);
  return {
    ...emittedHead('simulation-report', inputs),
    seed,
    complete,
    workload: describedWorkload(workload, applicationsOf(plan)),
    scheduler: describedScheduler(scheduler),
    transfers: setup.transfers,
    execution: describedExecution(execution),
    ...describedEngine([scheduler]),
    ...describedVerdicts(setup),
    percentileError: exact ? 0 : HISTOGRAM_RELATIVE_ERROR,
    ...(plan.notes === undefined ? {} : { notes: plan.notes }),
    overall: figures.overall,
    models: applicationsOf(plan).map(({ name, sloMs, throughputRps }, m) => {
      const requests = itemAt(figures.models, m);
      const { attainment } = requests;
      const share = attainment === undefined ? {} : { attainment };
      return { name, sloMs, plannedRps: throughputRps, ...share, requests };
    }),
    drops: figures.drops.map((drop) => describedDrop(drop, topology)),
    ...describedCost(setup, run, classes),
    classes: Object.fromEntries(
      classes.map((name, i) => [
        name,
        {
          ...(plan.classes[name]?.emulated ? { emulated: true as const } : {}),
          ...itemAt(figures.classes, i),
          ...usedFigures(run.usedGpuS?.[i], plan.cluster.devices[name]?.hourlyCost),
        },
      ]),
    ),
    pools: figures.pools.map((found, p) => describedPool(found, p, topology)),
    links: figures.links,
    ...(windowS === undefined ? {} : { windows: { seconds: windowS, rows: [...(figures.windows ?? [])] } }),
    ...describedCascade(setup, run),
    ...describedPriorities(setup, run),
    ...(runs === undefined ? {} : { runs }),
  };
}

/** describedCascade says how the requests of a gear plan were answered; nothing of other plans. */
function describedCascade(
  { plan, family }: SimulationSetup,
  { cascade }: SimulationRun,
): { cascade?: SimulatedCascade } {
  const { cascade: planned } = planOf(plan).world(plan);
  if (planned === undefined || cascade === undefined || family === undefined) return {};
  const { answeredBy, gearShares, windows, ...figures } = cascade;
  return {
    cascade: {
      ...figures,
      plannedAccuracy: planned.accuracy,
      samples: family.samples,
      answeredBy: answeredBy.map((one, stage) => ({ stage: planned.stages[stage]?.name as string, ...one })),
      gears: planned.gears.map(({ fromRps, toRps, share }, gear) => ({
        fromRps,
        toRps,
        plannedShare: share,
        share: itemAt(gearShares, gear),
      })),
      ...(windows === undefined ? {} : { windows: [...windows] }),
    },
  };
}

/** describedPriorities says what became of the requests of each priority; nothing where none have any. */
function describedPriorities(
  { priorities }: SimulationSetup,
  { levels: found }: SimulationRun,
): { priorities?: SimulatedPriorities } {
  if (priorities === undefined || found === undefined) return {};
  const { levels, weightedDropRate } = found;
  return {
    priorities: {
      ...(weightedDropRate === undefined ? {} : { weightedDropRate }),
      levels: priorities.map((level, i) => ({ ...level, ...itemAt(levels, i) })),
    },
  };
}

/** describedScheduler names a scheduler with its policy, and its tuner with all settings. */
export function describedScheduler({ tuner, engine: _, ...scheduler }: ChosenScheduler): SimulatedScheduler {
  return tuner === undefined ? { ...scheduler } : { ...scheduler, tuner: { ...tuner.settings } };
}

/** describedVerdicts says from how many recorded requests the verdicts are, where they were not drawn. */
export function describedVerdicts({ verdicts }: Pick<SimulationSetup, 'verdicts'>): {
  verdicts?: SimulatedVerdicts;
} {
  return verdicts === undefined ? {} : { verdicts: { recordedRequests: verdicts.requests } };
}

function describedCost(
  { plan }: SimulationSetup,
  { usedGpuS = [], usedForS = 0 }: SimulationRun,
  classes: readonly string[],
): { cost?: SimulatedCost } {
  const costs = classes.flatMap((name, i) => {
    const used = usedGpuS[i] ?? 0;
    return used === 0 ? [] : [usedFigures(used, plan.cluster.devices[name]?.hourlyCost).cost];
  });
  if (usedForS === 0 || costs.some((cost) => cost === undefined)) return {};
  const total = costs.reduce((sum: number, cost = 0) => sum + cost, 0);
  const { currency } = plan.cluster;
  const named = currency === undefined ? {} : { currency };
  return { cost: { ...named, total, perHour: (3600 * total) / usedForS, overS: usedForS } };
}

function usedFigures(
  usedGpuS: number | undefined,
  hourlyCost: number | undefined,
): Pick<SimulatedClass, 'usedGpuS' | 'cost'> {
  if (usedGpuS === undefined) return {};
  return { usedGpuS, ...(hourlyCost === undefined ? {} : { cost: (usedGpuS / 3600) * hourlyCost }) };
}

function describedDrop(
  { model, reason, pool, count }: DropCount,
  { models, pools }: Topology,
): SimulatedDrop {
  const stood = pool < 0 ? undefined : pools[pool];
  return {
    model: models[model]?.name as string,
    reason: DROP_REASONS[reason] as string,
    place: stood === undefined ? 'entry' : stageName(stood.stage),
    count,
  };
}

function describedPool(found: RunFigures['pools'][number], p: number, topology: Topology): SimulatedPool {
  const { pools, devices: standing } = topology;
  const pool = itemAt(pools, p);
  const { stage, deviceClass, virtual, devices, batch, classes = [] } = pool;
  const up = devices.filter((device) => standing[device]?.standby !== true);
  const ofClass = (c: number) => up.filter((device) => (standing[device]?.poolClass ?? 0) === c).length;
  const others = classes
    .slice(1)
    .map((one, k) => ({ class: one.deviceClass, virtual: one.virtual, virtualGpus: ofClass(k + 1) }));
  return {
    model: ownerOf(topology, pool),
    ...stageFields(stage),
    class: deviceClass,
    virtual,
    virtualGpus: ofClass(0),
    ...(others.length === 0 ? {} : { others }),
    batch,
    ...found,
  };
}
