import { posix } from 'node:path';
import type { LintedBundle, LintRule, RuleFinding } from '../../lint/lint.js';
import { type Place, YamlFile } from '../../lint/yaml-file.js';
import { hasMpsClaim } from './claims.js';
import { DNS_LETTERS, isDnsName, labelValue } from './names.js';
import { CLASS_LABEL, DEVICE_PLUGIN, LEVEL_LABEL, levelName } from './nodes.js';
import {
  asList,
  asMap,
  inObject,
  type KubeObject,
  type KubePods,
  objectAt,
  objectsIn,
  podsIn,
} from './objects.js';
import { GPU_SHARE, WHOLE_GPU } from './pods.js';
import { POLICIES } from './policy-rules.js';

const PORT_LETTERS = 15;

/** KubeContainer is a container of a template of pods. */
export interface KubeContainer {
  readonly pods: KubePods;
  readonly at: Place;
  readonly fields: Readonly<Record<string, unknown>>;
  /** The resources that it is limited to. */
  readonly limits: Readonly<Record<string, unknown>>;
}

/** containersIn lists the containers of all templates of pods, or those that run before them. */
export function containersIn({ files }: LintedBundle, list = 'containers'): KubeContainer[] {
  return podsIn(files).flatMap((pods) =>
    asList(pods.spec[list]).map((container, c) => {
      const fields = asMap(container);
      const limits = asMap(asMap(fields.resources).limits);
      return { pods, at: [...pods.at, list, c], fields, limits };
    }),
  );
}

function allContainers(bundle: LintedBundle): KubeContainer[] {
  return [...containersIn(bundle), ...containersIn(bundle, 'initContainers')];
}

/** ofContainers makes a rule about each container. */
function ofContainers(
  name: string,
  check: (container: KubeContainer, bundle: LintedBundle) => Iterable<RuleFinding>,
): LintRule {
  return {
    name,
    breaks: 'fault',
    *check(bundle) {
      for (const container of containersIn(bundle)) yield* check(container, bundle);
    },
  };
}

/** namesRule makes the rule that names are of DNS, with a given number of letters at most for each kind, or object of a kind. */
export function namesRule(
  most: Readonly<Record<string, number | ((object: KubeObject) => number)>>,
): LintRule {
  return {
    name: 'names',
    breaks: 'fault',
    *check(bundle) {
      for (const object of objectsIn(bundle.files)) {
        // Kustomize reads it, and no cluster has it.
        if (object.kind === 'Kustomization') continue;
        const own = most[object.kind] ?? DNS_LETTERS;
        const letters = typeof own === 'number' ? own : own(object);
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

const SHARED_MEMORY: LintRule = {
  name: 'shared-memory',
  breaks: 'fault',
  *check(bundle) {
    const objects = objectsIn(bundle.files);
    const all = allContainers(bundle);
    const sharing = new Set(
      podsIn(bundle.files).flatMap((pods) => (hasMpsClaim(pods, objects) ? [keyOf(pods)] : [])),
    );
    for (const { pods, limits } of all) if (limits[GPU_SHARE] !== undefined) sharing.add(keyOf(pods));
    for (const { pods, at, fields } of all)
      for (const [m, mount] of asList(fields.volumeMounts).map(asMap).entries())
        if (sharing.has(keyOf(pods)) && isSharedMemory(mount.mountPath))
          yield inObject(
            pods.owner,
            [...at, 'volumeMounts', m, 'mountPath'],
            `is ${mount.mountPath} beside a share of a GPU: MPS has its own /dev/shm, and the container would not find it`,
          );
  },
};

/** Templates of pods are the same that stand at one place. */
function keyOf({ owner: { file, document }, at }: KubePods): string {
  return JSON.stringify([file, document, at]);
}

/** isSharedMemory returns whether a path is /dev/shm, or a folder around it that would hide it. */
export function isSharedMemory(path: unknown): boolean {
  return typeof path === 'string' && /^\/(dev(\/shm)?)?$/.test(posix.resolve('/', path));
}

const IMAGES: LintRule = {
  name: 'images',
  breaks: 'fault',
  *check(bundle) {
    for (const { pods, at, fields } of allContainers(bundle)) {
      const name = String(fields.image ?? '').replace(/^.*\//, '');
      const tag = /[:@](.+)$/.exec(name)?.[1];
      if (tag === undefined || tag === 'latest')
        yield inObject(
          pods.owner,
          [...at, 'image'],
          `is ${fields.image ?? 'absent'}, which may be another image tomorrow: name its version or its digest`,
        );
    }
  },
};

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
  name: 'mps-users',
  breaks: 'fault',
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
  name: 'node-selector',
  breaks: 'fault',
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
  name: 'volumes',
  breaks: 'fault',
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

const PLUGIN: LintRule = {
  name: 'device-plugin',
  breaks: 'fault',
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
  ...[SHARED_MEMORY, GPU_RESOURCE, IMAGES, USERS, NODES, LIVENESS, VOLUMES, POLICIES, PLUGIN],
];
