import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { DeployedBundle } from '../../../../src/deploy/targets/target.js';
import { TRITON_RULES } from '../../../../src/deploy/targets/triton/rules.js';
import { TRITON } from '../../../../src/deploy/targets/triton/triton.js';
import type { LintReport } from '../../../../src/formats/index.js';
import { deployedMade, MADE, type MadeName } from './bundles.js';

let folder: string;
const bundles = new Map<string, DeployedBundle>();

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-triton-rules-'));
  for (const name of Object.keys(MADE) as MadeName[]) bundles.set(name, await deployedMade(folder, name));
}, 120_000);
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Edit is a change of a file that breaks a rule, and what must then stand on the line that is told. */
interface Edit {
  readonly rule: string;
  readonly bundle: MadeName;
  readonly file: string;
  readonly from: string | RegExp;
  /** Absent where the file is left out. */
  readonly to?: string;
  readonly line: string;
  readonly message: string;
}

const config = (model: string) => `model_repository/${model}/config.pbtxt`;
const start = (server: string) => `servers/${server}/start.sh`;
const missing = (rule: string, bundle: MadeName, file: string): Edit => ({
  rule,
  bundle,
  file,
  from: '',
  line: '',
  message: 'is missing',
});
const edit = (
  rule: string,
  [bundle, file]: readonly [MadeName, string],
  [from, to, line, message]: readonly [string | RegExp, string, string, string],
): Edit => ({ rule, bundle, file, from, to, line, message });

const P0 = ['pooled', config('eye_p0')] as const;
const P0_S0 = ['pooled', config('eye_p0_s0')] as const;
const P1_S0 = ['pooled', config('eye_p1_s0')] as const;
const EYE = ['pooled', config('eye')] as const;
const LEFT = ['branching', config('left')] as const;
const LOOKS = ['gears', config('looks')] as const;
const START = ['pooled', start('gpu_0')] as const;
const POLICY = /dynamic_batching \{.*?\n\}\n/s;
const LEVELS =
  'priority_queue_policy { key: 1 value { timeout_action: DELAY default_timeout_microseconds: 1000 } }';
const EXEC = 'exec "';

