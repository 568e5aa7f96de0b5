import { smallestOf } from '../collections/index.js';
import { type Fault, option, type PolicyGiven, type ToldFaults } from '../formats/index.js';
import {
  applicationsOf,
  chosenTuner,
  engineFaults,
  plannedScheduler,
  planTopologyOf,
  type StagePlan,
  servingFaults,
  type TunerOptions,
  weighedApplications,
} from '../plans/index.js';
import { type ChosenScheduler, type SchedulerOptions, scalingFaults } from '../serving/index.js';
import type { SimulationSetup } from './run.js';

/** AskedServing says who is to serve a plan, as far as options say. */
export interface AskedServing {
  readonly options: SchedulerOptions & TunerOptions;
  /** The choices that were given, of policy files those that were read. */
  readonly policy: readonly PolicyGiven[];
  /**
   * transfers says whether transfers take time; where they do not, a server is simulated, which has the
   * plan's devices only.
   */
  readonly transfers: SimulationSetup['transfers'];
  /**
   * isSound says whether the plan does not contradict itself. Of another, only the names and choices are
   * looked at.
   */
  readonly isSound: boolean;
}

/** Served is a plan with the devices and the scheduler that serve it. */
export type Served = Pick<SimulationSetup, 'plan' | 'scheduler'>;

/**
 * askedServing finds the scheduler and the tuner that are asked for, else those of the plan.
 * @param told where every fault is added
 * @returns undefined where they cannot be told
 */
export function askedServing(plan: StagePlan, asked: AskedServing, told: ToldFaults): Served | undefined {
  const scheduler = plannedFor(plan, { ...asked.options, policy: asked.policy }, told);
  if (scheduler === undefined || !asked.isSound) return undefined;
  told.addAll(unfitEngineFaults(asked, [scheduler]));
  const tuned = chosenTuner(plan, scheduler, tunerChoice(asked));
  told.addAll(tuned.faults);
  if (told.count === 0) told.addAll(scalingFaults(scheduler, planTopologyOf(plan)));
  return tuned;
}

/** unfitEngineFaults refuses an engine profile where none of the schedulers stands for that engine. */
export function unfitEngineFaults(
  { options: { engine } }: AskedServing,
  schedulers: readonly ChosenScheduler[],
): Fault[] {
  const [first] = schedulers;
  if (typeof engine !== 'object' || first === undefined) return [];
  if (schedulers.some((one) => one.engine !== undefined)) return [];
  return engineFaults(engine, first.name, option('engine'));
}

/** tunerChoice says who is to tune a plan: on a server only standby devices of the plan. */
export function tunerChoice({
  options: { tuner },
  transfers,
}: AskedServing): Parameters<typeof chosenTuner>[2] {
  return { tuner, ...(transfers === 'none' ? { onlyStandby: true } : {}) };
}

/**
 * plannedFor finds the scheduler that serves a plan by some options. The plan's contradictions report faults
 * of the scheduler that the plan itself names.
 */
export function plannedFor(
  plan: StagePlan,
  options: SchedulerOptions,
  told: ToldFaults,
): ChosenScheduler | undefined {
  const { serving } = plan;
  const isKnown = servingFaults(serving === undefined ? {} : { serving }).length === 0;
  const leastSloNs = 1e6 * smallestOf(applicationsOf(plan).map(({ sloMs }) => sloMs));
  const asked = { options, leastSloNs, kind: plan.kind, applications: weighedApplications(plan) };
  return plannedScheduler(isKnown ? serving : undefined, asked, told);
}
