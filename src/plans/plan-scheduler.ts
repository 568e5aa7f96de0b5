import {
  DEFAULT_SCHEDULER,
  type EngineFigures,
  type Fault,
  type FaultPlace,
  fault,
  listed,
  option,
  type PlanServing,
  type PolicyGiven,
  ToldFaults,
} from '../formats/index.js';
import type { ChosenScheduler } from '../serving/index.js';
import {
  choiceClashes,
  choicesGiven,
  chosenScheduler,
  ENGINE_SCHEDULERS,
  engineOf,
  type SchedulerOptions,
} from '../serving/index.js';
import {
  areWeighed,
  levelFaults,
  priorityFaults,
  unweighedFaults,
  type WeighedApplication,
} from './priorities.js';
import type { StagePlanKind } from './served-plan.js';

/**
 * The most slack kept before deadlines for work outside the core: reading, answering and inexact timers. The
 * slack is a fiftieth of the SLO, and at most this.
 */
const MOST_SLACK_NS = 3e6;

/** How requests are weighed where a plan has priorities and nobody says how (docs/pard.md has what was measured of it). */
const WEIGHING = { kind: 'levels', margin: 0.25 };

const NO_TUNER = { kind: 'none' };

/** ServedWith says which schedulers and tuners are for plans of a kind. */
interface ServedWith {
  /** hasGears says whether the scheduler `gears` can switch its gears. */
  readonly hasGears: boolean;
  /** The description of a plan whose replicas no tuner changes; absent where a tuner may. */
  readonly untuned?: string;
}

/** The table of plans asks `servingFaults` itself, so that this cannot stand in its entries. */
const SERVED_WITH: { readonly [K in StagePlanKind]: ServedWith } = {
  'pooled-plan': { hasGears: false, untuned: 'pooled' },
  'pipeline-plan': { hasGears: false },
  'gear-plan': { hasGears: true, untuned: 'a cascade' },
};

/** PlannedFor says what a scheduler is to serve, and which one the options ask for. */
interface PlannedFor {
  readonly options: SchedulerOptions;
  /** The shortest SLO of the models. */
  readonly leastSloNs: number;
  /** The kind of the plan, where the options may name a scheduler that is not for it. */
  readonly kind?: StagePlanKind;
  /** The applications that share the stages of a pipeline, whose requests may weigh differently. */
  readonly applications?: readonly WeighedApplication[] | undefined;
}

/**
 * plannedScheduler finds the scheduler that serves a plan: the one that the plan names (`stage-local` where it names
 * none), with the plan's choices and then those of the options. Where the options name another scheduler or a preset,
 * the plan's choices do not count. Where the plan has priorities, or applications of several weights, a scheduler that can
 * weigh requests does. A policy with a `slackNs` that nobody sets gets a fiftieth of the least SLO, at most 3 ms; a preset
 * keeps its own. Reservations have none, because the time of reading and answering lengthens the measured
 * executions and is expected from then on.
 * @param told where every fault of the options is added; the result is only to be used if there is none
 * @returns undefined where the scheduler or the preset does not exist
 */
export function plannedScheduler(
  {
    scheduler: planned = DEFAULT_SCHEDULER,
    policy: choices,
    priorities,
    engine: itsEngine,
  }: Partial<PlanServing> = {},
  { options, leastSloNs, kind, applications }: PlannedFor,
  told: ToldFaults,
): ChosenScheduler | undefined {
  const { preset, policy: asked = [] } = options;
  const scheduler = askedScheduler(options, told) ?? planned;
  const isPlanned = scheduler === planned && preset === undefined;
  if (scheduler === 'gears' && scheduler !== planned) told.addAll(gearsFaults(kind, option('scheduler')));
  const policy = [...(isPlanned ? planChoices(choices) : []), ...asked];
  const engine = typeof options.engine === 'object' ? options.engine : itsEngine;
  const asAsked = onEngine(chosenScheduler({ scheduler, preset, policy }, told), engine);
  const isWeighed = priorities !== undefined || areWeighed(applications);
  const chosen = isWeighed ? asAsked && weighing(asAsked, policy) : asAsked;
  const isSet = choicesGiven(policy).includes('slackNs');
  if (chosen === undefined || preset !== undefined || isSet || !('slackNs' in chosen.policy)) return chosen;
  const slackNs = Math.min(MOST_SLACK_NS, Math.floor(leastSloNs / 50));
  return { ...chosen, policy: { ...chosen.policy, slackNs } };
}

/**
 * onEngine gives a scheduler the figures of the engine that it stands for. The figures of another engine say
 * nothing of it.
 */
function onEngine(
  chosen: ChosenScheduler | undefined,
  engine: EngineFigures | undefined,
): ChosenScheduler | undefined {
  if (chosen === undefined || engine === undefined || engineOf(chosen.name) !== engine.target) return chosen;
  return { ...chosen, engine };
}

