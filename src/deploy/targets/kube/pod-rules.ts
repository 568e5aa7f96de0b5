import type { LintedBundle, LintRule, RuleFinding } from '../../lint/lint.js';
import { type Place, YamlFile } from '../../lint/yaml-file.js';
import { DNS_LETTERS, isDnsName, labelValue } from './names.js';
import { CLASS_LABEL, DEVICE_PLUGIN, LEVEL_LABEL, levelName } from './nodes.js';
import { asList, asMap, inObject, type KubePods, objectAt, objectsIn, podsIn } from './objects.js';
import { GPU_SHARE, WHOLE_GPU } from './pods.js';

const PORT_LETTERS = 15;

/** KubeContainer is a container of a template of pods. */
export interface KubeContainer {
  readonly pods: KubePods;
  readonly at: Place;
  readonly fields: Readonly<Record<string, unknown>>;
  /** The resources that it is limited to. */
  readonly limits: Readonly<Record<string, unknown>>;
}

/** containersIn lists the containers of all templates of pods. */
export function containersIn({ files }: LintedBundle): KubeContainer[] {
  return podsIn(files).flatMap((pods) =>
    asList(pods.spec.containers).map((container, c) => {
      const fields = asMap(container);
      const limits = asMap(asMap(fields.resources).limits);
      return { pods, at: [...pods.at, 'containers', c], fields, limits };
    }),
  );
}

/** ofContainers makes a rule about each container. */
function ofContainers(
  name: string,
  check: (container: KubeContainer, bundle: LintedBundle) => Iterable<RuleFinding>,
): LintRule {
  return {
    ...{ name, breaks: 'fault' },
    *check(bundle) {
      for (const container of containersIn(bundle)) yield* check(container, bundle);
    },
  };
}

/** namesRule makes the rule that names are of DNS, with so many letters at most for each kind. */
export function namesRule(most: Readonly<Record<string, number>>): LintRule {
  return {
    ...{ name: 'names', breaks: 'fault' },
    *check(bundle) {
      for (const object of objectsIn(bundle.files)) {
        // Kustomize reads it, and no cluster has it.
        if (object.kind === 'Kustomization') continue;
        const letters = most[object.kind] ?? DNS_LETTERS;
        if (!isDnsName(object.name, letters))
          yield inObject(
            object,
            ['metadata', 'name'],
            `is ${JSON.stringify(object.name)}, and names have small letters, digits and -, begin with a letter, and have at most ${letters} letters`,
          );
      }
      for (const { pods, at, fields } of containersIn(bundle)) {
        if (!isDnsName(fields.name))
          yield inObject(
            pods.owner,
            [...at, 'name'],
            `is ${JSON.stringify(fields.name)}, and must be a name of DNS`,
          );
        for (const [p, port] of asList(fields.ports).entries()) {
          const { name } = asMap(port);
          if (name !== undefined && !isDnsName(name, PORT_LETTERS))
            yield inObject(
              pods.owner,
              [...at, 'ports', p, 'name'],
              `is ${JSON.stringify(name)}, and names of ports have at most ${PORT_LETTERS} small letters, digits and -`,
            );
        }
      }
    },
  };
}

const SHARED_MEMORY = ofContainers('shared-memory', function* ({ pods, at, fields, limits }) {
  if (limits[GPU_SHARE] === undefined) return;
  for (const [m, mount] of asList(fields.volumeMounts).entries())
    if (asMap(mount).mountPath === '/dev/shm')
      yield inObject(
        pods.owner,
        [...at, 'volumeMounts', m, 'mountPath'],
        'is /dev/shm beside a share of a GPU: MPS has its own there, and the container would not find it',
      );
});

