import { spawnSync } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { writeMaterial } from '../../bench/fuzz/material.js';
import {
  BUNDLE_MANIFEST,
  type Bundle,
  type GearPlan,
  type PooledPlan,
  sha256Of,
} from '../../src/formats/index.js';
import { writeFamily } from '../cascade-specs.js';
import { fewOf, inWholeRun, WHOLE, whole } from '../cases.js';
import { PLAN_PROGRAM, plan } from '../cli/plan.js';
import { gearPlan } from '../gear-plans.js';
import { withLeaf } from '../leaves.js';

let made: string;
let root: string;
let folder: string;

beforeAll(async () => {
  made = await mkdtemp(join(tmpdir(), 'inferplan-made-'));
  await writeMaterial(join(made, 'material'));
});
afterAll(() => rm(made, { recursive: true, force: true }));
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'inferplan-confirm-'));
  folder = join(root, 'material');
  await cp(join(made, 'material'), folder, { recursive: true, preserveTimestamps: true });
});
afterEach(() => rm(root, { recursive: true, force: true }));

const validated = () => plan(['validate', 'plan.json'], { cwd: folder });
const deployed = () => plan(['deploy', 'plan.json', '-o', 'other'], { cwd: folder });

it('plan deploy refuses a plan that plan validate refuses, with the same words', async () => {
  const path = join(folder, 'plan.json');
  const text = await readFile(path, 'utf8');
  const changed = JSON.parse(text) as PooledPlan;
  changed.classes.fast!.count = 256;
  await writeFile(path, JSON.stringify(changed));
  for (const ran of [await validated(), await deployed()]) {
    expect(ran.code).toBe(2);
    expect(ran.stderr).toContain('/classes/fast/count: is 256; 1 are free');
  }
  await writeFile(path, text);
  expect((await deployed()).code).toBe(0);
});

const ASKED: [string, (plan: PooledPlan) => void, string][] = [
  [
    'another scheduler than its spec gives',
    (changed) => Object.assign(changed.serving!, { scheduler: 'fifo' }),
    '/serving/scheduler: is "fifo"; its spec gives "room-first"',
  ],
  [
    'what was not asked of the planner',
    (changed) => Object.assign(changed.planner, { maxPartitions: 4 }),
    '/planner/maxPartitions: is 4; its spec gives',
  ],
  [
    'a rate that is held by no simulation',
    ({ models: [model] }) => Object.assign(model!, { heldRps: 1 }),
    '/models/0/heldRps: is promised, and the plan does not say how it was found (hold)',
  ],
  [
    'another SLO',
    ({ models: [model] }) => Object.assign(model!, { sloMs: 2 * model!.sloMs }),
    '/models/0/sloMs: is ',
  ],
  [
    'fewer inputs than it was made from',
    (changed) => {
      changed.inputs = changed.inputs!.filter(({ role }) => role !== 'profile');
    },
    'the profile that it was made from',
  ],
];

it.each(ASKED)('plan validate and plan simulate refuse a plan with %s', async (_, change, words) => {
  const path = join(folder, 'plan.json');
  const changed = JSON.parse(await readFile(path, 'utf8')) as PooledPlan;
  change(changed);
  await writeFile(path, JSON.stringify(changed));
  const simulated = await plan(['simulate', 'plan.json', '--duration', '1s'], { cwd: folder });
  for (const ran of [await validated(), simulated]) {
    expect(ran.stderr).toContain(words);
    expect(ran.code).toBe(2);
  }
});

it('plan simulate runs a plan whose inputs have changed or are gone, as it needs none', async () => {
  await rm(join(folder, 'spec.yaml'));
  const ran = await plan(['simulate', 'plan.json', '--duration', '1s'], { cwd: folder });
  expect(ran).toMatchObject({ code: 0 });
});

it('plan diff --check exits with 6 where plans are only served otherwise', async () => {
  const text = await readFile(join(folder, 'plan.json'), 'utf8');
  const changed = JSON.parse(text) as PooledPlan;
  changed.serving = { scheduler: 'reservation' };
  await writeFile(join(folder, 'other.json'), JSON.stringify(changed));
  const diff = (other: string) => plan(['diff', 'plan.json', other, '--check', '--json'], { cwd: folder });
  const ran = await diff('other.json');
  expect(ran.code).toBe(6);
  expect(JSON.parse(ran.stdout)).toMatchObject({
    same: false,
    fields: [{ path: '/serving/scheduler', before: '"room-first"', after: '"reservation"' }],
  });
  expect(await diff('plan.json')).toMatchObject({ code: 0 });
});

