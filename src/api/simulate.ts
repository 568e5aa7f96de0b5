import { outputFiles, saveArtifact } from '../artifacts/index.js';
import { largestOf, smallestOf } from '../collections/index.js';
import {
  type GateVerdicts,
  INPUTS_HELD,
  option,
  type RunsFigures,
  type SimulationReport,
  type SimulationSweep,
  ToldFaults,
  withChecks,
} from '../formats/index.js';
import { jobsProgress } from '../jobs/index.js';
import { applicationsOf } from '../plans/index.js';
import {
  atLoadFactor,
  begunBefore,
  lengthFaults,
  prepareSimulation,
  runSweep,
  runsFaults,
  type SimulatedPlan,
  SimulationPool,
  type SweepOptions,
  seededJobs,
  silenceNs,
  simulationReport,
  sweptLoads,
  type Workload,
  windowFaults,
} from '../simulation/index.js';
import { bundleNotes, confirmSimulated } from '../specs/index.js';
import { leftOutNotes } from '../workload/index.js';
import { attainmentChecks, refuseNoShare } from './gates.js';
import type { SimulateOptions } from './simulate-options.js';
import { readPlan, simulateWorkflowPlan } from './simulate-workflows.js';

export type { SimulateOptions } from './simulate-options.js';

/** Simulated is the result of a simulation: its report, and sentences on what may mislead in it. */
export interface Simulated {
  readonly report: SimulationReport;
  readonly warnings: readonly string[];
}

/**
 * simulatePlan simulates a plan in virtual time: the scheduler that serves it, against the plan's latencies and
 * links. The plan alone is enough, unless execution times vary as in its profiles; profiles that still exist are read
 * all the same, and the plan may not contradict them. A simulation that takes long runs on its own thread, so that
 * progress is shown and an abort is heard. It writes report and timeline where they are named.
 * @param path a plan of any kind, or a bundle (its folder or manifest), whose transfers take no time
 * @throws InputError with every fault of plan, profiles, traces and options at once; MissingError where files are only
 *   missing. Nothing is written then.
 */
export async function simulatePlan(path: string, options: SimulateOptions = {}): Promise<Simulated> {
  const { runs = 1, windows, timeline, output, signal, failUnder, onProgress } = options;
  refuseNoShare(`simulate ${path}`, failUnder);
  const told = new ToldFaults();
  told.addAll(runsFaults(runs));
  const read = await readPlan(path);
  if (read.workflows !== undefined) return judgedWorkflows(read.workflows, options, told);
  const { setup, inputs, found, profiles } = await prepareSimulation(path, options, {
    outputs: outputFiles({ output, timeline }),
    told,
    found: read.found,
    check: (plan, workload) => windowFaults(plan, workload, windows),
  });
  const checks = await confirmSimulated({ found, profiles }, `simulate ${path}`, options);
  await tellCrowd(found, options);
  const pool = new SimulationPool(setup, { signal, ...(runs === 1 ? { threads: 1 } : {}) });
  const tellRuns = runs === 1 ? undefined : jobsProgress(options.onRuns);
  try {
    const run = await pool.runOne(
      {
        ...(windows === undefined ? {} : { windowNs: Math.round(windows * 1e9) }),
        ...(timeline === undefined ? {} : { timeline: { path: timeline } }),
      },
      onProgress,
    );
    let done = 1;
    tellRuns?.(done, runs);
    const more = await pool.runAll(seededJobs(setup.seed, runs), () => tellRuns?.(++done, runs));
    const report = withChecks(
      simulationReport(setup, run, { windowS: windows, inputs: inputs(output), more }),
      checks,
    );
    if (done < runs) report.complete = false;
    const judged = report.complete ? { ...report, ...reportChecks(report, options) } : report;
    if (output !== undefined) await saveArtifact<'simulation-report'>(output, judged);
    const warnings = [
      ...loadWarnings(setup.workload, report.workload.durationS),
      ...quietModels(report),
      ...timelineWarnings(run.timeline?.cutAtNs, report, timeline),
    ];
    return { report: judged, warnings };
  } finally {
    await pool.close();
  }
}

/** judgedWorkflows simulates a plan of workflows, and judges what was asked of its report. */
async function judgedWorkflows(
  found: SimulatedPlan<'workflow-plan'>,
  options: SimulateOptions,
  told: ToldFaults,
): Promise<Simulated> {
  const { document: report, workload } = await simulateWorkflowPlan(found, options, told);
  const judged = report.complete ? { ...report, ...reportChecks(report, options) } : report;
  if (options.output !== undefined) await saveArtifact<'simulation-report'>(options.output, judged);
  const warnings = [...loadWarnings(workload, report.workload.durationS), ...quietModels(report)];
  return { report: judged, warnings };
}

