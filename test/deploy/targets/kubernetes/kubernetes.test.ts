import { Deployment } from 'kubernetes-models/apps/v1';
import { NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1';
import { ResourceClaimTemplate } from 'kubernetes-models/resource.k8s.io/v1';
import { ConfigMap, PersistentVolumeClaim, Service } from 'kubernetes-models/v1';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { KUBERNETES_ENGINE as ENGINE } from '../../../../src/deploy/targets/kubernetes/kubernetes.js';
import type { GearPlan, PipelinePlan, PooledPlan } from '../../../../src/formats/index.js';
import { CUDA, type Edit, EMULATED, examplePlan, lintOf, made, pooledAt } from '../kube/made-bundles.js';

/** A model on halves of T4s and on a server of two L4s, and another one on that server alone. */
const shares = () =>
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
                [0, 1],
              ],
            },
          ],
          [{ device: 'L4', seats: [[0, 0]] }],
        ],
        [[{ device: 'L4', seats: [[0, 1]] }]],
      ],
      {
        T4: { count: 2, perServer: 2, virtual: [2], memoryGiB: 16 },
        L4: { count: 4, perServer: 2, memoryGiB: 24 },
      },
    ),
    { T4: CUDA, L4: CUDA },
  );
const cascade = () => made(examplePlan<GearPlan>('cascade'), { T4: CUDA });
/** Two stages on one server of an emulated class. */
const emulated = () =>
  made(
    pooledAt(
      [
        [
          [
            { device: 'slow', seats: [[0, 0]] },
            { device: 'slow', seats: [[0, 1]] },
          ],
        ],
      ],
      { slow: { count: 4, perServer: 2 } },
    ),
    { slow: EMULATED },
  );

const each = (file: string) => [file, `dra/${file}`];
const WRITTEN = [...['servers.yaml', 'services.yaml', 'kustomization.yaml'].flatMap(each), 'README.md'];

describe('the files for Kubernetes', () => {
  it.each([
    [
      'shares',
      shares,
      ['rollout', 'memory', 'gateway'],
      ['dra/claims.yaml', 'device-plugin.yaml', 'label-nodes.sh', 'routes.yaml', 'network-policy.yaml'],
    ],
    [
      'cascade',
      cascade,
      ['rollout', 'memory'],
      ['dra/claims.yaml', 'Dockerfile', 'server.Dockerfile', 'service-monitor.yaml'],
    ],
    ['emulated', emulated, ['cpu-class', 'memory'], []],
  ])('are those of the golden folder, twice, and keep their rules: %s', async (name, of, warnings, more) => {
    const texts = ENGINE.files(of());
    expect([...ENGINE.files(of())]).toEqual([...texts]);
    expect(ENGINE.refuse(of())).toEqual([]);
    for (const file of [...WRITTEN, ...more])
      await expect(texts.get(file)).toMatchFileSnapshot(`golden/${name}/${file}`);
    const { report } = lintOf(ENGINE, of());
    expect(report.faults).toEqual([]);
    expect([...new Set(report.warnings.map(({ rule }) => rule))]).toEqual(warnings);
  });

  it('roll out with a pod more where a device is left for it', () => {
    const plan = pooledAt([[[{ device: 'L4', seats: [[0, 0]] }]]], { L4: { count: 2 } });
    expect(ENGINE.files(made(plan, { L4: CUDA })).get('servers.yaml')).toContain('maxSurge: 1\n');
  });
});

/** What checks objects of each kind by the schemas of Kubernetes itself. */
const MODELS: Readonly<Record<string, new (data?: never) => { validate(): void }>> = {
  ConfigMap,
  Deployment,
  NetworkPolicy,
  PersistentVolumeClaim,
  ResourceClaimTemplate,
  Service,
};

