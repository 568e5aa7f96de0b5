import { outputFiles, saveArtifact } from '../artifacts/index.js';
import { DEFAULT_SCHEDULER, type SchedulerComparison, ToldFaults, withChecks } from '../formats/index.js';
import {
  type ComparedSchedulers,
  type ComparisonOptions,
  comparedSchedulers,
  comparedWindowFaults,
  prepareSimulation,
  runComparison,
  runsFaults,
  windowFaults,
} from '../simulation/index.js';
import { confirmSimulated } from '../specs/index.js';
import { loadWarnings, type SimulateOptions, tellCrowd } from './simulate.js';
import { compareWorkflowSchedulers, readPlan } from './simulate-workflows.js';

export type CompareSchedulersOptions = ComparisonOptions & Pick<SimulateOptions, 'onNote' | 'strict'>;

/** ComparedInSimulation is a comparison of schedulers, and sentences on what may mislead in it. */
export interface ComparedInSimulation {
  readonly comparison: SchedulerComparison;
  readonly warnings: readonly string[];
}

/**
 * compareSchedulers simulates a plan under several schedulers, on threads side by side. All get the same requests at the
 * same instants, of which the models say the same. Each row is what `simulatePlan` gives with that scheduler, the choices
 * that exist in it, and the same other options. It writes the comparison where it is named.
 * @param path a plan of any kind, or a bundle (its folder or manifest), whose transfers take no time
 * @throws InputError with every fault of plan, profiles, traces and options at once; MissingError where files are only
 *   missing. Nothing is written then.
 */
export async function compareSchedulers(
  path: string,
  options: CompareSchedulersOptions,
): Promise<ComparedInSimulation> {
  const { schedulers: names, runs = 1, windows, output } = options;
  const told = new ToldFaults();
  told.addAll(runsFaults(runs));
  const read = await readPlan(path);
  if (read.workflows !== undefined) {
    const { document, workload } = await compareWorkflowSchedulers(read.workflows, options, told);
    return { comparison: document, warnings: loadWarnings(workload, document.workload.durationS) };
  }
  let compared: ComparedSchedulers | undefined;
  const { setup, inputs, found, profiles } = await prepareSimulation(path, options, {
    outputs: outputFiles({ output }),
    told,
    found: read.found,
    serving: (plan, asked, faults) => {
      compared = comparedSchedulers(plan, { ...asked, names }, faults);
      const [scheduler] = compared?.schedulers ?? [];
      return compared && scheduler && { plan: compared.plan, scheduler };
    },
    check: (plan, workload) => [
      ...windowFaults(plan, workload, windows),
      ...comparedWindowFaults(workload, windows, { runs, schedulers: compared?.schedulers.length ?? 1 }),
    ],
  });
  const checks = await confirmSimulated({ found, profiles }, `simulate ${path}`, options);
  await tellCrowd(found, options);
  const comparison = withChecks(
    await runComparison(
      {
        setup,
        inputs: inputs(output),
        compared: compared as unknown as ComparedSchedulers,
        planned: found.plan.value.serving?.scheduler ?? DEFAULT_SCHEDULER,
      },
      options,
    ),
    checks,
  );
  if (output !== undefined) await saveArtifact<'scheduler-comparison'>(output, comparison);
  const warnings = loadWarnings(setup.workload, comparison.workload.durationS);
  return { comparison, warnings };
}
