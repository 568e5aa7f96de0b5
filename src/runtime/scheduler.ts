import { type Fault, fault, option, type PlanServing, ToldFaults } from '../artifacts/index.js';
import { type ChosenScheduler, plannedScheduler, replayFaults } from '../serving/index.js';
import type { OpenedBundle } from './opened-bundle.js';
import type { ServeOptions } from './types.js';

/**
 * liveScheduler finds the scheduler that a server runs, with its policy: what the bundle's plan says, unless options ask
 * for another.
 * @param told the faults that were found before
 * @throws InputError with every fault of the scheduler's name and its policy, also for `tables=busy-until`, which only
 *   replays the published simulator
 */
export function liveScheduler(
  options: Pick<ServeOptions, 'scheduler' | 'policy'>,
  { plan, topology }: Pick<OpenedBundle, 'plan' | 'topology'>,
  told: ToldFaults = new ToldFaults(),
): ChosenScheduler {
  const leastSloNs = Math.min(...topology.models.map(({ sloNs }) => sloNs));
  const chosen = plannedScheduler(plan.serving, { options, leastSloNs }, told);
  if (chosen !== undefined) told.add(...replayFaults(chosen), ...scalingFaults(chosen));
  if (chosen === undefined || told.count > 0) throw told.error('serve');
  return chosen;
}

/** scalingFaults refuses a schedule of devices: a server has all of its devices in use. */
function scalingFaults({ policy: { scaling } }: ChosenScheduler): Fault[] {
  if (scaling === undefined) return [];
  return [fault('is only simulated: a server has all its devices in use', `${option('policy')} scaling`)];
}

/** toldServing gives a chosen scheduler with every choice of its policy, in the words of plans and of `--policy`. */
export function toldServing({
  name,
  policy,
}: ChosenScheduler): PlanServing & Required<Pick<PlanServing, 'policy'>> {
  const choices = Object.entries(policy).flatMap(([key, value]) => {
    if (typeof value !== 'object' || value === null) return [[key, value]];
    const { kind, ...parts } = value as Record<string, unknown>;
    return [[key, kind], ...Object.entries(parts).map(([part, of]) => [`${key}.${part}`, of])];
  });
  return { scheduler: name, policy: Object.fromEntries(choices) };
}
