import { describe, expect, it } from 'vitest';
import type { GearPlan, PipelinePlan, PooledPlan } from '../../../../src/artifacts/index.js';
import { KUBERNETES_ENGINE as ENGINE } from '../../../../src/deploy/targets/kubernetes/kubernetes.js';
import { CUDA, type Edit, EMULATED, examplePlan, lintOf, made, pooledAt } from '../kube/made-bundles.js';

/** A model on halves of T4s and on a server of two L4s, and another one on that server alone. */
const shares = () =>
  made(
    pooledAt(
      [
        [
          [
            {
              ...{ device: 'T4', virtual: 2 },
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
const MUTATIONS: readonly (readonly [rule: string, edit: Edit, message: string])[] = [
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
  it.each(MUTATIONS)('find what breaks them: %s, %s', (rule, edit, message) => {
    const edits: Edit[] = rule === 'volumes' ? [edit, [SERVERS, /^/, CLAIM]] : [edit];
    const { report } = lintOf(ENGINE, shares(), edits);
    const found = report.faults.filter((one) => one.rule === rule && one.message.includes(message));
    expect(found, JSON.stringify(report.faults, null, 1)).not.toEqual([]);
    for (const one of found)
      expect(one).toMatchObject({ file: expect.any(String), line: expect.any(Number) });
  });
});
