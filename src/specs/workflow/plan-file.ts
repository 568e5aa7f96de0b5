import { emittedHead, pathFrom, relativePath } from '../../artifacts/index.js';
import { WORKFLOW_SEED, type WorkflowPlanBody } from '../../dyorc/index.js';
import type { PlannedWorkflow, WorkflowPlan } from '../../formats/index.js';
import { type LoadedWorkflows, workflowNotes } from './workflow.js';

/** PlanFileOf says where a plan is, and what is known of it besides. */
interface PlanFileOf {
  readonly holder: string | undefined;
  /** Notes on its cluster. */
  readonly notes: readonly string[];
  readonly sha256: string;
}

/** workflowPlanOf makes a file of a plan: with the head of a file, and with paths relative to it. */
export function workflowPlanOf(
  body: WorkflowPlanBody,
  loaded: LoadedWorkflows,
  { holder, notes: ofCluster, sha256 }: PlanFileOf,
): WorkflowPlan {
  const { method, status, reproducible, objective, serving, cluster, attainment, sample, ...rest } = body;
  const { load } = loaded.spec.value;
  const notes = [...new Set([...workflowNotes(loaded), ...ofCluster])];
  const { rps, subclusters, components, placement, bounds } = rest;
  const used = components.map(({ name }) => name);
  return {
    ...emittedHead('workflow-plan', loaded.inputs(holder, used)),
    method,
    ...(notes.length === 0 ? {} : { notes }),
    status,
    ...(reproducible === undefined ? {} : { reproducible }),
    objective,
    serving,
    cluster,
    attainment,
    ...(load === undefined ? {} : { load: loadFrom(load, loaded, holder) }),
    ...(loaded.trace?.grouped === undefined ? {} : { functionsInTurn: true }),
    rps,
    subclusters,
    components,
    workflows: rest.workflows.map((workflow, w) => withFiles(workflow, w, { loaded, holder })),
    placement,
    sample: { seed: WORKFLOW_SEED, sha256, ...sample },
    bounds,
  };
}

function loadFrom(
  load: NonNullable<WorkflowPlan['load']>,
  { spec }: LoadedWorkflows,
  holder: string | undefined,
): NonNullable<WorkflowPlan['load']> {
  return 'trace' in load ? { ...load, trace: relativePath(pathFrom(spec.path, load.trace), holder) } : load;
}

/** withFiles gives a workflow the paths of its program and runs, as seen from the plan. */
function withFiles(
  { name, sloMs, share, chain, frequencies }: PlannedWorkflow,
  place: number,
  { loaded: { spec }, holder }: { readonly loaded: LoadedWorkflows; readonly holder: string | undefined },
): PlannedWorkflow {
  const { program, runs } = spec.value.workflows[place] ?? {};
  const seen = (path: string): string => relativePath(pathFrom(spec.path, path), holder);
  return {
    name,
    ...(sloMs === undefined ? {} : { sloMs }),
    share,
    ...(program === undefined ? {} : { program: seen(program) }),
    ...(runs === undefined ? {} : { runs: seen(runs) }),
    ...(chain === undefined ? {} : { chain }),
    frequencies,
  };
}
