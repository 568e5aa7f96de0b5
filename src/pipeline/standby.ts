import { pushAll } from '../collections/index.js';
import {
  gpuNumber,
  type OpenCluster,
  type PipelinePlan,
  type PlannedStage,
  type PlannedStandby,
  type StageClassUse,
  type StagePlacement,
} from '../formats/index.js';
import type { PipelinePlanBody } from '../plans/index.js';
import { heldTogether, seatsFrom } from '../plans/index.js';
import { mostHourlyCost } from './stage-placement.js';

/** DevicesOf is a number of devices for each set, by the name of the first of its stages. */
export type DevicesOf = ReadonlyMap<string, number>;

/** standbyOf lists the standby devices of each set of a plan. */
export function standbyOf(plan: Pick<PipelinePlan, 'stages' | 'shared'>): DevicesOf {
  return new Map(setsOf(plan).map(({ name, standby = 0 }) => [name, standby]));
}

/**
 * grantedStandby gives each set the standby devices that it lacks of those wanted in use, as far as the cluster has GPUs
 * that are not in use: the next GPU of a class always goes to the set that has the smallest share of what it wants.
 */
export function grantedStandby(plan: PipelinePlanBody, wanted: DevicesOf): DevicesOf {
  const sets = setsOf(plan).map(({ name, device, virtual, replicas }) => {
    return { name, device, virtual, replicas, wanted: wanted.get(name) ?? replicas, granted: 0 };
  });
  for (const [device, { count, used }] of Object.entries(plan.classes)) {
    const own = sets.filter((set) => set.device === device);
    for (let left = count === undefined ? Number.POSITIVE_INFINITY : count - used; left > 0; left--) {
      const lacking = own.filter((set) => set.replicas + set.granted < set.wanted);
      const [first, ...rest] = lacking;
      if (first === undefined) break;
      const shareOf = (set: typeof first) => (set.replicas + set.granted) / set.wanted;
      const poorest = rest.reduce((least, set) => (shareOf(set) < shareOf(least) ? set : least), first);
      poorest.granted = Math.min(poorest.wanted - poorest.replicas, poorest.granted + poorest.virtual);
    }
  }
  return new Map(sets.map(({ name, granted }) => [name, granted]));
}

/** withStandby gives a plan that has no standby devices so many, on GPUs that nothing stands on. */
export function withStandby<Plan extends PipelinePlanBody>(
  plan: Plan,
  standby: DevicesOf,
  found: PlannedStandby,
): Plan {
  const together = heldTogether(plan);
  const countOf = (stage: string): number =>
    standby.get(together.find((names) => names.includes(stage))?.[0] ?? stage) ?? 0;
  const {
    longestPath,
    envelope,
    stages,
    exclusive,
    shared,
    classes: _,
    placement,
    ...head
  }: PipelinePlanBody = plan;
  const uses = usesOf(plan, countOf);
  const most = mostHourlyCost(uses, plan.cluster);
  const body: PipelinePlanBody = {
    ...head,
    ...(most === undefined ? {} : { mostHourlyCost: most }),
    standby: found,
    longestPath,
    ...(envelope === undefined ? {} : { envelope }),
    stages: stages.map((stage) =>
      countOf(stage.name) === 0 ? stage : withCount(stage, countOf(stage.name)),
    ),
    ...(exclusive === undefined ? {} : { exclusive }),
    ...(shared === undefined ? {} : { shared }),
    classes: uses,
    placement: [...placement, ...seatsOf(plan, countOf)],
  };
  return body as Plan;
}

function usesOf(plan: PipelinePlanBody, countOf: (stage: string) => number): Record<string, StageClassUse> {
  const sets = setsOf(plan);
  const uses = Object.entries(plan.classes).map(([name, { count, ...use }]): [string, StageClassUse] => {
    const own = sets.filter(({ device }) => device === name);
    const gpus = own.reduce((sum, set) => sum + Math.ceil(countOf(set.name) / set.virtual), 0);
    const free = count === undefined ? {} : { count };
    return [name, { ...use, ...(gpus > 0 ? { standby: gpus } : {}), ...free }];
  });
  return Object.fromEntries(uses);
}

/** withCount sets the standby devices of a stage, in the place that fixed ones have. */
function withCount(
  { name, model, device, virtual, batch, replicas, ...rest }: PlannedStage,
  standby: number,
) {
  return { name, model, device, virtual, batch, replicas, standby, ...rest };
}

function setsOf(plan: Pick<PipelinePlan, 'stages' | 'shared'>): PlannedStage[] {
  return heldTogether(plan).map(([first]) => plan.stages.find(({ name }) => name === first) as PlannedStage);
}

function seatsOf(plan: PipelinePlanBody, countOf: (stage: string) => number): StagePlacement[] {
  const free = new Map<string, Generator<number>>();
  return heldTogether(plan).flatMap((names) => {
    const stage = plan.stages.find(({ name }) => name === names[0]) as PlannedStage;
    const { device, virtual } = stage;
    const perServer = plan.cluster.devices[device]?.perServer ?? 1;
    const numbers = free.get(device) ?? freeNumbers(plan.placement, plan.cluster, device);
    free.set(device, numbers);
    const seats: StagePlacement[] = [];
    for (let left = countOf(stage.name); left > 0; left -= virtual) {
      const seat = { class: device, virtual, stages: names, standby: true as const };
      const gpu = numbers.next().value as number;
      pushAll(seats, seatsFrom(gpu, { devices: Math.min(left, virtual), virtual, perServer, seat }));
    }
    return seats;
  });
}

/** freeNumbers lists the numbers of the GPUs of a class on which nothing stands. */
function* freeNumbers(
  placement: readonly StagePlacement[],
  { devices }: OpenCluster,
  device: string,
): Generator<number> {
  const taken = new Set<number>();
  for (const place of placement) {
    if (place.class !== device) continue;
    const first = gpuNumber(place, devices[device]?.perServer ?? 1);
    for (let k = 0; k < (place.count ?? 1); k++) taken.add(first + k);
  }
  for (let gpu = 0; ; gpu++) if (!taken.has(gpu)) yield gpu;
}
