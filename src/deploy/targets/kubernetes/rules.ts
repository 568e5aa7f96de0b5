import type { LintRule } from '../../lint/lint.js';
import {
  asList,
  asMap,
  folderOf,
  inObject,
  objectAt,
  objectsIn,
  objectsRule,
  podsIn,
} from '../kube/objects.js';
import { namesRule, POD_RULES } from '../kube/pod-rules.js';
import { matches } from '../kube/policy-rules.js';
import { DRA, unitsRule, wayOf } from '../kube/unit-pods.js';
import { UNIT_RULES } from '../kube/unit-rules.js';
import { servingUnits } from '../kube/units.js';
import { MONITOR, modelPath, POLICY, ROUTES, routeWeights, SERVERS, SERVICES } from './cluster.js';
import { KUBERNETES_KINDS } from './fields.js';

const EACH_WAY = [SERVERS, SERVICES, POLICY, 'kustomization.yaml'];

/** Two weights whose parts are within this of each other are the same. */
const WEIGHT_ERROR = 0.002;

const KUSTOMIZATION: LintRule = {
  name: 'kustomization',
  breaks: 'fault',
  *check({ files }) {
    for (const object of objectsIn(files)) {
      if (object.kind !== 'Kustomization') continue;
      const folder = folderOf(object.file);
      const named = asList(object.value.resources).map(String);
      for (const [r, file] of named.entries())
        if (!files.has(folder + file))
          yield inObject(object, ['resources', r], `is ${file}, and there is no such file`);
      for (const file of files.texts.keys())
        if (folderOf(file) === folder && isApplied(file) && !named.includes(file.slice(folder.length)))
          yield inObject(
            object,
            ['resources'],
            `lack ${file.slice(folder.length)}, which would not be applied`,
          );
    }
  },
};

/** Prometheus's operator is not everywhere. */
function isApplied(file: string): boolean {
  return file.endsWith('.yaml') && !file.endsWith('kustomization.yaml') && file !== MONITOR;
}

const SERVICE_PORTS: LintRule = {
  name: 'services',
  breaks: 'fault',
  *check({ files }) {
    for (const service of objectsIn(files)) {
      if (service.kind !== 'Service') continue;
      const { selector, ports } = asMap(service.value.spec);
      const chosen = podsIn(files).filter(
        ({ owner, labels }) => folderOf(owner.file) === folderOf(service.file) && matches(selector, labels),
      );
      if (chosen.length !== 1)
        yield inObject(
          service,
          ['spec', 'selector'],
          `chooses the pods of ${chosen.length} Deployments, and must choose those of one`,
        );
      for (const [p, port] of asList(ports).map(asMap).entries())
        for (const { spec } of chosen)
          if (!containerPorts(spec).includes(port.targetPort))
            yield inObject(
              service,
              ['spec', 'ports', p, 'targetPort'],
              `is ${port.targetPort ?? 'absent'}, which no container of the pods names`,
            );
    }
  },
};

function containerPorts(spec: Readonly<Record<string, unknown>>): unknown[] {
  return asList(spec.containers).flatMap((container) =>
    asList(asMap(container).ports).flatMap((port) => [asMap(port).name, asMap(port).containerPort]),
  );
}

const SELECTORS: LintRule = {
  name: 'selectors',
  breaks: 'fault',
  *check({ files }) {
    for (const { owner, labels } of podsIn(files)) {
      if (owner.kind !== 'Deployment') continue;
      const at = ['spec', 'selector', 'matchLabels'];
      if (!matches(objectAt(owner.value, at), labels))
        yield inObject(
          owner,
          at,
          'are not the labels of the pods, so that Kubernetes refuses the Deployment',
        );
    }
  },
};

const WEIGHTS: LintRule = {
  name: 'weights',
  breaks: 'fault',
  *check(bundle) {
    const { files, graph } = bundle;
    for (const way of ['', DRA]) {
      const units = servingUnits(bundle, wayOf(way));
      if (units.length > 1 && !files.has(way + ROUTES))
        yield {
          file: way + ROUTES,
          message: 'is missing: pods that are unlike would get requests in equal parts',
        };
    }
    for (const route of objectsIn(files)) {
      if (route.kind !== 'HTTPRoute') continue;
      const units = servingUnits(bundle, wayOf(route.file));
      const rules = asList(objectAt(route.value, ['spec', 'rules'])).map(asMap);
      for (const [r, { backendRefs }] of rules.entries())
        for (const [b, backend] of asList(backendRefs).map(asMap).entries())
          if (!units.some(({ name }) => name === backend.name))
            yield inObject(
              route,
              ['spec', 'rules', r, 'backendRefs', b, 'name'],
              `is ${backend.name}, and there is no such Service`,
            );
      for (const [m, { name }] of graph.models.entries()) {
        const wanted = routeWeights(units, m);
        const r = rules.findIndex(({ matches: given }) =>
          asList(given).some((one) => asMap(asMap(one).path).value === modelPath(name)),
        );
        if (wanted.size === 0) continue;
        if (r < 0) yield inObject(route, ['spec', 'rules'], `lead nowhere for the model ${name}`);
        else if (!areWeights(asList(rules[r]?.backendRefs).map(asMap), wanted))
          yield inObject(
            route,
            ['spec', 'rules', r, 'backendRefs'],
            `have other weights for ${name} than the plan: ${[...wanted].map(([unit, weight]) => `${unit} ${weight}`).join(', ')}`,
          );
      }
    }
  },
};

function areWeights(
  backends: readonly Readonly<Record<string, unknown>>[],
  wanted: ReadonlyMap<string, number>,
): boolean {
  const sumOf = (weights: Iterable<unknown>) =>
    [...weights].reduce<number>((all, one) => all + Number(one), 0);
  const sum = sumOf(backends.map(({ weight = 1 }) => weight));
  const all = sumOf(wanted.values());
  return (
    backends.length === wanted.size &&
    backends.every(
      ({ name, weight = 1 }) =>
        Math.abs(Number(weight) / sum - (wanted.get(String(name)) ?? Number.NaN) / all) <= WEIGHT_ERROR,
    )
  );
}

const GATEWAY: LintRule = {
  name: 'gateway',
  breaks: 'warning',
  *check({ files }) {
    for (const route of objectsIn(files))
      if (route.kind === 'HTTPRoute')
        yield inObject(
          route,
          ['spec', 'parentRefs'],
          'name a Gateway called inferplan; put yours there, since Services alone give unlike pods equal parts',
        );
  },
};

/** KUBERNETES_RULES are the rules of bundles for Kubernetes. */
export const KUBERNETES_RULES: readonly LintRule[] = [
  objectsRule(KUBERNETES_KINDS, [...EACH_WAY, ...EACH_WAY.map((file) => DRA + file), MONITOR]),
  namesRule({}),
  unitsRule('Deployment', [SERVERS, DRA + SERVERS]),
  unitsRule('Service', [SERVICES, DRA + SERVICES]),
  ...[KUSTOMIZATION, SELECTORS, SERVICE_PORTS, WEIGHTS],
  ...POD_RULES,
  ...UNIT_RULES,
  GATEWAY,
];