const EDITS: readonly Edit[] = [
  edit('engine-schema', P0_S0, [
    'max_queue_delay_',
    'max_delay_',
    'max_delay_',
    'has no field max_delay_microseconds',
  ]),
  edit('engine-schema', P0_S0, ['TYPE_FP32', 'FP32', 'FP32', 'is FP32, and must be one of']),
  edit('engine-schema', P0_S0, [
    'name: "eye_p0_s0"',
    'name "eye_p0_s0"',
    'name "eye',
    'where `:` or `{` is wanted',
  ]),
  missing('models', 'pooled', config('eye_p0_s1')),
  edit('names', P0_S0, [
    'name: "eye_p0_s0"',
    'name: "eye_p0"',
    'name: "eye_p0"',
    'must be that of its folder, eye_p0_s0',
  ]),
  edit('fronts', EYE, ['backend: "python"', 'backend: "onnxruntime"', 'backend', 'is not backend "python"']),
  edit('batch', P1_S0, [
    'max_batch_size: 4',
    'max_batch_size: 8',
    'max_batch_size',
    'is 8, and the plan has 4',
  ]),
  edit('batch', P1_S0, [
    'max_batch_size: 4',
    'max_batch_size: 0',
    'max_batch_size',
    'is 0, and the plan has 4',
  ]),
  edit('tensors', P0_S0, [
    '[ 3, 16, 16 ]',
    '[ 3, 16, 8 ]',
    '"image"',
    'are [3, 16, 8], and the tensor has [3, 16, 16]',
  ]),
  edit('tensors', P0_S0, ['[ 3, 16, 16 ]', '[ 1, 3, 16, 16 ]', '"image"', 'are [1, 3, 16, 16]']),
  edit('tensors', P0_S0, [
    '"image"',
    '"picture"',
    '"picture"',
    'is picture, which the model has not; it has image',
  ]),
  edit('dtypes', P0_S0, ['TYPE_FP32', 'TYPE_BF16', 'TYPE_BF16', "Triton's ONNX Runtime backend has not"]),
  edit('dtypes', P0_S0, ['TYPE_FP32', 'TYPE_FP16', 'TYPE_FP16', 'is TYPE_FP16, and the tensor is TYPE_FP32']),
  edit('instance-groups', P0_S0, [
    'count: 2',
    'count: 1',
    'instance_group',
    'has 1 instances on GPU 0 of gpu-0, and the plan has 2',
  ]),
  edit('instance-groups', P0_S0, [
    'gpus: [ 0 ]',
    'gpus: [ 1 ]',
    'instance_group',
    'has 2 instances on GPU 1 of gpu-0, and the plan has 0',
  ]),
  edit('instance-groups', P0_S0, [' gpus: [ 0 ]', '', 'KIND_GPU', 'lists no gpus']),
  edit('instance-groups', P0_S0, [/instance_group \[[^\]]*\][^\]]*\]\n/, '', 'stage 0', 'is absent']),
  edit('shared-devices', LEFT, [/ rate_limiter \{[^\]]*\] \}/, '', 'KIND_GPU', 'has no rate_limiter']),
  edit('ensemble-steps', P0, ['      model_version: -1\n', '', '{', 'is absent or 0, which is version 0']),
  edit('ensemble-steps', P0, ['model_version: -1', 'model_version: 0', 'model_version: 0', 'is absent or 0']),
  edit('ensemble-steps', P0, [
    'model_name: "eye_p0_s1"',
    'model_name: "eye_s1"',
    '"eye_s1"',
    'is eye_s1, which the plan has not',
  ]),
  edit('ensemble-steps', P0, [
    'output_map { key: "logits" value: "logits"',
    'output_map { key: "logits" value: "x"',
    '"logits"',
    'is logits, which no step gives',
  ]),
  edit('ensemble-steps', P0, [
    'input_map { key: "layer2.0.bn2_out" value: "layer2.0.bn2_out"',
    'input_map { key: "layer2.0.bn2_out" value: "x"',
    'value: "x"',
    'is x, which no step gives',
  ]),
  edit('ensemble-steps', P0, [
    'max_batch_size: 2',
    'max_batch_size: 4',
    'max_batch_size: 4',
    'takes batches of 2 at most',
  ]),
  edit('ensemble-steps', P0, [
    'input_map { key: "image"',
    'input_map { key: "imag"',
    '"imag"',
    'does not feed the input image',
  ]),
  edit('ensemble-steps', P0, [
    'ensemble_scheduling {',
    `instance_group [ { count: 1 } ]\nensemble_scheduling {`,
    'instance_group',
    'does nothing in an ensemble',
  ]),
  missing('versions', 'pooled', 'model_repository/eye_p0/1/version.txt'),
  edit('queue-policy', P0_S0, [
    POLICY,
    'dynamic_batching { }\n',
    'dynamic_batching',
    'is absent: requests would wait without end',
  ]),
  edit('queue-policy', P0_S0, [POLICY, '', 'stage 0', 'is absent: requests would wait without end']),
  edit('queue-policy', P0_S0, ['REJECT', 'DELAY', 'DELAY', 'late requests are still executed']),
  edit('queue-policy', P0_S0, [
    /default_timeout_microseconds: \d+/,
    'default_timeout_microseconds: 0',
    'default_timeout',
    'is no timeout at all',
  ]),
  edit('queue-policy', P0_S0, [
    /default_timeout_microseconds: \d+/,
    'default_timeout_microseconds: 99',
    'default_timeout',
    'is 99, and Triton itself may take as long',
  ]),
  edit('queue-policy', P0_S0, [
    'override: true',
    'override: false',
    'override',
    'the time that a request has left is then not heard',
  ]),
  edit('timeout-sum', P0_S0, [
    /default_timeout_microseconds: \d+/,
    'default_timeout_microseconds: 60000',
    'default_timeout',
    'that the SLO of 60 ms leaves beside executions',
  ]),
  edit('queue-delay', P0_S0, [
    'max_queue_delay_microseconds: 0',
    'max_queue_delay_microseconds: 90000',
    'delay',
    'those of batches that are not full would all be',
  ]),
  edit('queue-size', P1_S0, [
    '    timeout_action',
    '    max_queue_size: 2\n    timeout_action',
    'max_queue_size',
    'is less than the batch of 4',
  ]),
  edit('priorities', P0_S0, [
    'dynamic_batching {',
    'dynamic_batching { priority_levels: 2',
    'priority_levels',
    'first come, first served',
  ]),
  edit('priorities', P0_S0, [
    'dynamic_batching {',
    `dynamic_batching { priority_levels: 2 ${LEVELS}`,
    'priority_levels',
    'first come, first served',
  ]),
  edit('priorities', P0_S0, [
    'dynamic_batching {',
    `dynamic_batching { priority_levels: 1 ${LEVELS}`,
    'priority_queue_policy',
    'stands in place of default_queue_policy',
  ]),
  edit('preferred-batch', P0_S0, [
    'dynamic_batching {',
    'dynamic_batching { preferred_batch_size: [ 2 ]',
    'preferred',
    'Triton waits for these sizes',
  ]),
  edit('python-instances', EYE, [
    /count: \d+/,
    'count: 1',
    'instance_group',
    'has 1 instances, and 24 requests may be in flight',
  ]),
  edit('shares', EYE, [
    /string_value: "0\.6\d+"/,
    'string_value: "0.9"',
    'parameters',
    'and shares sum to 1',
  ]),
  edit('shares', EYE, [
    'share.eye_p0',
    'share.eye_p7',
    'share.eye_p7',
    'leads to eye_p7, which there is not',
  ]),
  edit(
    'shares',
    ['pooled', 'model_repository/eye/configs/gpu_1.pbtxt'],
    ['share.eye_p1', 'share.eye_p0', 'share', 'leads to eye_p0, which gpu-1 does not hold'],
  ),
  edit('gear', LOOKS, [
    'string_value: "2"',
    'string_value: "3"',
    '"gear"',
    'has the gear 3, and the plan has those from 0 to 2',
  ]),
  missing('server-files', 'pooled', start('gpu_1')),
  missing('server-files', 'pooled', 'model_repository/eye/1/members.py'),
  missing('server-files', 'gears', 'model_repository/looks/1/verdicts.py'),
  edit('auto-complete', START, [
    '  --disable-auto-complete-config \\\n',
    '',
    EXEC,
    'would raise a max_batch_size of 0 to 4',
  ]),
  edit('members-loaded', START, ['  --load-model=eye_p0_s1 \\\n', '', EXEC, 'lacks --load-model=eye_p0_s1']),
  edit('members-loaded', START, [
    'mode=explicit',
    'mode=none',
    'mode=none',
    'has the model control mode none',
  ]),
  edit('members-loaded', START, [
    '--load-model=eye \\',
    '--load-model=* \\',
    '--load-model=*',
    'loads *, which the plan has not there',
  ]),
  edit(
    'config-name',
    ['pooled', start('gpu_1')],
    ['  --model-config-name=gpu_1 \\\n', '', EXEC, 'lacks --model-config-name=gpu_1'],
  ),
  edit('mps', START, [/^echo get_server_list.*$/m, '', EXEC, "does not start NVIDIA's MPS"]),
  edit('mps', START, [
    EXEC,
    `export CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=50\n${EXEC}`,
    'PERCENTAGE=50',
    'all instances of the server together',
  ]),
  edit(
    'rate-limit',
    ['branching', start('gpu_0')],
    ['  --rate-limit=execution_count \\\n', '', EXEC, 'rate limiters have no effect'],
  ),
  edit(
    'rate-limit',
    ['branching', start('gpu_0')],
    ['virtual_gpu:1:1', 'virtual_gpu:2:1', EXEC, 'lacks --rate-limit-resource=virtual_gpu:1:1'],
  ),
  edit('shared-memory', START, [
    /byte-size=\d+/,
    'byte-size=4096',
    'byte-size',
    'gives each Python process 4096 bytes',
  ]),
  edit('shared-memory', START, [/need=\d+/, 'need=1', 'need=1', 'looks for 1 bytes in /dev/shm']),
  edit(
    'drops',
    ['gears', 'model_repository/looks/1/members.py'],
    [
      'pb.TritonError.UNAVAILABLE))',
      'pb.TritonError.INTERNAL))',
      'INTERNAL',
      'clients would be told 500 and not 503',
    ],
  ),
  edit(
    'intervals',
    ['gears', 'servers/gpu_0/looks.intervals'],
    [/^\d+\n/, '0.5\n', '0.5', 'must be whole µs'],
  ),
  edit(
    'intervals',
    ['gears', 'servers/gpu_0/looks.intervals'],
    [/^(\d+)\n/, '$1000000\n', '000000', 'requests per second, and the plan brings 1200'],
  ),
  missing('intervals', 'gears', 'servers/gpu_0/looks.intervals'),
];

