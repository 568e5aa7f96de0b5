import { existsSync, readFileSync } from 'node:fs';
import { Ajv } from 'ajv';
import { describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import type { EngineBundle } from '../../../src/deploy/targets/engine-target.js';
import { KSERVE_ENGINE } from '../../../src/deploy/targets/kserve/kserve.js';
import { KUBERAY_ENGINE } from '../../../src/deploy/targets/kuberay/kuberay.js';
import { KUBERNETES_ENGINE } from '../../../src/deploy/targets/kubernetes/kubernetes.js';
import { RAY_ENGINE } from '../../../src/deploy/targets/ray-serve/ray-serve.js';
import type { PooledPlan } from '../../../src/formats/index.js';
import { type Stream, streamOf } from '../../../src/random/index.js';
import { inWholeRun, seeds, WHOLE, whole } from '../../cases.js';
import { CUDA, lintOf, made, type PoolAt, pooledAt } from './kube/made-bundles.js';
import { customResourceCheck, HAS_SCHEMAS } from './kube/schemas.js';

/** The schemas of the engines take seconds to be compiled; tests of each engine check its bundles by them in every run. */
const CHECKS_SCHEMAS = HAS_SCHEMAS && WHOLE;

/** Two of these are equal once signs are replaced, and others are longer than a label, or begin with what a name must not. */
const MODELS = ['net.v2', 'net v2', '9lives', 'Ünïcode', 'a/b', `long-${'n'.repeat(70)}`, '-', 'Tag'];
const CLASSES = ['T4.2x', 'RTX 4090', 'a100_80gb', '4xL4', 'H100'];

/** A class of the made cluster: into how many parts its GPUs are divided, and how many a server has. */
interface ClassMade {
  readonly name: string;
  readonly virtual: number;
  readonly perServer: number;
  used: number;
}

/** drawn takes some of a list, in the order of draws. */
function drawn<T>(list: readonly T[], count: number, stream: Stream): T[] {
  const left = [...list];
  return Array.from({ length: count }, () => left.splice(stream.integer(left.length), 1)[0] as T);
}

/** hardPlan makes a plan of models with hard names, each on GPUs and parts of GPUs of one or more classes. */
function hardPlan(seed: number): PooledPlan {
  const stream = streamOf(seed, 'hard-plans');
  const classes = drawn(CLASSES, 3, stream).map(
    (name): ClassMade => ({
      name,
      virtual: 1 + stream.integer(4),
      perServer: 1 + stream.integer(2),
      used: 0,
    }),
  );
  const names = drawn(MODELS, 1 + stream.integer(3), stream);
  const poolOn = (one: ClassMade): PoolAt => {
    const seats = Array.from({ length: 1 + stream.integer(5) }, () => {
      const gpu = Math.floor(one.used++ / one.virtual);
      return [Math.floor(gpu / one.perServer), gpu % one.perServer] as [number, number];
    });
    return { device: one.name, virtual: one.virtual, seats };
  };
  const models = names.map(() => drawn(classes, 1 + stream.integer(3), stream).map((one) => [poolOn(one)]));
  const cluster = Object.fromEntries(
    classes.map(({ name, virtual, perServer }) => [
      name,
      { count: 24, perServer, memoryGiB: 24, ...(virtual > 1 ? { virtual: [virtual] } : {}) },
    ]),
  );
  const plan = pooledAt(models, cluster);
  return { ...plan, models: plan.models.map((model, m) => ({ ...model, name: names[m] as string })) };
}

/** bundleOf gives the bundle of a seed's plan, all of whose classes are GPUs. */
function bundleOf(seed: number): EngineBundle & Parameters<typeof lintOf>[1] {
  return made(hardPlan(seed), Object.fromEntries(CLASSES.map((name) => [name, CUDA])));
}

/** counted adds up by class what each of a list has. */
function counted<T>(list: readonly T[], classOf: (one: T) => string, of: (one: T) => number) {
  const sums: Record<string, number> = {};
  for (const one of list) sums[classOf(one)] = (sums[classOf(one)] ?? 0) + of(one);
  return sums;
}

/** Virtual GPUs by class, as the placement lists them. */
const seatsOf = (plan: PooledPlan) =>
  counted(
    plan.placement,
    (one) => one.class,
    () => 1,
  );

/** How many devices a container asks for: whole GPUs of classes that are not divided, else shares. */
function devicesOfPlan(plan: PooledPlan): Record<string, number> {
  const wholes = new Map<string, string>();
  for (const { server, gpu, class: name, virtual } of plan.placement)
    if (virtual === 1) wholes.set(`${server}/${gpu}`, name);
  const shares = plan.placement.filter(({ virtual }) => virtual > 1);
  return {
    ...counted(
      [...wholes.values()],
      (name) => name,
      () => 1,
    ),
    ...counted(
      shares,
      (one) => one.class,
      () => 1,
    ),
  };
}

/** A label has the letters, digits and signs of a class's name alone; other signs become `-`. */
const labelled = <V>(byClass: Readonly<Record<string, V>>): Record<string, V> =>
  Object.fromEntries(Object.entries(byClass).map(([name, value]) => [name.replaceAll(' ', '-'), value]));

/** The part of a model's requests that each class serves: at 1/v of a GPU's rate for each virtual GPU. */
function classShares(plan: PooledPlan, model: number): Record<string, number> {
  const own = plan.placement.filter((one) => one.model === model);
  const rates = counted(
    own,
    (one) => one.class,
    ({ virtual }) => 1 / virtual,
  );
  const sum = Object.values(rates).reduce((all, rate) => all + rate, 0);
  return Object.fromEntries(Object.entries(rates).map(([name, rate]) => [name, rate / sum]));
}

interface Container {
  readonly args: readonly string[];
  readonly resources: { readonly limits: Readonly<Record<string, string>> };
}

interface Pod {
  readonly nodeSelector: Readonly<Record<string, string>>;
  readonly containers: readonly Container[];
}

/** PodsWritten is what a file says of pods alike: their name, number and specification. */
interface PodsWritten {
  readonly name: string;
  readonly replicas: number;
  readonly pod: Pod;
}

const CLASS_LABEL = 'inferplan/class';
const gpusOf = ({ containers }: Pod): number => {
  const limits = containers[0]?.resources.limits ?? {};
  return Number(limits['nvidia.com/gpu'] ?? 0) + Number(limits['nvidia.com/gpu.shared'] ?? 0);
};
const podClass = ({ pod }: PodsWritten): string => pod.nodeSelector[CLASS_LABEL] as string;

const documentsOf = (text: string | undefined): unknown[] =>
  parseAllDocuments(text ?? '').map((one) => one.toJS() as unknown);

/** A name that Kubernetes takes for what is found by DNS. */
const DNS_NAME = /^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$/;

function expectPods(plan: PooledPlan, written: readonly PodsWritten[]): void {
  expect(counted(written, podClass, ({ replicas, pod }) => replicas * gpusOf(pod))).toEqual(
    labelled(devicesOfPlan(plan)),
  );
  for (const { name } of written) expect(name).toMatch(DNS_NAME);
  expect(new Set(written.map(({ name }) => name)).size).toBe(written.length);
}

/** expectShares compares the weights with which a model's requests go to pods with what its classes serve. */
function expectShares(
  { plan, model }: { readonly plan: PooledPlan; readonly model: number },
  weights: readonly { readonly name: string; readonly weight: number }[],
  written: readonly PodsWritten[],
): void {
  const classOf = (name: string) => podClass(written.find((one) => one.name === name) as PodsWritten);
  const sum = weights.reduce((all, { weight }) => all + weight, 0);
  const found = counted(
    weights,
    ({ name }) => classOf(name),
    ({ weight }) => weight / sum,
  );
  const expected = labelled(classShares(plan, model));
  expect(Object.keys(found).sort()).toEqual(Object.keys(expected).sort());
  // Each weight is rounded to a whole number of their sum.
  for (const [name, share] of Object.entries(expected))
    expect(Math.abs((found[name] as number) - share)).toBeLessThan((weights.length + 1) / sum);
}

interface RayDeployment {
  readonly name: string;
  readonly num_replicas: number;
  readonly ray_actor_options: {
    readonly num_gpus: number;
    readonly resources: Readonly<Record<string, number>>;
  };
  readonly user_config: {
    readonly models: Readonly<
      Record<string, { readonly slo_ms: number; readonly routes: Readonly<Record<string, number>> }>
    >;
    readonly stages: Readonly<Record<string, Readonly<Record<string, number>>>>;
  };
}

interface RayConfig {
  readonly applications: readonly {
    readonly args: { readonly stages: Readonly<Record<string, { readonly models: readonly string[] }>> };
    readonly deployments: readonly RayDeployment[];
  }[];
}

/** expectRay compares what Ray Serve would start with the devices and rates of a plan. */
function expectRay(plan: PooledPlan, config: RayConfig): void {
  const { args, deployments = [] } = config.applications[0] ?? {};
  const [ingress, , ...groups] = deployments;
  const names = deployments.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  for (const name of names) expect(name).toMatch(/^[A-Za-z]\w*$/);
  const classOf = ({ ray_actor_options: { resources } }: RayDeployment) =>
    (Object.keys(resources)[0] as string).replace('inferplan/', '');
  expect(counted(groups, classOf, (one) => one.num_replicas)).toEqual(seatsOf(plan));
  for (const group of groups) {
    const { virtual } = plan.placement.find((one) => one.class === classOf(group)) ?? { virtual: Number.NaN };
    const { num_gpus: gpus, resources } = group.ray_actor_options;
    // Ray counts in ten thousandths, and v parts must find their place on one GPU.
    expect(gpus * virtual).toBeLessThanOrEqual(1);
    expect(gpus).toBeGreaterThan(1 / virtual - 1e-4);
    expect(Object.values(resources)).toEqual([gpus]);
  }
  const { models = {}, stages = {} } = ingress?.user_config ?? {};
  expect(Object.keys(models).sort()).toEqual(plan.models.map(({ name }) => name).sort());
  plan.models.forEach(({ name, sloMs }, m) => {
    expect(models[name]?.slo_ms).toBe(sloMs);
    const byClass: Record<string, number> = {};
    for (const [stage, share] of Object.entries(models[name]?.routes ?? {})) {
      expect(args?.stages[stage]?.models).toEqual([name]);
      for (const [group, part] of Object.entries(stages[stage] ?? {})) {
        const found = classOf(groups.find((one) => one.name === group) as RayDeployment);
        byClass[found] = (byClass[found] ?? 0) + share * part;
      }
    }
    const expected = classShares(plan, m);
    expect(byClass).toEqual(
      Object.fromEntries(Object.entries(expected).map(([key, share]) => [key, expect.closeTo(share, 9)])),
    );
  });
}

const RAY_SCHEMA = new URL('../../../../shared/targets/ray-serve-2.58.schema.json', import.meta.url);
const TRIED = seeds(whole(2, 6), 400);

describe('the files of a plan with hard names and parts of GPUs', () => {
  it('say to Ray Serve what the placement has, and are taken by its schema where that is', () => {
    const validate = existsSync(RAY_SCHEMA)
      ? new Ajv({ strict: false, logger: false, validateFormats: false }).compile(
          JSON.parse(readFileSync(RAY_SCHEMA, 'utf8')) as object,
        )
      : () => true;
    for (const seed of TRIED) {
      const bundle = bundleOf(seed);
      expect(RAY_ENGINE.refuse(bundle)).toEqual([]);
      const config = parse(RAY_ENGINE.files(bundle).get('serve_config.yaml') as string) as RayConfig;
      expect(validate(config)).toBe(true);
      expectRay(bundle.plan as PooledPlan, config);
      expect(lintOf(RAY_ENGINE, bundle).report.faults, `seed ${seed}`).toEqual([]);
    }
  });

  it('ask KubeRay for as many workers as there are devices, with the configuration of Ray Serve', () => {
    interface Rayed {
      readonly metadata: { readonly name: string };
      readonly spec: {
        readonly serveConfigV2: string;
        readonly rayClusterConfig: {
          readonly workerGroupSpecs: readonly {
            readonly groupName: string;
            readonly replicas: number;
            readonly template: { readonly spec: Pod };
          }[];
        };
      };
    }
    const faults = CHECKS_SCHEMAS ? customResourceCheck('kuberay-rayservice-crd.yaml.gz', 'v1') : () => [];
    for (const seed of TRIED) {
      const bundle = bundleOf(seed);
      expect(KUBERAY_ENGINE.refuse(bundle)).toEqual([]);
      const service = parse(KUBERAY_ENGINE.files(bundle).get('rayservice.yaml') as string) as Rayed;
      expect(faults(service)).toEqual([]);
      expect(service.metadata.name).toMatch(DNS_NAME);
      const { serveConfigV2, rayClusterConfig } = service.spec;
      expectRay(bundle.plan as PooledPlan, parse(serveConfigV2) as RayConfig);
      const workers = rayClusterConfig.workerGroupSpecs.filter(({ groupName }) => groupName !== 'ingress');
      expectPods(
        bundle.plan as PooledPlan,
        workers.map(({ groupName: name, replicas, template }) => ({ name, replicas, pod: template.spec })),
      );
      expect(lintOf(KUBERAY_ENGINE, bundle).report.faults, `seed ${seed}`).toEqual([]);
    }
  });

  inWholeRun('ask Kubernetes for pods with all devices, and lead requests to them by what they serve', () => {
    interface Deployed {
      readonly metadata: { readonly name: string };
      readonly spec: { readonly replicas: number; readonly template: { readonly spec: Pod } };
    }
    interface Routed {
      readonly spec: {
        readonly rules: readonly {
          readonly matches?: readonly { readonly path: { readonly value: string } }[];
          readonly backendRefs: readonly { readonly name: string; readonly weight: number }[];
        }[];
      };
    }
    for (const seed of TRIED) {
      const bundle = bundleOf(seed);
      const plan = bundle.plan as PooledPlan;
      expect(KUBERNETES_ENGINE.refuse(bundle)).toEqual([]);
      const texts = KUBERNETES_ENGINE.files(bundle);
      const written = (documentsOf(texts.get('servers.yaml')) as Deployed[]).map(({ metadata, spec }) => ({
        name: metadata.name,
        replicas: spec.replicas,
        pod: spec.template.spec,
      }));
      expectPods(plan, written);
      const routes = documentsOf(texts.get('routes.yaml')) as Routed[];
      // Where all pods are alike, a service leads to them without routes.
      expect(routes.length).toBe(written.length > 1 ? 1 : 0);
      for (const { rules } of routes.map(({ spec }) => spec))
        plan.models.forEach(({ name }, model) => {
          const path = `/v2/models/${encodeURIComponent(name)}`;
          const rule = rules.find(({ matches = [] }) => matches.some((one) => one.path.value === path));
          expectShares({ plan, model }, rule?.backendRefs ?? [], written);
        });
      expect(lintOf(KUBERNETES_ENGINE, bundle).report.faults, `seed ${seed}`).toEqual([]);
    }
  });

  it('ask KServe for services with all devices, and split the requests of a model by whole percents', () => {
    interface Service {
      readonly metadata: { readonly name: string };
      readonly spec: {
        readonly predictor: Pod & { readonly minReplicas: number; readonly maxReplicas: number };
      };
    }
    interface Graph {
      readonly metadata: { readonly name: string };
      readonly spec: {
        readonly nodes: {
          readonly root: {
            readonly steps: readonly {
              readonly name: string;
              readonly serviceUrl: string;
              readonly weight: number;
            }[];
          };
        };
      };
    }
    const faults = CHECKS_SCHEMAS
      ? customResourceCheck('kserve-inferenceservice-crd.yaml.gz', 'v1beta1')
      : () => [];
    const graphFaults = CHECKS_SCHEMAS
      ? customResourceCheck('kserve-inferencegraph-crd.yaml', 'v1alpha1')
      : () => [];
    for (const seed of TRIED) {
      const bundle = bundleOf(seed);
      const plan = bundle.plan as PooledPlan;
      expect(KSERVE_ENGINE.refuse(bundle)).toEqual([]);
      const texts = KSERVE_ENGINE.files(bundle);
      const services = documentsOf(texts.get('inferenceservices.yaml')) as Service[];
      for (const service of services) {
        expect(faults(service)).toEqual([]);
        expect(service.spec.predictor.maxReplicas).toBe(service.spec.predictor.minReplicas);
      }
      const written = services.map(({ metadata, spec: { predictor } }) => ({
        name: metadata.name,
        replicas: predictor.minReplicas,
        pod: predictor,
      }));
      expectPods(plan, written);
      const graphs = documentsOf(texts.get('inferencegraphs.yaml')) as Graph[];
      expect(new Set(graphs.map(({ metadata }) => metadata.name)).size).toBe(graphs.length);
      for (const graph of graphs) {
        expect(graphFaults(graph)).toEqual([]);
        expect(graph.metadata.name).toMatch(DNS_NAME);
        const { steps } = graph.spec.nodes.root;
        const [, encoded = ''] = /\/v2\/models\/([^/]*)\/infer$/.exec(steps[0]?.serviceUrl ?? '') ?? [];
        const model = plan.models.findIndex(({ name }) => encodeURIComponent(name) === encoded);
        expect(steps.reduce((sum, { weight }) => sum + weight, 0)).toBe(100);
        for (const { name, serviceUrl } of steps)
          expect(serviceUrl).toBe(`http://${name}-predictor/v2/models/${encoded}/infer`);
        expectShares({ plan, model }, steps, written);
      }
      expect(lintOf(KSERVE_ENGINE, bundle).report.faults, `seed ${seed}`).toEqual([]);
    }
  });
});
