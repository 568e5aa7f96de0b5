import { BundleTexts, type LintedBundle, type LintRule, type RuleFinding } from '../../lint/lint.js';
import type { Place } from '../../lint/yaml-file.js';
import {
  asList,
  asMap,
  inObject,
  type KubeObject,
  type KubePods,
  objectAt,
  objectsIn,
  objectsRule,
  podsIn,
} from '../kube/objects.js';
import { type PlannedDevice, podDeviceFaults, podNodeFaults } from '../kube/pod-devices.js';
import { isSharedMemory, namesRule, POD_RULES } from '../kube/pod-rules.js';
import { GPU_SHARE } from '../kube/pods.js';
import { letsPods, matches, policyRules } from '../kube/policy-rules.js';
import { quantityNumber } from '../kube/quantities.js';
import { RAY_VERSION } from '../ray-serve/ray-serve.js';
import { CONFIG } from '../ray-serve/read-config.js';
import { RAY_RULES } from '../ray-serve/rules.js';
import {
  DASHBOARD_PORT,
  graceS,
  hasUpgradeRoom,
  INGRESS_RESOURCE,
  OPERATOR_LABEL,
  paramText,
  RAY_SERVICE,
  SERVE_PORT,
  SERVICE_LETTERS,
  type WorkerGroup,
  workerGroups,
} from './cluster.js';
import { KUBERAY_KINDS } from './kinds.js';

const OPERATOR_TEXT = Object.entries(OPERATOR_LABEL)
  .map(([key, value]) => `${key}: ${value}`)
  .join(', ');
const SERVE_AT: Place = ['spec', 'serveConfigV2'];
const CLUSTER_AT: Place = ['spec', 'rayClusterConfig'];
const GROUPS_AT: Place = [...CLUSTER_AT, 'workerGroupSpecs'];
/** These rules say how to share a GPU where nothing else does; here the device plugin shares it. */
const OTHERWISE = ['gpu-fractions'];

function servicesIn({ files }: LintedBundle): KubeObject[] {
  return objectsIn(files).filter(({ kind }) => kind === 'RayService');
}

/** ofServices makes a rule about the RayService. */
function ofServices(
  name: string,
  check: (service: KubeObject, bundle: LintedBundle) => Iterable<RuleFinding>,
  breaks: LintRule['breaks'] = 'fault',
): LintRule {
  return {
    name,
    breaks,
    *check(bundle) {
      for (const service of servicesIn(bundle)) yield* check(service, bundle);
    },
  };
}

/** The texts of a bundle with the configuration of Ray Serve as a file among them. */
const UNFOLDED = new WeakMap<BundleTexts, BundleTexts>();

/** unfolded gives the texts of a bundle, with the configuration that its RayService holds as a file. */
function unfolded(files: BundleTexts, service: KubeObject): BundleTexts {
  const text = String(objectAt(service.value, SERVE_AT) ?? '');
  const found = UNFOLDED.get(files) ?? new BundleTexts(new Map([...files.texts, [CONFIG, text]]));
  UNFOLDED.set(files, found);
  return found;
}

/** embedded lets a rule of Ray Serve look at the configuration within the RayService. */
function embedded(rule: LintRule): LintRule {
  return ofServices(
    rule.name,
    function* (service, bundle) {
      const files = unfolded(bundle.files, service);
      const begins = bundle.files.yaml(service.file).lineOf(SERVE_AT, service.document);
      for (const { file, at = [], line, message } of rule.check({ ...bundle, files })) {
        if (file !== CONFIG) yield { file, at, message, ...(line === undefined ? {} : { line }) };
        else
          yield {
            file: service.file,
            at: [...SERVE_AT, ...at],
            message,
            line: begins + (line ?? files.yaml(CONFIG).lineOf(at)),
          };
      }
    },
    rule.breaks,
  );
}

/** httpOptions gives the options of HTTP for Ray Serve. */
function httpOptions(service: KubeObject, { files }: LintedBundle): Readonly<Record<string, unknown>> {
  return asMap(asMap(unfolded(files, service).value(CONFIG)).http_options);
}

const HOST = ofServices('serve-host', function* (service, bundle) {
  const { host } = httpOptions(service, bundle);
  if (host !== '0.0.0.0')
    yield inObject(
      service,
      SERVE_AT,
      `gives http_options the host ${host ?? '127.0.0.1'}, where no other pod can call; it must be 0.0.0.0`,
    );
});

