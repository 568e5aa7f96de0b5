import { workflowBoundFaults } from '../../checks/index.js';
import {
  type AsPlaced,
  planAsPlaced,
  planWorkflows,
  WORKFLOW_SEED,
  type WorkflowAnswer,
  type WorkflowQuestion,
} from '../../dyorc/index.js';
import type { Fault, WorkflowPlan } from '../../formats/index.js';
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
  /** timeOver says whether the time was over before the search ended. */
  readonly timeOver?: boolean;
}

/** JobHooks say how a search is stopped and shown. */
export interface JobHooks {
  readonly interrupted: () => boolean;
  readonly tell: (doing: string) => void;
}

/** PlacedJob is a resolved spec, with a plan of it that is to be made again from what its devices hold. */
export interface PlacedJob extends LoadOfWorkflows {
  readonly placed: Pick<
    WorkflowPlan,
    'placement' | 'workflows' | 'attainment' | 'subclusters' | 'objective' | 'bounds'
  >;
  /** serves says whether the sample is served again. */
  readonly serves: boolean;
}

/** PlacedAgain is the answer to a PlacedJob. */
export interface PlacedAgain {
  readonly placed: AsPlaced;
  /** The digest of the sample's arrivals, workflows and requests. */
  readonly sha256: string;
  /** The bounds that are not those of the sample, computed another way. */
  readonly faults: readonly Fault[];
}

/** placedJob makes a plan again from what its devices hold, in this thread. */
export function placedJob(job: PlacedJob): PlacedAgain {
  const { placed: plan, serves } = job;
  const question: WorkflowQuestion = {
    resolved: job.resolved,
    requestsOf: (seed) => requestsOfLoad(job, seed),
    simulate: simulatedSample,
    interrupted: () => false,
    tell: () => undefined,
  };
  const placed = planAsPlaced(question, plan, { serves });
  const requests = requestsOfLoad(job, WORKFLOW_SEED);
  const { workflows: workflowOf, atNs, runs } = requests;
  return {
    placed,
    sha256: digestOfRequests(requests),
    faults: workflowBoundFaults(plan, { ...placed.bounded, workflowOf, atNs, runs }),
  };
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
