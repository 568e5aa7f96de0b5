import { largestOf } from '../../collections/index.js';
import {
  BYTES_PER_GIB,
  type Fault,
  fault,
  type GearPlan,
  type OpenCluster,
  type OpenDeviceClass,
  type PipelinePlan,
  proofFaults,
  type StagePlacement,
} from '../../formats/index.js';
import { type CountedGpu, countedGpus } from './counted-gpus.js';

/** Placed is what is counted of a plan, whatever its kind. */
type Placed = Pick<
  PipelinePlan | GearPlan,
  'cluster' | 'classes' | 'placement' | 'hourlyCost' | 'objective' | 'status'
> & {
  readonly kind: PipelinePlan['kind'] | GearPlan['kind'];
  readonly stages: readonly PlacedStage[];
};

interface PlacedStage {
  readonly name: string;
  readonly device: string;
  readonly virtual: number;
  readonly replicas: number;
  readonly standby?: number;
  readonly weightBytes?: number;
  /** Its replicas of further classes. */
  readonly others?: readonly Pick<PlacedStage, 'device' | 'virtual' | 'replicas'>[];
}

/**
 * IS_WEIGHED says whether the memory that a plan's models take follows from the weights that it tells. A
 * cascade's spec may say itself how much memory its models take, which its plan does not have.
 */
const IS_WEIGHED: Readonly<Record<Placed['kind'], boolean>> = { 'pipeline-plan': true, 'gear-plan': false };

const TOLERANCE = 1e-9;

/**
 * recountFaults counts what a plan uses, from its placement alone, and reports where its stages, its classes, its price or
 * its cluster say something else: replicas and standby devices of each stage, GPUs of each class in use and on standby,
 * which are together no more than are free, GPUs that are there and hold no more than fits, also by the weights of models
 * where these and the memory are known, and what all of it costs.
 */
export function recountFaults(plan: Placed): Fault[] {
  const gpus = countedGpus(plan.placement, plan.cluster.devices);
  return [
    ...plan.stages.flatMap((stage, i) => stageFaults(stage, plan.placement, `/stages/${i}`)),
    ...Object.keys({ ...plan.cluster.devices, ...plan.classes }).flatMap((name) =>
      classFaults(name, plan, gpus),
    ),
    ...plan.placement.flatMap((place, i) => seatFaults(place, plan.cluster, `/placement/${i}`)),
    ...gpus.flatMap((gpu) => gpuFaults(gpu, plan)),
    ...costFaults(plan, gpus),
  ];
}

/**
 * countedPlan returns a plan as it is, where `recountFaults` finds nothing and its value does not beat its bound, so that no
 * wrong plan is written.
 * @throws Error with the first ten faults, which are a bug in the planner
 */
export function countedPlan<Plan extends Placed>(plan: Plan): Plan {
  const faults = [...recountFaults(plan), ...proofFaults(plan)];
  if (faults.length === 0) return plan;
  const told = faults.slice(0, 10).map(({ path, message }) => `${path} ${message}`);
  throw new Error(`The plan that was found does not pass its count, and is not written: ${told.join('; ')}`);
}

function stageFaults(
  { name, device, virtual, replicas, standby = 0, others = [] }: PlacedStage,
  placement: readonly StagePlacement[],
  at: string,
): Fault[] {
  const all = placement.filter(({ stages }) => stages.includes(name));
  const ofOthers = others.map((other) =>
    all.filter((place) => place.class === other.device && place.virtual === other.virtual),
  );
  const holding = all.filter((place) => ofOthers.every((places) => !places.includes(place)));
  const placed = (isStandby: boolean, places: readonly StagePlacement[] = holding): number =>
    places
      .filter((place) => (place.standby === true) === isStandby)
      .reduce((sum, { count = 1 }) => sum + count, 0);
  const unlike = holding.filter((place) => place.class !== device || place.virtual !== virtual);
  const miscounted = others.flatMap((other, k) => {
    const found = placed(false, ofOthers[k]);
    if (found === other.replicas) return [];
    return [
      fault(`is ${other.replicas}; ${found} ${other.device} hold ${name}`, `${at}/others/${k}/replicas`),
    ];
  });
  return [
    ...miscounted,
    ...(placed(false) === replicas
      ? []
      : [fault(`is ${replicas}; ${placed(false)} devices hold ${name}`, `${at}/replicas`)]),
    ...(placed(true) === standby
      ? []
      : [fault(`is ${standby}; ${placed(true)} standby devices hold ${name}`, `${at}/standby`)]),
    ...(unlike.length === 0
      ? []
      : [fault(`${name} is placed on other devices than 1/${virtual} ${device}`, `${at}/device`)]),
  ];
}

