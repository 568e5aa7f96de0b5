import {
  type ComparedChoice,
  didYouMean,
  type Fault,
  fault,
  firstFaults,
  InputError,
  option,
  type SkippedScheduler,
  shown,
  ToldFaults,
} from '../formats/index.js';
import { chosenTuner, planTopologyOf, type StagePlan } from '../plans/index.js';
import { streamsOf } from '../random/index.js';
import {
  type ChosenScheduler,
  choiceClashes,
  Decisions,
  makeCore,
  SCHEDULER_NAMES,
  type SchedulerName,
  type SchedulerOptions,
  scalingFaults,
} from '../serving/index.js';
import { GivenChoices } from './given-choices.js';
import { simulatedTopology } from './run.js';
import { type AskedServing, plannedFor, type Served, tunerChoice, unfitEngineFaults } from './serving.js';

/** ComparedSchedulers is who is compared in serving a plan, and who is not. */
export interface ComparedSchedulers {
  /** The plan, with the devices that its tuner may activate. */
  readonly plan: StagePlan;
  /** The schedulers with their policies; at least one. */
  readonly schedulers: readonly ChosenScheduler[];
  readonly skipped: readonly SkippedScheduler[];
  readonly choices: readonly ComparedChoice[];
}

/** The word for every scheduler that can serve the plan. */
const ALL = 'all';
const AT = option('schedulers');

/** Unable says of schedulers why they cannot serve a plan. */
type Unable = Map<SchedulerName, readonly Fault[]>;

/**
 * comparedSchedulers finds the schedulers that are to be compared: those that are named, as in `fifo,reactive`, or of `all`
 * those that can serve the plan. A choice applies to those in which it exists.
 * @param told where every fault is added: of a name without a scheduler, of a named one that cannot serve the plan, of a
 *   choice that exists in none
 * @returns undefined after a fault, and where the plan contradicts itself
 */
export function comparedSchedulers(
  plan: StagePlan,
  { names: text, ...asked }: AskedServing & { readonly names: string },
  told: ToldFaults,
): ComparedSchedulers | undefined {
  const before = told.count;
  const names = namedSchedulers(text, told);
  const unable: Unable = new Map();
  const own = names.flatMap((name) => ownOf(plan, name, unable));
  const { engine } = asked.options;
  const given = new GivenChoices(asked.policy, own);
  told.addAll(given.faultsOver(own.map(({ name }) => name)));
  const chosen = own.flatMap(({ name }) => chosenWith(plan, { name, given, engine }, { told, unable }));
  told.addAll(unfitEngineFaults(asked, chosen));
  if (!asked.isSound || told.count > before) return undefined;
  const topology = planTopologyOf(plan);
  told.addAll(chosen.flatMap((one) => scalingFaults(one, topology)));
  if (told.count > before) return undefined;
  const served = chosen.flatMap((one) => servedBy(plan, one, { asked, unable }));
  const ableNames = served.map(({ scheduler }) => scheduler.name);
  told.addAll(unableFaults(unable, { isAll: text.trim() === ALL, served, able: () => ableOf(plan, asked) }));
  told.addAll(given.faultsOver(ableNames));
  const [first] = served;
  if (first === undefined || told.count > before) return undefined;
  return {
    plan: first.plan,
    schedulers: served.map(({ scheduler }) => scheduler),
    skipped: [...unable].map(([scheduler, faults]) => ({ scheduler, reason: reasonText(faults) })),
    choices: given.applied(ableNames),
  };
}

/** namedSchedulers reads `all`, or the names of schedulers between commas, each of which counts once. */
function namedSchedulers(text: string, told: ToldFaults): readonly SchedulerName[] {
  const given = [
    ...new Set(
      text
        .split(',')
        .map((name) => name.trim())
        .filter((name) => name !== ''),
    ),
  ];
  const valid = SCHEDULER_NAMES.join(', ');
  if (given.length === 0) told.add(fault(`names no scheduler; take ${ALL}, or some of ${valid}`, AT));
  if (given.length === 1 && given[0] === ALL) return SCHEDULER_NAMES;
  const unknown = given.filter((name) => !isScheduler(name));
  const faults = unknown.map((name) =>
    name === ALL
      ? fault(`names ${ALL} beside others; leave out one or the other`, AT)
      : fault(
          `names ${shown(name)}; valid names are ${valid}, or ${ALL} alone${didYouMean(name, SCHEDULER_NAMES)}`,
          AT,
        ),
  );
  told.addAll(firstFaults(faults));
  return given.filter(isScheduler);
}