/** engineFaults refuses figures of an engine for which the scheduler does not stand. */
export function engineFaults({ target }: EngineFigures, scheduler: string, at: FaultPlace): Fault[] {
  const engine = engineOf(scheduler);
  if (engine === target) return [];
  const fitting = Object.entries(ENGINE_SCHEDULERS).flatMap(([name, its]) => (its === target ? [name] : []));
  const which =
    fitting.length === 0 ? `no scheduler stands for ${target}` : `${listed(fitting)} serve as it does`;
  return [fault(`is of the engine ${target}, but the scheduler is ${scheduler}: ${which}`, at)];
}

/** weighing lets a scheduler weigh requests, where nobody says how and its other choices allow it. */
function weighing(chosen: ChosenScheduler, given: readonly PolicyGiven[]): ChosenScheduler {
  const isSaid = choicesGiven(given).some((name) => name.split('.')[0] === 'weighing');
  if (isSaid || !('weighing' in chosen.policy)) return chosen;
  const weighed = { ...chosen, policy: { ...chosen.policy, weighing: WEIGHING } };
  return choiceClashes(weighed).length > 0 ? chosen : weighed;
}

/** weighs returns whether a scheduler weighs requests, or has been asked not to. */
function weighs({ policy }: ChosenScheduler, given: readonly PolicyGiven[]): boolean {
  const { weighing: rule } = policy as { readonly weighing?: { readonly kind: string } };
  return rule !== undefined && (rule.kind !== 'none' || choicesGiven(given).includes('weighing'));
}

/** askedScheduler is the scheduler that the options name, or the policy files among them. They may not disagree. */
function askedScheduler({ scheduler, policy = [] }: SchedulerOptions, told: ToldFaults): string | undefined {
  let asked = scheduler;
  let by: FaultPlace = option('scheduler');
  for (const given of policy) {
    if (typeof given === 'string' || given.scheduler === undefined) continue;
    const at = `${given.at}/scheduler`;
    if (asked !== undefined && asked !== given.scheduler)
      told.add(fault(`is ${given.scheduler}, but ${by} is ${asked}: leave out one of them`, at));
    if (asked === undefined) [asked, by] = [given.scheduler, at];
  }
  return asked;
}

/**
 * servingFaults finds what is wrong with the scheduler that a plan or spec names, and with its choices. A policy that
 * only replays the published simulator is one of these faults, because no server could run it. The kind is that of the plan,
 * or of the plan that is made of the spec; where it is not known, nothing is said of what is for some kinds only. The
 * applications are those of a pipeline, whose weights multiply those of priorities.
 */
export function servingFaults({
  serving,
  kind,
  applications,
}: {
  readonly serving?: PlanServing | undefined;
  readonly kind?: StagePlanKind;
  readonly applications?: readonly WeighedApplication[] | undefined;
}): Fault[] {
  if (serving === undefined) return [];
  const told = new ToldFaults();
  const policy = planChoices(serving.policy);
  const chosen = chosenScheduler({ scheduler: serving.scheduler, policy }, told);
  if (chosen !== undefined) told.addAll(replayFaults(chosen));
  const { priorities } = serving;
  const isWeighed = chosen === undefined || weighs(weighing(chosen, policy), policy);
  const { faults } = told.error('serve');
  const isTuned = (serving.tuner ?? NO_TUNER).kind !== 'none';
  const untuned = kind === undefined ? undefined : SERVED_WITH[kind].untuned;
  return [
    ...(serving.scheduler === 'gears' ? gearsFaults(kind, '/serving/scheduler') : []),
    ...faults.map(({ message, path }) =>
      fault(message, path.startsWith('/serving/') ? path : '/serving/scheduler'),
    ),
    ...(serving.engine === undefined
      ? []
      : engineFaults(serving.engine, serving.scheduler, '/serving/engine')),
    ...priorityFaults(priorities),
    ...levelFaults(priorities, applications),
    ...(isWeighed ? [] : unweighedFaults(serving.scheduler, priorities, applications)),
    ...(isTuned && untuned !== undefined
      ? [fault(`changes the replicas of pipelines, and this is ${untuned}`, '/serving/tuner')]
      : []),
  ];
}

/** gearsFaults refuses the scheduler of gear plans where the plan is of another kind. */
function gearsFaults(kind: StagePlanKind | undefined, at: FaultPlace): Fault[] {
  if (kind === undefined || SERVED_WITH[kind].hasGears) return [];
  return [fault('is gears, which serves gear plans only', at)];
}

/** replayFaults refuses the reservation tables of the published simulator, which book devices that are busy. */
export function replayFaults({ name, policy }: ChosenScheduler): Fault[] {
  if (policy.tables !== 'busy-until') return [];
  const said = `${name} with tables=busy-until replays the published simulator, and is only simulated`;
  return [fault(said, option('scheduler'))];
}

/** planChoices gives the choices of a plan as those of `--policy`. */
export function planChoices(policy: PlanServing['policy'] = {}): PolicyGiven[] {
  return [{ at: '/serving/policy', choices: policy }];
}