function classFaults(name: string, { classes, cluster }: Placed, gpus: readonly CountedGpu[]): Fault[] {
  const own = gpus.filter((gpu) => gpu.class === name);
  const used = sum(own.filter(({ isUp }) => isUp));
  const standby = sum(own.filter(({ isUp }) => !isUp));
  const told = classes[name];
  const at = `/classes/${name}`;
  const device = cluster.devices[name];
  if (device === undefined) return used + standby === 0 ? [] : [fault('is no class of the cluster', at)];
  const free = freeOf(device);
  return [
    ...differs(told?.used ?? 0, used, `${at}/used`),
    ...differs(told?.standby ?? 0, standby, `${at}/standby`),
    ...(told?.count === undefined || told.count === free
      ? []
      : [fault(`is ${told.count}; the cluster has ${free ?? 'no limit'}`, `${at}/count`)]),
    ...(free !== undefined && used + standby > free
      ? [fault(`has ${used} GPUs in use and ${standby} on standby, and ${free} are free`, at)]
      : []),
  ];
}

function sum(gpus: readonly CountedGpu[]): number {
  return gpus.reduce((all, { alike }) => all + alike, 0);
}

function freeOf({ count, taken = 0 }: OpenDeviceClass): number | undefined {
  return count === undefined ? undefined : Math.max(0, count - taken);
}

function differs(told: number, counted: number, at: string): Fault[] {
  return told === counted ? [] : [fault(`is ${told}; the placement has ${counted}`, at)];
}

/** gpuFaults finds what is wrong with a GPU: it is not there, or holds more than fits. */
function gpuFaults(gpu: CountedGpu, { stages, cluster, kind }: Placed): Fault[] {
  const device = cluster.devices[gpu.class];
  if (device === undefined) return [];
  const { memoryGiB = Number.POSITIVE_INFINITY } = device;
  const free = freeOf(device);
  const share = gpu.held.reduce((all, { virtual }) => all + 1 / virtual, 0);
  const weights = new Map(stages.map(({ name, weightBytes = 0 }) => [name, weightBytes]));
  const neededGiB = largestOf(
    gpu.held.map(
      (held) =>
        (held.virtual * held.stages.reduce((all, name) => all + (weights.get(name) ?? 0), 0)) / BYTES_PER_GIB,
    ),
  );
  const isHeavy = IS_WEIGHED[kind] && neededGiB > memoryGiB * (1 + TOLERANCE);
  return [
    ...(free !== undefined && gpu.last !== undefined && gpu.last >= free
      ? [fault(`has GPU ${gpu.last} of ${gpu.class}, counted from 0, and ${free} are free`, '/placement')]
      : []),
    ...(share > 1 + TOLERANCE
      ? [fault(`puts ${share} times as much on ${gpu.name} as one GPU holds`, '/placement')]
      : []),
    ...(isHeavy
      ? [fault(`puts weights on ${gpu.name} that need ${neededGiB} of its ${memoryGiB} GiB`, '/placement')]
      : []),
  ];
}

/** seatFaults finds an entry whose GPU is none of its server. */
function seatFaults(
  { server, gpu, class: name }: StagePlacement,
  { devices }: OpenCluster,
  at: string,
): Fault[] {
  const { perServer = 1 } = devices[name] ?? {};
  return gpu < perServer ? [] : [fault(`is GPU ${gpu} of ${server}, which has ${perServer}`, at)];
}

/** costFaults compares the price of the GPUs in use with what the plan and its objective say. */
function costFaults({ cluster, hourlyCost, objective }: Placed, gpus: readonly CountedGpu[]): Fault[] {
  const up = gpus.filter(({ isUp }) => isUp);
  let cost = 0;
  for (const { class: name, alike } of up) {
    const price = cluster.devices[name]?.hourlyCost;
    if (price === undefined) return [];
    cost += price * alike;
  }
  const isFar = (told: number): boolean => Math.abs(told - cost) > TOLERANCE * Math.max(1, cost);
  return [
    ...(hourlyCost !== undefined && isFar(hourlyCost)
      ? [fault(`is ${hourlyCost}; the GPUs in use cost ${cost}`, '/hourlyCost')]
      : []),
    ...(objective?.kind === 'cost' && isFar(objective.value)
      ? [fault(`is ${objective.value}; the GPUs in use cost ${cost}`, '/objective/value')]
      : []),
  ];
}
