import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { Ajv } from 'ajv';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { engineGraphOf } from '../../../../src/deploy/engine-graph.js';
import { RAY_ENGINE, RAY_SERVE } from '../../../../src/deploy/targets/ray-serve/ray-serve.js';
import { RAY_RULES } from '../../../../src/deploy/targets/ray-serve/rules.js';
import type { Bundle, LintReport } from '../../../../src/formats/index.js';
import { fewOf } from '../../../cases.js';
import { EXAMPLES, type ExampleBundle, exampleBundle } from '../../example-bundle.js';
import { CUDA, made, pooledAt } from '../kube/made-bundles.js';

const SCHEMA = new URL('../../../../../shared/targets/ray-serve-2.58.schema.json', import.meta.url);
const CONFIG = 'serve_config.yaml';

function textsOf({ plan, manifest }: ExampleBundle): Map<string, string> {
  const graph = engineGraphOf(plan, manifest);
  return new Map(RAY_ENGINE.files({ plan, graph, planSha256: manifest.plan.sha256 }));
}

/** linted looks at a bundle whose configuration was edited. */
function linted(bundle: ExampleBundle, edit: (text: string) => string = (text) => text): LintReport {
  const texts = textsOf(bundle);
  texts.set(CONFIG, edit(texts.get(CONFIG) as string));
  return RAY_SERVE.lint!({ ...bundle, texts });
}

describe('the target ray-serve', () => {
  it.each(EXAMPLES)('writes the files of the example %s as they were looked at by hand', async (example) => {
    const texts = textsOf(await exampleBundle(example));
    for (const file of [CONFIG, 'README.md'])
      await expect(texts.get(file)).toMatchFileSnapshot(`golden/${example}-${file}`);
    expect([...texts.keys()]).toEqual([
      CONFIG,
      'app.py',
      'rows.py',
      'walk.py',
      'verdicts.py',
      'requirements.txt',
      'README.md',
    ]);
  });

  it.each(EXAMPLES)(
    'writes the same bytes twice, and modules of at most 300 lines, for %s',
    async (example) => {
      const bundle = await exampleBundle(example);
      expect(textsOf(bundle)).toEqual(textsOf(bundle));
      for (const [file, text] of textsOf(bundle))
        if (file.endsWith('.py')) expect(text.split('\n').length, file).toBeLessThanOrEqual(300);
    },
  );

  it.each(EXAMPLES)('breaks none of its own rules in the example %s', async (example) => {
    expect(linted(await exampleBundle(example)).faults).toEqual([]);
  });

  it.skipIf(!existsSync(SCHEMA)).each(fewOf(EXAMPLES, 1))(
    'writes what the schema of Ray Serve takes, for %s (where ../shared is)',
    async (example) => {
      const schema = JSON.parse(await readFile(SCHEMA, 'utf8')) as object;
      const validate = new Ajv({
        strict: false,
        allErrors: true,
        logger: false,
        validateFormats: false,
      }).compile(schema);
      const texts = textsOf(await exampleBundle(example));
      validate(parse(texts.get(CONFIG) as string));
      expect(validate.errors ?? []).toEqual([]);
    },
  );
});

