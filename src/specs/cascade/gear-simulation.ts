import { emittedHead } from '../../artifacts/index.js';
import { itemAt } from '../../collections/index.js';
import {
  type CascadeSpec,
  type Fault,
  fault,
  fieldChanges,
  type GearPlan,
  PLANNED_GEARS,
  ToldFaults,
} from '../../formats/index.js';
import {
  type CascadeFiles,
  type GearPlanBody,
  repeatedPromise,
  type SimulateGears,
} from '../../gearplan/index.js';
import { plannedScheduler } from '../../plans/index.js';
import type { FamilyRecords } from '../../records/index.js';
import type { ChosenScheduler } from '../../serving/index.js';
import { simulatedGears } from '../../simulation/index.js';

/** gearSimulation gives what simulates whole gear plans of a spec, as they are served. */
export function gearSimulation(spec: CascadeSpec, { records }: Pick<CascadeFiles, 'records'>): SimulateGears {
  return (body) =>
    simulatedGears(planOf(spec, body), {
      scheduler: schedulerOf(spec, body),
      family: recordsOf(records, body),
    });
}

/** repeatedGearPromiseFaults simulates the runs again that confirm a plan's promise, and reports where they give something else. */
export function repeatedGearPromiseFaults(
  plan: GearPlan,
  {
    spec,
    files,
  }: { readonly spec: { readonly value: CascadeSpec }; readonly files: Pick<CascadeFiles, 'records'> },
): Fault[] {
  if (plan.promise === undefined) return [];
  const again = repeatedPromise(plan, gearSimulation(spec.value, files));
  if ('worst' in again) {
    const { rps, mean } = again.worst;
    return [fault(`is not held: at ${rps} requests/s its runs have ${mean} in time`, '/promise')];
  }
  const { promise, gears } = plan;
  const has = { promise, gears: gears.map(({ p95Ms, utilization }) => ({ p95Ms, utilization })) };
  return fieldChanges(has, again).map(({ path, before = 'absent', after = 'absent' }) =>
    fault(`is ${before}; the runs of the promise give ${after}`, path),
  );
}

function planOf(spec: CascadeSpec, body: GearPlanBody): GearPlan {
  return { ...emittedHead('gear-plan', []), serving: gearServing(spec), ...body };
}

/** gearServing says by what plans of a spec are served. */
export function gearServing({ serving }: CascadeSpec): GearPlan['serving'] {
  return serving ?? PLANNED_GEARS;
}

/** schedulerOf is the scheduler that a plan names, which was checked when the spec was read. */
function schedulerOf(spec: CascadeSpec, { sloMs }: GearPlanBody): ChosenScheduler {
  const asked = { options: {}, leastSloNs: 1e6 * sloMs, kind: 'gear-plan' as const };
  return plannedScheduler(gearServing(spec), asked, new ToldFaults()) as ChosenScheduler;
}

/** recordsOf are the records of the stages of a plan, in their order. */
function recordsOf(records: FamilyRecords, { stages }: GearPlanBody): FamilyRecords {
  const places = stages.map(({ name }) => records.models.indexOf(name));
  return {
    ...records,
    models: stages.map(({ name }) => name),
    correct: places.map((place) => itemAt(records.correct, place)),
    certainty: places.map((place) => itemAt(records.certainty, place)),
  };
}
