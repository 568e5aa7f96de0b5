import { outputFiles, saveArtifact } from '../artifacts/index.js';
import {
  fault,
  option,
  type SchedulerComparison,
  type SimulationReport,
  type ToldFaults,
  withChecks,
} from '../formats/index.js';
import { jobsProgress } from '../jobs/index.js';
import { workflowPolicyOf } from '../plans/index.js';
import type { WorkflowScheduler } from '../serving/index.js';
import {
  type ComparedWorkflowSchedulers,
  type ComparisonOptions,
  comparedWorkflowSchedulers,
  isWorkflowsPlan,
  planAt,
  prepareWorkflows,
  runWorkflowComparison,
  type SimulatedPlan,
  WorkflowPool,
  type Workload,
  workflowReport,
} from '../simulation/index.js';
import { confirmSimulated } from '../specs/index.js';
import type { SimulateOptions } from './simulate-options.js';

/** ReadPlan is the plan that a path leads to, being read, and what it is where that is a plan of workflows. */
export interface ReadPlan {
  readonly found: ReturnType<typeof planAt>;
  readonly workflows: SimulatedPlan<'workflow-plan'> | undefined;
}

/**
 * readPlan reads a plan once, whatever its kind. The code that waits for `found` reports that it cannot be
 * read.
 */
export async function readPlan(path: string): Promise<ReadPlan> {
  const found = planAt(path);
  const plan = await found.catch(() => undefined);
  return { found, workflows: plan !== undefined && isWorkflowsPlan(plan) ? plan : undefined };
}

/** SimulatedWorkflowPlan is what was simulated of workflows, with the load for warnings about it. */
export interface SimulatedWorkflowPlan<Document> {
  readonly document: Document;
  readonly workload: Workload;
}

/**
 * simulateWorkflowPlan simulates a plan of workflows, as `simulatePlan` does other plans.
 * @param told what was found to be wrong before
 */
export async function simulateWorkflowPlan(
  found: SimulatedPlan<'workflow-plan'>,
  options: SimulateOptions,
  told: ToldFaults,
): Promise<SimulatedWorkflowPlan<SimulationReport>> {
  const { runs = 1, output, timeline, signal, onProgress } = options;
  const prepared = await prepareWorkflows(found, options, {
    outputs: outputFiles({ output, timeline }),
    told,
  });
  const { setup } = prepared;
  const checks = await confirmSimulated(prepared, `simulate ${found.plan.path}`, options);
  const pool = new WorkflowPool(setup, {
    ...(signal === undefined ? {} : { signal }),
    ...(runs === 1 ? { threads: 1 } : {}),
  });
  const tellRuns = runs === 1 ? undefined : jobsProgress(options.onRuns);
  try {
    const first = await pool.runOne({}, onProgress);
    let done = 1;
    tellRuns?.(done, runs);
    const seeds = Array.from({ length: runs - 1 }, (_, i) => setup.seed + i + 1);
    const jobs = seeds.map((seed) => ({ name: `the run of seed ${seed}`, job: { seed } }));
    const more = await pool.runAll(jobs, () => tellRuns?.(++done, runs));
    const report = withChecks(workflowReport(setup, [first, ...more], prepared.inputs(output)), checks);
    if (done < runs) report.complete = false;
    return { document: report, workload: setup.workload };
  } finally {
    await pool.close();
  }
}

/** The advice on choices where several schedulers are compared. */
const OF_ONE =
  'are choices of one scheduler of workflows, and several are compared: simulate each with its own';

/** compareWorkflowSchedulers simulates a plan of workflows under several schedulers, as `compareSchedulers` does other plans. */
export async function compareWorkflowSchedulers(
  found: SimulatedPlan<'workflow-plan'>,
  { schedulers, ...options }: ComparisonOptions & Pick<SimulateOptions, 'strict'>,
  told: ToldFaults,
): Promise<SimulatedWorkflowPlan<SchedulerComparison>> {
  const { output } = options;
  let compared: ComparedWorkflowSchedulers | undefined;
  const prepared = await prepareWorkflows(found, options, {
    outputs: outputFiles({ output }),
    told,
    serving: (plan, { given, told: faults }) => {
      if (given.length > 0) faults.add(fault(OF_ONE, option('policy')));
      const named = comparedWorkflowSchedulers(plan, schedulers);
      if ('faults' in named) faults.addAll(named.faults);
      else compared = named;
      const scheduler = compared?.schedulers[0];
      const planned = plan.serving.scheduler as WorkflowScheduler;
      return scheduler && { scheduler, policies: { [planned]: workflowPolicyOf(plan.serving) } };
    },
  });
  const checks = await confirmSimulated(prepared, `simulate ${found.plan.path}`, options);
  const { setup } = prepared;
  const comparing = {
    setup,
    inputs: prepared.inputs(output),
    compared: compared as unknown as ComparedWorkflowSchedulers,
  };
  const document = withChecks(await runWorkflowComparison(comparing, options), checks);
  if (output !== undefined) await saveArtifact<'scheduler-comparison'>(output, document);
  return { document, workload: setup.workload };
}
