import { largestOf } from '../../../collections/index.js';
import type { EngineGraph } from '../../engine-graph.js';
import type { EngineBundle } from '../engine-target.js';
import { dnsName } from '../kube/names.js';
import { cpuClasses, nodeSelector, type PlacedGraph } from '../kube/nodes.js';
import { gpuTolerations, instanceLabels, type PodDevice, podResources, RUN_AS_USER } from '../kube/pods.js';
import { hasNodeRoom } from '../kube/room.js';
import { actorOptions, classResource, INGRESS_REPLICAS, serveConfig } from '../ray-serve/config.js';
import { RAY_VERSION } from '../ray-serve/ray-serve.js';

/** RAY_SERVICE is the file of the RayService. */
export const RAY_SERVICE = 'rayservice.yaml';
/** SERVICE_LETTERS is the longest name of a RayService, from which KubeRay derives longer ones. */
export const SERVICE_LETTERS = 47;
/** INGRESS_RESOURCE keeps ingresses on pods of their own, so that they take no core from a device. */
export const INGRESS_RESOURCE = 'inferplan-ingress';
/** SERVE_PORT is where Ray Serve listens. */
export const SERVE_PORT = 8000;
/** DASHBOARD_PORT is where the operator tells the head what to serve. */
export const DASHBOARD_PORT = 8265;
/** OPERATOR_LABEL is the label that the operator's pods have whether Helm or kustomize made them; their names differ. */
export const OPERATOR_LABEL = { 'app.kubernetes.io/component': 'kuberay-operator' };
/** IMAGE is what the user replaces by the image that the Dockerfile makes. */
export const IMAGE = 'inferplan-ray:0.1.0';

const WORKER_MEMORY = '4Gi';
const HEAD_MEMORY = '4Gi';
/** Beside the replicas of a pod, Ray itself needs about a core. */
const RAY_CPUS = 1;
const LEAST_GRACE_S = 30;
const GRACE_BESIDE_S = 10;
/** An object store that lies there lets KubeRay mount no `/dev/shm`, which on nodes of shares belongs to MPS. */
const STORE_BESIDE_SHARES = '/tmp';

/** WorkerGroup is a group of workers as KubeRay makes it: a pod for each device of a class. */
export interface WorkerGroup {
  readonly name: string;
  readonly deviceClass: string;
  readonly virtual: number;
  readonly replicas: number;
  /** The processor cores that Ray counts on each pod. */
  readonly cpus: number;
  /** The amount of the class that Ray counts on each pod. */
  readonly part: number;
  readonly isOnCpu: boolean;
}

/** workerGroups gives a group of workers for each class of a plan. */
export function workerGroups({ graph }: Pick<PlacedGraph, 'graph'>): WorkerGroup[] {
  const cpus = cpuClasses(graph);
  const classes = [...new Set(graph.groups.map(({ deviceClass }) => deviceClass))];
  return classes.map((deviceClass) => {
    const groups = graph.groups.filter((group) => group.deviceClass === deviceClass);
    const options = groups.map(actorOptions);
    const [first] = options as [Record<string, unknown>];
    return {
      name: dnsName(deviceClass, SERVICE_LETTERS),
      deviceClass,
      virtual: groups[0]?.virtual ?? 1,
      replicas: groups.reduce((sum, { replicas }) => sum + replicas, 0),
      cpus: Math.ceil(largestOf(options.map(({ num_cpus: own }) => own as number))),
      part: (first.resources as Record<string, number>)[classResource(deviceClass)] as number,
      isOnCpu: cpus.has(deviceClass),
    };
  });
}

/** serviceName is the name of the RayService of a bundle. */
export function serviceName({ models }: EngineGraph): string {
  return dnsName(models.map(({ name }) => name).join('-'), SERVICE_LETTERS);
}

/** hasUpgradeRoom returns whether the workers of a second cluster would find nodes while the first one serves. */
export function hasUpgradeRoom(bundle: Pick<PlacedGraph, 'plan' | 'graph'>): boolean {
  const asked = workerGroups(bundle).map(({ deviceClass, virtual, replicas, isOnCpu }) => ({
    deviceClass,
    pods: replicas,
    level: isOnCpu ? 1 : virtual,
    amount: isOnCpu ? 1 / virtual : 1,
  }));
  return hasNodeRoom(bundle.plan, asked);
}

/** graceS is how long a pod may take to end, so that the longest request is answered. */
export function graceS(requestTimeoutS: number): number {
  return Math.max(LEAST_GRACE_S, requestTimeoutS + GRACE_BESIDE_S);
}

/** paramText quotes resources as `ray start` takes them from a shell: a text of JSON within a text of JSON. */
export function paramText(resources: Readonly<Record<string, number>>): string {
  return JSON.stringify(JSON.stringify(resources));
}