function linted(bundle: DeployedBundle): LintReport {
  return TRITON.lint?.(bundle) as LintReport;
}

function edited({ bundle, file, from, to }: Edit): DeployedBundle {
  const whole = bundles.get(bundle) as DeployedBundle;
  const texts = new Map(whole.texts);
  const text = texts.get(file);
  if (text === undefined) throw new Error(`there is no ${file}`);
  if (to === undefined) texts.delete(file);
  else {
    expect(text.replace(from, to), `${file} has no ${from}`).not.toBe(text);
    texts.set(file, text.replace(from, to));
  }
  return { ...whole, texts };
}

describe('the rules of bundles for Triton', () => {
  it.each(EDITS.map((one) => [`${one.rule}: ${one.file}: ${one.message}`, one] as const))('%s', (_, one) => {
    const bundle = edited(one);
    const report = linted(bundle);
    const found = [...report.faults, ...report.warnings].filter(
      ({ rule, file, message }) => rule === one.rule && file === one.file && message.includes(one.message),
    );
    expect(found, JSON.stringify(report.faults, undefined, 1)).not.toEqual([]);
    if (one.to === undefined) return;
    const line = bundle.texts.get(one.file)?.split('\n')[(found[0]?.line ?? 0) - 1];
    expect(line).toContain(one.line);
  });

  it('find nothing in what is written', () => {
    for (const bundle of bundles.values()) expect(linted(bundle).faults).toEqual([]);
  });
});

