import type { DeviceClass, Placement, PooledPlan } from '../../../src/formats/index.js';
import type { PooledProblem } from '../../../src/milp/index.js';
import type { Refutation } from '../refuter.js';

const ROUNDING = 1e-9;

/** One virtual GPU on its GPU, which is counted over all servers of its class. */
interface Placed {
  readonly class: string;
  readonly gpu: number;
  readonly virtual: number;
  readonly pool: string;
  readonly position: string;
}

/** misplaced counts a plan's virtual GPUs on their GPUs, and gives what the plan says otherwise. */
export function misplaced(plan: PooledPlan, problem: PooledProblem): Refutation[] {
  const placed = plan.placement.flatMap((entry) => placedOf(entry, problem));
  const classes = Object.entries(problem.cluster.devices).flatMap(([name, device]) => {
    const own = placed.filter((one) => one.class === name);
    return [...miscounted(plan, [name, device], own), ...crowded(problem, [name, device], own)];
  });
  return [...unplaced(plan, placed), ...classes];
}

function placedOf(entry: Placement, { cluster }: PooledProblem): Placed[] {
  const { class: name, virtual, model, pipeline, partition } = entry;
  const perServer = cluster.devices[name]?.perServer ?? 1;
  const first = Number(entry.server.slice(name.length + 1)) * perServer + entry.gpu;
  return Array.from({ length: entry.count ?? 1 }, (_, i) => ({
    class: name,
    gpu: first + i,
    virtual,
    pool: `${model}/${pipeline}/${partition}`,
    position: `${model}/${partition}`,
  }));
}

function unplaced({ models }: PooledPlan, placed: readonly Placed[]): Refutation[] {
  return models.flatMap(({ pipelines }, m) =>
    pipelines.flatMap(({ partitions }, p) =>
      partitions.flatMap(({ virtualGpus }, k) => {
        const count = placed.filter(({ pool }) => pool === `${m}/${p}/${k}`).length;
        if (count === virtualGpus) return [];
        return [
          { claim: `pool ${m}/${p}/${k} has ${virtualGpus} virtual GPUs`, found: `${count} are placed` },
        ];
      }),
    ),
  );
}

type Class = readonly [string, DeviceClass];

function miscounted({ classes }: PooledPlan, [name, device]: Class, own: readonly Placed[]): Refutation[] {
  const { count, taken = 0 } = device;
  const gpus = new Set(own.map(({ gpu }) => gpu));
  const faults: Refutation[] = [];
  if (gpus.size > count - taken || own.some(({ gpu }) => gpu >= count))
    faults.push({
      claim: `${count - taken} of ${count} ${name} are enough`,
      found: `GPUs ${[...gpus]} are taken`,
    });
  if (classes[name]?.used !== gpus.size)
    faults.push({ claim: `${classes[name]?.used} ${name} are used`, found: `${gpus.size} have a placement` });
  return faults;
}

/** crowded finds GPUs that hold more than fits, or what may not share them, and servers of several virtual sizes. */
function crowded({ planner }: PooledProblem, [name, device]: Class, own: readonly Placed[]): Refutation[] {
  const { wholeGpusPer, virtualPer } = planner;
  const faults: Refutation[] = [];
  for (const gpu of new Set(own.map((one) => one.gpu))) {
    const here = own.filter((one) => one.gpu === gpu);
    const full = here.reduce((sum, { virtual }) => sum + 1 / virtual, 0);
    if (full > 1 + ROUNDING)
      faults.push({ claim: `${name} ${gpu} is one GPU`, found: `${full} are placed on it` });
    const owners = new Set(here.map((one) => (wholeGpusPer === 'class' ? name : one[wholeGpusPer])));
    if (owners.size > 1)
      faults.push({
        claim: `whole GPUs are per ${wholeGpusPer}`,
        found: `${name} ${gpu} has ${[...owners]}`,
      });
  }
  if (virtualPer === 'gpu') return faults;
  const serverOf = ({ gpu }: Placed) => Math.floor(gpu / (device.perServer ?? 1));
  for (const server of new Set(own.map(serverOf))) {
    const sizes = new Set(own.filter((one) => serverOf(one) === server).map(({ virtual }) => virtual));
    if (sizes.size > 1)
      faults.push({ claim: 'a server has one virtual size', found: `${name}-${server} has ${[...sizes]}` });
  }
  return faults;
}