describe('the schemas of Kubernetes', () => {
  const objectsOf = (files: ReadonlyMap<string, string>) =>
    [...files]
      .filter(([file]) => file.endsWith('.yaml'))
      .flatMap(([, text]) => parseAllDocuments(text).map((one) => one.toJS() as { kind: string }));
  const check = (object: { kind: string }) => new MODELS[object.kind]!(object as never).validate();

  it.each([
    ['shares', shares],
    ['cascade', cascade],
    ['emulated', emulated],
  ])('take all objects: %s', (_, of) => {
    const own = objectsOf(ENGINE.files(of()));
    // Kustomize, the Gateway API and Prometheus's operator have kinds of their own.
    const others = own.filter(({ kind }) => MODELS[kind] === undefined).map(({ kind }) => kind);
    expect(['Kustomization', 'HTTPRoute', 'ServiceMonitor']).toEqual(expect.arrayContaining(others));
    for (const object of own) if (MODELS[object.kind] !== undefined) check(object);
  });

  it('take a claim for models that a person adds, and refuse what is wrong', () => {
    check(parseAllDocuments(CLAIM)[0]?.toJS() as { kind: string });
    const texts = ENGINE.files(shares());
    const wrong = (file: string, from: string, to: string) => () =>
      objectsOf(new Map([[file, (texts.get(file) as string).replace(from, to)]])).forEach(check);
    expect(wrong('servers.yaml', 'replicas: 4', 'replicas: many')).toThrow('replicas must be integer');
    expect(wrong('servers.yaml', 'containerPort: 8000', 'containerPort: http')).toThrow('containerPort');
    expect(wrong('network-policy.yaml', '- Ingress', '- Inside')).toThrow('policyTypes');
    expect(wrong('dra/claims.yaml', 'ExactCount', 'Exact')).toThrow('allocationMode');
    expect(wrong('services.yaml', 'port: 8000', 'ports: 8000')).toThrow('required property port');
  });
});

describe('a pod more of a rollout', () => {
  interface Devices {
    readonly count: number;
    readonly virtual?: number;
    readonly perServer?: number;
    readonly taken?: number;
  }
  const surge = (seats: [number, number][], { virtual, ...devices }: Devices) => {
    const cluster = { X: { ...devices, ...(virtual === undefined ? {} : { virtual: [virtual] }) } };
    const plan = pooledAt(
      [[[{ device: 'X', seats, ...(virtual === undefined ? {} : { virtual }) }]]],
      cluster,
    );
    const files = ENGINE.files(made(plan, { X: CUDA }));
    return ['servers.yaml', 'dra/servers.yaml'].map(
      (file) => /maxSurge: (\d)/.exec(files.get(file) ?? '')?.[1],
    );
  };
  const three = (servers: number) =>
    Array.from({ length: 3 * servers }, (_, i): [number, number] => [Math.floor(i / 3), i % 3]);

  it('wants all its GPUs free on one node', () => {
    expect(surge(three(3), { count: 12, perServer: 4 })).toEqual(['0', '0']);
    expect(surge(three(2), { count: 12, perServer: 4 })).toEqual(['1', '1']);
    expect(surge(three(2), { count: 12, perServer: 4, taken: 2 })).toEqual(['0', '0']);
  });

  it('wants a node whose label divides it so, where it has a share; a claim wants any', () => {
    const both: [number, number][] = [
      [0, 0],
      [0, 0],
    ];
    expect(surge(both, { count: 4, virtual: 2 })).toEqual(['0', '1']);
    expect(surge(both, { count: 4, virtual: 2, perServer: 2 })).toEqual(['1', '1']);
    expect(surge(both.slice(1), { count: 1, virtual: 2 })).toEqual(['1', '0']);
  });
});

