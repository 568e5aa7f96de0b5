import { gpuNumber, type PipelinePlan, type PlannedStage, type StagePlacement } from '../../formats/index.js';
import { seatsFrom } from '../stages/index.js';

/** A tuner may have this many times the replicas of the plan, and at least this many devices, where nothing else limits it. */
const MOST_TIMES = 8;
const LEAST_MOST = 16;

/**
 * withSpares adds the standby devices that a tuner may activate. A stage that has standby devices keeps those. Any other
 * gets as many as the cluster has GPUs left of its class, but no more than make it 8 times its replicas, or 16 devices
 * where that is more. Stages of one class may each have all that are left: whoever activates them sees to it that no
 * more GPUs are in use than there are. Spare devices stand on GPUs of their own, numbered after those of the plan.
 */
export function withSpares(plan: PipelinePlan): PipelinePlan {
  const next = new Map<string, number>();
  for (const place of plan.placement) {
    const number = gpuNumber(place, plan.cluster.devices[place.class]?.perServer ?? 1);
    const after = Number.isNaN(number) ? 0 : number + (place.count ?? 1);
    next.set(place.class, Math.max(next.get(place.class) ?? 0, after));
  }
  const spares = heldTogether(plan).flatMap((stages): StagePlacement[] => {
    const stage = plan.stages.find(({ name }) => name === stages[0]) as PlannedStage;
    const { device, virtual } = stage;
    const devices = sparesOf(plan, stage);
    const first = next.get(device) ?? 0;
    next.set(device, first + Math.ceil(devices / virtual));
    const perServer = plan.cluster.devices[device]?.perServer ?? 1;
    return seatsFrom(first, {
      devices,
      virtual,
      perServer,
      seat: { class: device, virtual, stages, standby: true },
    });
  });
  return spares.length === 0 ? plan : { ...plan, placement: [...plan.placement, ...spares] };
}

/** heldTogether lists the stages of each set of devices, by their names. */
export function heldTogether({ stages, shared = [] }: Pick<PipelinePlan, 'stages' | 'shared'>): string[][] {
  const sharing = shared.flatMap((set) => set.stages);
  const alone = stages.filter(({ name }) => !sharing.includes(name)).map(({ name }) => [name]);
  return [...shared.map((set) => set.stages), ...alone];
}

function sparesOf(
  { classes }: PipelinePlan,
  { device, virtual, replicas, standby = 0, others }: PlannedStage,
): number {
  if (standby > 0 || others !== undefined) return 0;
  const { count, used = 0, standby: kept = 0 } = classes[device] ?? {};
  const left = count === undefined ? Number.POSITIVE_INFINITY : Math.max(0, count - used - kept) * virtual;
  return Math.min(left, Math.max(LEAST_MOST, MOST_TIMES * replicas) - replicas);
}
