import { loadRuns, pathFrom, type RunsFile } from '../../artifacts/index.js';
import { largestOf } from '../../collections/index.js';
import {
  type Fault,
  fault,
  type PlannedWorkflow,
  type Run,
  type ToldFaults,
  type WorkflowPlan,
} from '../../formats/index.js';
import type { RequestSource } from '../../workload/index.js';

/** SourcesOfPlan are where the requests of each workflow of a plan come from, in its order, and the files that were read. */
export interface SourcesOfPlan {
  readonly sources: readonly RequestSource[];
  readonly files: readonly RunsFile[];
}

/** LocatedPlan is a plan with the file from which the paths in it lead. */
interface LocatedPlan {
  readonly value: WorkflowPlan;
  readonly path: string;
}

/**
 * requestSources finds where the requests of a plan's workflows come from: recorded runs are read, each file once, of
 * which those of other workflows are left out.
 * @param told where every fault is added: a file that cannot be read, or has changed since the plan was made, or has
 *   no runs of a workflow, and runs that call what the plan cannot execute
 * @returns undefined after a fault
 */
export async function requestSources(
  { value: plan, path }: LocatedPlan,
  told: ToldFaults,
  signal?: AbortSignal,
): Promise<SourcesOfPlan | undefined> {
  const before = told.count;
  const files = new Map<string, RunsFile & { readonly runs: readonly Run[] }>();
  for (const { runs } of plan.workflows) {
    if (runs === undefined || files.has(runs)) continue;
    const at = pathFrom(path, runs);
    try {
      files.set(runs, await loadRuns(at, { signal }));
    } catch (error) {
      told.addOfFile(at, error);
    }
  }
  told.addAll(changedFaults(plan, path, [...files.values()]));
  const sources = plan.workflows.flatMap((workflow): RequestSource[] => {
    const { name, runs, chain } = workflow;
    if (chain !== undefined) return [{ name, chain }];
    const file = files.get(runs ?? '');
    if (file === undefined) return [];
    const own = file.runs.filter(({ application }) => application === name);
    told.addAll(runFaults(workflow, own, { plan, path: file.path }));
    return [{ name, runs: own }];
  });
  return told.count > before ? undefined : { sources, files: [...files.values()] };
}

/** changedFaults finds files of runs that are not those that the plan was made from. */
function changedFaults({ inputs = [] }: WorkflowPlan, holder: string, files: readonly RunsFile[]): Fault[] {
  return files.flatMap(({ path, sha256 }) => {
    const made = inputs.find((input) => input.role === 'runs' && pathFrom(holder, input.path) === path);
    if (made === undefined || made.sha256 === sha256) return [];
    const told = `has changed since the plan was made: its digest is ${sha256.slice(0, 12)}…, not ${made.sha256.slice(0, 12)}…; solve again`;
    return [fault(told, path)];
  });
}

/** runFaults finds that a workflow has no runs, and the first of its runs that calls what the plan cannot execute. */
function runFaults(
  { name }: PlannedWorkflow,
  runs: readonly Run[],
  { plan, path }: { readonly plan: WorkflowPlan; readonly path: string },
): Fault[] {
  if (runs.length === 0) return [fault(`has no runs of ${name}`, path)];
  const most = new Map(
    plan.components.map((one) => [one.name, largestOf(one.classes.map(({ batch }) => batch))]),
  );
  for (const [r, { tasks }] of runs.entries())
    for (const { component, rows } of tasks) {
      const batch = most.get(component);
      const of = `run ${r + 1} of ${name}`;
      if (batch === undefined)
        return [fault(`${of} calls ${component}, which is no component of the plan`, path)];
      if (rows > batch)
        return [
          fault(`${of} calls ${component} with ${rows} rows; a batch of it has ${batch} at most`, path),
        ];
    }
  return [];
}