/** rayService makes the RayService of a bundle. */
export function rayService(bundle: EngineBundle): object {
  const name = serviceName(bundle.graph);
  const serveConfigV2 = serveConfig(bundle, {
    host: '0.0.0.0',
    ingressResources: { [INGRESS_RESOURCE]: 1 },
  });
  const grace = graceS(Number(/request_timeout_s: (\d+)/.exec(serveConfigV2)?.[1] ?? 0));
  return {
    apiVersion: 'ray.io/v1',
    kind: 'RayService',
    metadata: { name, labels: instanceLabels(name) },
    spec: {
      upgradeStrategy: { type: hasUpgradeRoom(bundle) ? 'NewCluster' : 'None' },
      serveConfigV2,
      rayClusterConfig: {
        rayVersion: RAY_VERSION,
        enableInTreeAutoscaling: false,
        headGroupSpec: head(name, grace),
        workerGroupSpecs: [
          ingressGroup(name, grace),
          ...workerGroups(bundle).map((group) => workers(group, name, grace)),
        ],
      },
    },
  };
}

function template(name: string, grace: number, spec: object): object {
  return {
    metadata: { labels: instanceLabels(name) },
    spec: { terminationGracePeriodSeconds: grace, ...spec },
  };
}

/** The head takes no replica that asks for a core or a device, so that it lives on whatever such a replica does. */
function head(name: string, grace: number): object {
  const container = {
    name: 'ray-head',
    image: IMAGE,
    ports: [
      { name: 'gcs', containerPort: 6379 },
      { name: 'dashboard', containerPort: DASHBOARD_PORT },
      { name: 'client', containerPort: 10001 },
      { name: 'serve', containerPort: SERVE_PORT },
    ],
    resources: podResources({ cpu: '2', memory: HEAD_MEMORY, gpus: 0, isShare: false }),
  };
  return {
    rayStartParams: { 'dashboard-host': '0.0.0.0', 'num-cpus': '0' },
    template: template(name, grace, { containers: [container] }),
  };
}

function ingressGroup(name: string, grace: number): object {
  const device: PodDevice = { cpu: String(1 + RAY_CPUS), memory: WORKER_MEMORY, gpus: 0, isShare: false };
  return {
    groupName: 'ingress',
    replicas: INGRESS_REPLICAS,
    minReplicas: INGRESS_REPLICAS,
    maxReplicas: INGRESS_REPLICAS,
    rayStartParams: { 'num-cpus': '1', resources: paramText({ [INGRESS_RESOURCE]: 1 }) },
    template: template(name, grace, { containers: [worker(device)] }),
  };
}

function workers(group: WorkerGroup, name: string, grace: number): object {
  const { deviceClass, virtual, replicas, cpus, part, isOnCpu } = group;
  const isShare = virtual > 1 && !isOnCpu;
  const device: PodDevice = {
    cpu: String(cpus + RAY_CPUS),
    memory: WORKER_MEMORY,
    gpus: isOnCpu || isShare ? 0 : 1,
    isShare,
  };
  return {
    groupName: group.name,
    replicas,
    minReplicas: replicas,
    maxReplicas: replicas,
    rayStartParams: {
      'num-cpus': String(cpus),
      // KubeRay counts only resources whose names end in "gpu".
      'num-gpus': isOnCpu ? '0' : '1',
      resources: paramText({ [classResource(deviceClass)]: part }),
      ...(isShare ? { 'plasma-directory': STORE_BESIDE_SHARES } : {}),
    },
    template: template(name, grace, {
      nodeSelector: nodeSelector(deviceClass, isShare ? virtual : 1),
      ...gpuTolerations(device),
      ...(isShare ? { securityContext: { runAsUser: RUN_AS_USER } } : {}),
      containers: [worker(device)],
    }),
  };
}

function worker(device: PodDevice): object {
  return {
    name: 'ray-worker',
    image: IMAGE,
    ports: [{ name: 'serve', containerPort: SERVE_PORT }],
    resources: podResources(device),
  };
}

/** rayPolicy lets the pods in to one another, the operator to the head, and clients to Ray Serve alone. */
export function rayPolicy(graph: EngineGraph): object {
  const name = serviceName(graph);
  const podSelector = { matchLabels: instanceLabels(name) };
  const operator = { namespaceSelector: {}, podSelector: { matchLabels: OPERATOR_LABEL } };
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name },
    spec: {
      podSelector,
      policyTypes: ['Ingress'],
      ingress: [
        { from: [{ podSelector }] },
        { from: [operator], ports: [{ protocol: 'TCP', port: DASHBOARD_PORT }] },
        { ports: [{ protocol: 'TCP', port: SERVE_PORT }] },
      ],
    },
  };
}
