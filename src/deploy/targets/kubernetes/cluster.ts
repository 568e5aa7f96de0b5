import type { EngineBundle } from '../engine-target.js';
import { dnsName } from '../kube/names.js';
import { kubeText } from '../kube/objects.js';
import { instanceLabels } from '../kube/pods.js';
import { CLAIM, hasSurgeRoom, isClaimed, serverPod, unitLabels } from '../kube/server-pods.js';
import { DRA } from '../kube/unit-pods.js';
import { type ServingUnit, servingUnits } from '../kube/units.js';

/** SERVERS is the file of the Deployments. */
export const SERVERS = 'servers.yaml';
/** SERVICES is the file of the Services. */
export const SERVICES = 'services.yaml';
/** ROUTES is the file that says which pods get which part of the requests. */
export const ROUTES = 'routes.yaml';
/** POLICY is the file that says who may call. */
export const POLICY = 'network-policy.yaml';
/** CLAIMS is the file of the templates of claims. */
export const CLAIMS = 'claims.yaml';
/** MONITOR is the file that points Prometheus to the metrics. */
export const MONITOR = 'service-monitor.yaml';
/** HTTP_PORT is where the servers listen. */
export const HTTP_PORT = { name: 'http', port: 8000 };

/** Weights are whole numbers, whose parts are written to a thousandth. */
const WEIGHTS = 1000;
const DRIVER = 'gpu.nvidia.com';
const MIB_PER_GIB = 1024;

/** instanceName is the name of all that belongs to a bundle. */
export function instanceName({ graph }: Pick<EngineBundle, 'graph'>): string {
  return dnsName(graph.models.map(({ name }) => name).join('-'), 40);
}

/** wayFiles gives the files of the Deployments and of what leads to them, for a way to divide GPUs. */
export function wayFiles(bundle: EngineBundle, dividedBy: 'plugin' | 'claims'): [string, string][] {
  const units = servingUnits(bundle, dividedBy);
  const claimed = dividedBy === 'claims';
  const folder = claimed ? DRA : '';
  const files: [string, string][] = [
    [
      SERVERS,
      kubeText(
        'Each Deployment runs pods of plan serve that are alike: each serves with one server or device of the plan, by itself.',
        units.map((unit) => deployment(bundle, units, { unit, claimed })),
      ),
    ],
    [
      SERVICES,
      kubeText(
        'Each Service leads to the pods that are alike.',
        units.map((unit) => service(bundle, unit)),
      ),
    ],
    [
      POLICY,
      kubeText('The pods are called at one port, and call nobody.', [serverPolicy(bundle, HTTP_PORT.port)]),
    ],
  ];
  if (units.length > 1)
    files.push([
      ROUTES,
      kubeText(
        'Pods that are unlike get requests by what they can serve. This needs the Gateway API; name your Gateway.',
        [route(bundle, units)],
      ),
    ]);
  if (claimed && units.some(isClaimed))
    files.push([
      CLAIMS,
      kubeText(
        "NVIDIA's driver for DRA gives each pod the GPUs of its server, and MPS on them to the pod's processes where the plan divides them.",
        units.filter(isClaimed).map((unit) => claimTemplate(bundle, unit)),
      ),
    ]);
  const resources = [
    ...files.map(([file]) => file),
    ...(claimed || !hasShares(units) ? [] : ['device-plugin.yaml']),
  ];
  files.push([
    'kustomization.yaml',
    kubeText(`kubectl apply -k ${claimed ? 'dra' : '.'}`, [
      { apiVersion: 'kustomize.config.k8s.io/v1beta1', kind: 'Kustomization', resources },
    ]),
  ]);
  return files.map(([file, text]) => [`${folder}${file}`, text]);
}

/** hasShares returns whether the device plugin must divide GPUs. */
export function hasShares(units: readonly ServingUnit[]): boolean {
  return units.some(({ isShare }) => isShare);
}

/** strategyOf says how a Deployment is rolled out: with a pod more first, or where no device is left for it, with one less. */
export function strategyOf(bundle: EngineBundle, units: readonly ServingUnit[]): object {
  const rollingUpdate = hasSurgeRoom(bundle, units)
    ? { maxSurge: 1, maxUnavailable: 0 }
    : { maxSurge: 0, maxUnavailable: 1 };
  return { type: 'RollingUpdate', rollingUpdate };
}