/** An edit of the pooled example's configuration breaks each rule, at a line that holds this text. */
const EDITS: readonly (readonly [rule: string, from: string | RegExp, to: string, at: string])[] = [
  ['engine-schema', 'route_prefix: /', 'route_prefix: /\n    route_prefx: /', 'route_prefx'],
  ['engine-schema', /max_ongoing_requests: 100/, 'max_ongoing_requests: many', 'many'],
  ['engine-schema', 'applications:', 'applications: [', '- name: inferplan'],
  ['deployments', '- name: counters', '- name: counter', 'counter'],
  ['replicas', /(- name: segmenter_p0_s0\n\s+num_replicas: )\d+/, '$1999', '999'],
  ['capacity', /(- name: segmenter_p0_s0\n\s+num_replicas: )\d+/, '$1999', 'num_replicas'],
  ['resources', /inferplan\/L4: 1\n/, 'inferplan/L4: 0.5\n', '0.5'],
  ['resources', /inferplan\/L4: 1\n/, 'inferplan/L4: 1\n            inferplan/P4: 1\n', 'inferplan/P4'],
  ['resources', /num_gpus: 1\n/, 'num_gpus: 0.4\n', '0.4'],
  ['ongoing', /max_ongoing_requests: 100\n/, 'max_ongoing_requests: 5\n', ': 5'],
  ['ongoing', /max_ongoing_requests: 1000\n/, 'max_ongoing_requests: 99\n', ': 99'],
  [
    'batch-timeout',
    /(- name: segmenter_p0_s0[\s\S]*?user_config:\n)/,
    '$1          batch_wait_timeout_s: 0.05\n',
    '0.05',
  ],
  ['num-cpus', /num_cpus: 1\n\s+num_gpus/, 'num_gpus', 'ray_actor_options'],
  ['ingress-replicas', /(name: ingress\n\s+num_replicas: )2/, '$11', 'num_replicas: 1'],
  ['ingress-replicas', 'ingress_replicas: 2', 'ingress_replicas: 3', '3'],
  ['ongoing-counts', /(RAY_SERVE_QUEUE_LENGTH_CACHE_TIMEOUT_S: )"0"/, '$1"10"', 'ray_actor_options'],
  ['ongoing-counts', /\n\s+request_router_config:\n\s+request_router_class: \S+/, '', 'detector_p0_s0'],
  ['request-timeout', /request_timeout_s: [\d.]+/, 'request_timeout_s: 0.01', '0.01'],
  ['request-timeout', /\n\s+request_timeout_s: [\d.]+/, '', 'http_options'],
  [
    'autoscaling',
    /(- name: segmenter_p0_s0\n)/,
    '$1        autoscaling_config: { min_replicas: 1 }\n',
    'autoscaling',
  ],
  ['autoscaling', /(- name: segmenter_p0_s0\n\s+num_replicas: )\d+/, '$1auto', 'auto'],
  ['queue-limit', /(- name: segmenter_p0_s0\n)/, '$1        max_queued_requests: 0\n', 'max_queued'],
  ['queue-limit', /(- name: ingress\n)/, '$1        max_queued_requests: 0\n', 'max_queued'],
  ['drain', /graceful_shutdown_timeout_s: \d+/, 'graceful_shutdown_timeout_s: 0', ': 0'],
  ['drain', /request_timeout_s: [\d.]+/, 'request_timeout_s: 21', 'graceful_shutdown'],
  ['batches', /(stages:\n\s+)segmenter_p0_s0:/, '$1segmenter_p0_s1:', 'stages:'],
  ['batches', /(segmenter_p0_s0:\n\s+batch: )\d+/, '$199', 'latency_ms'],
  ['batches', /(segmenter_p0_s0:\n\s+batch: )\d+/, '$10.5', '0.5'],
  ['batches', /least_ms: [\d.]+/, 'least_ms: soon', 'soon'],
  ['batches', /full_ms: [\d.]+/, 'full_ms: later', 'later'],
  ['models', /slo_ms: \d+\n/, 'slo_ms: 0\n', ': 0'],
  ['shares', /(routes:\n\s+detector_p0_s0: )[\d.]+/, '$10.1', 'routes'],
  ['shares', /(stages:\n\s+detector_p0_s0:\n\s+)detector_p0_s0: 1/, '$1detector: 1', 'detector: 1'],
  ['route-prefix', 'route_prefix: /', 'route_prefix: v2/', 'v2/'],
];

/** These break rules of gears in the configuration of the cascade. */
const GEAR_EDITS: readonly (readonly [rule: string, from: string | RegExp, to: string, at: string])[] = [
  ['shares', 'base_large_on_T4: 1', 'base_large_on_T4: 0.5', 'groups'],
  ['shares', 'base_large_on_T4: 1', 'base_large_on_L4: 1', 'base_large_on_L4'],
  ['models', '- stage: large', '- stage: larger', 'larger'],
  ['models', 'to_rps: 300', 'to_rps: 100', '100'],
  ['models', /gears:\n\s+- to_rps: 150[\s\S]*?(?=\n\s+- name: counters)/, 'gears: []', 'gears'],
];

const WARNING_EDITS: readonly (readonly [rule: string, from: string | RegExp, to: string, at: string])[] = [
  ['as-planned', /(segmenter_p0_s0:\n\s+batch: )\d+/, '$11', 'batch: 1'],
  ['as-planned', /slo_ms: \d+\n/, 'slo_ms: 7\n', 'slo_ms: 7'],
  [
    'more-asked',
    /(- name: segmenter_p0_s0\n)/,
    '$1        max_replicas_per_node: 1\n',
    'max_replicas_per_node',
  ],
  ['more-asked', /num_gpus: 1\n/, 'num_gpus: 1\n          memory: 1000000000\n', 'memory'],
];

/** linesOf gives the lines of the findings of a rule in an edited configuration. */
function linesOf(findings: LintReport['faults'], rule: string, text: string): (string | undefined)[] {
  return findings.filter((one) => one.rule === rule).map(({ line = 0 }) => text.split('\n')[line - 1]);
}

