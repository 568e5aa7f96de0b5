import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { diffPlanFiles, simulatePlan, validateFiles } from '../../src/api/index.js';
import type { Profile } from '../../src/formats/index.js';
import { compareSpec, describedSpec, solveSpec, usedSpec } from '../../src/specs/index.js';
import { inWholeRun, whole } from '../cases.js';

let folder: string;
const at = (file: string): string => join(folder, file);

const table = (us: number) => ({ 1: { 1: [us], 2: [1.5 * us], 4: [2 * us] } });
const device = (us: number) => ({ blockLatencyUs: table(us), blockLatencyP95Us: table(1.2 * us) });
const PROFILE = {
  kind: 'profile',
  version: '1.4',
  model: { name: 'tag' },
  blocks: [{ cutBytes: 0, weightBytes: 1000 }],
  devices: { L4: device(4000), T4: device(9000) },
} as unknown as Profile;

/** The specs of each kind, for a cluster. Each is served on spot GPUs, which are the cheapest. */
const SPECS: Readonly<Record<string, (cluster: string) => string>> = {
  pooled: (cluster) => `kind: pooled
cluster: ${cluster}
models: [{ profile: tag.json, sloMs: 40, rps: 300 }]
planner: { objective: cost, maxPartitions: 1 }
`,
  pipeline: (cluster) => `kind: pipeline
name: tags
cluster: ${cluster}
stages: [{ name: tag, profile: tag.json }]
sloMs: 40
load: { arrivals: poisson, rps: 300, duration: 2s }
planner: { method: inferline }
`,
  cascade: (cluster) => `kind: cascade
name: tags
cluster: ${cluster}
models: [{ name: tag, profile: tag.json }]
records: records.csv
slo: { latencyMs: 100, accuracy: 0.7 }
load: { maxRps: 300, ranges: 2 }
planner: { objective: cost }
`,
};
const KINDS = Object.keys(SPECS);
const CLUSTER = `kind: cluster
devices:
  L4: { count: 8, hourlyCost: 0.7 }
  spot: { as: L4, count: 8, hourlyCost: 0.2 }
`;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-aliases-'));
  await writeFile(at('tag.json'), JSON.stringify(PROFILE));
  const records = Array.from({ length: 20 }, (_, i) => `${i},tag,${i % 5 === 0 ? 0 : 1},1,0.${10 + i}`);
  await writeFile(at('records.csv'), `sample,model,prediction,label,certainty\n${records.join('\n')}\n`);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function written(kind: string, cluster: string, name = kind): Promise<string> {
  await writeFile(at(`${name}.cluster.yaml`), cluster);
  await writeFile(at(`${name}.yaml`), (SPECS[kind] as (cluster: string) => string)(`${name}.cluster.yaml`));
  return at(`${name}.yaml`);
}

async function refusal(promise: Promise<unknown>): Promise<{ path: string; message: string }[]> {
  return promise.then(
    () => [],
    (error: { faults: { path: string; message: string }[] }) =>
      error.faults.map(({ path, message }) => ({ path, message })),
  );
}

/** Gears take seconds to be planned, and are left to the whole run. */
const PLANNED = whole(['pooled', 'pipeline'], KINDS);