const GROUPS = ofServices('worker-groups', function* (service, bundle) {
  const specs = asList(objectAt(service.value, GROUPS_AT)).map(asMap);
  const wanted = workerGroups(bundle);
  for (const { name, deviceClass, replicas } of wanted) {
    const g = specs.findIndex(({ groupName }) => groupName === name);
    if (g < 0) {
      yield inObject(service, GROUPS_AT, `have no group ${name}, which runs the class ${deviceClass}`);
      continue;
    }
    for (const key of ['replicas', 'minReplicas', 'maxReplicas'])
      if (specs[g]?.[key] !== replicas)
        yield inObject(
          service,
          [...GROUPS_AT, g, key],
          `is ${specs[g]?.[key]}, and the plan has ${replicas} devices of ${deviceClass}, which stay`,
        );
  }
  for (const [g, { groupName }] of specs.entries())
    if (groupName !== 'ingress' && !wanted.some(({ name }) => name === groupName))
      yield inObject(
        service,
        [...GROUPS_AT, g, 'groupName'],
        `is ${groupName}, of which the plan has no class`,
      );
});

const PARAMS = ofServices('ray-start-params', function* (service, bundle) {
  const wanted = new Map(workerGroups(bundle).map((group) => [group.name, group]));
  for (const [g, spec] of asList(objectAt(service.value, GROUPS_AT)).map(asMap).entries()) {
    const params = asMap(spec.rayStartParams);
    const at = [...GROUPS_AT, g, 'rayStartParams'];
    const group = wanted.get(String(spec.groupName));
    const own =
      group === undefined ? { [INGRESS_RESOURCE]: 1 } : { [`inferplan/${group.deviceClass}`]: group.part };
    if (params.resources !== paramText(own))
      yield inObject(
        service,
        [...at, 'resources'],
        `is ${params.resources ?? 'absent'}, and must be ${paramText(own)}, with these quotes, since a shell takes the outer ones`,
      );
    if (group === undefined) continue;
    const gpus = group.isOnCpu ? '0' : '1';
    if (params['num-gpus'] !== gpus)
      yield inObject(
        service,
        [...at, 'num-gpus'],
        `is ${params['num-gpus'] ?? 'absent'}, and must be "${gpus}": KubeRay counts only resources whose names end in gpu`,
      );
    if (!(Number(params['num-cpus']) >= group.cpus))
      yield inObject(
        service,
        [...at, 'num-cpus'],
        `is ${params['num-cpus'] ?? 'absent'}, and the replicas of ${group.deviceClass} ask for ${group.cpus}`,
      );
  }
});

const CORES = ofServices('ray-start-params', function* (service) {
  const head = [...CLUSTER_AT, 'headGroupSpec', 'rayStartParams', 'num-cpus'];
  const cores = objectAt(service.value, head);
  if (cores !== '0')
    yield inObject(
      service,
      head,
      `is ${cores ?? 'absent, which is those of the pod'}, and must be "0": replicas would run on the head`,
    );
  for (const [g, spec] of asList(objectAt(service.value, GROUPS_AT)).map(asMap).entries()) {
    const { 'num-cpus': told } = asMap(spec.rayStartParams);
    const at = ['template', 'spec', 'containers', 0, 'resources', 'limits', 'cpu'];
    const limit = objectAt(spec, at);
    if (told !== undefined && !(quantityNumber(limit) >= Number(told)))
      yield inObject(
        service,
        [...GROUPS_AT, g, ...at],
        `is ${limit ?? 'absent'}, and num-cpus tells Ray of ${told}: replicas would wait for one another's cores`,
      );
  }
});

/** ofClassPods makes a rule about the pods of each group of workers that runs a class. */
function ofClassPods(
  name: string,
  check: (pods: KubePods, group: WorkerGroup) => Iterable<RuleFinding>,
): LintRule {
  return {
    name,
    breaks: 'fault',
    *check(bundle) {
      const groups = new Map(workerGroups(bundle).map((group) => [group.name, group]));
      for (const pods of podsIn(bundle.files)) {
        const { groupName } = asMap(objectAt(pods.owner.value, pods.at.slice(0, -2)));
        const group = groups.get(String(groupName));
        if (group !== undefined) yield* check(pods, group);
      }
    },
  };
}

