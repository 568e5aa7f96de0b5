import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  compareSchedulers,
  deployPlan,
  diffPlanFiles,
  initSpec,
  loadServer,
  profileCascade,
  profilePipeline,
  serveBundle,
  simulatePlan,
  specKind,
  sweepPlan,
} from '../../src/api/index.js';
import { type DeployTarget, InputError } from '../../src/formats/index.js';

const EXAMPLES = new URL('../../examples', import.meta.url).pathname;

let folder: string;
const at = (file: string): string => join(folder, file);
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-one-round-'));
  const plan = await readFile(`${EXAMPLES}/pooled/expected-plan.json`, 'utf8');
  await writeFile(at('plan.json'), plan.replace(/"sloMs": [\d.]+/, '"sloMs": -1'));
  for (const kind of ['pipeline', 'cascade'])
    await writeFile(
      at(`${kind}.yaml`),
      (await readFile(`${EXAMPLES}/${kind}/spec.yaml`, 'utf8')).replace(/(name: \w+)\n/, '$1\nnmae: x\n'),
    );
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** The faults of work that is refused, with the names of files alone. */
async function faultsOf(work: Promise<unknown>): Promise<string[]> {
  const error = await work.catch((thrown: unknown) => thrown);
  if (!(error instanceof InputError)) throw new Error(`no InputError: ${String(error)}`);
  return error.faults.map(({ path, message }) =>
    `${path} ${message}`.replaceAll(/\S*inferplan-one-round-\w+\//g, ''),
  );
}

const NO_FOLDER = 'write /none/x.json there is no folder /none';
const WRONG_PLAN = 'plan.json /models/0/sloMs is -1; it must be above 0';

it('a simulation reports what is wrong with plan, output, files and numbers at once', async () => {
  const asked = { output: '/none/x.json', policy: [at('gone.yaml')], slow: 1e9 };
  const slow = '`slow` is 1000000000; it must be above 0 and at most 1000000';
  const wanted = [NO_FOLDER, WRONG_PLAN, 'gone.yaml there is no such file', slow];
  const runs = expect.stringContaining('`runs`');
  const sweep = expect.stringContaining('is not a sweep');
  const sorted = (faults: unknown[]) => new Set(faults);
  expect(sorted(await faultsOf(simulatePlan(at('plan.json'), { ...asked, runs: 0 })))).toEqual(
    sorted([...wanted, runs]),
  );
  expect(sorted(await faultsOf(sweepPlan(at('plan.json'), { ...asked, sweep: 'x' })))).toEqual(
    sorted([...wanted, sweep]),
  );
  expect(
    sorted(await faultsOf(compareSchedulers(at('plan.json'), { ...asked, schedulers: 'fifo,reactive' }))),
  ).toEqual(sorted(wanted));
  expect(
    await faultsOf(
      simulatePlan(`${EXAMPLES}/pooled/expected-plan.json`, { output: '/none/x.json', slow: 0 }),
    ),
  ).toEqual([NO_FOLDER, '`slow` is 0; it must be above 0 and at most 1000000']);
});

it('a load reports what is wrong with headers, output, samples and rate at once, before it asks the server', async () => {
  const asked = { headers: ['x'], rps: ['many'], output: '/none/x.json', samples: [at('gone.npy')] };
  expect(await faultsOf(loadServer('http://localhost:1', asked))).toEqual([
    expect.stringContaining('is not a header'),
    NO_FOLDER,
    'gone.npy there is no such file',
    expect.stringContaining('is not a rate above 0'),
    '`duration` is needed, or `traces`',
  ]);
});

it('a spec is begun with all that is wrong reported at once', async () => {
  const asked = { kind: 'pooled', records: 'r.csv', slo: -1, output: at('pipeline.yaml') } as const;
  expect(await faultsOf(initSpec([at('gone.json'), at('plan.json')], asked))).toEqual([
    '`records` is for cascades, and the kind is pooled',
    expect.stringContaining('exists already'),
    '`slo` is -1; it must be above 0',
    'gone.json there is no such file',
    expect.stringContaining('plan.json /kind its kind is "pooled-plan"'),
  ]);
});

it('plans are compared with all that is wrong reported at once', async () => {
  const asked = { tolerance: { cost: { most: 1, isShare: false } } };
  expect(await faultsOf(diffPlanFiles(at('plan.json'), at('gone.json'), asked))).toEqual([
    WRONG_PLAN,
    'gone.json there is no such file',
    expect.stringContaining('`tolerance` is for what `check` judges'),
  ]);
});

it('the models of a spec are profiled with all that is wrong reported at once', async () => {
  const unknown = (kind: string) => expect.stringMatching(`^${kind}\\.yaml / has an unknown key "nmae"`);
  const samples = [at('gone.npy')];
  expect(await specKind(at('pipeline.yaml'))).toBe('pipeline');
  expect(await faultsOf(profilePipeline(at('pipeline.yaml'), { samples, output: '/none/x.json' }))).toEqual([
    unknown('pipeline'),
    NO_FOLDER,
    expect.stringContaining('would hold YAML'),
    'gone.npy there is no such file',
  ]);
  expect(await specKind(at('cascade.yaml'))).toBe('cascade');
  expect(await faultsOf(profileCascade(at('cascade.yaml'), { samples, output: '/none/x.json' }))).toEqual([
    unknown('cascade'),
    expect.stringContaining('`labels`'),
    NO_FOLDER,
    'gone.npy there is no such file',
  ]);
});

it('a plan is deployed with all that is wrong with plan, target and models reported at once', async () => {
  const asked = { output: at('bundle'), target: 'nomad' as DeployTarget };
  const target = expect.stringMatching(/^`target` is "nomad"; the targets are local, .*triton/);
  const model = { other: at('gone.onnx') };
  expect(await faultsOf(deployPlan(at('plan.json'), { ...asked, model }))).toEqual([
    target,
    WRONG_PLAN,
    'gone.onnx there is no such file',
  ]);
  const right = await readFile(`${EXAMPLES}/pooled/expected-plan.json`, 'utf8');
  await writeFile(at('alone.json'), right);
  const faults = await faultsOf(deployPlan(at('alone.json'), { ...asked, model }));
  expect(faults.slice(0, 2)).toEqual([target, expect.stringContaining('the plan has no model "other"')]);
  expect(faults.slice(2)).toEqual(
    faults.slice(2).map(() => expect.stringContaining('there is no such file')),
  );
  expect(faults.length).toBeGreaterThan(2);
});

it('a bundle is served with all that is wrong with bundle, scheduler, policy and access reported at once', async () => {
  const asked = { scheduler: 'fif', policy: [at('gone.yaml')], tokenFile: at('gone.txt') };
  for (const [path, said] of [
    ['plan.json', 'it is a file, and a bundle is a folder'],
    ['nowhere', 'there is no such folder'],
  ] as const)
    expect(new Set(await faultsOf(serveBundle(at(path), asked)))).toEqual(
      new Set([
        expect.stringContaining(said),
        expect.stringMatching(/^`scheduler` is "fif"; valid values are .*; did you mean fifo/),
        expect.stringContaining('gone.yaml there is no such file'),
        expect.stringContaining('gone.txt'),
      ]),
    );
});