/** edited writes a changed plan that names its profiles but no spec, so that its figures cannot be recomputed. */
async function edited(change: (plan: PooledPlan) => void): Promise<void> {
  const changed = JSON.parse(await readFile(join(folder, 'plan.json'), 'utf8')) as PooledPlan;
  changed.inputs = (changed.inputs ?? []).filter(({ role }) => role !== 'spec');
  change(changed);
  await writeFile(join(folder, 'plan.json'), JSON.stringify(changed));
}

/** bundled puts the plan into the bundle as if it had been deployed. */
async function bundled(): Promise<void> {
  const path = join(folder, 'bundle', BUNDLE_MANIFEST);
  const manifest = JSON.parse(await readFile(path, 'utf8')) as Bundle;
  const bytes = await readFile(join(folder, 'plan.json'));
  await writeFile(join(folder, 'bundle', manifest.plan.path), bytes);
  await writeFile(path, JSON.stringify({ ...manifest, plan: { ...manifest.plan, sha256: sha256Of(bytes) } }));
}

const CONTRADICTIONS: [string, (plan: PooledPlan) => void, RegExp][] = [
  [
    'a latency beyond the SLO',
    ({ models: [model] }) => Object.assign(model!, { sloMs: 0.001 }),
    /\/models\/0\/pipelines\/0: takes [\d.]+ ms; the SLO is 0.001 ms/,
  ],
  [
    'a load that its pipelines do not serve',
    ({ models: [model] }) => Object.assign(model!, { throughputRps: 1e12 }),
    /\/models\/0: dense has 1000000000000 requests\/s, its pipelines together/,
  ],
  [
    'a rate that its devices do not reach',
    ({ models: [model] }) => Object.assign(model!.pipelines[0]!.partitions[0]!, { throughputRps: 1e12 }),
    /partitions\/0: has 1000000000000 requests\/s; \d+ virtual GPUs do/,
  ],
  [
    'virtual GPUs that are not placed',
    ({ models: [model] }) => Object.assign(model!.pipelines[0]!.partitions[0]!, { virtualGpus: 77 }),
    /has 77 virtual GPUs, but \d+ are placed/,
  ],
];

it.each(CONTRADICTIONS)(
  'plan validate, plan deploy and plan serve all refuse %s, where nothing can be recomputed',
  async (_what, change, why) => {
    await edited(change);
    await bundled();
    const served = () => plan(['serve', 'bundle', '--port', '0'], { cwd: folder });
    for (const run of [validated, deployed, served]) {
      const { code, stderr } = await run();
      expect(code).toBe(2);
      expect(stderr).toMatch(why);
    }
  },
);

it('plan deploy refuses more virtual GPUs than are served', async () => {
  await edited(({ models, placement }) => {
    const part = models[0]!.pipelines[0]!.partitions[0]!;
    const first = placement.findIndex(({ model, pipeline, partition }) => !(model || pipeline || partition));
    placement[first]!.count = 1_000_001;
    part.virtualGpus = 1_000_001;
  });
  const { code, stderr } = await deployed();
  expect(code).toBe(2);
  expect(stderr).toContain('at most 1000000 can be simulated or served');
});

it('plan validate and plan deploy say why an input of a plan cannot be read', async () => {
  await rename(join(folder, 'spec.yaml'), join(folder, 'old.yaml'));
  for (const ran of [await validated(), await deployed()]) {
    expect(ran.code).toBe(7);
    expect(ran.stderr).toContain('spec.yaml: there is no such file');
  }
  const { symlink } = await import('node:fs/promises');
  await symlink('spec.yaml', join(folder, 'spec.yaml'));
  for (const ran of [await validated(), await deployed()]) {
    expect(ran.code).toBe(2);
    expect(ran.stderr).toContain('spec.yaml: it is a symbolic link that leads back to itself');
  }
});

