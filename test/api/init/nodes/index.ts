/** Made nodes of Kubernetes and Ray, and what tests change in them. */

export interface MadeNode {
  readonly name?: string;
  readonly labels?: Readonly<Record<string, unknown>>;
  /** What can be allocated; the capacity is the same unless it is given. */
  readonly offers?: Readonly<Record<string, unknown>>;
  readonly capacity?: Readonly<Record<string, unknown>>;
  readonly spec?: object;
  readonly ready?: string;
}

/** madeNode makes a node as `kubectl get node -o json` prints it, of which only some parts are read. */
export function madeNode({ name = 'n1', labels = {}, offers = {}, capacity, spec, ready }: MadeNode): object {
  const base = { cpu: '8', memory: '32Gi', pods: '110' };
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, labels: { 'kubernetes.io/hostname': name, ...labels }, uid: '5f0c2e1e' },
    spec: { providerID: `made:///${name}`, ...spec },
    status: {
      allocatable: { ...base, ...offers },
      capacity: { ...base, ...(capacity ?? offers) },
      conditions: [
        { type: 'MemoryPressure', status: 'False' },
        { type: 'Ready', status: ready ?? 'True' },
      ],
    },
  };
}

/** madeList makes the list that `kubectl get nodes -o json` prints. */
export function madeList(...nodes: readonly object[]): object {
  return { apiVersion: 'v1', kind: 'List', metadata: { resourceVersion: '' }, items: nodes };
}

/** gpuNode makes a node with GPUs of NVIDIA, as GPU feature discovery labels them. */
export function gpuNode(
  name: string,
  product: string,
  { gpus, ...more }: MadeNode & { readonly gpus: number },
): object {
  return madeNode({
    name,
    offers: { 'nvidia.com/gpu': String(gpus) },
    ...more,
    labels: {
      'nvidia.com/gpu.product': product,
      'nvidia.com/gpu.memory': '15360',
      'nvidia.com/gpu.replicas': '1',
      'nvidia.com/gpu.sharing-strategy': 'none',
      ...more.labels,
    },
  });
}

/** rayNode makes a node as `ray list nodes --format json` prints it. */
export function rayNode(
  name: string,
  resources: Readonly<Record<string, unknown>>,
  more: Readonly<Record<string, unknown>> = {},
): object {
  return {
    node_id: name.padEnd(56, '0'),
    node_ip: name,
    is_head_node: false,
    state: 'ALIVE',
    state_message: null,
    node_name: name,
    resources_total: {
      [`node:${name}`]: 1,
      memory: '16.169 GiB',
      object_store_memory: '6.930 GiB',
      ...resources,
    },
    labels: { 'ray.io/node-id': name },
    start_time_ms: null,
    end_time_ms: null,
    ...more,
  };
}