/** changed makes other plans and manifests of a bundle, whose files stay. */
function changed(name: MadeName, change: (bundle: DeployedBundle) => void): LintReport {
  const { plan, manifest, texts } = bundles.get(name) as DeployedBundle;
  const copy = { ...structuredClone({ plan, manifest }), texts };
  change(copy);
  return linted(copy);
}

type Stages = { stages: { inputs?: { batchAxis?: number }[] }[] };

describe('what Triton does otherwise than the plan', () => {
  it.each<
    readonly [rule: string, bundle: MadeName, message: string, change: (bundle: DeployedBundle) => void]
  >([
    ['cpu-class', 'straight', 'is a class of processor cores', () => {}],
    [
      'cpu-class',
      'straight',
      'an emulated class, 3 times slower',
      ({ manifest }) => {
        Object.assign(manifest.devices.cpu!, { emulated: true, slowdown: 3 });
      },
    ],
    [
      'provider',
      'pooled',
      'do not say how gpu runs models',
      ({ manifest }) => {
        manifest.devices = {};
      },
    ],
    ['gpu-fractions', 'pooled', 'is divided into up to 2 virtual GPUs', () => {}],
    [
      'single-rows',
      'straight',
      'executes clean row by row; the plan has batches of up to 4',
      ({ plan }) => {
        delete (plan as unknown as Stages).stages[0]!.inputs![0]!.batchAxis;
      },
    ],
    [
      'batch-axis',
      'straight',
      'must be 0: the rows of image are not its axis 0',
      ({ plan }) => {
        (plan as unknown as Stages).stages[0]!.inputs![0]!.batchAxis = 1;
      },
    ],
    ['request-rows', 'branching', 'has at most 1 rows, and the plan allows 4', () => {}],
    [
      'client-names',
      'straight',
      'clients call "looks/all" by the name looks_all',
      ({ plan }) => {
        Object.assign(plan, { name: 'looks/all' });
      },
    ],
    ['gears', 'gears', 'Triton keeps one, 2', () => {}],
    ['python-memory', 'pooled', 'takes 24 processes of Python on gpu-0', () => {}],
    [
      'server-balance',
      'straight',
      'together they carry',
      ({ plan }) => {
        const again = plan.placement.filter((one) => JSON.stringify(one).includes('clean'));
        plan.placement.push(...(again.map((one) => ({ ...one, server: 'cpu-1' })) as never[]));
      },
    ],
    ['shared-queues', 'branching', 'share the devices of gpu-0', () => {}],
    ['timeout-cost', 'pooled', 'issue 8870', () => {}],
    ['scheduler', 'gears', 'is made for the scheduler gears', () => {}],
    [
      'scheduler',
      'straight',
      'has a tuner, which does not run on Triton',
      ({ plan }) => {
        Object.assign(plan, { serving: { scheduler: 'stage-local', tuner: { kind: 'inferline' } } });
      },
    ],
  ])('is found: %s in %s: %s', (rule, bundle, message, change) => {
    const { faults, warnings } = changed(bundle, change);
    const found = [...faults, ...warnings].filter((one) => one.rule === rule);
    expect(found.map((one) => one.message).join('\n')).toContain(message);
  });

  it('every rule is broken by one of these', () => {
    const told = [
      ...[
        'cpu-class',
        'provider',
        'gpu-fractions',
        'single-rows',
        'batch-axis',
        'request-rows',
        'client-names',
      ],
      ...['gears', 'python-memory', 'server-balance', 'shared-queues', 'timeout-cost', 'scheduler'],
    ];
    const broken = new Set([...EDITS.map(({ rule }) => rule), ...told]);
    expect(TRITON_RULES.map(({ name }) => name).filter((name) => !broken.has(name))).toEqual([]);
  });
});
