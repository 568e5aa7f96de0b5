import { smallestOf } from '../collections/index.js';
import { fault, option, type PlanServing, ToldFaults } from '../formats/index.js';
import { chosenTuner, plannedScheduler, replayFaults, weighedApplications } from '../plans/index.js';
import { type ChosenScheduler, scalingFaults } from '../serving/index.js';
import type { OpenedBundle } from './bundle/opened-bundle.js';
import type { ServeOptions } from './types.js';

/**
 * liveScheduler finds the scheduler that a server runs, with its policy and tuner: what the bundle's plan says, unless
 * options ask for another. The tuner activates the standby devices of the plan, which have cores of their own here.
 * @param told the faults that were found before
 * @throws InputError with every fault of the scheduler's name and its policy, also for `tables=busy-until`, which only
 *   replays the published simulator
 */
export function liveScheduler(
  options: Pick<ServeOptions, 'scheduler' | 'policy' | 'tuner'>,
  { plan, topology }: Pick<OpenedBundle, 'plan' | 'topology'>,
  told: ToldFaults = new ToldFaults(),
): ChosenScheduler {
  const leastSloNs = smallestOf(topology.models.map(({ sloNs }) => sloNs));
  const asked = { options, leastSloNs, kind: plan.kind, applications: weighedApplications(plan) };
  const chosen = plannedScheduler(plan.serving, asked, told);
  if (chosen !== undefined) told.addAll([...replayFaults(chosen), ...scalingFaults(chosen, topology)]);
  const tuned = chosen && chosenTuner(plan, chosen, { tuner: options.tuner, onlyStandby: true });
  told.addAll(tuned?.faults ?? []);
  if (tuned?.scheduler.tuner?.settings.kind === 'oracle')
    told.add(fault('is oracle, which knows what comes, and is only simulated', option('tuner')));
  if (tuned === undefined || told.count > 0) throw told.error('serve');
  return tuned.scheduler;
}

/**
 * toldServing gives a chosen scheduler with every choice of its policy, in the words of plans and of `--policy`. Of a
 * schedule of devices it says only that there is one.
 */
export function toldServing({
  name,
  policy,
}: ChosenScheduler): PlanServing & Required<Pick<PlanServing, 'policy'>> {
  const choices = Object.entries(policy).flatMap(([key, value]) => {
    if (key === 'scaling') return [[key, 'schedule']];
    if (typeof value !== 'object' || value === null) return [[key, value]];
    const { kind, ...parts } = value as Record<string, unknown>;
    return [[key, kind], ...Object.entries(parts).map(([part, of]) => [`${key}.${part}`, of])];
  });
  return { scheduler: name, policy: Object.fromEntries(choices) };
}