function plannedDevice({ name, deviceClass, virtual, isOnCpu }: WorkerGroup): PlannedDevice {
  const isShare = virtual > 1 && !isOnCpu;
  return { at: `the group ${name}`, deviceClass, virtual, isShare, gpus: isOnCpu || isShare ? 0 : 1 };
}

const GROUP_DEVICES = ofClassPods('gpu-resource', (pods, group) =>
  podDeviceFaults(pods, plannedDevice(group)),
);
const GROUP_NODES = ofClassPods('node-selector', (pods, group) => podNodeFaults(pods, plannedDevice(group)));

const STORE = ofClassPods('shared-memory', function* ({ owner, at, spec }, { virtual, isOnCpu }) {
  const isShare = (virtual > 1 && !isOnCpu) || asksShare(spec);
  const place = [...at.slice(0, -2), 'rayStartParams'];
  const { 'plasma-directory': store } = asMap(objectAt(owner.value, place));
  if (isShare && store === undefined)
    yield inObject(
      owner,
      place,
      'lacks plasma-directory: KubeRay would mount /dev/shm, which on nodes of shares belongs to MPS',
    );
  if (isShare && isSharedMemory(store))
    yield inObject(
      owner,
      [...place, 'plasma-directory'],
      `is ${store}, which on nodes of shares belongs to MPS`,
    );
});

function asksShare(spec: Readonly<Record<string, unknown>>): boolean {
  return asList(spec.containers).some(
    (one) => asMap(asMap(asMap(one).resources).limits)[GPU_SHARE] !== undefined,
  );
}

const AUTOSCALER = ofServices('autoscaling', function* (service) {
  const at = [...CLUSTER_AT, 'enableInTreeAutoscaling'];
  if (objectAt(service.value, at) === true)
    yield inObject(service, at, 'is true beside a plan whose replicas are fixed');
});

const UPGRADE = ofServices('upgrade-room', function* (service, bundle) {
  const at = ['spec', 'upgradeStrategy', 'type'];
  if (objectAt(service.value, at) !== 'None' && !hasUpgradeRoom(bundle))
    yield inObject(
      service,
      at,
      `is ${objectAt(service.value, at)}, which starts a second cluster before the first ends, and the plan leaves too few GPUs for that; it must be None`,
    );
});

const UPGRADE_COST = ofServices(
  'upgrade-none',
  function* (service) {
    const at = ['spec', 'upgradeStrategy', 'type'];
    if (objectAt(service.value, at) === 'None')
      yield inObject(
        service,
        at,
        'is None, since a second cluster would not find its GPUs: another image or group of workers comes into force only when the RayService is deleted and applied again, and nothing is served meanwhile; serveConfigV2 changes without that',
      );
  },
  'warning',
);

const PORTS = ofServices('serve-port', function* (service, bundle) {
  const templates: Place[] = [
    [...CLUSTER_AT, 'headGroupSpec'],
    ...asList(objectAt(service.value, GROUPS_AT)).map((_, g) => [...GROUPS_AT, g]),
  ];
  const { port = SERVE_PORT } = httpOptions(service, bundle);
  for (const at of templates) {
    const place = [...at, 'template', 'spec', 'containers', 0, 'ports'];
    const serve = asList(objectAt(service.value, place))
      .map(asMap)
      .find(({ name }) => name === 'serve');
    if (serve?.containerPort !== port)
      yield inObject(
        service,
        place,
        `${serve === undefined ? 'have none named serve' : `name ${serve.containerPort} serve`}, and KubeRay leads clients to that; it must be ${port}`,
      );
  }
});

const VERSION = ofServices('ray-version', function* (service, { files }) {
  const at = [...CLUSTER_AT, 'rayVersion'];
  const version = objectAt(service.value, at);
  const installed = /ray\[serve\]==(\S+)/.exec(files.text('requirements.txt'))?.[1];
  if (version !== installed)
    yield inObject(
      service,
      at,
      `is ${version ?? 'absent'}, and requirements.txt has ${installed ?? RAY_VERSION}`,
    );
});

/** BASE_VERSION is the version of Ray in the name of its image. */
const BASE_VERSION = /\brayproject\/ray[a-z-]*:(\d+\.\d+\.\d+)/;

