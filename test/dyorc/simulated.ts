import { countedCalls } from '../../src/dyorc/frequencies.js';
import type { RequestsToBound, ResolvedWorkflows } from '../../src/dyorc/index.js';
import { trainingRuns } from '../../src/dyorc/training.js';
import type { PlannedWorkflow, WorkflowDevice } from '../../src/formats/index.js';
import type { WorkflowScheduler } from '../../src/serving/index.js';
import { RecordedRuns, simulatedWorkflows } from '../../src/simulation/index.js';
import { OutcomeCode, type SimulationObserver } from '../../src/simulator/index.js';

/** What follows what in the workflows of a spec takes longer to count than to use. */
const counted = new WeakMap<ResolvedWorkflows, PlannedWorkflow[]>();

function workflowsOf(resolved: ResolvedWorkflows): PlannedWorkflow[] {
  const names = resolved.components.map(({ name }) => name);
  const known = counted.get(resolved);
  if (known !== undefined) return known;
  const workflows = resolved.workflows.map(
    ({ name, share, sloMs, source }): PlannedWorkflow => ({
      name,
      share,
      ...(sloMs === undefined ? {} : { sloMs }),
      frequencies: countedCalls(trainingRuns(source), names),
    }),
  );
  counted.set(resolved, workflows);
  return workflows;
}

/** SeenRequest is what became of a request: when it was answered, and whether it was in time. */
export interface SeenRequest {
  readonly workflow: number;
  readonly latencyNs: number;
  readonly endNs: number;
  readonly isInTime: boolean;
  readonly isAnswered: boolean;
}

/** seenRequests serves requests on devices, and tells what became of each, in the order of their ends. */
export function seenRequests(
  resolved: ResolvedWorkflows,
  requests: RequestsToBound,
  {
    placement,
    scheduler,
  }: { readonly placement: readonly WorkflowDevice[]; readonly scheduler: WorkflowScheduler },
): SeenRequest[] {
  const names = resolved.components.map(({ name }) => name);
  const recorded = new RecordedRuns(names);
  const seen: SeenRequest[] = [];
  const observer: SimulationObserver = {
    ended: (atNs, workflow, _request, arrivedNs, outcome) => {
      const isAnswered = outcome === OutcomeCode.inTime || outcome === OutcomeCode.late;
      seen.push({
        workflow,
        latencyNs: atNs - arrivedNs,
        endNs: atNs,
        isInTime: outcome === OutcomeCode.inTime,
        isAnswered,
      });
    },
  };
  let next = -1;
  simulatedWorkflows(
    {
      cluster: resolved.cluster,
      rps: resolved.rps,
      components: resolved.components,
      placement,
      workflows: workflowsOf(resolved),
    },
    {
      scheduler,
      arrivals: {
        next: () => ++next < requests.runs.length,
        get atNs() {
          return requests.atNs[next] as number;
        },
        get model() {
          return requests.workflows[next] as number;
        },
      },
      runOf: (order) => recorded.of(requests.runs[order] as RequestsToBound['runs'][number]),
      seed: 1,
      observers: () => [observer],
    },
  );
  return seen;
}
