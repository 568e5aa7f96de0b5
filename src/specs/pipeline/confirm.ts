import { pathFrom, relativePath } from '../../artifacts/index.js';
import {
  type Fault,
  fault,
  type PipelinePlan,
  type PipelineSpec,
  PLANNED_SCHEDULER,
} from '../../formats/index.js';
import { planAsChosen } from '../../inferline/index.js';
import { type GivenProblem, pipelineServing, planGiven, resolveOpen } from '../../pipeline/index.js';
import type { PipelinePlanBody } from '../../plans/index.js';
import { askedFaults, lackedInputs } from '../asked-faults.js';
import { sharedDevices } from '../shared-devices.js';
import type { ConfirmingOf } from '../spec-of.js';
import { unconfirmedIn } from '../unconfirmed.js';
import { figureFaults } from './figure-faults.js';
import type { PipelineTypes } from './kind.js';
import type { LoadedPipeline } from './pipeline.js';
import { withEnvelope } from './pipeline-sample.js';
import { planningTools } from './planning-job.js';
import { plannedStandby, standbyAgain } from './standby.js';

/** confirmingPipeline is how plans of pipelines are made again from their spec. */
export const confirmingPipeline: ConfirmingOf<PipelineTypes> = {
  confirmed: () => 'recomputed',
  unconfirmed: (plan) => unconfirmedIn(plan, ['/reproducible', '/share/with']),
  async faults(plan, loaded, { path, holder, repeats }) {
    const outcome = await replanned(plan, loaded, repeats.includes('promise'));
    if (outcome.status !== 'feasible')
      return outcome.reasons.map(({ text }) => fault(`has no plan: ${text}`, path));
    return [
      ...figureFaults(plan, outcome.plan),
      ...servingFaults(plan, loaded.spec.value),
      ...loadFaults(plan, loaded, holder),
      ...lackedInputs(plan.inputs, loaded.inputs(holder)),
    ];
  },
};

/** loadFaults compares the load of a plan with that of its spec. A trace is named as seen from each of the two files. */
function loadFaults(plan: PipelinePlan, { spec: { value, path } }: LoadedPipeline, holder: string): Fault[] {
  const seen = (load: PipelinePlan['load'], from: string): PipelinePlan['load'] =>
    load !== undefined && 'trace' in load
      ? { ...load, trace: relativePath(pathFrom(from, load.trace), holder) }
      : load;
  return askedFaults({ load: seen(plan.load, holder) }, { load: seen(value.load, path) });
}

/**
 * The schedulers that plans have of which the spec names none: the default, that of plans which it does not hold, and
 * those of older versions.
 */
const UNNAMED: readonly string[] = [PLANNED_SCHEDULER, 'inferline', 'stage-local'];

/** servingFaults compares who serves a plan with what its spec asks for. */
function servingFaults({ serving }: PipelinePlan, spec: PipelineSpec): Fault[] {
  const asked = pipelineServing(spec);
  const { scheduler } = spec.serving === undefined && UNNAMED.includes(serving.scheduler) ? serving : asked;
  return askedFaults({ serving }, { serving: { ...asked, scheduler } });
}

/**
 * replanned makes the plan of a spec again: as the spec fixes it, or with what the plan chose.
 * @param simulates whether the tuner is simulated again, from which the standby devices follow; else these are taken over
 */
async function replanned(
  plan: PipelinePlan,
  named: LoadedPipeline,
  simulates: boolean,
): Promise<
  | { readonly status: 'feasible'; readonly plan: PipelinePlanBody }
  | { readonly status: 'infeasible'; readonly reasons: readonly { readonly text: string }[] }
> {
  const loaded = plan.share === undefined ? named : withinShare(plan, named);
  const again = await outcomeAgain(plan, loaded);
  if (again.status === 'infeasible') return again;
  const origin = { spec: loaded.spec.value, trace: loaded.trace };
  const { $schema, tool, inputs, serving } = plan;
  const fixed = {
    $schema,
    tool,
    inputs,
    serving,
    ...(await withEnvelope(again.plan, origin)),
  } as PipelinePlan;
  return {
    ...again,
    plan: await (simulates ? plannedStandby(fixed, origin) : standbyAgain(fixed, plan, origin)),
  };
}

/** withinShare gives a pipeline the share of its cluster that its plan names, as far as there are so many devices. */
function withinShare({ cluster }: PipelinePlan, loaded: LoadedPipeline): LoadedPipeline {
  const { files, spec } = loaded;
  const devices = sharedDevices(cluster, files.cluster);
  const within = { ...files, cluster: { ...files.cluster, devices } };
  const { problem } = resolveOpen(spec.value, within);
  return problem === undefined ? loaded : { ...loaded, files: within, open: problem };
}

async function outcomeAgain(plan: PipelinePlan, { open, problem, files, trace, spec }: LoadedPipeline) {
  if (open !== undefined) {
    const tools = planningTools({ spec: spec.value, trace });
    return planAsChosen(plan, { open, spec: spec.value, files, ...tools }, { proves: true });
  }
  return planGiven(problem as GivenProblem);
}
