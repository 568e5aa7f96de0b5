import type { EngineBundle } from '../engine-target.js';
import { drainS } from '../own-server.js';
import { nodeSelector } from './nodes.js';
import { gpuTolerations, instanceLabels, type PodDevice, podResources, RUN_AS_USER } from './pods.js';
import { hasNodeRoom } from './room.js';
import type { ServingUnit } from './units.js';

/** SERVER_IMAGE is what the user replaces by an image of our own server. */
export const SERVER_IMAGE = 'inferplan:0.1.0';
/** UNIT_LABEL is the label of the pods that are alike. */
const UNIT_LABEL = 'inferplan/unit';
/** READY and LIVE are where our server says how it is. */
export const READY_PATH = '/v2/health/ready';
/** LIVE_PATH answers while models load, too. */
export const LIVE_PATH = '/v2/health/live';

const BUNDLE_PATH = '/bundle';
/** So long an endpoint that is gone may still be called. */
const LEAVE_S = 5;
const START_S = 600;
const MEMORY_GIB = 2;

/** bundleImage names the image that the Dockerfile makes, by the digest of its plan. */
export function bundleImage({ planSha256 }: Pick<EngineBundle, 'planSha256'>): string {
  return `inferplan-bundle:${planSha256.slice(0, 12)}`;
}

/** endingS is how long a pod takes to end at most. */
export function endingS(bundle: Pick<EngineBundle, 'graph'>): number {
  return LEAVE_S + drainS(bundle) + LEAVE_S;
}

/**
 * hasSurgeRoom returns whether all Deployments find nodes for a pod more each while they are rolled out at once: a pod of k GPUs
 * wants k that are free on one node, and one of a share a node that is divided so.
 */
export function hasSurgeRoom({ plan }: Pick<EngineBundle, 'plan'>, units: readonly ServingUnit[]): boolean {
  const asked = units.map(({ deviceClass, gpus, isShare, virtual, devices }) => ({
    deviceClass,
    level: isShare ? virtual : 1,
    pods: 1,
    amount: isShare ? 1 : gpus === 0 ? devices : gpus,
  }));
  return hasNodeRoom(plan, asked);
}

/** isClaimed returns whether pods of a unit have GPUs, which a claim can give. */
export function isClaimed({ gpus }: ServingUnit): boolean {
  return gpus > 0;
}

/** unitDevice is what a pod of a unit asks for. */
export function unitDevice({ gpus, isShare, devices, threads }: ServingUnit): PodDevice {
  const cpu = String(Math.ceil(devices * threads) + 1);
  return { cpu, memory: `${MEMORY_GIB * (1 + devices)}Gi`, gpus, isShare };
}

/** ServerPort is the port at which a server listens, and its name in the engine. */
export interface ServerPort {
  readonly name: string;
  readonly port: number;
  /** The template of claims that gives a pod its GPUs, where no device plugin does. */
  readonly claims?: string;
  /** The name of the container, where the engine looks for one. */
  readonly container?: string;
  readonly env?: readonly { readonly name: string; readonly value: string }[];
}

/** serverPod makes the specification of the pods of a unit. */
export function serverPod(
  bundle: EngineBundle,
  unit: ServingUnit,
  { name, port, claims, container = 'server', env }: ServerPort,
): object {
  const device = unitDevice(unit);
  const resources = claims === undefined ? podResources(device) : claimedResources(device);
  const probe = (path: string, periodSeconds: number, failureThreshold: number) => ({
    httpGet: { path, port: name },
    periodSeconds,
    failureThreshold,
  });
  const mount = { volumeMounts: [{ name: 'bundle', mountPath: BUNDLE_PATH }] };
  const closed = { securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } } };
  return {
    automountServiceAccountToken: false,
    terminationGracePeriodSeconds: endingS(bundle),
    nodeSelector: nodeSelector(unit.deviceClass, unit.isShare ? unit.virtual : 1),
    ...gpuTolerations(device),
    securityContext: { runAsNonRoot: true, runAsUser: RUN_AS_USER, fsGroup: RUN_AS_USER },
    initContainers: [
      {
        name: 'bundle',
        image: bundleImage(bundle),
        command: ['cp', '-R', '/deployed/.', BUNDLE_PATH],
        ...closed,
        ...mount,
      },
    ],
    containers: [
      {
        name: container,
        image: SERVER_IMAGE,
        args: serveArgs(bundle, unit, port),
        ...(env === undefined ? {} : { env }),
        ports: [{ name, containerPort: port }],
        startupProbe: probe(READY_PATH, 2, START_S / 2),
        readinessProbe: probe(READY_PATH, 2, 2),
        livenessProbe: probe(LIVE_PATH, 10, 6),
        lifecycle: { preStop: { sleep: { seconds: LEAVE_S } } },
        resources,
        ...closed,
        ...mount,
      },
    ],
    volumes: [{ name: 'bundle', emptyDir: {} }],
    ...(claims === undefined ? {} : { resourceClaims: [{ name: CLAIM, resourceClaimTemplateName: claims }] }),
  };
}

/** CLAIM is the name of a pod's claim, and of the request in it. */
export const CLAIM = 'gpus';

function claimedResources(device: PodDevice): object {
  return { ...podResources({ ...device, gpus: 0, isShare: false }), claims: [{ name: CLAIM }] };
}

function serveArgs(bundle: EngineBundle, { at }: ServingUnit, port: number): string[] {
  return [
    ...['serve', BUNDLE_PATH, '--host', '0.0.0.0', '--port', String(port), '--at', at],
    ...['--drain-timeout', `${drainS(bundle)}s`],
  ];
}

/** unitLabels are the labels of the pods of a unit. */
export function unitLabels(instance: string, { name }: ServingUnit): Record<string, string> {
  return { ...instanceLabels(instance), [UNIT_LABEL]: name };
}
