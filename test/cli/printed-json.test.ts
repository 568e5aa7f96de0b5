import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, cp, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Ajv, type ValidateFunction } from 'ajv';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { schemaText } from '../../src/artifacts/index.js';
import { ARTIFACT_KINDS, type LoadDocument } from '../../src/formats/index.js';
import { inWholeRun, whole } from '../cases.js';
import { matmulChain } from '../execution/tiny-models.js';
import { PLAN_PROGRAM, plan, type Ran } from './plan.js';

const EXAMPLES = new URL('../../examples/pooled', import.meta.url).pathname;

let folder: string;
const at = (file: string): string => join(folder, file);
const run = (...args: string[]): Promise<Ran> => plan([...args, '--json'], { cwd: folder });

/** spec writes the example's spec with other fields of its models and its planner. */
async function spec(name: string, fields: string, planner = ''): Promise<string> {
  const models = ['detector', 'segmenter'].map(
    (model) => `  - { profile: ${model}.profile.json, ${fields} }\n`,
  );
  await writeFile(at(name), `kind: pooled\ncluster: cluster.yaml\nmodels:\n${models.join('')}${planner}`);
  return name;
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-printed-'));
  await cp(EXAMPLES, folder, { recursive: true });
  await writeFile(at('chain.onnx'), matmulChain(4, 16));
  await writeFile(at('times.csv'), '0\n0.5\n0.75\n2\n');
  await writeFile(at('counts.csv'), '1,3\n1,0\n1,4\n');
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** closed forbids every field that a schema does not name, so that nothing is printed that no schema knows. */
function closed(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(closed);
  if (typeof part !== 'object' || part === null) return part;
  const copy = Object.fromEntries(Object.entries(part).map(([key, value]) => [key, closed(value)]));
  return copy.type === 'object' && copy.properties !== undefined && copy.additionalProperties === undefined
    ? { ...copy, additionalProperties: false }
    : copy;
}

const ajv = new Ajv({ allowUnionTypes: true, strictTypes: false, strictRequired: false });
for (const kind of ARTIFACT_KINDS) ajv.addSchema(closed(JSON.parse(schemaText(kind))) as object);

interface Printed {
  readonly $schema: string;
  readonly kind: string;
  readonly version: string;
  readonly tool: { readonly name: string };
}

/** printed checks a document of a kind against its schema, and gives it. */
function printed<T>(kind: string, text: string): T & Printed {
  const value = JSON.parse(text) as T & Printed;
  const validate = ajv.getSchema(`urn:inferplan:schema:${kind}:1`) as ValidateFunction;
  expect(validate(value) ? [] : validate.errors).toEqual([]);
  expect(value).toMatchObject({
    kind,
    version: expect.stringMatching(/^1\.\d+$/),
    tool: { name: 'inferplan' },
  });
  expect(value.$schema).toBe(`urn:inferplan:schema:${kind}:1`);
  return value;
}

describe('an error', () => {
  it.each([
    ['a file that is not there', ['solve', 'none.yaml'], 7, 'missing'],
    ['a bad file', ['solve', 'times.csv'], 2, 'bad-input'],
    ['an option that does not exist', ['solve', '--bogus'], 2, 'bad-input'],
  ])('of %s is printed with its code, its exit code and its faults', async (_what, args, exitCode, code) => {
    const ran = await run(...args);
    expect(ran.code).toBe(exitCode);
    const { error } = printed<{ error: { message: string } }>('error', ran.stdout);
    expect(error).toMatchObject({ code, exitCode });
    expect(ran.stderr).toContain(error.message.split('\n')[0]);
  });
});

describe('a spec without a plan', () => {
  interface Answer {
    readonly status: string;
    readonly limit?: string;
    readonly reasons: readonly Record<string, unknown>[];
    readonly models: readonly Record<string, unknown>[];
  }

  inWholeRun(
    'whose SLO is too short is explained by model and class, with the figures of the sentences',
    async () => {
      const { code, stdout, stderr } = await run('solve', await spec('short.yaml', 'sloMs: 20'), '--explain');
      expect(code).toBe(3);
      const { status, reasons, models } = printed<Answer>('no-plan', stdout);
      expect(status).toBe('infeasible');
      const codes = reasons.map((reason) => reason.code);
      expect(codes).toContain('slo-too-short');
      expect(codes).toContain('class-too-slow');
      for (const { text, code: of, ...figures } of reasons) {
        expect(stderr).toContain(text);
        expect(figures.model).toMatch(/^(detector|segmenter)$/);
        const named = of === 'class-too-slow' ? [figures.latencyMs, figures.overMs] : [figures.leftMs];
        for (const ms of named as number[]) expect(text).toContain(`${ms.toFixed(3)} ms`);
      }
      expect(models).toMatchObject([
        {
          name: 'detector',
          sloMs: 20,
          smallestFeasibleSloMs: expect.any(Number),
          feasibleSloMs: expect.any(Number),
        },
        { name: 'segmenter', sloMs: 20 },
      ]);
    },
  );

  it('whose GPUs are too few is reported with those that are free and those that are missing', async () => {
    const dear = await spec('dear.yaml', 'sloMs: 200, rps: 100000', 'planner: { objective: cost }\n');
    await writeFile(at('cluster.yaml'), CLUSTER);
    const { code, stdout } = await run('solve', dear);
    expect(code).toBe(3);
    const [reason, ...others] = printed<Answer>('no-plan', stdout).reasons;
    expect(others).toEqual([]);
    expect(reason).toMatchObject({ code: 'too-few-gpus', available: { L4: 4, P4: 12 } });
    const { servedShare, missing } = reason as { servedShare: number; missing: Record<string, number> };
    expect(servedShare).toBeGreaterThan(0);
    expect(servedShare).toBeLessThan(0.1);
    expect(missing.L4).toBe(Math.ceil(4 / servedShare - 4));
    expect(missing.P4).toBe(Math.ceil(12 / servedShare - 12));
  });
});

const CLUSTER = `kind: cluster
devices:
  L4: { count: 4, perServer: 2, virtual: [1, 2], hourlyCost: 0.71 }
  P4: { count: 12, perServer: 2, virtual: [1, 2], hourlyCost: 0.35 }
networkGbps: 10
`;

describe('what a command prints with --json', () => {
  inWholeRun('is of its kind for plan devices', async () => {
    printed('devices', (await run('devices', 'cpu:1', 'cuda:7')).stdout);
  });

  it('is of its kind for plan validate, whether files are good or not', async () => {
    const { stdout } = await run('validate', 'spec.yaml', 'none.json', 'times.csv');
    const { files } = printed<{ files: { ok: boolean }[] }>('validation', stdout);
    expect(files.map(({ ok }) => ok)).toEqual([true, false, false]);
  });

  it('is of its kind for plan diff, also between objectives', async () => {
    const text = await readFile(at('expected-plan.json'), 'utf8');
    await writeFile(at('other.json'), text.replace('"kind": "throughput"', '"kind": "cost"'));
    const same = printed<{ same: boolean }>(
      'plan-diff',
      (await run('diff', 'expected-plan.json', 'expected-plan.json')).stdout,
    );
    expect(same.same).toBe(true);
    const other = printed('plan-diff', (await run('diff', 'other.json', 'expected-plan.json')).stdout);
    expect(other).toMatchObject({ objective: { kind: 'throughput', kindBefore: 'cost' } });
  });

  inWholeRun(
    'is of its kind for plan compare, with rows without a plan, and plan validate takes it',
    async () => {
      const mixes = ['--mix', 'L4=2,P4=4', '--mix', 'L4=1', '--sweep', 'slo=0.5x..4x:2'];
      const ran = await run('compare', 'spec.yaml', ...mixes);
      const { rows } = printed<{ rows: { status: string }[] }>('comparison', ran.stdout);
      expect(new Set(rows.map(({ status }) => status))).toContain('infeasible');
      await writeFile(at('comparison.json'), ran.stdout);
      expect((await plan(['validate', at('comparison.json')])).stdout).toContain('comparison of 4 cases');
    },
  );

  inWholeRun(
    'is of its kind for plan simulate --schedulers, with choices and windows, and without requests',
    async () => {
      // Away from its spec, the plan is not solved again.
      await mkdir(at('alone'));
      await copyFile(at('expected-plan.json'), at('alone/plan.json'));
      const schedulers = whole('reservation,stage-local,pard,triton', 'all');
      const few = ['simulate', 'alone/plan.json', '--schedulers', schedulers, '--windows', '1s'];
      const { rows } = printed<{ rows: object[] }>(
        'scheduler-comparison',
        (await run(...few, '--duration', whole('1s', '2s'), '--runs', '2', '--policy', 'slackNs=1000'))
          .stdout,
      );
      expect(rows.length).toBeGreaterThan(3);
      printed('scheduler-comparison', (await run(...few, '--duration', '0.001ms')).stdout);
    },
  );

  it('is of its kind for plan trace, for arrivals and for counts', async () => {
    printed('trace-description', (await run('trace', 'describe', 'times.csv', 'counts.csv')).stdout);
    printed('trace-description', (await run('trace', 'describe', 'times.csv', 'm=times.csv')).stdout);
    const made = ['trace', 'rescale', 'times.csv', '--rps', '8', '--duration', '2s', '-o', at('made.csv')];
    printed('trace-description', (await run(...made)).stdout);
  });

  inWholeRun('is of its kind for plan partition, with the chain of its blocks', async () => {
    const { code, stdout } = await run('partition', 'chain.onnx', '--blocks', '2', '--extract', at('parts'));
    expect(code).toBe(0);
    const { extracted } = printed<{ extracted: { files: string[] } }>('partition-report', stdout);
    expect(extracted.files).toHaveLength(2);
  });

  inWholeRun('is of its kind for plan profile, plan deploy, plan serve and plan load', async () => {
    const few = ['--batch', '1,2', '--min-ms', '1', '--max-ms', '5', '-o', 'chain.profile.json'];
    printed('profile', (await run('profile', 'chain.onnx', ...few)).stdout);
    const devices = 'cluster: { devices: { "cpu:1": { count: 1 } }, networkGbps: 10 }';
    await writeFile(
      at('one.yaml'),
      `kind: pooled\n${devices}\nmodels: [{ profile: chain.profile.json, sloMs: 1000 }]\n`,
    );
    expect((await plan(['solve', 'one.yaml', '-o', 'one.json'], { cwd: folder })).code).toBe(0);
    printed('bundle', (await run('deploy', 'one.json', '-o', 'bundle')).stdout);
    const server = spawn(process.execPath, [PLAN_PROGRAM, 'serve', 'bundle', '--port', '0', '--json'], {
      cwd: folder,
    });
    try {
      let said = '';
      server.stdout.on('data', (chunk: Buffer) => {
        said += chunk.toString('utf8');
      });
      while (!said.endsWith('}\n')) await once(server.stdout, 'data');
      const { url } = printed<{ url: string }>('server', said);
      const load = ['load', url, '--rps', '20', '--duration', '0.5s', '-o', 'load.json'];
      const { sent } = printed<{ sent: number }>('load-report', (await run(...load)).stdout);
      expect(sent).toBeGreaterThan(0);
      printed('load-report', await readFile(at('load.json'), 'utf8'));
      const corrected = ['--correct', 'corrected.profile.json'];
      const verified = await run('verify', 'load.json', '--plan', 'one.json', ...corrected);
      expect(verified.code).toBe(0);
      expect(printed<{ requests: number }>('verification', verified.stdout).requests).toBe(sent);
      printed('profile', await readFile(at('corrected.profile.json'), 'utf8'));
      const strict = () => run('verify', 'load.json', '--plan', 'one.json', '--strict');
      expect(JSON.parse((await strict()).stdout)).toMatchObject({ checks: [{ what: 'inputs', held: true }] });
      await rename(at('one.yaml'), at('elsewhere.yaml'));
      expect((await strict()).code).toBe(7);
      await rename(at('elsewhere.yaml'), at('one.yaml'));
      await writeFile(
        at('two.yaml'),
        (await readFile(at('one.yaml'), 'utf8')).replace('chain.', 'corrected.'),
      );
      expect((await plan(['solve', 'two.yaml'], { cwd: folder })).code).toBe(0);
      const report = JSON.parse(await readFile(at('load.json'), 'utf8')) as LoadDocument;
      const within = async (change: object) => {
        await writeFile(at('apart.json'), JSON.stringify({ ...report, ...change }));
        return (await run('verify', 'apart.json', '--plan', 'one.json', '--within', '5%')).code;
      };
      // Every answer was late.
      const { answered, dropped, failed } = report;
      const dropRate = (answered + dropped) / (answered + dropped + failed);
      const overall = { attainment: 0 };
      const late = { inTime: 0, late: answered, attainment: 0, overall, dropRate, goodputRps: 0 };
      expect(await within({ ...late, latencyMs: undefined, latencyHistogram: undefined })).toBe(6);
      expect(await within({ attainment: 0.2 })).toBe(2);
    } finally {
      server.kill('SIGINT');
      await once(server, 'close');
    }
  });
});
