import type { LintedBundle, LintRule, RuleFinding } from '../../lint/lint.js';
import type { FieldsOf } from '../../lint/schema-rule.js';
import type { Place } from '../../lint/yaml-file.js';
import { CONFIG_MAP, NETWORK_POLICY, objectFields, POD_FIELDS, TEXTS } from '../kube/fields.js';
import { DNS_LETTERS } from '../kube/names.js';
import {
  asList,
  asMap,
  inObject,
  type KubeObject,
  objectAt,
  objectsIn,
  objectsRule,
} from '../kube/objects.js';
import { namesRule, POD_RULES } from '../kube/pod-rules.js';
import { linted, unitsRule } from '../kube/unit-pods.js';
import { UNIT_RULES } from '../kube/unit-rules.js';
import { servingUnits } from '../kube/units.js';
import { modelPath, POLICY } from '../kubernetes/cluster.js';
import {
  GRAPHS,
  graphName,
  INFERENCE_SERVICES,
  PREDICTOR_PORT,
  RAW,
  SERVICE_NAME_LETTERS,
  splitterWeights,
} from './services.js';

const CONTAINER_AT: Place = ['spec', 'predictor', 'containers', 0];
const PERCENT = 100;
const LEADS_TO = ['serviceName', 'nodeName', 'serviceUrl'];

const STEP: FieldsOf = {
  fields: {
    name: 'text',
    serviceName: 'text',
    nodeName: 'text',
    serviceUrl: 'text',
    weight: 'whole',
    data: { oneOf: ['$request', '$response'] },
    condition: 'text',
    mapPredictionsToInstances: 'flag',
    dependency: { oneOf: ['Soft', 'Hard'] },
  },
};

const KINDS: Readonly<Record<string, FieldsOf>> = {
  NetworkPolicy: NETWORK_POLICY,
  ConfigMap: CONFIG_MAP,
  InferenceService: objectFields('InferenceService', 'serving.kserve.io/v1beta1', {
    spec: {
      fields: {
        predictor: {
          fields: {
            ...POD_FIELDS,
            minReplicas: 'whole',
            maxReplicas: 'whole',
            labels: TEXTS,
            annotations: TEXTS,
            deploymentStrategy: 'any',
            timeout: 'whole',
            containerConcurrency: 'whole',
            scaleMetric: 'text',
            scaleTarget: 'whole',
            batcher: 'any',
            logger: 'any',
            model: 'any',
            canaryTrafficPercent: 'whole',
          },
          required: ['minReplicas', 'maxReplicas'],
        },
        transformer: 'any',
        explainer: 'any',
      },
      required: ['predictor'],
    },
  }),
  InferenceGraph: objectFields('InferenceGraph', 'serving.kserve.io/v1alpha1', {
    spec: {
      fields: {
        minReplicas: 'whole',
        maxReplicas: 'whole',
        timeout: 'whole',
        resources: 'any',
        affinity: 'any',
        scaleMetric: 'text',
        scaleTarget: 'whole',
        routerTimeouts: 'any',
        nodeSelector: TEXTS,
        nodes: {
          values: {
            fields: {
              routerType: { oneOf: ['Sequence', 'Splitter', 'Ensemble', 'Switch'] },
              steps: { list: STEP },
            },
            required: ['routerType', 'steps'],
          },
        },
      },
      required: ['nodes'],
    },
  }),
};

/** ofKind makes a rule about the objects of a kind. */
function ofKind(
  kind: string,
  name: string,
  check: (object: KubeObject, bundle: LintedBundle) => Iterable<RuleFinding>,
): LintRule {
  return {
    name,
    breaks: 'fault',
    *check(bundle) {
      for (const object of objectsIn(bundle.files)) if (object.kind === kind) yield* check(object, bundle);
    },
  };
}

