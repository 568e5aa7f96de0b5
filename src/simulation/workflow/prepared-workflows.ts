import {
  attempted,
  checkWritable,
  inputFile,
  type OutputPath,
  oneErrorOf,
  policyFiles,
  profileInputs,
  readPolicies,
  replacingFaults,
} from '../../artifacts/index.js';
import {
  CHANGED_ADVICE,
  CheckFailedError,
  type Fault,
  fault,
  INPUTS_CHANGED,
  type InputError,
  type InputFile,
  option,
  type PolicyGiven,
  type ToldFaults,
  type WorkflowPlan,
} from '../../formats/index.js';
import {
  applicationsOf,
  isWorkflowScheduler,
  plannedPolicy,
  planOf,
  planProfileFaults,
} from '../../plans/index.js';
import { lengthFaults, numberFaults } from '../length-faults.js';
import { resolvedWorkload } from '../load.js';
import type { SimulatedPlan } from '../plan-at.js';
import { changedTraceFaults, withPlannedLoad } from '../planned-load.js';
import { type PlanProfiles, profilesOf } from '../profiles.js';
import { madeFrom, type SimulationSettings } from '../setup.js';
import { requestSources } from './request-sources.js';
import type { WorkflowSetup } from './workflow-run.js';
import { unknownFault, unservingFaults } from './workflow-schedulers.js';

/** WorkflowSettings are the settings of a simulation, of which some are for plans of stages only. */
export interface WorkflowSettings extends SimulationSettings {
  readonly windows?: number | undefined;
  readonly timeline?: string | undefined;
}

/** PreparedWorkflows is a simulation of workflows that is ready to run. */
export interface PreparedWorkflows {
  readonly setup: WorkflowSetup;
  readonly found: SimulatedPlan<'workflow-plan'>;
  /** The profiles that the plan was made from, as far as they are still there. */
  readonly profiles: PlanProfiles;
  inputs(holder: string | undefined): InputFile[];
}

/** AskedServing holds the choices that are asked for, and where faults of them are added. */
export interface AskedServing {
  readonly given: readonly PolicyGiven[];
  readonly told: ToldFaults;
}

/** ServingWorkflows is who serves workflows, and by scheduler what differs from its own policy. */
type ServingWorkflows = Pick<WorkflowSetup, 'scheduler' | 'policies'>;

/** Preparing says how a simulation of workflows is prepared for what its caller makes of it. */
interface Preparing {
  readonly outputs: readonly OutputPath[];
  /** The faults that were found before. */
  readonly told: ToldFaults;
  /**
   * Finds who serves a plan that does not contradict itself, instead of the scheduler that the options ask for. It adds
   * its faults.
   */
  readonly serving?: (plan: WorkflowPlan, asked: AskedServing) => ServingWorkflows | undefined;
}

/** The options that only simulations of plans of stages take, and a description of each. */
const OF_STAGES = {
  preset: 'are of schedulers of stages',
  tuner: 'changes the replicas of pipelines',
  engine: 'is of engines that serve stages',
  priorities: 'weigh requests, which no scheduler of workflows does',
  verdicts: 'are of the models of pipelines',
  records: 'are of gear plans',
  jitter: 'is of plans of stages; executions of workflows take the planned time',
  slow: 'is of plans of stages; executions of workflows take the planned time',
  windows: 'are of plans of stages',
  timeline: 'is of plans of stages',
} as const satisfies Partial<Record<keyof WorkflowSettings, string>>;

/**
 * prepareWorkflows reads and checks everything that a simulation of workflows needs: the plan, its profiles as far as
 * they exist, recorded runs, and traces. It writes nothing.
 * @throws InputError with every fault of plan, profiles, runs, traces and options at once; MissingError where files
 *   are only missing; CheckFailedError where nothing is wrong but that profiles have changed since the plan was made
 */