/** What is edited of a gear plan, and what plan validate and plan simulate say of it. */
const EDITED: [string, unknown, RegExp][] = [
  ['/gears/0/accuracy', 1, /\/gears\/0\/accuracyInterval\/low: is 0\.\d+; 1 of 150 samples give 0\.\d+/],
  [
    '/gears/0/cascade/0/minQueue',
    4,
    /\/gears\/0\/cascade\/0\/minQueue: is 4; its spec, profiles and records give 1/,
  ],
  [
    '/stages/0/latencyUsByBatch/0',
    1,
    /\/stages\/0\/latencyUsByBatch\/0: is 1; its (spec, profiles and records give|profile \S+ gives) 800/,
  ],
  [
    '/stages/0/weightBytes',
    5,
    /\/stages\/0\/weightBytes: is 5; its (spec, profiles and records give|profile \S+ gives) 1000000/,
  ],
  ['/stages/0/transferBytes', 7, /\/stages\/0\/transferBytes: is 7; its inputs give 0/],
  [
    '/stages/0/accuracy',
    0.5,
    /\/stages\/0\/accuracyInterval\/low: is 0\.\d+; 0\.5 of 150 samples give 0\.\d+/,
  ],
  ['/cluster/devices/V100/count', 4, /\/classes\/V100\/count: is 2; the cluster has 4/],
  ['/certainty', 'entropy', /\/certainty: is "entropy"; its spec gives "top-2"/],
  ['/slo/latencyMs', 70, /\/s\w+(\/latencyMs)?: is (70; its spec gives 60|60; slo.latencyMs is 70)/],
];

inWholeRun(
  'plan validate and plan simulate confirm gear plans as they are, with and without limited work, and refuse each edited field',
  async () => {
    const spec = await writeFamily(
      folder,
      whole({ load: { maxRps: 400, ranges: 1 }, planner: { method: 'dynba' } }, {}),
    );
    const at = join(folder, 'gears.json');
    const ran = (command: string[]) => plan(command, { cwd: folder });
    const simulated = () => ran(['simulate', 'gears.json', '--rps', '20', '--duration', '1s']);
    for (const work of whole([[]], [['--work', '3'], []])) {
      await ran(['solve', spec, '-o', at, ...work]);
      const made = JSON.parse(await readFile(at, 'utf8')) as GearPlan;
      expect(made.work).toBe(work.length > 0 ? 3 : undefined);
      expect(await ran(['validate', 'gears.json'])).toMatchObject({
        code: 0,
        stdout: expect.stringContaining('recomputed from its spec and profiles'),
      });
      expect(await simulated()).toMatchObject({ code: 0 });
    }
    const made = JSON.parse(await readFile(at, 'utf8')) as GearPlan;
    for (const [path, value, words] of fewOf(EDITED, 1)) {
      await writeFile(at, JSON.stringify(withLeaf(made, path, value)));
      for (const { code, stderr } of [await ran(['validate', 'gears.json']), await simulated()]) {
        expect(stderr, path).toMatch(words);
        expect(code, path).toBe(2);
      }
    }
    if (!WHOLE) return;
    // Only the runs of the promise say how long requests take.
    await writeFile(at, JSON.stringify(withLeaf(made, '/gears/0/p95Ms', 1)));
    expect((await ran(['validate', 'gears.json'])).stderr).toContain('/gears/0/p95Ms: is 1; its spec');
    // Only the search knows how near the plan is to the best one.
    const { value, bound, gap } = made.objective;
    // Plans of today and of older versions say the gap of an accuracy by the value and by the bound.
    for (const told of [1 / value - 1, 1 - value]) {
      const objective = { ...made.objective, bound: 1, gap: told };
      await writeFile(at, JSON.stringify({ ...made, objective, status: 'feasible' }));
      expect((await ran(['validate', 'gears.json'])).stderr).toContain(
        `/objective/bound: is 1; its spec, profiles and records give ${bound}`,
      );
      expect(await simulated()).toMatchObject({ code: 0 });
    }
    // A bound that was edited alone contradicts the gap, which is told without a search.
    await writeFile(at, JSON.stringify({ ...made, objective: { ...made.objective, bound: 1 } }));
    for (const { code, stderr } of [await ran(['validate', 'gears.json']), await simulated()]) {
      expect(stderr).toContain(`/objective/bound: is 1; value and gap give ${value * (1 + (gap ?? 0))}`);
      expect(code).toBe(2);
    }
    await writeFile(at, JSON.stringify({ ...made, reproducible: false }));
    expect((await ran(['validate', 'gears.json'])).stdout).toContain('its search was interrupted');
  },
  300_000,
);

