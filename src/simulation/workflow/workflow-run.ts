import { fault, InputError, type WorkflowPlan } from '../../formats/index.js';
import { applicationsOf } from '../../plans/index.js';
import { uniformAt } from '../../random/index.js';
import type { WorkflowPolicy, WorkflowScheduler } from '../../serving/index.js';
import { arrivalsAhead, type RequestSource, runsOfRequests } from '../../workload/index.js';
import { type SimulationHooks, WatchedArrivals } from '../watched-arrivals.js';
import { arrivalsOf, type Workload } from '../workload.js';
import { RecordedRuns } from './recorded-runs.js';
import { simulatedWorkflows, type WorkflowLoad, type WorkflowRun } from './simulated-workflows.js';

/** A request of a workflow takes about a millisecond, so that few pass before it is looked whether the run is interrupted. */
const LOOK_EVERY = 16;

/** WorkflowSetup is what all runs of a simulation of workflows share. It is plain data. */
export interface WorkflowSetup {
  readonly plan: WorkflowPlan;
  readonly scheduler: WorkflowScheduler;
  /** By scheduler, what differs from its own policy. */
  readonly policies: { readonly [Name in WorkflowScheduler]?: Partial<WorkflowPolicy> };
  readonly workload: Workload;
  /** Where the requests of each workflow come from, in the order of the plan. */
  readonly sources: readonly RequestSource[];
  readonly seed: number;
  readonly exact: boolean;
}

/** WorkflowJob describes one run: a scheduler and a seed in place of those of the setup. */
export interface WorkflowJob {
  readonly scheduler?: WorkflowScheduler;
  readonly seed?: number;
}

/** RanWorkflows is the result of a run. */
export interface RanWorkflows extends WorkflowRun {
  /** False when the run was interrupted. */
  readonly complete: boolean;
}

/**
 * ranWorkflows runs a plan of workflows once in this thread, which it blocks. The same setup and job give the same figures. After
 * `interrupted` no more requests arrive, those that have are served to their end, and rates are over the time until then.
 * @throws InputError where a chain draws no request of 4096 calls or fewer
 */
export function ranWorkflows(
  setup: WorkflowSetup,
  job: WorkflowJob,
  hooks: SimulationHooks = {},
): RanWorkflows {
  const { plan, workload, exact, policies } = setup;
  const { scheduler = setup.scheduler, seed = setup.seed } = job;
  const { durationNs } = workload;
  const arrivals = new WatchedArrivals(
    arrivalsAhead(arrivalsOf(workload, applicationsOf(plan), seed)),
    hooks,
    { durationNs, lookEvery: LOOK_EVERY },
  );
  const run = simulatedWorkflows(plan, {
    scheduler,
    arrivals,
    seed,
    exact,
    policy: policies[scheduler] ?? {},
    runOf: runOf(setup, seed),
    spanNs: () => (arrivals.stopped ? Math.max(1, arrivals.atNs) : durationNs),
  });
  return { ...run, complete: !arrivals.stopped };
}

function runOf({ plan, sources }: WorkflowSetup, seed: number): WorkflowLoad['runOf'] {
  const recorded = new RecordedRuns(plan.components.map(({ name }) => name));
  const drawnFor = runsOfRequests(sources, uniformAt(seed, 'workflows/requests'));
  return (order, workflow) => {
    const drawn = drawnFor(order, workflow);
    if ('run' in drawn) return recorded.of(drawn.run);
    const name = plan.workflows[workflow]?.name;
    throw new InputError(
      'simulate workflows',
      [
        fault(
          `${name} draws no request of 4096 calls or fewer, in ${drawn.tooLongDraws} draws`,
          `/workflows/${workflow}/chain`,
        ),
      ],
      'Give the steps of the chain more chance of the end.',
    );
  };
}