const BASE_IMAGE: LintRule = {
  name: 'ray-version',
  breaks: 'fault',
  *check({ files }) {
    const installed = /ray\[serve\]==(\S+)/.exec(files.text('requirements.txt'))?.[1];
    for (const [l, line] of files.text('Dockerfile').split('\n').entries()) {
      const version = BASE_VERSION.exec(line)?.[1];
      if (/^(ARG|FROM)\b/.test(line) && version !== undefined && version !== installed)
        yield {
          file: 'Dockerfile',
          line: l + 1,
          message: `begins with Ray ${version}, and requirements.txt has ${installed ?? RAY_VERSION}`,
        };
    }
  },
};

const DRAIN = ofServices('drain', function* (service, bundle) {
  const { request_timeout_s: timeout } = httpOptions(service, bundle);
  const least = graceS(Number(timeout ?? 0));
  for (const [g, spec] of asList(objectAt(service.value, GROUPS_AT)).entries()) {
    const at = ['template', 'spec', 'terminationGracePeriodSeconds'];
    const grace = objectAt(spec, at);
    if (!(Number(grace ?? 30) >= least))
      yield inObject(
        service,
        [...GROUPS_AT, g, ...at],
        `is ${grace ?? 'absent, which is 30'} s, and a request may last ${timeout} s: at least ${least} s are needed`,
      );
  }
});

const OWN_POLICY = ofServices('network-policy', function* (service) {
  const at = [...CLUSTER_AT, 'networkPolicy'];
  if (objectAt(service.value, at) !== undefined)
    yield inObject(
      service,
      at,
      'denies by default all that it does not name, the head and the workers among it; network-policy.yaml says who may come in',
    );
});

/** The labels of the operator's pods as Helm and as kustomize make them. */
const OPERATORS = ['kuberay-operator', 'kuberay'].map((name) => ({
  'app.kubernetes.io/name': name,
  ...OPERATOR_LABEL,
}));

const OPERATOR: LintRule = {
  name: 'network-policy',
  breaks: 'fault',
  *check({ files }) {
    for (const policy of objectsIn(files)) {
      if (policy.kind !== 'NetworkPolicy') continue;
      const { matchLabels } = asMap(asMap(policy.value.spec).podSelector);
      const heads = podsIn(files).filter(
        ({ at, labels }) => at.includes('headGroupSpec') && matches(matchLabels, labels),
      );
      const rules = policyRules(policy, 'ingress');
      const isIn = OPERATORS.every((labels) => rules?.some((rule) => letsPods(rule, labels, DASHBOARD_PORT)));
      if (heads.length > 0 && rules !== undefined && !isIn)
        yield inObject(
          policy,
          ['spec', 'ingress'],
          `does not let the operator in at the port ${DASHBOARD_PORT} of the head, whether Helm or kustomize made it (${OPERATOR_TEXT}): it would tell Ray nothing to serve`,
        );
    }
  },
};

const IMAGE_FILES: LintRule = {
  name: 'image',
  breaks: 'fault',
  *check({ files }) {
    const text = files.text('Dockerfile');
    for (const file of ['requirements.txt', 'app.py', 'rows.py', 'walk.py', 'verdicts.py', 'models'])
      if (!new RegExp(`^COPY .*\\b${file.replace('.', '\\.')}\\b`, 'm').test(text))
        yield {
          file: 'Dockerfile',
          line: 1,
          message: `copies no ${file} into the image, which app.py needs`,
        };
  },
};

const MEMORY: LintRule = {
  name: 'memory',
  breaks: 'warning',
  *check() {
    yield {
      file: RAY_SERVICE,
      at: GROUPS_AT,
      message:
        'ask for 4 GiB of memory a pod, which no profile says: give each what its models and the object store take',
    };
  },
};

/** KUBERAY_RULES are the rules of bundles for KubeRay. */
export const KUBERAY_RULES: readonly LintRule[] = [
  objectsRule(KUBERAY_KINDS, [RAY_SERVICE, 'network-policy.yaml']),
  namesRule({ RayService: SERVICE_LETTERS }),
  ...RAY_RULES.filter(({ name }) => !OTHERWISE.includes(name)).map(embedded),
  ...[HOST, GROUPS, PARAMS, CORES, GROUP_DEVICES, GROUP_NODES, STORE, AUTOSCALER, UPGRADE, PORTS],
  ...[VERSION, BASE_IMAGE, DRAIN, OWN_POLICY, OPERATOR, IMAGE_FILES],
  ...POD_RULES,
  ...[UPGRADE_COST, MEMORY],
];