describe('a plan that pods cannot serve by themselves', () => {
  const refused = (bundle: ReturnType<typeof made>) =>
    ENGINE.refuse(bundle).map(({ path, message }) => `${path}: ${message}`);

  it('is refused where GPUs of a server are divided unlike, with the way to plan that', () => {
    const plan = examplePlan<PooledPlan>('pooled');
    expect(refused(made(plan, { L4: CUDA, P4: CUDA }))).toEqual([
      expect.stringMatching(/^\/placement: server P4-2 has GPUs in 1 and 2 parts, .* virtualPer: server$/),
    ]);
  });

  it('is refused where its chains go over servers, with targets that can', () => {
    const plan = examplePlan<PipelinePlan>('pipeline');
    const all = refused(made(plan, { T4: CUDA, L4: CUDA }));
    expect(all[0]).toMatch(
      /serve 0 of [\d.]+ requests\/s of .* ray-serve and kuberay take chains over servers$/,
    );
  });

  it('is refused where servers by themselves serve less than is planned', () => {
    const seats = (...all: [number, number][]) => ({ device: 'L4', seats: all });
    const plan = pooledAt([[[seats([0, 0], [0, 1], [1, 0]), seats([0, 2], [1, 1], [1, 2])]]], {
      L4: { count: 8, perServer: 4 },
    });
    expect(refused(made(plan, { L4: CUDA }))[0]).toContain('serve 666.7 of 1000 requests/s of net0');
  });

  it('is refused where nobody knows how a class runs models, or a tuner moves devices', () => {
    const plan = pooledAt([[[{ device: 'L4', seats: [[0, 0]] }]]], { L4: { count: 2 } });
    const tuned = {
      ...plan,
      serving: { scheduler: 'stage-local', tuner: { kind: 'hpa' } },
    } as unknown as PooledPlan;
    expect(refused(made(tuned, {}))).toEqual([
      expect.stringMatching(/^\/classes: the profiles do not say which provider runs class L4/),
      expect.stringMatching(/^\/serving\/tuner: the plan has a tuner/),
    ]);
  });
});

const SERVERS = 'servers.yaml';
const MOUNT =
  /(gpu\.shared: "1"\n +securityContext:[\s\S]*?)( +)volumeMounts:\n +- name: bundle\n +mountPath: \/bundle\n/;