const GPU_RESOURCE = ofContainers('gpu-resource', function* ({ pods, at, limits }) {
  const level = asMap(pods.spec.nodeSelector)[LEVEL_LABEL];
  const isDivided = level !== undefined && /^mps-\d+$/.test(String(level));
  const place = [...at, 'resources', 'limits'];
  if (isDivided && limits[WHOLE_GPU] !== undefined)
    yield inObject(
      pods.owner,
      [...place, WHOLE_GPU],
      `is asked on nodes of ${level}, which offer ${GPU_SHARE} alone: the pod would wait without end`,
    );
  if (!isDivided && limits[GPU_SHARE] !== undefined)
    yield inObject(
      pods.owner,
      [...place, GPU_SHARE],
      `is asked, and the pod chooses no nodes whose GPUs are divided (${LEVEL_LABEL})`,
    );
  if (limits[GPU_SHARE] !== undefined && Number(limits[GPU_SHARE]) !== 1)
    yield inObject(
      pods.owner,
      [...place, GPU_SHARE],
      `is ${limits[GPU_SHARE]}, and the device plugin gives a container one share`,
    );
});

const USERS: LintRule = {
  ...{ name: 'mps-users', breaks: 'fault' },
  *check(bundle) {
    let first: unknown;
    for (const { pods, at, fields, limits } of containersIn(bundle)) {
      if (limits[GPU_SHARE] === undefined && asList(asMap(fields.resources).claims).length === 0) continue;
      const own = asMap(fields.securityContext).runAsUser ?? asMap(pods.spec.securityContext).runAsUser;
      if (own === undefined)
        yield inObject(
          pods.owner,
          at,
          'says no runAsUser: processes on one MPS daemon that are of several users wait for one another',
        );
      first ??= own;
      if (own !== undefined && own !== first)
        yield inObject(
          pods.owner,
          at,
          `runs as the user ${own} and others as ${first}: on one MPS daemon they would wait for one another`,
        );
    }
  },
};

const NODES: LintRule = {
  ...{ name: 'node-selector', breaks: 'fault' },
  *check({ plan, files }) {
    const classes = [...new Set(plan.placement.map((placed) => labelValue(placed.class)))];
    const levels = new Set(
      objectsIn(files).flatMap(({ kind, value }) =>
        kind === 'ConfigMap' ? Object.keys(asMap(value.data)) : [],
      ),
    );
    for (const { owner, at, spec } of podsIn(files)) {
      const selector = asMap(spec.nodeSelector);
      const { [CLASS_LABEL]: chosen, [LEVEL_LABEL]: level } = selector;
      const place = [...at, 'nodeSelector'];
      if (chosen !== undefined && !classes.includes(String(chosen)))
        yield inObject(
          owner,
          [...place, CLASS_LABEL],
          `is ${chosen}, which is no class of the plan; it has ${classes.join(', ')}`,
        );
      if (level !== undefined && !levels.has(String(level)))
        yield inObject(
          owner,
          [...place, LEVEL_LABEL],
          `is ${level}, and the device plugin has no configuration of that name, such as ${levelName(2)}`,
        );
    }
  },
};

const LIVENESS = ofContainers('liveness', function* ({ pods, at, fields }) {
  const path = objectAt(fields, ['livenessProbe', 'httpGet', 'path']);
  if (typeof path === 'string' && /ready\/?$/.test(path))
    yield inObject(
      pods.owner,
      [...at, 'livenessProbe', 'httpGet', 'path'],
      `is ${path}, which is false while a model loads: the pod would be ended again and again`,
    );
});

const VOLUMES: LintRule = {
  ...{ name: 'volumes', breaks: 'fault' },
  *check({ files }) {
    const objects = objectsIn(files);
    const single = new Set(
      objects.flatMap(({ kind, name, value }) =>
        kind === 'PersistentVolumeClaim' &&
        !asList(objectAt(value, ['spec', 'accessModes'])).some((mode) => /Many$/.test(String(mode)))
          ? [name]
          : [],
      ),
    );
    const used = new Map<string, number>();
    for (const { owner, at, spec, replicas } of podsIn(files))
      for (const [v, volume] of asList(spec.volumes).entries()) {
        const { claimName } = asMap(asMap(volume).persistentVolumeClaim);
        if (typeof claimName !== 'string' || !single.has(claimName)) continue;
        const pods = (used.get(claimName) ?? 0) + replicas;
        used.set(claimName, pods);
        if (pods > 1)
          yield inObject(
            owner,
            [...at, 'volumes', v, 'persistentVolumeClaim', 'claimName'],
            `is ${claimName}, which one node alone may mount (ReadWriteOnce), and ${pods} pods use it`,
          );
      }
  },
};