const MODE = ofKind('InferenceService', 'autoscaling', function* (object) {
  const annotations = asMap(asMap(object.value.metadata).annotations);
  for (const [key, value] of Object.entries(RAW))
    if (annotations[key] !== value)
      yield inObject(
        object,
        ['metadata', 'annotations', key],
        `is ${annotations[key] ?? 'absent'}, and must be ${value}: KServe would scale pods whose number is planned`,
      );
  const { scaleMetric, scaleTarget } = asMap(asMap(object.value.spec).predictor);
  if (scaleMetric !== undefined || scaleTarget !== undefined)
    yield inObject(object, ['spec', 'predictor'], 'has a target to scale by, beside a plan whose pods stay');
});

const PROTOCOL = ofKind('InferenceService', 'protocol-version', function* (object) {
  const at = ['spec', 'predictor', 'model'];
  const model = objectAt(object.value, at);
  if (model !== undefined) {
    const { protocolVersion } = asMap(model);
    if (protocolVersion !== 'v2')
      yield inObject(
        object,
        at,
        `has the protocolVersion ${protocolVersion ?? 'absent, which is v1'}, and must have v2`,
      );
    return;
  }
  const env = asList(objectAt(object.value, [...CONTAINER_AT, 'env'])).map(asMap);
  const protocol = env.find(({ name }) => name === 'PROTOCOL')?.value;
  if (protocol !== 'v2')
    yield inObject(
      object,
      [...CONTAINER_AT, 'env'],
      `have PROTOCOL ${protocol ?? 'absent, which is v1'}, and our server speaks v2: graphs would ask another path`,
    );
});

const CONTAINER = ofKind('InferenceService', 'predictor-container', function* (object) {
  const { name, ports } = asMap(objectAt(object.value, CONTAINER_AT));
  if (name !== PREDICTOR_PORT.container)
    yield inObject(
      object,
      [...CONTAINER_AT, 'name'],
      `is ${name}, and KServe looks for ${PREDICTOR_PORT.container}`,
    );
  const [port] = asList(ports).map(asMap);
  if (port?.name !== PREDICTOR_PORT.name || port.containerPort !== PREDICTOR_PORT.port)
    yield inObject(
      object,
      [...CONTAINER_AT, 'ports'],
      `name ${port?.name ?? 'nothing'} at ${port?.containerPort ?? 'no port'}, and KServe leads to ${PREDICTOR_PORT.name} at ${PREDICTOR_PORT.port}`,
    );
});

const STEPS = ofKind('InferenceGraph', 'graph-steps', function* (object, bundle) {
  const nodes = asMap(objectAt(object.value, ['spec', 'nodes']));
  if (nodes.root === undefined)
    yield inObject(object, ['spec', 'nodes'], 'have no root, where requests come in');
  for (const [node, value] of Object.entries(nodes))
    for (const [s, step] of asList(asMap(value).steps).map(asMap).entries()) {
      const at = ['spec', 'nodes', node, 'steps', s];
      const given = LEADS_TO.filter((key) => step[key] !== undefined);
      if (given.length !== 1)
        yield inObject(
          object,
          at,
          `leads by ${given.join(' and ') || 'nothing'}, and must by one of ${LEADS_TO.join(', ')}`,
        );
      yield* targetFaults(object, { at, step }, bundle);
      if (asMap(value).routerType !== 'Sequence') continue;
      if (s === 0 && step.condition !== undefined)
        yield inObject(object, [...at, 'condition'], 'stands on the first step, and KServe would answer 500');
      if (step.data === '$response')
        yield inObject(
          object,
          [...at, 'data'],
          'is $response: the outputs of an answer never become the inputs of a request of v2',
        );
    }
});

