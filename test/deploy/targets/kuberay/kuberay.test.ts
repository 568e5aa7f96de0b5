import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { KUBERAY_ENGINE as ENGINE } from '../../../../src/deploy/targets/kuberay/kuberay.js';
import type { GearPlan, PipelinePlan, PooledPlan } from '../../../../src/formats/index.js';
import { inWholeRun } from '../../../cases.js';
import { CUDA, type Edit, EMULATED, examplePlan, lintOf, made, pooledAt } from '../kube/made-bundles.js';
import { customResourceCheck, HAS_SCHEMAS } from '../kube/schemas.js';

/** Halves of a GPU, then a whole one of another class. */
const shared = () =>
  made(
    pooledAt(
      [
        [
          [
            {
              device: 'T4',
              virtual: 2,
              seats: [
                [0, 0],
                [0, 0],
                [0, 1],
              ],
            },
            { device: 'L4', seats: [[0, 0]] },
          ],
        ],
      ],
      { T4: { count: 2, perServer: 2, virtual: [2], memoryGiB: 16 }, L4: { count: 4, memoryGiB: 24 } },
    ),
    { T4: CUDA, L4: CUDA },
  );
const cascade = () => made(examplePlan<GearPlan>('cascade'), { T4: CUDA });
const pipeline = () => made(examplePlan<PipelinePlan>('pipeline'), { T4: CUDA, L4: EMULATED });
const SERVICE = 'rayservice.yaml';
const WRITTEN = [SERVICE, 'network-policy.yaml', 'label-nodes.sh', 'Dockerfile', 'README.md'];

describe('the files for KubeRay', () => {
  it.each([
    ['shared', shared, ['scheduler', 'upgrade-none', 'memory']],
    ['cascade', cascade, ['scheduler', 'upgrade-none', 'memory']],
    ['pipeline', pipeline, ['cpu-class', 'scheduler', 'upgrade-none', 'memory']],
  ])('are those of the golden folder, twice, and keep their rules: %s', async (name, of, warnings) => {
    const texts = ENGINE.files(of());
    expect([...ENGINE.files(of())]).toEqual([...texts]);
    expect(ENGINE.refuse(of())).toEqual([]);
    for (const file of WRITTEN) await expect(texts.get(file)).toMatchFileSnapshot(`golden/${name}/${file}`);
    const { report } = lintOf(ENGINE, of());
    expect(report.faults).toEqual([]);
    expect([...new Set(report.warnings.map(({ rule }) => rule))]).toEqual(warnings);
  });

  // To compile this definition takes seconds.
  inWholeRun(
    'are taken by the definition of RayService (where ../shared/targets is installed)',
    ({ skip }) => {
      skip(!HAS_SCHEMAS, 'the definition is not there');
      const faults = customResourceCheck('kuberay-rayservice-crd.yaml.gz', 'v1');
      for (const of of [shared, cascade, pipeline])
        expect(faults(parse(ENGINE.files(of()).get(SERVICE) as string))).toEqual([]);
      expect(faults({ apiVersion: 'ray.io/v1', kind: 'RayService', spec: { serveConfig: '' } })).not.toEqual(
        [],
      );
    },
  );

  it('leave a second cluster its room where the plan takes half of the GPUs', () => {
    const plan = pooledAt([[[{ device: 'L4', seats: [[0, 0]] }]]], { L4: { count: 2 } });
    expect(ENGINE.files(made(plan, { L4: CUDA })).get(SERVICE)).toContain('type: NewCluster\n');
  });
});

describe('a second cluster of shares', () => {
  const strategy = (perServer: number, count: number) => {
    const seats: [number, number][] = [
      [0, 0],
      [0, 0],
    ];
    const plan = pooledAt([[[{ device: 'T4', virtual: 2, seats }]]], {
      T4: { count, perServer, virtual: [2] },
    });
    return (parse(ENGINE.files(made(plan, { T4: CUDA })).get(SERVICE) as string) as Rayed).spec
      .upgradeStrategy.type;
  };
  interface Rayed {
    readonly spec: { readonly upgradeStrategy: { readonly type: string } };
  }

  it('has room on nodes alone whose label divides their GPUs so', () => {
    expect(strategy(2, 2)).toBe('NewCluster');
    expect(strategy(1, 4)).toBe('None');
  });
});

