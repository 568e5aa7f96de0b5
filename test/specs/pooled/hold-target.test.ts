import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { validateFiles } from '../../../src/api/index.js';
import type { PooledSpec } from '../../../src/formats/index.js';
import { compareSpec, solveSpec } from '../../../src/specs/index.js';
import { holdTarget, ownShareNotes } from '../../../src/specs/pooled/hold-target.js';
import { inWholeRun } from '../../cases.js';
import { plan as command } from '../../cli/plan.js';
import { writeRandomSpec } from '../specs.js';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-hold-target-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const specOf = (
  hold: NonNullable<PooledSpec['planner']>['hold'] | undefined,
  own: (number | undefined)[],
) => ({
  path: 'spec.yaml',
  value: {
    kind: 'pooled',
    cluster: 'cluster.yaml',
    planner: hold === undefined ? {} : { hold },
    models: own.map((share) => ({
      profile: 'p.json',
      sloMs: 9,
      ...(share === undefined ? {} : { hold: share }),
    })),
  } as PooledSpec,
});
const sharesOf = async (...[spec, hold]: [ReturnType<typeof specOf>, number?]) =>
  (await holdTarget(spec, hold))?.attainment;

it('holdTarget() takes the share of a model first, then the option, then the planner', async () => {
  expect(await sharesOf(specOf(0.9, [undefined, 0.8]))).toEqual([0.9, 0.8]);
  expect(await sharesOf(specOf(0.9, [undefined, 0.8]), 0.95)).toEqual([0.95, 0.8]);
  expect(await sharesOf(specOf(undefined, [undefined, undefined]))).toBeUndefined();
});

it('holdTarget() takes the shares of the models where all have one, and refuses them where some have none', async () => {
  expect(await sharesOf(specOf(undefined, [0.7, 0.8]))).toEqual([0.7, 0.8]);
  await expect(sharesOf(specOf(undefined, [0.7, undefined, 0.8, undefined]))).rejects.toThrow(
    /\/models\/0\/hold: needs .*planner\.hold or `hold`, or hold at \/models\/1, \/models\/3\n.*\/models\/2\/hold/,
  );
  expect(await sharesOf(specOf(undefined, [0.7, undefined]), 0.5)).toEqual([0.7, 0.5]);
});

it('holdTarget() refuses gamma without cv, cv without gamma, and a cv that cannot be drawn', async () => {
  const refused = async (hold: object) =>
    holdTarget(specOf({ attainment: 0.9, ...hold }, [undefined]), undefined).then(
      () => '',
      (error: Error) => error.message,
    );
  expect(await refused({ arrivals: 'gamma' })).toContain('/planner/hold/arrivals: gamma needs cv');
  expect(await refused({ cv: 4 })).toContain('/planner/hold/cv: is for arrivals: gamma');
  expect(await refused({ arrivals: 'uniform', cv: 3 })).toContain('/planner/hold/cv: is for arrivals: gamma');
  expect(await refused({ arrivals: 'gamma', cv: 1e9 })).toContain('/planner/hold/cv: is 1000000000');
  expect(await refused({ arrivals: 'gamma', cv: 0 })).toBe('');
  expect(await refused({ arrivals: 'uniform' })).toBe('');
});

it('ownShareNotes() names each model that keeps another share of its own', () => {
  const { value } = specOf(0.9, [undefined, 0.8, 0.95]);
  expect(ownShareNotes(value, ['a', 'b', 'c'], 0.95)).toEqual([
    'b is to hold 0.8, as the spec says of it, and not 0.95 as asked for all',
  ]);
  expect(ownShareNotes(value, ['a', 'b', 'c'], undefined)).toEqual([]);
});

it('says so in every command that reads the spec', { timeout: 60_000 }, async () => {
  const { path } = await writeRandomSpec(folder, 4, { models: 2 }, { hold: { attainment: 0.9, cv: 4 } });
  await expect(solveSpec(path)).rejects.toThrow('/planner/hold/cv: is for arrivals: gamma');
  const compared = compareSpec(path, { mixes: [], sweeps: ['slo=2..3x:2'] });
  await expect(compared).rejects.toThrow('/planner/hold/cv: is for arrivals: gamma');
  const [validated] = await validateFiles([path]);
  expect(validated).toMatchObject({ ok: false });
  expect(JSON.stringify(validated)).toContain('/planner/hold/cv');
  const wrong = await writeRandomSpec(folder, 5, {}, { hold: 1.5 });
  const { code, stderr } = await command(['validate', wrong.path]);
  expect(code).toBe(2);
  expect(stderr).toContain('it must be below 1');
  expect(stderr).not.toContain('must be an object');
});

inWholeRun('warns at a terminal of a model that keeps its own share', async () => {
  const { path, problem } = await writeRandomSpec(folder, 4);
  const spec = { ...problem.models[0]?.spec, profile: `4-${problem.models[0]?.name}.json`, hold: 0.9 };
  const own = join(folder, 'own.json');
  await writeFile(
    own,
    JSON.stringify({ kind: 'pooled', cluster: problem.cluster, models: [spec], planner: { sloMargin: 0.1 } }),
  );
  expect(path).not.toBe(own);
  const { code, stdout, stderr } = await command(['solve', own, '--hold', '0.95']);
  expect(code).toBe(0);
  expect(stdout).toMatch(/m0 holds .* with 90.00 % in time/);
  expect(stderr).toContain('m0 is to hold 0.9, as the spec says of it, and not 0.95');
});