describe('the rules of the target ray-serve', () => {
  it.each(GEAR_EDITS)('%s finds in gears %s made %s', async (rule, from, to, at) => {
    const bundle = await exampleBundle('cascade');
    const edited = (textsOf(bundle).get(CONFIG) as string).replace(from, to);
    expect(linesOf(linted(bundle, () => edited).faults, rule, edited).join()).toContain(at);
  });

  it.each(WARNING_EDITS)('%s warns of %s made %s', async (rule, from, to, at) => {
    const bundle = await exampleBundle('pooled');
    const edited = (textsOf(bundle).get(CONFIG) as string).replace(from, to);
    expect(linesOf(linted(bundle).warnings, rule, edited)).toEqual([]);
    expect(linesOf(linted(bundle, () => edited).warnings, rule, edited).join()).toContain(at);
  });

  it('warn of parts of GPUs, for which MPS must run', () => {
    const half = { device: 'T4', virtual: 2 } as const;
    const plan = pooledAt(
      [
        [
          [
            {
              ...half,
              seats: [
                [0, 0],
                [0, 0],
              ],
            },
          ],
        ],
      ],
      { T4: { count: 1, virtual: [2], memoryGiB: 16 } },
    );
    const { parts, planSha256: sha256 } = made(plan, { T4: CUDA });
    const manifest = { ...parts, plan: { path: 'plan.json', sha256 } } as unknown as Bundle;
    const { warnings } = linted({ plan, manifest });
    const told = warnings.filter(({ rule }) => rule === 'gpu-fractions').map(({ message }) => message);
    expect(told).toEqual([expect.stringContaining('CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=50')]);
  });

  it('are each shown to find something', () => {
    const shown = [...EDITS, ...GEAR_EDITS, ...WARNING_EDITS].map(([rule]) => rule);
    const others = ['code', 'gpu-fractions', 'cpu-class', 'provider', 'scheduler'];
    expect(new Set([...shown, ...others])).toEqual(new Set(RAY_RULES.map(({ name }) => name)));
  });

  it.each(EDITS)('%s finds %s made %s', async (rule, from, to, at) => {
    const bundle = await exampleBundle('pooled');
    let edited = '';
    const { faults } = linted(bundle, (text) => {
      edited = text.replace(from, to);
      expect(edited).not.toBe(text);
      return edited;
    });
    const found = faults.filter((one) => one.rule === rule && one.file === CONFIG);
    expect(found.length).toBeGreaterThan(0);
    const lines = edited.split('\n');
    expect(found.map(({ line = 0 }) => lines[line - 1])).toEqual(
      expect.arrayContaining([expect.stringContaining(at)]),
    );
  });

  it('code finds a module that is missing, and serve.batch', async () => {
    const bundle = await exampleBundle('pooled');
    const texts = textsOf(bundle);
    texts.set('app.py', `${texts.get('app.py')}\n@serve.batch\n`);
    texts.delete('walk.py');
    const { faults } = RAY_SERVE.lint!({ ...bundle, texts });
    expect(faults.map(({ rule, file }) => [rule, file])).toEqual([
      ['code', 'walk.py'],
      ['code', 'app.py'],
    ]);
  });

  it('warn of shared GPUs, classes of processor cores, unknown providers, other schedulers and tuners', async () => {
    const { plan, manifest } = await exampleBundle('pipeline');
    const { L4: _, ...devices } = manifest.devices;
    const given = { plan, manifest: { ...manifest, devices: { ...devices, T4: { provider: 'cpu' } } } };
    const rules = new Set(linted(given).warnings.map(({ rule }) => rule));
    expect(rules).toEqual(new Set(['cpu-class', 'provider', 'scheduler']));
    const tuned = { ...plan, serving: { scheduler: 'ray-serve', tuner: { kind: 'inferline' } } } as never;
    const told = linted({ plan: tuned, manifest }).warnings.filter(({ rule }) => rule === 'scheduler');
    expect(told.map(({ message }) => message)).toEqual([expect.stringContaining('tuner')]);
  });

  it('find a fraction of which a GPU holds fewer than the plan has on it', async () => {
    const bundle = await exampleBundle('pooled');
    const { faults } = linted(bundle, (text) => text.replace(/num_gpus: 1\n/, 'num_gpus: 0.4\n'));
    expect(faults.map(({ message }) => message)).toContainEqual(expect.stringContaining('keeps 0.20 idle'));
    const thirds = linted(bundle, (text) => text.replace(/num_gpus: 1\n/, 'num_gpus: 0.3333\n'));
    expect(thirds.faults.map(({ message }) => message)).not.toContainEqual(expect.stringContaining('idle'));
  });
});
