import { type Engine, type EngineBundle, engineTarget } from '../engine-target.js';
import {
  classNameFaults,
  DEVICE_PLUGIN,
  devicePluginConfig,
  LABEL_NODES,
  labelScript,
  mpsLevelFaults,
} from '../kube/nodes.js';
import { kubeText } from '../kube/objects.js';
import { bundleImage, hasSurgeRoom, SERVER_IMAGE } from '../kube/server-pods.js';
import { type ServingUnit, servingUnits, splitFaults } from '../kube/units.js';
import { refuseFixedBatches } from '../local.js';
import { runFaults } from '../own-server.js';
import { readmeLoad, readmeVerify } from '../readme-commands.js';
import { HTTP_PORT, hasShares, instanceName, MONITOR, serviceMonitor, wayFiles } from './cluster.js';
import { KUBERNETES_RULES } from './rules.js';

/** KUBERNETES_ENGINE says how a plan is written for Kubernetes. */
export const KUBERNETES_ENGINE: Engine<'kubernetes'> = {
  target: 'kubernetes',
  check: refuseFixedBatches,
  refuse: (bundle) => {
    const faults = [...mpsLevelFaults(bundle), ...classNameFaults(bundle), ...runFaults(bundle, 'pods')];
    return faults.length > 0 ? faults : [...splitFaults(bundle, 'plugin'), ...splitFaults(bundle, 'claims')];
  },
  files: (bundle) =>
    new Map([
      ...wayFiles(bundle, 'plugin'),
      ...wayFiles(bundle, 'claims'),
      ...pluginFile(bundle),
      [
        MONITOR,
        kubeText(`Where Prometheus's operator is: kubectl apply -f ${MONITOR}`, [serviceMonitor(bundle)]),
      ],
      [LABEL_NODES, labelScript(bundle)],
      ['Dockerfile', bundleDockerfile()],
      ['server.Dockerfile', serverDockerfile(bundle)],
      ['README.md', readme(bundle)],
    ]),
  rules: KUBERNETES_RULES,
  isProgram: (path) => path === LABEL_NODES,
};

/** KUBERNETES writes a bundle whose pods run our own server, each for a server or a share of the plan. */
export const KUBERNETES = engineTarget(KUBERNETES_ENGINE);

/** pluginFile tells the device plugin how to divide GPUs, where it must. */
export function pluginFile(bundle: EngineBundle): [string, string][] {
  if (!hasShares(servingUnits(bundle, 'plugin'))) return [];
  const comment =
    "NVIDIA's device plugin divides the GPUs of a node by the key that the node's label names. It reads this in its own namespace.";
  return [[DEVICE_PLUGIN, kubeText(comment, [devicePluginConfig(bundle)])]];
}

/** bundleDockerfile makes the image that holds the plan and its models, from which pods copy them. */
export function bundleDockerfile(): string {
  return `# This file makes the image of the plan and its models, which each pod copies before its server starts.
ARG BASE=busybox:1.37
FROM \${BASE}
COPY manifest.json plan.json /deployed/
COPY models /deployed/models
`;
}

/** serverDockerfile makes an image of our own server, with ONNX Runtime for the devices of the plan. */
export function serverDockerfile({ graph }: Pick<EngineBundle, 'graph'>): string {
  const isOnCpu = graph.groups.every(({ run }) => run?.provider === 'cpu');
  const gpu = isOnCpu ? '' : '# GPUs want a base with Node 20, CUDA 12 and cuDNN 9.\n';
  return `# This file makes an image of plan serve: docker build -f server.Dockerfile -t ${SERVER_IMAGE} .
${gpu}ARG BASE=node:20-bookworm-slim
FROM \${BASE}
RUN npm install --global inferplan@0.1.0 onnxruntime-node@1.30.0
USER 1000
ENTRYPOINT ["plan"]
`;
}

/** unitsText writes units as rows of a table. */
export function unitsText(bundle: EngineBundle, units: readonly ServingUnit[]): string {
  return units
    .map(({ name, replicas, rates, at, deviceClass }) => {
      const models = rates.map(
        ({ model, rps }) => `${bundle.graph.models[model]?.name} ${Number(rps.toPrecision(3))}/s`,
      );
      return `| \`${name}\` | ${replicas} | ${deviceClass} | \`${at}\` | ${models.join(', ')} |`;
    })
    .join('\n');
}

function readme(bundle: EngineBundle): string {
  const { graph } = bundle;
  const [model] = graph.models;
  const units = servingUnits(bundle, 'plugin');
  const [first] = units as [ServingUnit];
  const way = units.length === 1 ? `service/${first.name}` : `service/<your Gateway's service>`;
  const rollout = hasSurgeRoom(bundle, units)
    ? 'A rollout starts a new pod before an old one ends, for which the plan leaves enough devices on nodes: label spare ones too.'
    : `No node has room for a pod more, so that a rollout ends a pod before the next one starts (\`maxSurge: 0\`): meanwhile its part of the rate
is not served, and of a Deployment of one pod nothing.`;
  return `# ${graph.models.map(({ name }) => name).join(', ')} on Kubernetes

This folder runs a plan on Kubernetes by pods of \`plan serve\`. Each serves by itself with one server or device of the plan (\`--at\`), from
the first stage to the last. \`lint.json\` says what may go wrong.

| Deployment | pods | class | place in the plan | each pod serves |
| --- | --- | --- | --- | --- |
${unitsText(bundle, units)}

1. Build the images, label the nodes with the classes that they have, and start it. Put the names of your images for \`${SERVER_IMAGE}\` and
   \`${bundleImage(bundle)}\` in \`servers.yaml\`. Where GPUs are given by DRA (Kubernetes 1.34, NVIDIA's driver), apply \`dra\` in place of \`.\`.

       docker build -t ${bundleImage(bundle)} . && docker build -f server.Dockerfile -t ${SERVER_IMAGE} .
       ./${LABEL_NODES} <node>=<class> …
       kubectl apply -k .

2. Load it, at the rate of the plan:

       kubectl port-forward ${way} ${HTTP_PORT.port}:${HTTP_PORT.port} &
       ${readmeLoad(`http://127.0.0.1:${HTTP_PORT.port}`, model?.name ?? '', model?.plannedRps ?? 1)}

3. Compare what it did with the simulation. Where there are several pods, run the load inside of the cluster, since a forwarded port leads to
   one of them; what was executed is told by the pod that answers.

       ${readmeVerify()}

${rollout} Nobody is asked who they are: the network policy of \`${instanceName(bundle)}\` lets all pods of the cluster in at port ${HTTP_PORT.port}.
`;
}
