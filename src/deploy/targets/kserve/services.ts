import { itemAt, largestOf } from '../../../collections/index.js';
import { type Fault, fault } from '../../../formats/index.js';
import type { EngineBundle } from '../engine-target.js';
import { dnsName } from '../kube/names.js';
import { serverPod, unitLabels } from '../kube/server-pods.js';
import { type ServingUnit, servingUnits } from '../kube/units.js';
import { instanceName, modelPath, strategyOf } from '../kubernetes/cluster.js';

/** INFERENCE_SERVICES is the file of the InferenceServices. */
export const INFERENCE_SERVICES = 'inferenceservices.yaml';
/** GRAPHS is the file of the InferenceGraphs. */
export const GRAPHS = 'inferencegraphs.yaml';
/** SERVICE_NAME_LETTERS leaves a namespace of 12 letters its place in `<name>-predictor-<namespace>`. */
export const SERVICE_NAME_LETTERS = 40;
/** PREDICTOR_PORT is where KServe leads to in a container of one's own. */
export const PREDICTOR_PORT = { name: 'http1', port: 8080, container: 'kserve-container' };
/** RAW lets KServe make a Deployment and no autoscaler, since the plan's pods stay. */
export const RAW: Readonly<Record<string, string>> = {
  'serving.kserve.io/deploymentMode': 'RawDeployment',
  'serving.kserve.io/autoscalerClass': 'none',
};

const PERCENT = 100;
/** Two routers, since replacing the only one loses the requests that it holds. */
const ROUTERS = 2;

/** inferenceService makes the InferenceService of a unit, which runs our own server in a container that speaks v2. */
export function inferenceService(
  bundle: EngineBundle,
  units: readonly ServingUnit[],
  unit: ServingUnit,
): object {
  const labels = unitLabels(instanceName(bundle), unit);
  return {
    apiVersion: 'serving.kserve.io/v1beta1',
    kind: 'InferenceService',
    metadata: { name: unit.name, labels, annotations: RAW },
    spec: {
      predictor: {
        minReplicas: unit.replicas,
        maxReplicas: unit.replicas,
        labels,
        deploymentStrategy: strategyOf(bundle, units),
        timeout: timeoutS(bundle),
        ...serverPod(bundle, unit, { ...PREDICTOR_PORT, env: [{ name: 'PROTOCOL', value: 'v2' }] }),
      },
    },
  };
}

/** timeoutS is how long KServe waits for an answer: our server drops what is late long before. */
function timeoutS({ graph }: Pick<EngineBundle, 'graph'>): number {
  return 2 * Math.max(1, Math.ceil(largestOf(graph.models.map(({ sloMs }) => sloMs)) / 1e3));
}

/** sharesOfModel gives the part of a model's requests that each unit can serve; nothing of those that do not serve it. */
function sharesOfModel(units: readonly ServingUnit[], model: number): { unit: ServingUnit; share: number }[] {
  const rates = units.flatMap((unit) => {
    const own = unit.rates.find((one) => one.model === model);
    return own === undefined ? [] : [{ unit, rps: unit.replicas * own.rps }];
  });
  const sum = rates.reduce((all, { rps }) => all + rps, 0);
  return rates.map(({ unit, rps }) => ({ unit, share: rps / sum }));
}

/** weightFaults finds units that serve less than 1 % of a model's requests, of which a Splitter's whole weights know nothing. */
export function weightFaults(bundle: EngineBundle): Fault[] {
  const units = servingUnits(bundle, 'plugin');
  return bundle.graph.models.flatMap(({ name }, m) =>
    sharesOfModel(units, m).flatMap(({ unit, share }) =>
      share >= 1 / PERCENT
        ? []
        : [
            fault(
              `${unit.at} serves ${Number((PERCENT * share).toPrecision(3))} % of the requests of ${name}, and the weights of an InferenceGraph are whole percents; kubernetes and ray-serve take finer ones`,
              '/placement',
            ),
          ],
    ),
  );
}

/** splitterWeights gives whole weights that sum to 100, nearest to the shares of the units; none where one unit serves all. */
export function splitterWeights(units: readonly ServingUnit[], model: number): Map<ServingUnit, number> {
  const shares = sharesOfModel(units, model);
  if (shares.length < 2) return new Map();
  const weights = shares.map(({ share }) => Math.floor(PERCENT * share));
  const rests = shares.map(({ share }, i) => ({ i, rest: PERCENT * share - itemAt(weights, i) }));
  const left = PERCENT - weights.reduce((sum, weight) => sum + weight, 0);
  const first = rests.sort((a, b) => b.rest - a.rest || a.i - b.i).slice(0, left);
  for (const { i } of first) weights[i] = (weights[i] as number) + 1;
  return new Map(shares.map(({ unit }, i) => [unit, itemAt(weights, i)]));
}

/** stepUrl is where a step of a graph leads: the pods of a unit, within the namespace. */
export function stepUrl(unit: Pick<ServingUnit, 'name'>, model: string): string {
  return `http://${unit.name}-predictor${modelPath(model)}/infer`;
}

/** graphName is the name of the graph of a model. */
export function graphName({ graph: { models } }: Pick<EngineBundle, 'graph'>, model: number): string {
  const names = models.map(({ name }) => dnsName(name, SERVICE_NAME_LETTERS - 9));
  const name = itemAt(names, model);
  return names.indexOf(name) === names.lastIndexOf(name) ? `${name}-split` : `${name}-split-${model}`;
}

/** inferenceGraphs makes a Splitter for each model that unlike pods serve. */
export function inferenceGraphs(bundle: EngineBundle, units: readonly ServingUnit[]): object[] {
  return bundle.graph.models.flatMap(({ name }, m) => {
    const weights = splitterWeights(units, m);
    if (weights.size === 0) return [];
    const steps = [...weights].map(([unit, weight]) => ({
      name: unit.name,
      serviceUrl: stepUrl(unit, name),
      weight,
    }));
    return [
      {
        apiVersion: 'serving.kserve.io/v1alpha1',
        kind: 'InferenceGraph',
        metadata: { name: graphName(bundle, m), annotations: RAW },
        spec: {
          minReplicas: ROUTERS,
          maxReplicas: ROUTERS,
          timeout: timeoutS(bundle),
          nodes: { root: { routerType: 'Splitter', steps } },
        },
      },
    ];
  });
}
