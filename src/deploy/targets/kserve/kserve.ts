import { type Engine, type EngineBundle, engineTarget } from '../engine-target.js';
import { classNameFaults, LABEL_NODES, labelScript, mpsLevelFaults } from '../kube/nodes.js';
import { kubeText } from '../kube/objects.js';
import { bundleImage, hasSurgeRoom, SERVER_IMAGE } from '../kube/server-pods.js';
import { type ServingUnit, servingUnits, splitFaults } from '../kube/units.js';
import { POLICY, serverPolicy } from '../kubernetes/cluster.js';
import { bundleDockerfile, pluginFile, serverDockerfile, unitsText } from '../kubernetes/kubernetes.js';
import { refuseFixedBatches } from '../local.js';
import { runFaults } from '../own-server.js';
import { readmeLoad, readmeVerify } from '../readme-commands.js';
import { KSERVE_RULES } from './rules.js';
import {
  GRAPHS,
  INFERENCE_SERVICES,
  inferenceGraphs,
  inferenceService,
  PREDICTOR_PORT,
  weightFaults,
} from './services.js';

/** KSERVE_ENGINE says how a plan is written for KServe. */
export const KSERVE_ENGINE: Engine<'kserve'> = {
  target: 'kserve',
  check: refuseFixedBatches,
  refuse: (bundle) => {
    const faults = [...mpsLevelFaults(bundle), ...classNameFaults(bundle), ...runFaults(bundle, 'pods')];
    return faults.length > 0 ? faults : [...splitFaults(bundle, 'plugin'), ...weightFaults(bundle)];
  },
  files: (bundle) => {
    const units = servingUnits(bundle, 'plugin');
    return new Map([
      [
        INFERENCE_SERVICES,
        kubeText(
          'Each InferenceService runs pods of plan serve that are alike: each serves with one server or device of the plan, by itself.',
          units.map((unit) => inferenceService(bundle, units, unit)),
        ),
      ],
      ...graphFile(bundle, units),
      [
        POLICY,
        kubeText('The pods are called at one port, and call nobody.', [
          serverPolicy(bundle, PREDICTOR_PORT.port),
        ]),
      ],
      ...pluginFile(bundle),
      [LABEL_NODES, labelScript(bundle)],
      ['Dockerfile', bundleDockerfile()],
      ['server.Dockerfile', serverDockerfile(bundle)],
      ['README.md', readme(bundle, units)],
    ]);
  },
  rules: KSERVE_RULES,
  isProgram: (path) => path === LABEL_NODES,
};

/**
 * KSERVE writes a bundle of InferenceServices whose pods run our own server, and of graphs that split requests over
 * unlike ones.
 */
export const KSERVE = engineTarget(KSERVE_ENGINE);

function graphFile(bundle: EngineBundle, units: readonly ServingUnit[]): [string, string][] {
  const graphs = inferenceGraphs(bundle, units);
  const comment = 'Each InferenceGraph leads the requests of a model to unlike pods, by what each can serve.';
  return graphs.length === 0 ? [] : [[GRAPHS, kubeText(comment, graphs)]];
}

function readme(bundle: EngineBundle, units: readonly ServingUnit[]): string {
  const { graph } = bundle;
  const [unit] = units as [ServingUnit];
  const [rate] = unit.rates as ServingUnit['rates'] & { 0: ServingUnit['rates'][0] };
  const isSplit = inferenceGraphs(bundle, units).length > 0;
  const rollout = hasSurgeRoom(bundle, units)
    ? 'A rollout starts a new pod before an old one ends, for which the plan leaves enough devices on nodes: label spare ones too.'
    : `No node has room for a pod more, so that a rollout ends a pod before the next one starts (\`maxSurge: 0\`): meanwhile what it serves is not
served.`;
  return `# ${graph.models.map(({ name }) => name).join(', ')} on KServe

This folder runs a plan on KServe by pods of \`plan serve\`, which speak the Open Inference Protocol v2. Each serves by itself with one server
or device of the plan (\`--at\`), from the first stage to the last. \`lint.json\` says what may go wrong.

| InferenceService | pods | class | place in the plan | each pod serves |
| --- | --- | --- | --- | --- |
${unitsText(bundle, units)}

1. Build the images, label the nodes with the classes that they have, and start it, in a namespace of at most 12 letters. Put the names of
   your images for \`${SERVER_IMAGE}\` and \`${bundleImage(bundle)}\` in \`${INFERENCE_SERVICES}\`.

       docker build -t ${bundleImage(bundle)} . && docker build -f server.Dockerfile -t ${SERVER_IMAGE} .
       ./${LABEL_NODES} <node>=<class> …
       kubectl apply -f ${INFERENCE_SERVICES} -f ${POLICY}${isSplit ? ` -f ${GRAPHS}` : ''}

2. Load the pods of an InferenceService, at their part of the plan's rate. A forwarded port leads to one pod, so load several from within the cluster:

       kubectl port-forward service/${unit.name}-predictor 8000:80 &
       ${readmeLoad('http://127.0.0.1:8000', graph.models[rate?.model ?? 0]?.name ?? '', (rate?.rps ?? 1) * unit.replicas)}

3. Compare what it did with the simulation${units.length > 1 ? ', which has all devices of the plan' : ''}:

       ${readmeVerify()}

${isSplit ? 'Clients call the InferenceGraph of a model, with tensors as JSON: its router passes bodies on and knows no binary tensors. ' : ''}${rollout}
`;
}