/** reportChecks judges what was asked of a report: that the plan is checked, and its shares in time. */
function reportChecks(
  { overall, models, runs }: SimulationReport,
  { strict, failUnder }: Pick<SimulateOptions, 'strict' | 'failUnder'>,
): GateVerdicts {
  const ofRuns = ({ attainment }: Pick<RunsFigures, 'attainment'>) => ({
    value: attainment?.mean,
    low: attainment?.low,
  });
  const shares =
    runs === undefined
      ? models.map(({ name, requests }) => ({ name, value: requests.attainment }))
      : runs.models.map(({ name, ...figures }) => ({ name, ...ofRuns(figures) }));
  const all = runs === undefined ? { value: overall.attainment } : ofRuns(runs.overall);
  const checks = [...(strict ? [INPUTS_HELD] : []), ...attainmentChecks(failUnder, all, shares)];
  return checks.length === 0 ? {} : { checks };
}

/** tellCrowd tells of the devices of a bundle that would wait for this host's cores, which a simulation does not count. */
export async function tellCrowd(
  { plan, devices }: SimulatedPlan,
  { onNote }: Pick<SimulateOptions, 'onNote'>,
): Promise<void> {
  if (devices === undefined || onNote === undefined) return;
  for (const note of await bundleNotes(devices, plan.value.classes)) onNote(note);
}

/**
 * sweepPlan simulates a plan at many load factors, on threads side by side, and finds the largest at which
 * the target attainment holds, overall and for each model. Every point has the same seed, so that points
 * differ in their rate only.
 * @throws InputError with every fault of plan, profiles, traces and options at once; nothing is written then
 */
export async function sweepPlan(
  path: string,
  options: SweepOptions & Pick<SimulateOptions, 'onNote' | 'strict'>,
): Promise<SimulationSweep> {
  const { output } = options;
  const told = new ToldFaults();
  const loads = sweptLoads(options.sweep, told);
  // A trace is longest at the smallest load and densest at the largest, so both are checked.
  const { setup, inputs, found, profiles } = await prepareSimulation(path, options, {
    outputs: outputFiles({ output }),
    told,
    swept: true,
    check: (plan, workload) =>
      loads.length === 0
        ? []
        : [smallestOf(loads), largestOf(loads)].flatMap((load) =>
            lengthFaults(plan, atLoadFactor(workload, applicationsOf(plan), load), options.exact),
          ),
  });
  const checks = await confirmSimulated({ found, profiles }, `sweep ${path}`, options);
  await tellCrowd(found, options);
  const document = withChecks(await runSweep(setup, loads, { ...options, inputs: inputs(output) }), checks);
  if (output !== undefined) await saveArtifact<'simulation-sweep'>(output, document);
  return document;
}

/** loadWarnings says where traces end before the time that was asked for, and what of them is left out. */
export function loadWarnings(workload: Workload, wholeS: number): string[] {
  return [...silenceWarnings(silenceNs(workload), wholeS), ...leftOutNotes(begunBefore(workload))];
}

/**
 * silenceWarnings gives one warning where nothing arrives in the last `silentNs` nanoseconds of the `wholeS` seconds
 * that were asked for, because the traces end before, and none where `silentNs` is 0.
 */
function silenceWarnings(silentNs: number, wholeS: number): string[] {
  if (silentNs === 0) return [];
  const silentS = silentNs / 1e9;
  return [
    `the trace ends before ${option('duration')}: nothing arrives in the last ${silentS.toPrecision(3)} s of ${wholeS} s, which counts in all rates`,
  ];
}

/**
 * quietModels gives one warning for each of several models that has no share in time because nothing came for it: what
 * is asked of all models passes for it unseen.
 */
function quietModels({ complete, models, runs }: SimulationReport): string[] {
  if (models.length < 2 || !complete) return [];
  return models.flatMap(({ name, requests }, m) => {
    const quiet = runs === undefined ? requests.arrived === 0 : runs.models[m]?.attainment === undefined;
    const when = runs === undefined ? '' : ' in one run or more';
    return quiet
      ? [`${name} gets no requests${when}, so nothing is said of it, whatever attainment is asked for`]
      : [];
  });
}

function timelineWarnings(
  cutAtNs: number | undefined,
  { workload }: SimulationReport,
  path: string | undefined,
): string[] {
  if (cutAtNs === undefined) return [];
  const shown = (cutAtNs / 1e9).toPrecision(3);
  const { durationS, warmUpS = 0 } = workload;
  return [
    `${path} holds the first ${shown} s of ${warmUpS + durationS} s: it has reached 256 MiB, more than a viewer opens; take a shorter ${option('duration')} or a smaller ${option('load')}`,
  ];
}
