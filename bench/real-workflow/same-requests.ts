import { join } from 'node:path';
import { loadArtifact, loadRuns } from '../../src/artifacts/index.js';
import type { Run, WorkflowPlan } from '../../src/formats/index.js';
import type { LoadReport } from '../../src/loadgen/index.js';
import { RecordedRuns, simulatedWorkflows, type WorkflowRun } from '../../src/simulation/index.js';
import { arrivalsAt } from '../../src/workload/index.js';
import { PLAN_FILE, RUNS_FILE } from './photo-workflow.js';
import type { SentLoad } from './served-load.js';

/** RecordedPhotos is a plan, with the runs of all photos in their order. */
export interface RecordedPhotos {
  readonly plan: WorkflowPlan;
  readonly runs: readonly Run[];
}

/** recordedPhotos reads the plan of a folder, and the runs of its photos. */
export async function recordedPhotos(folder: string): Promise<RecordedPhotos> {
  const { value: plan } = await loadArtifact(join(folder, PLAN_FILE), ['workflow-plan']);
  const { runs } = await loadRuns(join(folder, RUNS_FILE));
  return { plan, runs };
}

/** simulatedAgain simulates the very requests of a load: the same photos at the same times. */
export function simulatedAgain({ plan, runs }: RecordedPhotos, { timesNs }: SentLoad): WorkflowRun {
  const recorded = new RecordedRuns(plan.components.map(({ name }) => name));
  return simulatedWorkflows(plan, {
    scheduler: 'dyorc',
    seed: 0,
    arrivals: arrivalsAt(timesNs),
    runOf: (order) => recorded.of(runs[order % runs.length]!),
  });
}

/**
 * asExecuted gives a plan whose batches take the median of what the server has measured in a load, where it has some of
 * their size.
 */
export function asExecuted(
  { plan, runs }: RecordedPhotos,
  { served: [counted] = [] }: LoadReport,
): RecordedPhotos {
  const medianUs = (component: number, rows: number) =>
    counted?.executions.find(({ pipeline, batch }) => pipeline === component && batch === rows)?.medianUs;
  const components = plan.components.map((component, c) => ({
    ...component,
    classes: component.classes.map((one) => ({
      ...one,
      latencyUsByBatch: one.latencyUsByBatch.map((planned, i) => medianUs(c, i + 1) ?? planned),
    })),
  }));
  return { plan: { ...plan, components }, runs };
}