inWholeRun(
  'plan validate repeats the search for a gear plan with the work that it had, which gives another plan than more work',
  async () => {
    const slo = { accuracy: 0.9 };
    const spec = await writeFamily(folder, { slo, planner: { method: 'gears', thresholds: 6 } });
    const ran = (command: string[]) => plan(command, { cwd: folder });
    const valueIn = async (file: string): Promise<number> =>
      (JSON.parse(await readFile(join(folder, file), 'utf8')) as GearPlan).objective.value;
    await ran(['solve', spec, '-o', 'limited.json', '--work', '3']);
    await ran(['solve', spec, '-o', 'whole.json']);
    expect(await valueIn('limited.json')).not.toBe(await valueIn('whole.json'));
    for (const file of ['limited.json', 'whole.json']) {
      expect(await ran(['validate', file])).toMatchObject({ code: 0 });
      expect(await ran(['simulate', file, '--rps', '20', '--duration', '1s'])).toMatchObject({ code: 0 });
    }
    const { work: _, ...forgotten } = JSON.parse(
      await readFile(join(folder, 'limited.json'), 'utf8'),
    ) as GearPlan;
    await writeFile(join(folder, 'forgotten.json'), JSON.stringify(forgotten));
    const { code, stderr } = await ran(['validate', 'forgotten.json']);
    expect(stderr).toContain('/objective/value: is ');
    expect(code).toBe(2);
  },
  300_000,
);

