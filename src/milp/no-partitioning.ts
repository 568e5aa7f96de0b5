import type { Cluster, DeviceClass } from '../formats/index.js';
import type { PooledProblem } from './problem.js';

/**
 * withoutCuts is the same problem with whole models on whole GPUs (the baseline NP of PPipe §7.1). Classes without
 * virtual size 1 keep their virtual sizes. Models are cut at no block (`granularity` becomes `block`), and each pool
 * fills whole GPUs of its own. All else stays, such as the objective, rates and SLOs.
 */
export function withoutCuts(problem: PooledProblem): PooledProblem {
  const planner = {
    ...problem.planner,
    maxPartitions: 1,
    granularity: 'block' as const,
    wholeGpusPer: 'pool' as const,
  };
  return { ...problem, cluster: onWholeGpus(problem.cluster), planner };
}

/** A cluster without virtual GPUs, except for classes that have no undivided size. */
function onWholeGpus(cluster: Cluster): Cluster {
  const devices = Object.entries(cluster.devices).map(([name, device]): [string, DeviceClass] => {
    const whole = (device.virtual ?? [1]).includes(1);
    return [name, whole ? { ...device, virtual: [1] } : device];
  });
  return { ...cluster, devices: Object.fromEntries(devices) };
}
