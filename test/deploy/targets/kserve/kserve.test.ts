import { describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { KSERVE_ENGINE as ENGINE } from '../../../../src/deploy/targets/kserve/kserve.js';
import type { GearPlan, PipelinePlan } from '../../../../src/formats/index.js';
import { inWholeRun } from '../../../cases.js';
import { CUDA, type Edit, EMULATED, examplePlan, lintOf, made, pooledAt } from '../kube/made-bundles.js';
import { customResourceCheck, HAS_SCHEMAS } from '../kube/schemas.js';

const SERVICES = 'inferenceservices.yaml';
const GRAPHS = 'inferencegraphs.yaml';

/** A model on thirds of a T4, on an L4, and another one on emulated cores. */
const split = () =>
  made(
    pooledAt(
      [
        [
          [
            {
              device: 'T4',
              virtual: 3,
              seats: [
                [0, 0],
                [0, 0],
                [0, 0],
              ],
            },
          ],
          [{ device: 'L4', seats: [[0, 0]] }],
        ],
        [[{ device: 'slow', seats: [[0, 0]] }]],
      ],
      { T4: { count: 1, virtual: [3], memoryGiB: 16 }, L4: { count: 2 }, slow: { count: 4 } },
    ),
    { T4: CUDA, L4: CUDA, slow: EMULATED },
  );
const cascade = () => made(examplePlan<GearPlan>('cascade'), { T4: CUDA });

describe('the files for KServe', () => {
  it.each([
    [
      'split',
      split,
      ['rollout', 'cpu-class', 'memory', 'graph-bodies'],
      [GRAPHS, 'device-plugin.yaml', 'label-nodes.sh'],
    ],
    ['cascade', cascade, ['rollout', 'memory'], ['network-policy.yaml']],
  ])('are those of the golden folder, twice, and keep their rules: %s', async (name, of, warnings, more) => {
    const texts = ENGINE.files(of());
    expect([...ENGINE.files(of())]).toEqual([...texts]);
    expect(ENGINE.refuse(of())).toEqual([]);
    for (const file of [SERVICES, 'README.md', ...more])
      await expect(texts.get(file)).toMatchFileSnapshot(`golden/${name}/${file}`);
    const { report } = lintOf(ENGINE, of());
    expect(report.faults).toEqual([]);
    expect([...new Set(report.warnings.map(({ rule }) => rule))]).toEqual(warnings);
  });

  it('split requests by whole weights that sum to 100', () => {
    const seats = (...all: number[]) => ({
      device: 'L4',
      seats: all.map((gpu) => [gpu, 0] as [number, number]),
    });
    const two = (device: string) => ({ ...seats(0), device });
    const plan = pooledAt([[[two('A')], [two('B')], [two('C')]]], {
      A: { count: 1 },
      B: { count: 1 },
      C: { count: 1 },
    });
    const text = ENGINE.files(made(plan, { A: CUDA, B: CUDA, C: CUDA })).get(GRAPHS) as string;
    const { steps } = parse(text).spec.nodes.root as { steps: { weight: number }[] };
    expect(steps.map(({ weight }) => weight)).toEqual([34, 33, 33]);
  });

  // To compile these definitions takes ten seconds.
  inWholeRun('are taken by the definitions of KServe (where ../shared/targets is installed)', ({ skip }) => {
    skip(!HAS_SCHEMAS, 'the definitions are not there');
    const service = customResourceCheck('kserve-inferenceservice-crd.yaml.gz', 'v1beta1');
    const graph = customResourceCheck('kserve-inferencegraph-crd.yaml', 'v1alpha1');
    for (const of of [split, cascade])
      for (const one of parseAllDocuments(ENGINE.files(of()).get(SERVICES) as string))
        expect(service(one.toJS())).toEqual([]);
    for (const one of parseAllDocuments(ENGINE.files(split()).get(GRAPHS) as string))
      expect(graph(one.toJS())).toEqual([]);
    expect(graph({ spec: { nodes: { root: { routerType: 'Splitter', routes: [] } } } })).not.toEqual([]);
  });
});

describe('a plan that KServe cannot serve', () => {
  const refused = (bundle: ReturnType<typeof made>) => ENGINE.refuse(bundle).map(({ message }) => message);

  it('is refused where its chains go over servers, with targets that can', () => {
    const plan = examplePlan<PipelinePlan>('pipeline');
    expect(refused(made(plan, { T4: CUDA, L4: CUDA }))[0]).toMatch(
      /ray-serve and kuberay take chains over servers$/,
    );
  });

  it('is refused where pods would get less than 1 % of the requests', () => {
    const many = Array.from({ length: 120 }, (_, gpu) => [gpu, 0] as [number, number]);
    const plan = pooledAt([[[{ device: 'L4', seats: many }], [{ device: 'T4', seats: [[0, 0]] }]]], {
      L4: { count: 120 },
      T4: { count: 1 },
    });
    expect(refused(made(plan, { T4: CUDA, L4: CUDA }))).toEqual([
      expect.stringMatching(
        /^T4-0 serves 0.826 % of the requests of net0, .* kubernetes and ray-serve take finer ones$/,
      ),
    ]);
  });
});

/** Each rule, an edit that breaks it, and part of what is found. */
const MUTATIONS: readonly (readonly [rule: string, edit: Edit, message: string])[] = [
  ['engine-schema', [SERVICES, 'maxReplicas', 'maxReplica'], 'no field maxReplica'],
  ['engine-schema', [GRAPHS, 'steps:', 'routes:'], 'lacks steps'],
  ['names', [SERVICES, /name: net0-net1-t4-3-0$/m, `name: ${'n'.repeat(41)}`], 'at most 40 letters'],
  [
    'units',
    [SERVICES, /name: net0-net1-l4-1$/m, 'name: net0-net1-l4-2'],
    'has no InferenceService named net0-net1-l4-1',
  ],
  ['autoscaling', [SERVICES, 'autoscalerClass: none', 'autoscalerClass: hpa'], 'would scale pods'],
  ['autoscaling', [SERVICES, / +serving.kserve.io\/deploymentMode: RawDeployment\n/, ''], 'is absent'],
  [
    'autoscaling',
    [SERVICES, '    minReplicas: 3', '    scaleTarget: 4\n    minReplicas: 3'],
    'target to scale by',
  ],
  ['replicas', [SERVICES, / +minReplicas: 3\n/, ''], 'is absent, which scales by load'],
  ['replicas', [SERVICES, 'maxReplicas: 3', 'maxReplicas: 6'], 'is 6, and the plan has 3'],
  ['protocol-version', [SERVICES, 'value: v2', 'value: v1'], 'have PROTOCOL v1'],
  [
    'protocol-version',
    [SERVICES, '    minReplicas: 3', '    model: { modelFormat: { name: onnx } }\n    minReplicas: 3'],
    'absent, which is v1',
  ],
  ['predictor-container', [SERVICES, 'name: kserve-container', 'name: server'], 'looks for kserve-container'],
  ['predictor-container', [SERVICES, 'containerPort: 8080', 'containerPort: 8000'], 'leads to http1 at 8080'],
  ['graph-steps', [GRAPHS, 'root:', 'first:'], 'have no root'],
  ['graph-steps', [GRAPHS, /serviceUrl: .*/, 'serviceName: net0-net1-t4-3-0'], 'no model has that name'],
  ['graph-steps', [GRAPHS, /serviceUrl: .*/, 'serviceName: net9'], 'no such InferenceService'],
  [
    'graph-steps',
    [GRAPHS, 'serviceUrl:', 'serviceName: net0\n          serviceUrl:'],
    'leads by serviceName and serviceUrl',
  ],
  ['graph-steps', [GRAPHS, '-predictor/v2', '-transformer/v2'], 'and the bundle has'],
  ['graph-steps', [GRAPHS, '/v2/models/net0/', '/v2/models/net3/'], 'no model of the plan'],
  [
    'graph-steps',
    [
      GRAPHS,
      /routerType: Splitter\n( +)steps:\n( +)- name/,
      'routerType: Sequence\n$1steps:\n$2- condition: outputs\n$2  name',
    ],
    'stands on the first step',
  ],
  [
    'graph-steps',
    [
      GRAPHS,
      /routerType: Splitter\n( +)steps:\n( +)- name/,
      'routerType: Sequence\n$1steps:\n$2- data: $response\n$2  name',
    ],
    'never become the inputs',
  ],
  ['weights', [GRAPHS, 'weight: 50', 'weight: 40'], 'has 50'],
  ['weights', [GRAPHS, 'weight: 50', 'weight: 40'], 'sum to 90'],
  ['weights', [GRAPHS, 'name: net0-split', 'name: net0'], 'has no graph net0-split'],
  ['served', [SERVICES, '- T4-0/gpu0/0', '- T4-0'], 'have --at T4-0, and'],
  ['surge', [SERVICES, 'maxSurge: 0', 'maxSurge: 25%'], 'must be 0'],
  [
    'shared-memory',
    [
      SERVICES,
      /(gpu\.shared: "1"\n +securityContext:[\s\S]*?volumeMounts:\n +- name: bundle\n +mountPath: )\/bundle/,
      '$1/dev/shm',
    ],
    'beside a share',
  ],
  ['gpu-resource', [SERVICES, / +nvidia.com\/device-plugin.config: mps-3\n/, ''], 'chooses no nodes'],
  [
    'names',
    [
      SERVICES,
      /name: net0-net1-t4-3-0$/m,
      'name: net0-net1-t4-3-0\n  namespace: the-inference-services-of-a-whole-company',
    ],
    'have at most 11 letters',
  ],
  [
    'devices',
    [SERVICES, /(limits:\s+cpu: "2"\s+memory: 4Gi)\s+nvidia.com\/gpu.shared: "1"/, '$1'],
    'is absent, and the plan has 1 shares of GPUs at T4-0/gpu0/0',
  ],
  ['node-selector', [SERVICES, 'inferplan/class: L4', 'inferplan/class: T4'], 'is T4, and L4-0 is of L4'],
  ['images', [SERVICES, 'image: inferplan:0.1.0', 'image: inferplan:latest'], 'another image tomorrow'],
  ['liveness', [SERVICES, '/v2/health/live', '/v2/health/ready'], 'ended again and again'],
  ['network-policy', ['network-policy.yaml', 'port: 8080', 'port: 80'], 'at the port 8080'],
];

it('a short name of KServe leaves a long namespace its place', () => {
  const edit: Edit = [SERVICES, /(metadata:\n +name: .*)/, '$1\n  namespace: the-services-of-a-team'];
  expect(lintOf(ENGINE, split(), [edit]).report.faults).toEqual([]);
});

describe('the rules of KServe', () => {
  it.each(MUTATIONS)('find what breaks them: %s, %s', (rule, [file, from, to], message) => {
    const edit: Edit = [file, from, to];
    const { report } = lintOf(ENGINE, split(), [edit]);
    const found = report.faults.filter((one) => one.rule === rule && one.message.includes(message));
    expect(found, JSON.stringify(report.faults, null, 1)).not.toEqual([]);
    for (const one of found) expect(one.file).toBe(file);
    expect(found.some(({ line }) => line !== undefined) || message.startsWith('has no')).toBe(true);
  });
});