/** Each rule, an edit that breaks it, and part of what is found. */
const MUTATIONS: readonly (readonly [rule: string, edits: Edit | readonly Edit[], message: string])[] = [
  [
    'engine-schema',
    [SERVERS, 'terminationGracePeriodSeconds', 'terminationGracePeriod'],
    'no field terminationGracePeriod',
  ],
  ['engine-schema', ['services.yaml', 'kind: Service', 'kind: Services'], 'is Services'],
  [
    'engine-schema',
    ['dra/claims.yaml', 'defaultActiveThreadPercentage', 'activeThreadPercentage'],
    'no field activeThread',
  ],
  ['names', [SERVERS, /name: net0-net1-t4-2-0$/m, 'name: Net0'], 'begin with a letter'],
  ['units', [SERVERS, /name: net0-net1-t4-2-0$/m, 'name: net0'], 'has no Deployment named net0-net1-t4-2-0'],
  ['units', ['services.yaml', /name: net0-net1-l4-1$/m, 'name: net5'], 'is net5; the plan has'],
  ['kustomization', ['kustomization.yaml', '  - services.yaml\n', ''], 'lack services.yaml'],
  ['kustomization', ['dra/kustomization.yaml', 'claims.yaml', 'claim.yaml'], 'no such file'],
  [
    'selectors',
    [SERVERS, /(matchLabels:[\s\S]*?inferplan\/unit: )\S+/, '$1other'],
    'are not the labels of the pods',
  ],
  ['services', ['services.yaml', 'targetPort: http', 'targetPort: web'], 'no container of the pods names'],
  [
    'services',
    ['services.yaml', /(selector:[\s\S]*?)\n +inferplan\/unit: .*/, '$1'],
    'the pods of 2 Deployments',
  ],
  ['weights', ['routes.yaml', /weight: \d+/, 'weight: 1'], 'have other weights for net0'],
  ['weights', ['routes.yaml', '/v2/models/net1', '/v2/models/net2'], 'lead nowhere for the model net1'],
  ['weights', ['routes.yaml', /- name: net0-net1-l4-1/, '- name: net9'], 'no such Service'],
  [
    'shared-memory',
    [
      SERVERS,
      MOUNT,
      '$1$2volumeMounts: [{ name: bundle, mountPath: /bundle }, { name: bundle, mountPath: /dev/shm }]\n',
    ],
    'is /dev/shm beside a share',
  ],
  [
    'gpu-resource',
    [SERVERS, /(limits:\s+cpu: "2"\s+memory: 4Gi\s+)nvidia.com\/gpu.shared/, '$1nvidia.com/gpu'],
    'offer nvidia.com/gpu.shared alone',
  ],
  ['mps-users', [SERVERS, '        runAsUser: 1000\n', ''], 'says no runAsUser'],
  ['node-selector', [SERVERS, 'inferplan/class: L4', 'inferplan/class: L40'], 'no class of the plan'],
  ['liveness', [SERVERS, '/v2/health/live', '/v2/health/ready'], 'ended again and again'],
  ['network-policy', ['network-policy.yaml', 'port: 8000', 'port: 8001'], 'at the port 8000'],
  ['device-plugin', ['device-plugin.yaml', 'renameByDefault: true', 'renameByDefault: false'], 'offer no'],
  ['served', [SERVERS, '- L4-0\n', '- L4-1\n'], 'have --at L4-1, and the plan has L4-0'],
  ['served', [SERVERS, '- 0.0.0.0', '- 127.0.0.1'], 'lack --host 0.0.0.0'],
  ['served', [SERVERS, '- "8000"', '- "8001"'], 'have --port 8001'],
  ['served', [SERVERS, '- 10s', '- 5s'], 'have --drain-timeout 5s'],
  ['replicas', [SERVERS, 'replicas: 4', 'replicas: 3'], 'is 3, and the plan has 4'],
  [
    'devices',
    [SERVERS, /(limits:\s+cpu: "3"\s+memory: 6Gi\s+nvidia.com\/gpu:) "2"/, '$1 "4"'],
    'is 4, and the plan has 2',
  ],
  ['devices', [SERVERS, /(limits:\s+cpu:) "3"/, '$1 "1"'], 'is 1, and the devices'],
  ['devices', [SERVERS, /(limits:\s+cpu: "3"\s+)memory: 6Gi\s+/, '$1'], 'limit no memory'],
  [
    'probes',
    [
      SERVERS,
      /startupProbe:\n( +)httpGet:\n( +)path: \/v2\/health\/ready/,
      'startupProbe:\n$1httpGet:\n$2path: /v2/health/live',
    ],
    'before models are loaded',
  ],
  ['probes', [SERVERS, / {10}livenessProbe:\n(?: {12}.*\n)+/, ''], 'livenessProbe'],
  ['drain', [SERVERS, 'terminationGracePeriodSeconds: 20', 'terminationGracePeriodSeconds: 10'], 'is 10 s'],
  ['surge', [SERVERS, 'maxSurge: 0', 'maxSurge: 1'], 'must be 0'],
  [
    'claims',
    ['dra/servers.yaml', 'resourceClaimTemplateName: net0-net1-t4-2-0', 'resourceClaimTemplateName: other'],
    'no such template',
  ],
  ['claims', ['dra/claims.yaml', 'count: 2', 'count: 1'], 'is 1, and the plan has 2 GPUs'],
  ['claims', ['dra/claims.yaml', 'strategy: MPS', 'strategy: TimeSlicing'], 'is TimeSlicing'],
  [
    'claims',
    ['dra/claims.yaml', 'defaultActiveThreadPercentage: 50', 'defaultActiveThreadPercentage: 100'],
    'has 50 %',
  ],
  [
    'claims',
    ['dra/claims.yaml', 'defaultPinnedDeviceMemoryLimit: 8192Mi', 'defaultPinnedDeviceMemoryLimit: 10Gi'],
    'more than the 16 GiB of T4',
  ],
  [
    'claims',
    [
      SERVERS,
      '      volumes:\n',
      '      resourceClaims: [{ name: gpus, resourceClaimName: one }]\n      volumes:\n',
    ],
    'is one claim for 4 pods',
  ],
  [
    'devices',
    [SERVERS, /(limits:\s+cpu: "2"\s+memory: 4Gi)\s+nvidia.com\/gpu.shared: "1"/, '$1'],
    'is absent, and the plan has 1 shares of GPUs at T4-0/gpu0/0',
  ],
  ['node-selector', [SERVERS, 'inferplan/class: L4', 'inferplan/class: T4'], 'is T4, and L4-0 is of L4'],
  [
    'node-selector',
    [SERVERS, / +nodeSelector:\n +inferplan\/class: L4\n/, ''],
    'is absent, and L4-0 is of L4',
  ],
  ['node-selector', ['dra/servers.yaml', 'inferplan/class: T4', 'inferplan/class: L4'], 'T4-0 is of T4'],
  [
    'shared-memory',
    ['dra/servers.yaml', 'mountPath: /bundle', 'mountPath: /dev/shm/'],
    'is /dev/shm/ beside a share',
  ],
  ['claims', ['dra/servers.yaml', /\n +claims:\n +- name: gpus/, ''], 'has none of the 2 GPUs at T4-0'],
  ['claims', ['dra/servers.yaml', /\n +resourceClaims:\n.*\n.*/, ''], 'name no claim of the pod'],
  [
    'claims',
    [
      ['dra/servers.yaml', 'resourceClaimTemplateName: net0-net1-t4-2-0', 'resourceClaimTemplateName: mine'],
      ['dra/claims.yaml', 'name: net0-net1-t4-2-0', 'name: mine'],
      ['dra/claims.yaml', 'count: 2', 'count: 1'],
    ],
    'is 1, and the plan has 2 GPUs at T4-0',
  ],
  [
    'claims',
    [
      'dra/servers.yaml',
      'resourceClaimTemplateName: net0-net1-t4-2-0',
      'resourceClaimTemplateName: net0-net1-l4-1',
    ],
    'net0-net1-t4-2-0, which no pods name',
  ],
  [
    'claims',
    [
      'dra/claims.yaml',
      'defaultPinnedDeviceMemoryLimit: 8192Mi',
      'defaultPerDevicePinnedMemoryLimit: { "0": 8Gi, "1": 9Gi }',
    ],
    'is 9Gi for each of 2 processes',
  ],
  ['network-policy', ['network-policy.yaml', '    - Ingress\n', ''], 'lack Ingress'],
  ['images', [SERVERS, 'image: inferplan:0.1.0', 'image: inferplan'], 'is inferplan, which may be another'],
  [
    'images',
    [SERVERS, /image: inferplan-bundle:.*/, 'image: inferplan-bundle:latest'],
    'another image tomorrow',
  ],
  ['volumes', [SERVERS, /emptyDir: \{\}/, 'persistentVolumeClaim: { claimName: models }'], '4 pods use it'],
];

/** A claim that one node alone may mount, as a person may add it. */
const CLAIM = `apiVersion: v1
kind: PersistentVolumeClaim
metadata: { name: models }
spec: { accessModes: [ReadWriteOnce] }
---
`;

describe('the rules of Kubernetes', () => {
  it.each(MUTATIONS)('find what breaks them: %s, %s', (rule, edits, message) => {
    const own = (typeof edits[0] === 'string' ? [edits] : edits) as readonly Edit[];
    const all: Edit[] = rule === 'volumes' ? [...own, [SERVERS, /^/, CLAIM]] : [...own];
    const { report } = lintOf(ENGINE, shares(), all);
    const found = report.faults.filter((one) => one.rule === rule && one.message.includes(message));
    expect(found, JSON.stringify(report.faults, null, 1)).not.toEqual([]);
    for (const one of found)
      expect(one).toMatchObject({ file: expect.any(String), line: expect.any(Number) });
  });
});
