import { planWorkflows, WORKFLOW_SEED, type WorkflowAnswer } from '../../dyorc/index.js';
import type { LoadOfWorkflows } from './requests.js';
import { digestOfRequests, requestsOfLoad } from './requests.js';
import { simulatedSample } from './simulated-sample.js';

/** WorkflowPlanningJob is a resolved spec, with the trace that is its load, and when the search for its plan is to end. */
export interface WorkflowPlanningJob extends LoadOfWorkflows {
  /** The time after which the search ends, in seconds. */
  readonly timeLimit?: number | undefined;
}

/** PlannedJob is the answer to a WorkflowPlanningJob. */
export interface PlannedJob {
  readonly answer: WorkflowAnswer;
  /** The digest of the sample's arrivals, workflows and requests. */
  readonly sha256: string;
  /** Whether the time was over before the search ended. */
  readonly timeOver?: boolean;
}

/** JobHooks say how a search is stopped and shown. */
export interface JobHooks {
  readonly interrupted: () => boolean;
  readonly tell: (doing: string) => void;
}

/** plannedJob plans workflows in this thread. */
export function plannedJob(job: WorkflowPlanningJob, { interrupted, tell }: JobHooks): PlannedJob {
  const endMs = performance.now() + 1e3 * (job.timeLimit ?? Number.POSITIVE_INFINITY);
  let isOver = false;
  const answer = planWorkflows({
    resolved: job.resolved,
    requestsOf: (seed) => requestsOfLoad(job, seed),
    simulate: simulatedSample,
    interrupted: () => {
      isOver ||= performance.now() >= endMs;
      return isOver || interrupted();
    },
    tell,
  });
  const sha256 = digestOfRequests(requestsOfLoad(job, WORKFLOW_SEED));
  return { answer, sha256, ...(isOver ? { timeOver: true } : {}) };
}
