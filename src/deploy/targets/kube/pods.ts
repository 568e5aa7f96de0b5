/** WHOLE_GPU is the resource of a whole GPU. */
export const WHOLE_GPU = 'nvidia.com/gpu';
/** GPU_SHARE is the resource of a part of a GPU, as NVIDIA's device plugin offers it where GPUs are divided. */
export const GPU_SHARE = 'nvidia.com/gpu.shared';
/** All processes on one MPS control daemon must be of one user, or they wait for one another. */
export const RUN_AS_USER = 1000;

/** PodDevice is what a container asks for: processor cores, or GPUs, or a part of one. */
export interface PodDevice {
  readonly cpu: string;
  readonly memory: string;
  /** How many whole GPUs; 0 of shares and processor cores. */
  readonly gpus: number;
  readonly isShare: boolean;
}

/** podResources gives what a container asks for and is limited to. */
export function podResources({ cpu, memory, gpus, isShare }: PodDevice): object {
  const asked = {
    cpu,
    memory,
    ...(isShare ? { [GPU_SHARE]: '1' } : gpus > 0 ? { [WHOLE_GPU]: String(gpus) } : {}),
  };
  return { requests: asked, limits: asked };
}

/** gpuTolerations lets pods onto nodes that are kept for GPUs. */
export function gpuTolerations({ gpus, isShare }: PodDevice): object {
  return gpus > 0 || isShare
    ? { tolerations: [{ key: WHOLE_GPU, operator: 'Exists', effect: 'NoSchedule' }] }
    : {};
}

/** instanceLabels are the labels of everything that belongs to one bundle. */
export function instanceLabels(name: string): Record<string, string> {
  return { 'app.kubernetes.io/name': 'inferplan', 'app.kubernetes.io/instance': name };
}
