import promises, { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { diffPlanFiles, validateFiles } from '../../../src/api/index.js';
import type { PipelinePlan, PipelineSpec } from '../../../src/formats/index.js';
import { InputError, MissingError } from '../../../src/formats/index.js';
import { solveSpec } from '../../../src/specs/index.js';
import { inWholeRun } from '../../cases.js';
import { plan } from '../../cli/plan.js';

const EXAMPLE = new URL('../../../examples/pipeline', import.meta.url).pathname;

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-pipeline-'));
  await cp(EXAMPLE, folder, { recursive: true });
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const at = (name: string): string => join(folder, name);

async function changeSpec(change: (spec: PipelineSpec) => void): Promise<void> {
  const spec = parse(await readFile(at('spec.yaml'), 'utf8')) as PipelineSpec;
  change(spec);
  await writeFile(at('spec.yaml'), stringify(spec));
}

async function savedPlan(name = 'plan.json'): Promise<PipelinePlan> {
  await solveSpec(at('spec.yaml'), { output: at(name) });
  return JSON.parse(await readFile(at(name), 'utf8')) as PipelinePlan;
}

async function faultsOf(work: Promise<unknown>): Promise<string[]> {
  const error = await work.catch((thrown: unknown) => thrown);
  if (!(error instanceof InputError)) throw new Error(`no InputError: ${String(error)}`);
  return error.faults.map(({ path, message }) => `${path}: ${message}`);
}

describe('solveSpec() of a pipeline', () => {
  it('reads each file once, so that a plan is of one state of its spec', async () => {
    // The modules that it needs are read by the first run.
    await solveSpec(at('spec.yaml'));
    const { open: original } = promises;
    const read: string[] = [];
    promises.open = ((path: string, ...more: []) => {
      read.push(basename(path));
      return original(path, ...more);
    }) as typeof original;
    syncBuiltinESMExports();
    try {
      await solveSpec(at('spec.yaml'));
    } finally {
      promises.open = original;
      syncBuiltinESMExports();
    }
    const profiles = ['detect', 'scene', 'plate', 'face', 'match'].map((name) => `${name}.profile.json`);
    expect(read.sort()).toEqual(['cluster.yaml', 'spec.yaml', ...profiles].sort());
  });

  it('writes the plan, which names its files and is confirmed, and gives the same bytes again', async () => {
    const made = await savedPlan();
    expect(made.inputs?.map(({ role, path }) => `${role} ${path}`)).toEqual([
      'spec spec.yaml',
      'cluster cluster.yaml',
      ...['detect', 'scene', 'plate', 'face', 'match'].map((name) => `profile ${name}.profile.json`),
    ]);
    await savedPlan('again.json');
    expect(await readFile(at('again.json'), 'utf8')).toBe(await readFile(at('plan.json'), 'utf8'));
    expect(await validateFiles([at('plan.json'), at('spec.yaml')])).toMatchObject([
      {
        ok: true,
        what: 'pipeline plan of detect, scene, plate, face, match; recomputed from its spec and profiles',
      },
      { ok: true, what: 'pipeline spec of 5 stages' },
    ]);
  });

  it('takes the mean rate of a trace, and names the trace relative to the plan', async () => {
    await writeFile(at('sample.csv'), 'interval_s,count\n1,100\n3,700\n');
    await changeSpec((spec) => {
      spec.load = { trace: 'sample.csv' };
    });
    const { plan: made } = (await solveSpec(at('spec.yaml'), { output: at('plan.json') })) as {
      plan: PipelinePlan;
    };
    expect(made).toMatchObject({ rps: 200, load: { trace: 'sample.csv' } });
    expect(made.inputs?.map(({ role }) => role)).toContain('trace');
    expect(await validateFiles([at('plan.json')])).toMatchObject([{ ok: true }]);
    await writeFile(at('sample.csv'), 'arrival_s\n3\n3\n');
    expect(await faultsOf(solveSpec(at('spec.yaml')))).toEqual([
      expect.stringMatching(/has no rate: all of its requests come at one instant$/),
    ]);
  });

  it('reports the faults of the spec together with files that cannot be read', async () => {
    await rm(at('face.profile.json'));
    expect(await solveSpec(at('spec.yaml')).catch((error: unknown) => error)).toBeInstanceOf(MissingError);
    await changeSpec((spec) => {
      spec.stages[0]!.next = ['plate', 'nowhere'];
      spec.serving = { scheduler: 'nobody' };
    });
    const told = (await faultsOf(solveSpec(at('spec.yaml')))).join('\n');
    expect(told).toMatch(/face\.profile\.json: there is no such file/);
    expect(told).toContain('/stages/0/next/1: leads to nowhere, and there is no such stage');
    expect(told).toMatch(/\/serving\/scheduler: .*nobody/);
  });

  it('refuses options that are for pooled specs, and an output that is one of its files', async () => {
    expect(await faultsOf(solveSpec(at('spec.yaml'), { explain: true, gap: 0.1 }))).toEqual([
      '`gap`: is for plans that are searched, and this spec fixes its own',
      '`explain`: is for plans that are searched, and this spec fixes its own',
    ]);
    expect(await faultsOf(solveSpec(at('spec.yaml'), { output: at('face.profile.json') }))).toEqual([
      expect.stringContaining('a profile of the spec'),
    ]);
  });
});

describe('plan solve, validate and diff of a pipeline', () => {
  it('end with 3 and coded reasons where what is given is no plan', async () => {
    await changeSpec((spec) => {
      spec.sloMs = 20;
      spec.load = { arrivals: 'gamma', rps: 880, cv: 2 };
    });
    const { code, stdout, stderr } = await plan(['solve', at('spec.yaml'), '--json']);
    expect(code).toBe(3);
    expect(stderr).toContain('the longest path, detect -> face -> match, takes 34.38 ms');
    expect(JSON.parse(stdout)).toMatchObject({
      kind: 'no-plan',
      status: 'infeasible',
      reasons: [
        { code: 'slo-too-short', sloMs: 20 },
        { code: 'rate-too-high', stages: ['detect'], rps: 880 },
      ],
      models: [{ name: 'street', sloMs: 20 }],
    });
    await writeFile(at('no-plan.json'), stdout);
    expect(await validateFiles([at('no-plan.json')])).toMatchObject([{ ok: true }]);
  });

  it('show the plan, and end with 2 for a spec that cannot be planned', async () => {
    const { code, stdout } = await plan(['solve', at('spec.yaml')]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^at most 858 requests\/s \(the load has 600\)/);
    expect(stdout).toMatch(/^plate +5 × T4 with face, match +0 +4 +9\.70 +0\.300/m);
    await changeSpec((spec) => {
      spec.planner = { method: 'inferline' };
    });
    expect((await plan(['solve', at('spec.yaml')])).code).toBe(2);
  });

  inWholeRun('find a figure that was edited, and an input that has changed', async () => {
    const made = await savedPlan();
    made.stages[2]!.scaleFactor = 0.5;
    await writeFile(at('edited.json'), JSON.stringify(made));
    expect(await validateFiles([at('edited.json')])).toMatchObject([
      {
        ok: false,
        faults: expect.arrayContaining([
          expect.objectContaining({
            path: '/stages/2/scaleFactor',
            message: 'is 0.5; the probabilities of its edges give 0.3',
          }),
        ]),
      },
    ]);
    await writeFile(at('cluster.yaml'), `${await readFile(at('cluster.yaml'), 'utf8')}# changed\n`);
    await savedPlan('other.json');
    expect(await validateFiles([at('plan.json')])).toMatchObject([
      { ok: false, faults: [{ path: 'cluster.yaml', message: expect.stringMatching(/^has changed/) }] },
    ]);
    made.inputs = [];
    made.placement.pop();
    await writeFile(at('edited.json'), JSON.stringify(made));
    expect(await validateFiles([at('edited.json')])).toMatchObject([
      { ok: false, faults: [{ path: '/stages/0', message: 'has 1 standby devices, but 0 are placed' }] },
    ]);
  });

  it('compare two plans stage by stage, and refuse plans of two kinds', async () => {
    await savedPlan('before.json');
    await changeSpec((spec) => {
      spec.stages[1]!.replicas = 5;
    });
    await savedPlan('after.json');
    expect(await diffPlanFiles(at('before.json'), at('after.json'))).toMatchObject({
      same: false,
      stages: [{ name: 'scene', replicas: { before: 4, after: 5 } }],
      classes: [{ name: 'T4', used: { before: 9, after: 10 } }],
    });
    const shown = await plan(['diff', at('before.json'), at('after.json'), '--check']);
    expect(shown.code).toBe(6);
    expect(shown.stdout).toMatch(/^scene +replicas +4 → 5$/m);
    const json = await plan(['diff', at('before.json'), at('after.json'), '--json']);
    await writeFile(at('diff.json'), json.stdout);
    expect(await validateFiles([at('diff.json')])).toMatchObject([{ ok: true }]);
    const pooled = new URL('../../../examples/pooled/expected-plan.json', import.meta.url).pathname;
    await expect(diffPlanFiles(at('before.json'), pooled)).rejects.toThrow(
      'they are of two kinds: pipeline-plan and pooled-plan',
    );
  });
});
