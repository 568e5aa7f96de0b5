import { type Fault, fault, option, ToldFaults } from '../artifacts/index.js';
import { type ChosenScheduler, chosenScheduler, type Topology } from '../serving/index.js';
import type { ServeOptions } from './types.js';

/** The scheduler that serves where none is asked for: every pool decides for itself. */
const LIVE_SCHEDULER = 'stage-local';
/**
 * The most slack kept before deadlines for work outside the core: reading, answering and inexact timers. The
 * slack is a fiftieth of the SLO, and at most this.
 */
const MOST_SLACK_NS = 3e6;

/**
 * liveScheduler finds the scheduler that a server runs, with its policy; `stage-local` is the default. Where the policy
 * has a `slackNs` and the options set none, it becomes a fiftieth of the shortest SLO of the topology, at most 3 ms.
 * Reservations have none, because the time of reading and answering lengthens the measured executions and is expected
 * from then on.
 * @throws InputError with every fault of the scheduler's name and its policy, also for `tables=busy-until`, which only
 *   replays the published simulator
 */
export function liveScheduler(
  { scheduler = LIVE_SCHEDULER, policy = [] }: Pick<ServeOptions, 'scheduler' | 'policy'>,
  topology: Topology,
): ChosenScheduler {
  const told = new ToldFaults();
  const chosen = chosenScheduler({ scheduler, policy }, told);
  if (chosen !== undefined) told.add(...onlyReplayed(chosen));
  if (chosen === undefined || told.count > 0) throw told.error('serve');
  if (!('slackNs' in chosen.policy) || policy.some((choice) => choice.startsWith('slackNs='))) return chosen;
  const slackNs = Math.min(MOST_SLACK_NS, ...topology.models.map(({ sloNs }) => Math.floor(sloNs / 50)));
  return { ...chosen, policy: { ...chosen.policy, slackNs } };
}

/** onlyReplayed refuses the reservation tables of the published simulator, which book devices that are busy. */
function onlyReplayed({ name, policy }: ChosenScheduler): Fault[] {
  return policy.tables === 'busy-until'
    ? [
        fault(
          `${name} with tables=busy-until replays the published simulator, and is only simulated`,
          option('scheduler'),
        ),
      ]
    : [];
}