describe.each(PLANNED)('a class of a %s spec that is an alias', (kind) => {
  it('is planned with the figures of its class at its own price, and is validated, simulated and shown by diff', async () => {
    const plan = at(`${kind}.plan.json`);
    const solved = await solveSpec(await written(kind, CLUSTER), { output: plan });
    if (!('plan' in solved && 'classes' in solved.plan)) throw new Error(JSON.stringify(solved));
    const used = Object.entries(solved.plan.classes).filter(([, one]) => one.used > 0);
    expect(used.map(([name]) => name)).toEqual(['spot']);
    expect(await validateFiles([plan])).toMatchObject([
      { ok: true, checks: [{ what: 'inputs', held: true }] },
    ]);
    const { report } = await simulatePlan(plan, { duration: 1, jitter: 'profile' });
    expect(report.overall.arrived).toBeGreaterThan(100);
    expect(report.unchecked).toBeUndefined();
    const text = await readFile(plan, 'utf8');
    for (const [what, edited] of [
      ['dropped', text.replace(/"as": ?"L4",? ?/, '')],
      ['another', text.replace(/"as": ?"L4"/, '"as": "T4"')],
      ['none', text.replace(/"as": ?"L4"/, '"as": "K80"')],
      ['itself', text.replace(/"as": ?"L4"/, '"as": "spot"')],
    ] as const) {
      expect(edited).not.toBe(text);
      await writeFile(at('edited.json'), edited);
      expect([what, (await validateFiles([at('edited.json')]))[0]?.ok]).toEqual([what, false]);
    }
    await writeFile(at('edited.json'), text.replace(/"as": ?"L4"/, '"as": "T4"'));
    expect(JSON.stringify(await validateFiles([at('edited.json')]))).toMatch(
      /"\/cluster\/devices\/spot\/as","message":"is \W*T4\W*; its spec[^;]* give \W*L4/,
    );
    const changes = await diffPlanFiles(plan, at('edited.json'));
    expect(JSON.stringify(changes)).toMatch(/"path":"\/cluster\/devices\/spot\/as"/);
    // Without its spec, the plan is compared with its profiles alone, in which the class that it names is slower.
    await rm(at(`${kind}.yaml`));
    expect(JSON.stringify(await refusal(simulatePlan(at('edited.json'), { duration: 0.1 })))).toMatch(
      /latencyUs/,
    );
    expect((await simulatePlan(plan, { duration: 0.1 })).report.checked).toContain('profiles');
  });

  it('may be the only class, of one that the cluster lacks', async () => {
    const spec = await written(kind, 'devices: { spot: { as: L4, count: 8, hourlyCost: 0.2 } }', 'only');
    expect(await solveSpec(spec)).toHaveProperty('plan');
  });

  it('is refused where a profile has figures of it itself', async () => {
    const cluster = 'devices: { T4: { as: L4, count: 8, hourlyCost: 0.2 } }';
    const spec = await written(kind, cluster, 'own');
    const own = {
      path: '/cluster/devices/T4/as',
      message: `is L4, and ${relative(process.cwd(), at('tag.json'))} has figures of T4 itself: leave out "as" to plan with those, or give the class another name`,
    };
    expect(await refusal(solveSpec(spec))).toEqual([own]);
    expect(await validateFiles([spec])).toMatchObject([{ ok: false, faults: [own] }]);
  });

  inWholeRun('is told of in a note where no profile has its class', async () => {
    const cluster = CLUSTER.replace('as: L4', 'as: l4');
    const spec = await written(kind, cluster, 'mistyped');
    const solved = await solveSpec(spec);
    if (!('plan' in solved && 'classes' in solved.plan)) throw new Error(JSON.stringify(solved));
    const note = {
      pooled: 'tag cannot use spot (as l4): only L4, T4 are profiled',
      pipeline: 'tag cannot use spot (as l4): its profile has no such device',
      cascade: 'spot (as l4) is left out: tag were not profiled on it',
    }[kind];
    expect(solved.plan.notes).toContain(note);
    expect(await validateFiles([spec])).toMatchObject([
      { ok: true, what: expect.stringContaining(`; ${note}`) },
    ]);
    const { document } = await compareSpec(
      spec,
      kind === 'pipeline' ? { mixes: ['L4=2,spot=2'] } : { budget: 3 },
    );
    expect(document.notes).toContain(note);
  });

  inWholeRun('has no note of its own where a mix leaves it or its class out', async () => {
    const { document } = await compareSpec(await written(kind, CLUSTER, 'one'), {
      mixes: ['L4=4', 'spot=4'],
    });
    expect(document.notes?.join() ?? '').not.toMatch(/L4|spot/);
  });

  inWholeRun('is compared in mixes with the class itself', async () => {
    const mixes = ['L4=4', 'spot=4', 'L4=2,spot=2'];
    const { document } = await compareSpec(await written(kind, CLUSTER, 'mixes'), { mixes });
    expect(document.rows.map(({ status }) => status)).not.toContain('infeasible');
    const [first, second] = document.rows.map(({ hourlyCost = Number.NaN }) => hourlyCost);
    expect((first as number) / (second as number)).toBeCloseTo(0.7 / 0.2);
  });
});

it('an alias of itself is refused in one round with all else that is wrong, and nothing that follows from it', async () => {
  const spec = (SPECS.pipeline as (cluster: string) => string)(
    '{ devices: { L4: { count: 1, taken: 2, hourlyCost: 1 }, spot: { as: spot, count: 1, hourlyCost: 1 } } }',
  );
  await writeFile(at('itself.yaml'), spec.replace('profile: tag.json', 'profile: tag.json, device: spot'));
  const told = await refusal(usedSpec(at('itself.yaml'), describedSpec));
  expect(told.map(({ path, message }) => `${path} ${message}`)).toEqual([
    expect.stringMatching(/\/cluster\/devices\/spot\/as is spot, the class itself: leave it out/),
    expect.stringMatching(/\/cluster\/devices\/L4\/taken 2 GPUs are taken and there are 1/),
  ]);
});

it('a cluster in which an alias is edited is not the one that a plan was made from', async () => {
  const spec = await written('pooled', CLUSTER, 'changed');
  await solveSpec(spec, { output: at('changed.plan.json') });
  await written('pooled', CLUSTER.replace('as: L4', 'as: T4'), 'changed');
  expect(await validateFiles([at('changed.plan.json')])).toMatchObject([
    { ok: false, message: expect.stringContaining('changed.cluster.yaml: has changed') },
  ]);
});

inWholeRun('a budget buys spot GPUs and others', async () => {
  const spec = await written('pooled', CLUSTER, 'budget');
  const { document } = await compareSpec(spec, { budget: 1.4 });
  expect(document.rows.map(({ mix }) => mix)).toEqual([
    { L4: 0, spot: 7 },
    { L4: 1, spot: 3 },
    { L4: 2, spot: 0 },
  ]);
});