describe('what a plan is not checked against', () => {
  interface Told {
    readonly checked?: readonly string[];
    readonly unchecked?: readonly string[];
  }
  const ran = (...args: string[]) => plan(args, { cwd: folder });
  const SHORT = ['--duration', '0.2s'];
  const told = async (...args: string[]): Promise<Told> => {
    const { code, stdout, stderr } = await ran(...args, '--json');
    expect(code, stderr).toBe(0);
    const { checked, unchecked } = JSON.parse(stdout) as Told;
    return { ...(checked && { checked }), ...(unchecked && { unchecked }) };
  };
  const SIMULATED = [
    ['simulate', 'plan.json', ...SHORT],
    ['simulate', 'plan.json', ...SHORT, '--sweep', 'load=0.5..1:2'],
    ['simulate', 'plan.json', ...SHORT, '--schedulers', 'fifo'],
  ];

  inWholeRun(
    'is nothing where all that it was made from is there, and a sentence and a list else, in every kind of simulation',
    async () => {
      const all = ['spec', 'cluster', 'profiles'];
      for (const command of SIMULATED) {
        expect(await told(...command)).toEqual({ checked: all });
      }
      for (const command of fewOf(SIMULATED, 1)) {
        expect((await ran(...command, '--strict')).code).toBe(0);
        expect((await ran(...command)).stderr).not.toContain('not checked');
      }
      await rename(join(folder, 'spec.yaml'), join(folder, 'old.yaml'));
      for (const command of SIMULATED)
        expect(await told(...command)).toEqual({ checked: ['cluster', 'profiles'], unchecked: ['spec'] });
      for (const command of fewOf(SIMULATED, 1)) {
        expect((await ran(...command)).stderr).toContain('the plan is not checked against its spec: ');
        const strict = await ran(...command, '--strict');
        expect(strict.code).toBe(7);
        expect(strict.stderr).toContain('--strict, as it is not checked against its spec');
        expect(strict.stderr).toContain('spec.yaml: there is no such file');
      }
      await mkdir(join(folder, 'spec.yaml'));
      const unreadable = await ran('simulate', 'plan.json', '--strict');
      expect([unreadable.code, unreadable.stderr]).toEqual([
        2,
        expect.stringContaining('spec.yaml: it is a folder'),
      ]);
      await rm(join(folder, 'spec.yaml'), { recursive: true });
      await writeFile(join(folder, 'spec.yaml'), 'kind: other');
      const stale = await ran('simulate', 'plan.json', '--strict', '--json');
      expect(stale.code).toBe(6);
      expect(JSON.parse(stale.stdout)).toMatchObject({
        kind: 'error',
        checks: [{ what: 'inputs', held: false }],
        error: { code: 'check-failed', exitCode: 6 },
      });
      const validated = await ran('validate', 'plan.json', '--json');
      expect(validated.code).toBe(6);
      expect(JSON.parse(validated.stdout)).toMatchObject({
        checks: [{ what: 'inputs', file: 'plan.json', held: false }],
        files: [{ ok: false, missing: false, checks: [{ what: 'inputs', held: false }] }],
      });
      // What has to be mended comes before a plan that is out of date.
      expect((await ran('validate', 'plan.json', 'spec.yaml')).code).toBe(2);
    },
  );

  it('is what a plan does not name, for plan validate, plan deploy and plan serve too', async () => {
    const made = JSON.parse(await readFile(join(folder, 'plan.json'), 'utf8')) as PooledPlan;
    const inputs = made.inputs!.filter(({ role }) => role === 'profile');
    await writeFile(join(folder, 'plan.json'), JSON.stringify({ ...made, inputs }));
    const open = { checked: ['profiles'], unchecked: ['spec'] };
    const { stdout } = await ran('validate', 'plan.json', '--json');
    expect(JSON.parse(stdout)).toMatchObject({ files: [{ ok: true, ...open }] });
    expect(await told('deploy', 'plan.json', '-o', 'other')).toEqual(open);
    for (const command of [
      ['validate', 'plan.json'],
      ['deploy', 'plan.json', '-o', 'other'],
      ['serve', 'other', '--port', '0'],
    ]) {
      const { code, stderr } = await ran(...command, '--strict');
      expect(stderr).toContain('plan.json: names no spec');
      expect(code).toBe(6);
    }
  });

  inWholeRun(
    'is the spec alone where it came on stdin: the cluster that the plan names is compared, and must be as it was',
    async () => {
      const cluster = join(folder, 'cluster.yaml');
      const text = await readFile(join(folder, 'spec.yaml'), 'utf8');
      spawnSync(process.execPath, [PLAN_PROGRAM, 'solve', '-', '-o', 'of-stdin.json'], {
        cwd: folder,
        input: text,
      });
      const kept = await readFile(cluster, 'utf8');
      const read = async (command: string) =>
        JSON.parse((await ran(command, 'of-stdin.json', '--json')).stdout);
      const open = { checked: ['cluster', 'profiles'], unchecked: ['spec'] };
      expect(await read('validate')).toMatchObject({ files: [{ ok: true, ...open }] });
      expect(await read('simulate')).toMatchObject(open);
      const made = JSON.parse(await readFile(join(folder, 'of-stdin.json'), 'utf8')) as PooledPlan;
      const edited = withLeaf(made, '/cluster/networkGbps', 77);
      await writeFile(join(folder, 'edited.json'), JSON.stringify(edited));
      for (const command of ['validate', 'simulate'])
        expect(await ran(command, 'edited.json')).toMatchObject({
          code: 2,
          stderr: expect.stringContaining('/cluster/networkGbps: is 77; its cluster gives'),
        });
      await writeFile(cluster, `${kept}\n# changed\n`);
      const changed = await ran('validate', 'of-stdin.json');
      expect([changed.code, changed.stderr]).toEqual([
        6,
        expect.stringMatching(
          /^error: Cannot check of-stdin\.json against its inputs: cluster\.yaml: has changed/,
        ),
      ]);
      expect(await read('simulate')).toMatchObject({ checked: ['profiles'], unchecked: ['spec', 'cluster'] });
      await rm(cluster);
      expect((await ran('validate', 'of-stdin.json')).code).toBe(7);
    },
  );

  it('is reported after a contradiction, which is refused with 2 before inputs are looked for', async () => {
    const made = JSON.parse(await readFile(join(folder, 'plan.json'), 'utf8')) as PooledPlan;
    const gpus = made.models[0]!.pipelines[0]!.partitions[0]!.gpus;
    const edited = withLeaf(made, '/models/0/pipelines/0/partitions/0/gpus', gpus + 1);
    const alone = join(root, 'alone');
    await mkdir(alone);
    for (const [of, code] of [
      [made, 7],
      [edited, 2],
    ] as const) {
      await writeFile(join(alone, 'plan.json'), JSON.stringify(of));
      for (const command of [
        ['validate', 'plan.json'],
        ['deploy', 'plan.json', '-o', 'bundle'],
        ['simulate', 'plan.json', '--strict'],
      ])
        expect((await plan(command, { cwd: alone })).code, command.join(' ')).toBe(code);
    }
  });

  it('is reported after a contradiction of a gear plan, whose records are looked for last', async () => {
    const alone = join(root, 'gears-alone');
    await mkdir(alone);
    const given = { latencyUs: [[1000], [4000]], held: [[0, 1]] };
    const steps = [{ model: 0, threshold: 0.5 }, { model: 1 }];
    const records = { role: 'records', path: 'records.csv', sha256: '0'.repeat(64) };
    const made = { ...gearPlan({ ...given, gears: [{ toRps: 10, steps }] }), inputs: [records] };
    const edited = withLeaf(made, '/gears/0/share', 2);
    for (const [of, code] of [
      [made, 7],
      [edited, 2],
    ] as const) {
      await writeFile(join(alone, 'plan.json'), JSON.stringify(of));
      const { code: ended, stderr } = await plan(['simulate', 'plan.json', '--rps', '5'], { cwd: alone });
      expect(ended, stderr).toBe(code);
      expect(stderr).toContain(code === 2 ? '/gears/0/share' : 'records.csv');
    }
  });
});
