import { emittedHead } from '../../artifacts/index.js';
import { itemAt } from '../../collections/index.js';
import type {
  InputFile,
  SimulatedClass,
  SimulatedDrop,
  SimulatedPool,
  SimulatedWorkflows,
  SimulationReport,
} from '../../formats/index.js';
import { NS_PER_S, stageFields, stageName } from '../../formats/index.js';
import { HISTOGRAM_RELATIVE_ERROR, type WorkflowFigures } from '../../metrics/index.js';
import { applicationsOf, workflowTopologyOf } from '../../plans/index.js';
import { DROP_REASONS, type Topology } from '../../serving/index.js';
import { overRuns } from '../runs.js';
import { describedWorkload } from '../workload.js';
import { classesOfDevices } from './simulated-workflows.js';
import type { RanWorkflows, WorkflowSetup } from './workflow-run.js';

/**
 * workflowReport makes the report of a run of workflows, as it is written and printed, with figures over all runs where
 * there are more.
 * @param runs the run of the setup's own seed, and those of the seeds that follow
 */
export function workflowReport(
  setup: WorkflowSetup,
  runs: readonly [RanWorkflows, ...RanWorkflows[]],
  inputs: InputFile[],
): SimulationReport {
  const { plan, scheduler, policies, workload, seed, exact } = setup;
  const [first] = runs;
  const { figures } = first;
  const topology = workflowTopologyOf(plan);
  const applications = applicationsOf(plan);
  const over = overRuns(
    runs.map(({ complete, figures: { overall, workflows } }) => ({
      complete,
      figures: { overall, models: workflows },
    })),
    applications.map(({ name }) => name),
  );
  return {
    ...emittedHead('simulation-report', inputs),
    seed,
    complete: runs.every(({ complete }) => complete),
    workload: describedWorkload(workload, applications),
    scheduler: { name: scheduler, policy: { ...policies[scheduler] } },
    transfers: 'links',
    execution: { slow: 1, jitter: 'none' },
    percentileError: exact ? 0 : HISTOGRAM_RELATIVE_ERROR,
    ...(plan.notes === undefined ? {} : { notes: plan.notes }),
    overall: figures.overall,
    models: applications.map(({ name, sloMs, throughputRps }, w) => {
      const requests = itemAt(figures.workflows, w);
      const { attainment } = requests;
      return {
        name,
        ...(sloMs === undefined ? {} : { sloMs }),
        plannedRps: throughputRps,
        ...(attainment === undefined ? {} : { attainment }),
        requests,
      };
    }),
    drops: figures.drops.map((drop) => describedDrop(drop, topology)),
    classes: describedClasses(figures, topology),
    pools: figures.pools.map((found, p) => describedPool(found, itemAt(topology.pools, p), first)),
    workflows: describedWorkflows(setup, first),
    ...(over === undefined ? {} : { runs: over }),
  };
}

/** describedWorkflows says what it took to serve the requests of a run. */
function describedWorkflows({ plan }: WorkflowSetup, run: RanWorkflows): SimulatedWorkflows {
  const { figures, tasks, fetches, endNs, guesses, schedules } = run;
  const { loads, evictions, deviceTime } = figures;
  return {
    tasks,
    fetches,
    loads,
    evictions,
    deviceTime: { ...deviceTime },
    overS: endNs / NS_PER_S,
    subclusters: plan.subclusters,
    ...(guesses === undefined ? {} : { rightGuesses: guesses.right / guesses.made }),
    ...(schedules === undefined ? {} : { schedules }),
  };
}

function describedClasses(
  { classes }: WorkflowFigures,
  { devices }: Topology,
): Record<string, SimulatedClass> {
  return Object.fromEntries(
    classesOfDevices(devices).map((name, c) => {
      const { devices: count, busyS, deviceTime } = itemAt(classes, c);
      const utilisation = deviceTime.executing + deviceTime.both;
      return [
        name,
        { virtualGpus: count, gpus: count, busyGpuS: busyS, utilisation, deviceTime: { ...deviceTime } },
      ];
    }),
  );
}

function describedPool(
  { rows, busyS, ...found }: WorkflowFigures['pools'][number],
  { owner = '', stage, deviceClass, devices, batch }: Topology['pools'][number],
  { endNs }: RanWorkflows,
): SimulatedPool {
  const availableS = (devices.length * endNs) / NS_PER_S;
  return {
    model: owner,
    ...stageFields(stage),
    class: deviceClass,
    virtual: 1,
    virtualGpus: devices.length,
    batch,
    ...found,
    requests: rows,
    utilisation: availableS === 0 ? 0 : Math.min(1, busyS / availableS),
  };
}

function describedDrop(
  { model, reason, pool, count }: WorkflowFigures['drops'][number],
  { models, pools }: Topology,
): SimulatedDrop {
  const stood = pools[pool];
  return {
    model: models[model]?.name as string,
    reason: DROP_REASONS[reason] as string,
    place: stood === undefined ? 'entry' : stageName(stood.stage),
    count,
  };
}