/** targetFaults finds steps that lead to no pods of the bundle, or to a model that these do not have. */
function* targetFaults(
  object: KubeObject,
  { at, step }: { readonly at: Place; readonly step: Readonly<Record<string, unknown>> },
  { files, graph }: LintedBundle,
): Generator<RuleFinding> {
  const services = objectsIn(files).flatMap(({ kind, name }) => (kind === 'InferenceService' ? [name] : []));
  const { serviceName, serviceUrl } = step;
  if (serviceName !== undefined) {
    if (!services.includes(String(serviceName)))
      yield inObject(
        object,
        [...at, 'serviceName'],
        `is ${serviceName}, and there is no such InferenceService`,
      );
    if (!graph.models.some(({ name }) => name === serviceName))
      yield inObject(
        object,
        [...at, 'serviceName'],
        `is ${serviceName}, so that the router asks /v2/models/${serviceName}/infer, and no model has that name`,
      );
  }
  if (serviceUrl === undefined) return;
  const [, service, path] = /^http:\/\/([^/.]+)-predictor[^/]*(\/.*)$/.exec(String(serviceUrl)) ?? [];
  if (service === undefined || !services.includes(service))
    yield inObject(
      object,
      [...at, 'serviceUrl'],
      `is ${serviceUrl}, and the bundle has ${services.join(', ')}`,
    );
  else if (!graph.models.some(({ name }) => `${modelPath(name)}/infer` === path))
    yield inObject(object, [...at, 'serviceUrl'], `asks ${path}, which is no model of the plan`);
}

const WEIGHTS: LintRule = {
  name: 'weights',
  breaks: 'fault',
  *check(bundle) {
    const units = servingUnits(bundle, 'plugin');
    const graphs = objectsIn(bundle.files).filter(({ kind }) => kind === 'InferenceGraph');
    for (const [m, { name }] of bundle.graph.models.entries()) {
      const wanted = splitterWeights(units, m);
      if (wanted.size === 0) continue;
      const own = graphs.find((object) => object.name === graphName(linted(bundle), m));
      if (own === undefined) {
        yield {
          file: GRAPHS,
          message: `has no graph ${graphName(linted(bundle), m)}, which leads requests of ${name} to unlike pods`,
        };
        continue;
      }
      const at = ['spec', 'nodes', 'root', 'steps'];
      const steps = asList(objectAt(own.value, at)).map(asMap);
      for (const [s, step] of steps.entries()) {
        const [, weight] = [...wanted].find(([unit]) => unit.name === step.name) ?? [];
        if (step.weight !== weight)
          yield inObject(
            own,
            [...at, s, 'weight'],
            `is ${step.weight ?? 'absent'}, and by the plan ${step.name} has ${weight ?? 'none'}`,
          );
      }
      const sum = steps.reduce((all, { weight }) => all + Number(weight ?? 0), 0);
      if (sum !== PERCENT) yield inObject(own, at, `have weights that sum to ${sum}; they must sum to 100`);
    }
  },
};

const OLD_GRAPHS: LintRule = {
  name: 'graph-bodies',
  breaks: 'warning',
  *check({ files }) {
    for (const object of objectsIn(files))
      if (object.kind === 'InferenceGraph')
        yield inObject(
          object,
          ['spec', 'nodes', 'root'],
          'takes tensors as JSON alone, and tells nothing of its model: metadata are at the InferenceServices',
        );
  },
};

/** predictorLetters is how long a name may be within `<name>-predictor-<namespace>`, which is a label of DNS. */
function predictorLetters({ value }: KubeObject): number {
  const { namespace } = asMap(value.metadata);
  if (namespace === undefined) return SERVICE_NAME_LETTERS;
  return DNS_LETTERS - `-predictor-${namespace}`.length;
}

/** KSERVE_RULES are the rules of bundles for KServe. */
export const KSERVE_RULES: readonly LintRule[] = [
  objectsRule(KINDS, [INFERENCE_SERVICES, POLICY]),
  namesRule({ InferenceService: predictorLetters, InferenceGraph: SERVICE_NAME_LETTERS }),
  unitsRule('InferenceService', [INFERENCE_SERVICES]),
  ...[MODE, PROTOCOL, CONTAINER, STEPS, WEIGHTS],
  ...POD_RULES,
  ...UNIT_RULES,
  OLD_GRAPHS,
];