/** matches tells whether labels are those that a selector wants. */
export function matches(selector: unknown, labels: Readonly<Record<string, unknown>>): boolean {
  return Object.entries(asMap(selector)).every(([key, value]) => labels[key] === value);
}

const POLICIES: LintRule = {
  ...{ name: 'network-policy', breaks: 'fault' },
  *check({ files }) {
    for (const policy of objectsIn(files)) {
      if (policy.kind !== 'NetworkPolicy') continue;
      const { podSelector, ingress } = asMap(policy.value.spec);
      const chosen = podsIn(files).filter(({ labels }) => matches(asMap(podSelector).matchLabels, labels));
      if (chosen.length === 0)
        yield inObject(
          policy,
          ['spec', 'podSelector'],
          'chooses no pods of this bundle, and so keeps nobody out',
        );
      const isAmong = asList(ingress).some((rule) => {
        const { from, ports } = asMap(rule);
        return (
          ports === undefined &&
          asList(from).some((peer) =>
            chosen.every(({ labels }) => matches(asMap(asMap(peer).podSelector).matchLabels, labels)),
          )
        );
      });
      const isRay = chosen.some(({ owner }) => owner.kind === 'RayService');
      if (isRay && !isAmong)
        yield inObject(
          policy,
          ['spec', 'ingress'],
          'does not let the pods in to one another at all ports: the head and the workers of Ray would be shut out',
        );
      const served = chosen.flatMap(({ spec }) => servedPorts(spec));
      const open = asList(ingress).flatMap((rule) => asList(asMap(rule).ports).map((one) => asMap(one).port));
      for (const port of new Set(served))
        if (!isOpen(asList(ingress)) && !open.includes(port))
          yield inObject(policy, ['spec', 'ingress'], `does not let clients in at the port ${port}`);
    }
  },
};

function isOpen(ingress: readonly unknown[]): boolean {
  return ingress.some((rule) => {
    const { from, ports } = asMap(rule);
    return from === undefined && ports === undefined;
  });
}

/** servedPorts lists the ports at which clients call. */
function servedPorts(spec: Readonly<Record<string, unknown>>): number[] {
  return asList(spec.containers).flatMap((container) =>
    asList(asMap(container).ports).flatMap((port) => {
      const { name, containerPort } = asMap(port);
      return ['serve', 'http', 'http1'].includes(String(name)) ? [Number(containerPort)] : [];
    }),
  );
}

const PLUGIN: LintRule = {
  ...{ name: 'device-plugin', breaks: 'fault' },
  *check({ files }) {
    const levels = new Map(
      objectsIn(files).flatMap((object) =>
        object.kind === 'ConfigMap' && object.file === DEVICE_PLUGIN
          ? Object.entries(asMap(object.value.data)).map(([key, text]) => [key, { object, text }] as const)
          : [],
      ),
    );
    for (const [key, { object, text }] of levels) {
      const wanted = /^mps-(\d+)$/.exec(key)?.[1];
      if (wanted === undefined) continue;
      const at = ['data', key];
      const { mps } = asMap(asMap(new YamlFile(String(text)).values[0]).sharing);
      const { renameByDefault, resources } = asMap(mps);
      const [{ name, replicas } = {} as Record<string, unknown>] = asList(resources).map(asMap);
      if (name !== WHOLE_GPU || replicas !== Number(wanted))
        yield inObject(
          object,
          at,
          `divides ${name ?? 'nothing'} in ${replicas ?? 'no'} parts, and ${key} stands for ${WHOLE_GPU} in ${wanted}`,
        );
      if (renameByDefault !== true)
        yield inObject(object, at, `lacks renameByDefault: true, so that nodes offer no ${GPU_SHARE}`);
    }
  },
};

/** POD_RULES are the rules about pods, whatever makes them. */
export const POD_RULES: readonly LintRule[] = [
  ...[SHARED_MEMORY, GPU_RESOURCE, USERS, NODES, LIVENESS, VOLUMES, POLICIES, PLUGIN],
];
