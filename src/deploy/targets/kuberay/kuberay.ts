import { type Fault, fault } from '../../../formats/index.js';
import { type Engine, type EngineBundle, engineTarget } from '../engine-target.js';
import {
  classNameFaults,
  DEVICE_PLUGIN,
  devicePluginConfig,
  dividedLevels,
  LABEL_NODES,
  labelScript,
  mpsLevelFaults,
} from '../kube/nodes.js';
import { kubeText } from '../kube/objects.js';
import { groupsText, pythonFiles, RAY_VERSION } from '../ray-serve/ray-serve.js';
import { readmeLoad, readmeVerify } from '../readme-commands.js';
import {
  hasUpgradeRoom,
  IMAGE,
  RAY_SERVICE,
  rayPolicy,
  rayService,
  SERVE_PORT,
  serviceName,
  workerGroups,
} from './cluster.js';
import { KUBERAY_RULES } from './rules.js';

const SERVICE_COMMENT = `This file runs a plan on Kubernetes by KubeRay: kubectl apply -f ${RAY_SERVICE}
What stands in user_config of serveConfigV2 changes while requests are served. Other images or workers make a new cluster.`;

/** KUBERAY_ENGINE says how a plan is written for KubeRay. */
export const KUBERAY_ENGINE: Engine<'kuberay'> = {
  target: 'kuberay',
  refuse: (bundle) => [
    ...mpsLevelFaults(bundle),
    ...classNameFaults(bundle),
    ...divisionFaults(bundle),
    ...groupFaults(bundle),
  ],
  files: (bundle) =>
    new Map([
      [RAY_SERVICE, kubeText(SERVICE_COMMENT, [rayService(bundle)])],
      [
        'network-policy.yaml',
        kubeText(
          'Ray asks nobody who they are. This policy lets in its own pods, the operator, and clients at the port of Ray Serve alone.',
          [rayPolicy(bundle.graph)],
        ),
      ],
      ...pluginFiles(bundle),
      [LABEL_NODES, labelScript(bundle)],
      ...pythonFiles(bundle.graph),
      ['Dockerfile', dockerfile(bundle)],
      ['README.md', readme(bundle)],
    ]),
  rules: KUBERAY_RULES,
  isProgram: (path) => path === LABEL_NODES,
};

/** KUBERAY writes a bundle for KubeRay: a RayService with a group of workers for each device class, and what makes its image. */
export const KUBERAY = engineTarget(KUBERAY_ENGINE);

/** Where GPUs are divided, the device plugin is told how. */
function pluginFiles(bundle: EngineBundle): [string, string][] {
  if (dividedLevels(bundle).length === 0) return [];
  const comment =
    "NVIDIA's device plugin divides the GPUs of a node by the key that the node's label names. Give this to the plugin, in its namespace.";
  return [[DEVICE_PLUGIN, kubeText(comment, [devicePluginConfig(bundle)])]];
}

/**
 * divisionFaults finds classes some of whose devices are divided and others not, or unlike, since Ray counts parts of a
 * class alone.
 */
function divisionFaults({ graph }: EngineBundle): Fault[] {
  const classes = [...new Set(graph.groups.map(({ deviceClass }) => deviceClass))];
  return classes.flatMap((name) => {
    const levels = [
      ...new Set(graph.groups.flatMap((group) => (group.deviceClass === name ? [group.virtual] : []))),
    ];
    return levels.length === 1
      ? []
      : [
          fault(
            `${name} has devices that are ${levels.map((virtual) => `1/${virtual}`).join(' and ')} of a GPU; Ray would put small ones where large ones belong. Give the class one size (virtual: [${levels[0]}]), or write for ray-serve`,
            `/cluster/devices/${name}/virtual`,
          ),
        ];
  });
}

/** groupFaults finds classes whose groups of workers would have the same name. */
function groupFaults(bundle: EngineBundle): Fault[] {
  const groups = workerGroups(bundle);
  return groups.flatMap(({ name, deviceClass }, i) =>
    name === 'ingress' || groups.findIndex((group) => group.name === name) !== i
      ? [
          fault(
            `the workers of ${deviceClass} would be named ${name} like others; rename the class`,
            '/cluster/devices',
          ),
        ]
      : [],
  );
}

/** The image of Ray has cuDNN 8, and ONNX Runtime's wheels for GPUs are built for cuDNN 9. */
const CUDNN_COMMENT =
  '# ONNX Runtime takes CUDA and cuDNN 9 from the wheels that requirements.txt names, and not the cuDNN 8 of this image.\n';

function dockerfile({ graph }: EngineBundle): string {
  const isOnCpu = workerGroups({ graph }).every((group) => group.isOnCpu);
  return `# This file makes the image of all pods of the RayService. It needs Ray ${RAY_VERSION} and the Python that it came with.
${isOnCpu ? '' : CUDNN_COMMENT}ARG RAY_IMAGE=rayproject/ray:${RAY_VERSION}-py311${isOnCpu ? '' : '-gpu'}
FROM \${RAY_IMAGE}
WORKDIR /home/ray/inferplan
COPY requirements.txt ./
RUN pip install --no-cache-dir -r requirements.txt
COPY app.py rows.py walk.py verdicts.py ./
COPY models ./models
ENV PYTHONPATH=/home/ray/inferplan RAY_worker_niceness=0
`;
}

function readme(bundle: EngineBundle): string {
  const { plan, graph } = bundle;
  const [model] = graph.models;
  const name = serviceName(graph);
  const plugin = dividedLevels(bundle).length === 0 ? '' : `       kubectl apply -f ${DEVICE_PLUGIN}\n`;
  const upgrades = hasUpgradeRoom(bundle)
    ? 'A change of image or workers starts a second cluster beside the first, for which the plan leaves enough devices on nodes: label spare ones too.'
    : `No second cluster fits on the nodes beside the first, so that \`upgradeStrategy\` is None: a change of image or workers comes into force only by \`kubectl delete -f ${RAY_SERVICE}\` and \`kubectl apply -f ${RAY_SERVICE}\`, and nothing is served meanwhile.`;
  return `# ${graph.models.map((one) => one.name).join(', ')} on KubeRay

This folder runs a plan on Kubernetes by KubeRay: ${groupsText(graph.groups)}. \`lint.json\` says what may go wrong. Put the name of your
image for \`${IMAGE}\` in \`${RAY_SERVICE}\`.

1. Build the image, label the nodes with the classes that they have, and start it:

       docker build -t ${IMAGE} . && docker push ${IMAGE}
       ./${LABEL_NODES} <node>=<class> …
${plugin}       kubectl apply -f network-policy.yaml -f ${RAY_SERVICE}

2. Load it, at the rate of the plan:

       kubectl port-forward service/${name}-serve-svc ${SERVE_PORT}:${SERVE_PORT} &
       ${readmeLoad(`http://127.0.0.1:${SERVE_PORT}`, model?.name ?? '', model?.plannedRps ?? 1)}

3. Compare what it did with the simulation, as Ray Serve serves:

       ${readmeVerify()}

Change batches, shares, SLOs or gears in \`user_config\` and apply the file again: replicas and requests stay. ${upgrades}
${plan.serving?.scheduler === 'ray-serve' ? '' : `\nThe plan was made for the scheduler ${plan.serving?.scheduler ?? 'stage-local'}. \`plan solve --for ray-serve\` makes one for this engine.\n`}`;
}