function deployment(
  bundle: EngineBundle,
  units: readonly ServingUnit[],
  { unit, claimed }: { readonly unit: ServingUnit; readonly claimed: boolean },
): object {
  const labels = unitLabels(instanceName(bundle), unit);
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: unit.name, labels },
    spec: {
      replicas: unit.replicas,
      strategy: strategyOf(bundle, units),
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: serverPod(bundle, unit, {
          ...HTTP_PORT,
          ...(claimed && isClaimed(unit) ? { claims: unit.name } : {}),
        }),
      },
    },
  };
}

function service(bundle: EngineBundle, unit: ServingUnit): object {
  const labels = unitLabels(instanceName(bundle), unit);
  const { name, port } = HTTP_PORT;
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: unit.name, labels },
    spec: { selector: labels, ports: [{ name, port, targetPort: name, protocol: 'TCP' }] },
  };
}

/** serverPolicy lets pods be called at one port, and call nobody. */
export function serverPolicy(bundle: EngineBundle, port: number): object {
  const name = instanceName(bundle);
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name },
    spec: {
      podSelector: { matchLabels: instanceLabels(name) },
      policyTypes: ['Ingress', 'Egress'],
      ingress: [{ ports: [{ protocol: 'TCP', port }] }],
      egress: [],
    },
  };
}

/** routeWeights gives the weight of each unit for a model, by what it can serve; none of those that do not serve it. */
export function routeWeights(units: readonly ServingUnit[], model: number): Map<string, number> {
  const rates = units.flatMap(({ name, replicas, rates: own }) =>
    own.flatMap((one) => (one.model === model ? [[name, replicas * one.rps] as const] : [])),
  );
  const sum = rates.reduce((all, [, rps]) => all + rps, 0);
  return new Map(rates.map(([name, rps]) => [name, Math.max(1, Math.round((WEIGHTS * rps) / sum))]));
}

/** modelPath is the path of a model, below which its clients call. */
export function modelPath(name: string): string {
  return `/v2/models/${encodeURIComponent(name)}`;
}

function route(bundle: EngineBundle, units: readonly ServingUnit[]): object {
  const name = instanceName(bundle);
  const to = (weights: ReadonlyMap<string, number>) =>
    [...weights].map(([unit, weight]) => ({ name: unit, port: HTTP_PORT.port, weight }));
  const models = bundle.graph.models.flatMap((model, m) => {
    const weights = routeWeights(units, m);
    return weights.size === 0
      ? []
      : [
          {
            matches: [{ path: { type: 'PathPrefix', value: modelPath(model.name) } }],
            backendRefs: to(weights),
          },
        ];
  });
  const all = new Map(units.map((unit) => [unit.name, 1]));
  return {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'HTTPRoute',
    metadata: { name },
    spec: { parentRefs: [{ name: 'inferplan' }], rules: [...models, { backendRefs: to(all) }] },
  };
}

/** mpsConfig is what a claim says of MPS: the part of the cores and of the memory that each process gets. */
export function mpsConfig(
  { plan }: Pick<EngineBundle, 'plan'>,
  { deviceClass, virtual }: ServingUnit,
): object {
  const { memoryGiB } = plan.cluster.devices[deviceClass] ?? {};
  return {
    defaultActiveThreadPercentage: Math.floor(100 / virtual),
    ...(memoryGiB === undefined
      ? {}
      : { defaultPinnedDeviceMemoryLimit: `${Math.floor((memoryGiB * MIB_PER_GIB) / virtual)}Mi` }),
  };
}

function claimTemplate(bundle: EngineBundle, unit: ServingUnit): object {
  const { name, gpus, virtual } = unit;
  const parameters = {
    apiVersion: 'resource.nvidia.com/v1beta1',
    kind: 'GpuConfig',
    sharing: { strategy: 'MPS', mpsConfig: mpsConfig(bundle, unit) },
  };
  return {
    apiVersion: 'resource.k8s.io/v1',
    kind: 'ResourceClaimTemplate',
    metadata: { name },
    spec: {
      spec: {
        devices: {
          requests: [
            { name: CLAIM, exactly: { deviceClassName: DRIVER, allocationMode: 'ExactCount', count: gpus } },
          ],
          ...(virtual === 1
            ? {}
            : { config: [{ requests: [CLAIM], opaque: { driver: DRIVER, parameters } }] }),
        },
      },
    },
  };
}

/** serviceMonitor tells Prometheus's operator where the metrics of the pods are. */
export function serviceMonitor(bundle: EngineBundle): object {
  const name = instanceName(bundle);
  return {
    apiVersion: 'monitoring.coreos.com/v1',
    kind: 'ServiceMonitor',
    metadata: { name },
    spec: {
      selector: { matchLabels: instanceLabels(name) },
      endpoints: [{ port: HTTP_PORT.name, path: '/metrics', interval: '15s' }],
    },
  };
}