export async function prepareWorkflows(
  found: SimulatedPlan<'workflow-plan'>,
  options: WorkflowSettings,
  { outputs, told, serving = askedScheduler(options) }: Preparing,
): Promise<PreparedWorkflows> {
  const { plan, madeAt } = found;
  const located = { ...plan, path: madeAt };
  const task = `simulate ${plan.path}`;
  const errors: InputError[] = [];
  for (const output of outputs) await attempted(errors, checkWritable(output.path));
  const before = told.count;
  const { profiles, changed } = await profilesOf(located, told);
  if (told.count + changed.length === before) told.addAll(planProfileFaults(plan.value, profiles));
  const broken = planOf(plan.value).contradictions(plan.value);
  told.addAll([...broken, ...ofStagesFaults(options), ...numberFaults(options)]);
  const given = await readPolicies(options.policy ?? [], told);
  const served = broken.length > 0 ? undefined : serving(plan.value, { told, given });
  const planned = withPlannedLoad(located, options, false);
  const load = await resolvedWorkload(applicationsOf(plan.value), planned.options, told);
  told.addAll(changedTraceFaults(plan.value, planned.trace, load?.files ?? []));
  const requests = broken.length > 0 ? undefined : await requestSources(located, told, options.signal);
  const files = [
    ...policyFiles(given).map((file) => ({ role: 'policy', file })),
    ...(load?.files ?? []).map((file) => ({ role: 'trace', file })),
    ...(requests?.files ?? []).map((file) => ({ role: 'runs', file })),
  ];
  const read = [
    { what: 'the plan', path: plan.path },
    ...madeFrom(plan.value, madeAt),
    ...profiles.flatMap((profile) => profileInputs(profile)),
    ...files.map(({ role, file }) => ({ what: `the ${role}`, path: file.path })),
  ];
  told.addAll(await replacingFaults(outputs, read));
  if (load !== undefined) told.addAll(lengthFaults(plan.value, load.workload, options.exact));
  if (errors.length + told.count > 0) {
    told.addAll(changed);
    throw oneErrorOf(task, told.count === 0 ? errors : [...errors, told.error(task)]);
  }
  if (changed.length > 0)
    throw new CheckFailedError(task, changed, { advice: CHANGED_ADVICE, checks: INPUTS_CHANGED });
  const { seed = 0, exact = false } = options;
  return {
    setup: {
      ...(served as NonNullable<typeof served>),
      plan: plan.value,
      seed,
      exact,
      workload: (load as NonNullable<typeof load>).workload,
      sources: (requests as NonNullable<typeof requests>).sources,
    },
    found,
    profiles,
    inputs: (holder) => [
      inputFile('plan', plan, holder),
      ...files.map(({ role, file }) => inputFile(role, file, holder)),
    ],
  };
}

function ofStagesFaults(options: WorkflowSettings): Fault[] {
  return Object.entries(OF_STAGES).flatMap(([name, said]) => {
    const value = options[name as keyof typeof OF_STAGES];
    const isGiven = Array.isArray(value) ? value.length > 0 : value !== undefined;
    return isGiven ? [fault(`${said}, and this is a workflow plan`, option(name))] : [];
  });
}

/**
 * askedScheduler finds the scheduler that the options or a policy file name, and else that of the plan, with the
 * choices for it.
 */
function askedScheduler({ scheduler: asked }: WorkflowSettings): NonNullable<Preparing['serving']> {
  return (plan, { given, told }) => {
    const named = given.flatMap((one) =>
      typeof one === 'string' || one.scheduler === undefined
        ? []
        : [{ name: one.scheduler, at: `${one.at}/scheduler` }],
    );
    const name = asked ?? named[0]?.name ?? plan.serving.scheduler;
    told.addAll(
      named.flatMap((one) =>
        one.name === name
          ? []
          : [fault(`is ${one.name}, and the scheduler is ${name}: leave out one of them`, one.at)],
      ),
    );
    if (!isWorkflowScheduler(name)) {
      told.add(unknownFault(name, 'scheduler'));
      return undefined;
    }
    const faults = unservingFaults(plan, name);
    told.addAll(
      faults.map(({ message }) =>
        fault(`is ${name}, which cannot serve the plan: ${message}`, option('scheduler')),
      ),
    );
    const policy = plannedPolicy(plan.serving, { scheduler: name, given }, told);
    return faults.length > 0 ? undefined : { scheduler: name, policies: { [name]: policy } };
  };
}
