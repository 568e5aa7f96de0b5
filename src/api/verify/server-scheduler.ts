import { isDeepStrictEqual } from 'node:util';
import { smallestOf } from '../../collections/index.js';
import {
  DEFAULT_SCHEDULER,
  type Fault,
  fault,
  type Loaded,
  type PlanServing,
  ToldFaults,
} from '../../formats/index.js';
import type { SchedulerOptions } from '../../serving/index.js';
import type { SimulationSetup } from '../../simulation/index.js';

/**
 * serverScheduler gives how the server of a load scheduled, as options of a simulation. There are none where it did not
 * tell, or ran what no scheduler here is.
 */
export async function serverScheduler({ value: { serving }, path }: Loaded<'load-report'>): Promise<{
  readonly options: SchedulerOptions;
  readonly faults: readonly Fault[];
}> {
  if (serving === undefined) return { options: {}, faults: [] };
  if (serving.policy?.scaling !== undefined)
    return {
      options: {},
      faults: [fault('its server followed a schedule of devices, and that is not verified', path)],
    };
  const { planChoices, servingFaults } = await import('../../plans/index.js');
  const faults = servingFaults({ serving }).map(({ message, path: at = '' }) =>
    fault(message, `${path}#${at}`),
  );
  const { scheduler, policy } = serving;
  return { options: faults.length > 0 ? {} : { scheduler, policy: planChoices(policy) }, faults };
}

/** schedulerNotes says where a server scheduled otherwise than its plan says, and that this was simulated. */
export async function schedulerNotes({ plan, scheduler }: SimulationSetup): Promise<string[]> {
  const { plannedScheduler, planTopologyOf, weighedApplications } = await import('../../plans/index.js');
  const leastSloNs = smallestOf(planTopologyOf(plan).models.map(({ sloNs }) => sloNs));
  const planned = plannedScheduler(
    plan.serving,
    { options: {}, leastSloNs, kind: plan.kind, applications: weighedApplications(plan) },
    new ToldFaults(),
  );
  const { name, policy } = scheduler;
  const said = 'and it is simulated as it was served';
  if (planned === undefined || planned.name !== name) {
    const { scheduler: named = DEFAULT_SCHEDULER }: Partial<PlanServing> = plan.serving ?? {};
    return [`the server ran the scheduler ${name} and the plan names ${named}, ${said}`];
  }
  const others = Object.keys(policy).filter((key) => !isDeepStrictEqual(policy[key], planned.policy[key]));
  if (others.length === 0) return [];
  return [`the server ran ${name} with another ${others.join(', ')} than the plan says, ${said}`];
}
