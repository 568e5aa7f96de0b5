import type { Cluster, DeviceClass } from '../artifacts/index.js';
import type { PooledProblem } from './problem.js';

/**
 * withoutCuts is the same problem with whole models on whole GPUs (the baseline NP of PPipe §7.1). Classes without
 * virtual size 1 keep their virtual sizes. The objective, rates and SLOs stay.
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