function isScheduler(name: string): name is SchedulerName {
  return (SCHEDULER_NAMES as readonly string[]).includes(name);
}

/** ownOf gives a scheduler as it serves the plan without choices of a person, unless it is for plans of other kinds. */
function ownOf(plan: StagePlan, name: SchedulerName, unable: Unable): ChosenScheduler[] {
  const told = new ToldFaults();
  const chosen = plannedFor(plan, { scheduler: name }, told);
  if (chosen !== undefined && told.count === 0) return [chosen];
  unable.set(name, told.error('serve').faults);
  return [];
}

/** ComparedScheduler is a scheduler by its name, with what a person gave for all that are compared. */
interface ComparedScheduler {
  readonly name: SchedulerName;
  readonly given: GivenChoices;
  readonly engine: SchedulerOptions['engine'];
}

/**
 * chosenWith gives a scheduler with the choices that exist in it. A scheduler whose own choices cannot be
 * combined with them is unable; other faults are reported.
 */
function chosenWith(
  plan: StagePlan,
  { name, given, engine }: ComparedScheduler,
  { told, unable }: { readonly told: ToldFaults; readonly unable: Unable },
): ChosenScheduler[] {
  const own = new ToldFaults();
  const found = plannedFor(plan, { scheduler: name, policy: given.existingIn(name), engine }, own);
  if (found !== undefined && own.count === 0) return [found];
  const { faults } = own.error('serve');
  if (found !== undefined && choiceClashes(found).length === own.count) unable.set(name, faults);
  else told.addAll(faults);
  return [];
}

/** servedBy gives the plan with its tuner under a scheduler, unless that refuses the tuner or the stages. */
function servedBy(
  plan: StagePlan,
  chosen: ChosenScheduler,
  { asked, unable }: { readonly asked: AskedServing; readonly unable: Unable },
): Served[] {
  const tuned = chosenTuner(plan, chosen, tunerChoice(asked));
  const faults = tuned.faults.length > 0 ? tuned.faults : coreFaults(tuned, asked);
  if (faults.length === 0) return [tuned];
  unable.set(chosen.name, faults);
  return [];
}

/** coreFaults says why a scheduler refuses the pools, devices and links of a plan, by having its core made. */
function coreFaults({ plan, scheduler }: Served, { transfers }: AskedServing): readonly Fault[] {
  const topology = simulatedTopology({ plan, scheduler, transfers });
  try {
    makeCore(scheduler, topology, { decisions: new Decisions(), streams: streamsOf(0, 'core') });
    return [];
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    return error.faults;
  }
}

function ableOf(plan: StagePlan, asked: AskedServing): readonly string[] {
  const unable: Unable = new Map();
  return SCHEDULER_NAMES.flatMap((name) => ownOf(plan, name, unable))
    .flatMap((one) => servedBy(plan, one, { asked, unable }))
    .map(({ scheduler }) => scheduler.name);
}

interface Ability {
  readonly isAll: boolean;
  readonly served: readonly Served[];
  /** `able` finds all schedulers that can serve the plan. */
  readonly able: () => readonly string[];
}

/**
 * unableFaults makes faults of schedulers that cannot serve the plan: of each that was named, and of `all` where there is
 * no other. Where none can because of what is wrong with the tuner, that is the fault.
 */
function unableFaults(unable: Unable, { isAll, served, able }: Ability): Fault[] {
  if (unable.size === 0 || (isAll && served.length > 0)) return [];
  const ofTuner = [...unable.values()].map((faults) => faults.filter(({ option: at }) => at === 'tuner'));
  const tried = ofTuner.filter((faults) => faults.length > 0);
  if (served.length === 0 && tried.length > 0) return tried.flat();
  const can = able().filter((name) => !unable.has(name as SchedulerName));
  const others = can.length === 0 ? 'no other can' : `${can.join(', ')} can`;
  return [...unable].map(([name, faults]) =>
    fault(`names ${name}, which cannot serve the plan: ${reasonText(faults)}; ${others}`, AT),
  );
}

/** reasonText writes faults as one reason, in which the options that they are about have their names. */
function reasonText(faults: readonly Fault[]): string {
  return faults
    .map(({ message, option: at, path }) => {
      if (at === 'scheduler') return `it ${message}`;
      return at === 'tuner' || path === '/serving/tuner' ? `the tuner ${message}` : message;
    })
    .join('; ');
}