describe('a plan that KubeRay cannot run', () => {
  const refused = (plan: PooledPlan) =>
    ENGINE.refuse(made(plan, {})).map(({ path, message }) => `${path}: ${message}`);

  it('is refused where the GPUs of a server are divided unlike, or a class is', () => {
    expect(refused(examplePlan<PooledPlan>('pooled'))).toEqual([
      expect.stringMatching(/^\/placement: server P4-2 has GPUs in 1 and 2 parts, .* virtualPer: server$/),
      expect.stringMatching(/^\/cluster\/devices\/P4\/virtual: P4 has devices that are .* ray-serve$/),
    ]);
  });

  it('is refused where two classes would have the same names', () => {
    const of = (...names: string[]) =>
      pooledAt(
        [[names.map((device) => ({ device, seats: [[0, 0]] as const }))]],
        Object.fromEntries(names.map((name) => [name, { count: 1 }])),
      );
    expect(refused(of('A 1', 'A-1')).length).toBe(2);
    expect(refused(of('T4', 't4'))).toEqual([expect.stringContaining('named t4 like others')]);
    expect(refused(of('ingress'))).toEqual([expect.stringContaining('named ingress like others')]);
  });
});

/** Each rule, an edit that breaks it, and what is found: the line of the edited file, and part of the message. */
const MUTATIONS: readonly (readonly [rule: string, edits: Edit | readonly Edit[], message: string])[] = [
  ['engine-schema', [SERVICE, 'rayVersion:', 'rayVersions:'], 'no field rayVersions'],
  ['engine-schema', [SERVICE, '  upgradeStrategy:\n    type: None\n', ''], 'lacks upgradeStrategy'],
  ['engine-schema', [SERVICE, 'spec:', 'spec: ]'], 'is no YAML'],
  ['engine-schema', [SERVICE, 'kind: RayService', 'kind: RayJob'], 'is RayJob'],
  ['names', [SERVICE, 'name: net0', `name: ${'n'.repeat(48)}`], 'at most 47'],
  ['names', [SERVICE, 'name: ray-head', 'name: Ray_Head'], 'a name of DNS'],
  ['names', [SERVICE, 'name: dashboard', 'name: dashboard-of-the-head'], 'at most 15'],
  ['replicas', [SERVICE, 'num_replicas: 3', 'num_replicas: 4'], 'is 4, and the plan has 3'],
  ['request-timeout', [SERVICE, 'request_timeout_s: 1', 'keep_alive_timeout_s: 1'], 'is absent'],
  ['serve-host', [SERVICE, 'host: 0.0.0.0', 'host: 127.0.0.1'], '127.0.0.1, where no other pod'],
  ['worker-groups', [SERVICE, 'groupName: t4', 'groupName: t5'], 'have no group t4'],
  ['worker-groups', [SERVICE, 'minReplicas: 3', 'minReplicas: 0'], 'is 0, and the plan has 3'],
  ['worker-groups', [SERVICE, 'maxReplicas: 1\n', 'maxReplicas: 9\n'], 'is 9, and the plan has 1'],
  [
    'ray-start-params',
    [SERVICE, `'"{\\"inferplan/T4\\":0.5}"'`, `'{"inferplan/T4":0.5}'`],
    'with these quotes',
  ],
  ['ray-start-params', [SERVICE, 'num-gpus: "1"', 'num-gpus: "0"'], 'is 0, and must be "1"'],
  ['ray-start-params', [SERVICE, /num-cpus: "1"\n( *)num-gpus/, 'num-cpus: "0"\n$1num-gpus'], 'ask for 1'],
  ['shared-memory', [SERVICE, '          plasma-directory: /tmp\n', ''], 'lacks plasma-directory'],
  [
    'shared-memory',
    [
      SERVICE,
      /( +)resources:(\s+requests:\s+cpu: "2"\s+memory: 4Gi\s+nvidia.com\/gpu.shared)/,
      '$1volumeMounts: [{ name: shm, mountPath: /dev/shm }]\n$1resources:$2',
    ],
    'is /dev/shm beside a share',
  ],
  ['autoscaling', [SERVICE, 'enableInTreeAutoscaling: false', 'enableInTreeAutoscaling: true'], 'fixed'],
  ['upgrade-room', [SERVICE, 'type: None', 'type: NewCluster'], 'must be None'],
  ['serve-port', [SERVICE, 'containerPort: 8000', 'containerPort: 8001'], 'name 8001 serve'],
  ['ray-version', [SERVICE, 'rayVersion: 2.60.0', 'rayVersion: 2.59.0'], 'requirements.txt has 2.60.0'],
  ['drain', [SERVICE, /(groupName: t4[\s\S]*?terminationGracePeriodSeconds:) 30/, '$1 3'], 'is 3 s'],
  [
    'network-policy',
    [SERVICE, '    enableInTree', '    networkPolicy: {}\n    enableInTree'],
    'denies by default',
  ],
  [
    'network-policy',
    [
      'network-policy.yaml',
      /(- from:\s+- podSelector:\s+matchLabels:\s+.+\n.+\n)/,
      '$1      ports: [{ port: 6379 }]\n',
    ],
    'head and the workers of Ray',
  ],
  ['network-policy', ['network-policy.yaml', 'port: 8000', 'port: 8001'], 'at the port 8000'],
  ['network-policy', ['network-policy.yaml', 'instance: net0', 'instance: net1'], 'chooses no pods'],
  ['image', ['Dockerfile', 'COPY models ./models\n', ''], 'copies no models'],
  [
    'gpu-resource',
    [SERVICE, /(limits:\s+cpu: "2"\s+memory: 4Gi\s+)nvidia.com\/gpu.shared/, '$1nvidia.com/gpu'],
    'which offer nvidia.com/gpu.shared alone',
  ],
  [
    'gpu-resource',
    [SERVICE, /(limits:\s+cpu: "2"\s+memory: 4Gi\s+nvidia.com\/gpu.shared:) "1"/, '$1 "2"'],
    'one share',
  ],
  ['gpu-resource', [SERVICE, / +nvidia.com\/device-plugin.config: mps-2\n/, ''], 'chooses no nodes'],
  ['mps-users', [SERVICE, / +securityContext:\n +runAsUser: 1000\n/, ''], 'says no runAsUser'],
  ['node-selector', [SERVICE, 'inferplan/class: T4', 'inferplan/class: T5'], 'no class of the plan'],
  ['node-selector', [SERVICE, 'device-plugin.config: mps-2', 'device-plugin.config: mps-3'], 'is mps-3'],
  [
    'gpu-resource',
    [SERVICE, /(limits:\s+cpu: "2"\s+memory: 4Gi)\s+nvidia.com\/gpu.shared: "1"/, '$1'],
    'is absent, and the plan has 1 shares of GPUs at the group t4',
  ],
  [
    'gpu-resource',
    [SERVICE, /(limits:\s+cpu: "2"\s+memory: 4Gi)\s+nvidia.com\/gpu: "1"/, '$1'],
    'is absent, and the plan has 1 GPUs at the group l4',
  ],
  ['node-selector', [SERVICE, 'inferplan/class: L4', 'inferplan/class: T4'], 'the group l4 is of L4'],
  [
    'node-selector',
    [SERVICE, / +nodeSelector:\n +inferplan\/class: L4\n/, ''],
    'is absent, and the group l4',
  ],
  ['node-selector', [SERVICE, / +nvidia.com\/device-plugin.config: mps-2\n/, ''], 'it must be mps-2'],
  [
    'shared-memory',
    [SERVICE, 'plasma-directory: /tmp', 'plasma-directory: /dev/shm/'],
    'on nodes of shares belongs to MPS',
  ],
  [
    'shared-memory',
    [
      SERVICE,
      /( +)securityContext:\n( +)runAsUser: 1000\n/,
      '$1securityContext:\n$2runAsUser: 1000\n$1initContainers: [{ name: a, image: b:1, volumeMounts: [{ name: shm, mountPath: /dev/shm/ }] }]\n',
    ],
    'is /dev/shm/ beside a share',
  ],
  ['ray-start-params', [SERVICE, 'num-cpus: "0"', 'num-cpus: "2"'], 'must be "0"'],
  ['ray-start-params', [SERVICE, /\n +num-cpus: "0"/, ''], 'is absent, which is those of the pod'],
  [
    'ray-start-params',
    [SERVICE, /(groupName: t4[\s\S]*?num-cpus:) "1"/, '$1 "4"'],
    'is 2, and num-cpus tells Ray of 4',
  ],
  [
    'network-policy',
    ['network-policy.yaml', '    - Ingress\n', '    - Ingress\n    - Egress\n  egress: []\n'],
    'could not call',
  ],
  [
    'network-policy',
    [
      'network-policy.yaml',
      '    - Ingress\n',
      '    - Ingress\n    - Egress\n  egress: [{ to: [{ podSelector: {} }] , ports: [{ port: 443 }] }]\n',
    ],
    'at the port 53',
  ],
  ['network-policy', ['network-policy.yaml', '    - Ingress\n', '    - Egress\n'], 'lack Ingress'],
  [
    'network-policy',
    ['network-policy.yaml', / {4}- from:\n {8}- namespaceSelector[\s\S]*?port: 8265\n/, ''],
    'does not let the operator in',
  ],
  [
    'network-policy',
    ['network-policy.yaml', 'component: kuberay-operator', 'name: kuberay-operator'],
    'does not let the operator in',
  ],
  [
    'images',
    [SERVICE, 'image: inferplan-ray:0.1.0', 'image: inferplan-ray:latest'],
    'is inferplan-ray:latest',
  ],
  ['images', [SERVICE, 'image: inferplan-ray:0.1.0', 'image: "a.b:5000/inferplan-ray"'], 'name its version'],
  ['ray-version', ['Dockerfile', 'rayproject/ray:2.60.0', 'rayproject/ray:2.58.0'], 'begins with Ray 2.58.0'],
  ['device-plugin', ['device-plugin.yaml', 'replicas: 2', 'replicas: 3'], 'in 3 parts'],
  ['device-plugin', ['device-plugin.yaml', 'renameByDefault: true', 'renameByDefault: false'], 'offer no'],
  [
    'liveness',
    [
      SERVICE,
      '            - name: ray-head\n',
      '            - name: ray-head\n              livenessProbe: { httpGet: { path: /v2/health/ready, port: 8000 } }\n',
    ],
    'ended again and again',
  ],
];

describe('the rules of KubeRay', () => {
  it.each(MUTATIONS)('find what breaks them: %s, %s', (rule, edits, message) => {
    const all = (typeof edits[0] === 'string' ? [edits] : edits) as readonly Edit[];
    const { report } = lintOf(ENGINE, shared(), all);
    const found = report.faults.filter((one) => one.rule === rule && one.message.includes(message));
    expect(found, JSON.stringify(report.faults, null, 1)).not.toEqual([]);
    for (const one of found) expect(one).toMatchObject({ file: all[0]?.[0], line: expect.any(Number) });
  });

  it('find a fault of Ray Serve at its line within the RayService', () => {
    const { report, texts } = lintOf(ENGINE, shared(), [[SERVICE, 'num_replicas: 3', 'num_replicas: 4']]);
    const found = report.faults.find(({ rule }) => rule === 'replicas');
    expect((texts.get(SERVICE) as string).split('\n')[(found?.line as number) - 1]).toContain(
      'num_replicas: 4',
    );
    expect(found?.path).toBe('/spec/serveConfigV2/applications/0/deployments/2/num_replicas');
  });
});
