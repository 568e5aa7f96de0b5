import { copyFile, cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { compareSchedulers, simulatePlan, sweepPlan, validateFiles } from '../../src/api/index.js';
import type { EngineFigures, PooledPlan } from '../../src/formats/index.js';
import { type SolveOptions, solveSpec } from '../../src/specs/index.js';
import { inWholeRun } from '../cases.js';
import { EXAMPLE } from './specs.js';

const FIGURES: EngineFigures = {
  target: 'ray-serve',
  ingress: { replicas: 4, requestUs: 2000 },
  hopUs: 1500,
};

let folder: string;
let spec: string;
let engine: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-for-engine-'));
  await cp(dirname(EXAMPLE), folder, { recursive: true });
  spec = join(folder, 'spec.yaml');
  engine = join(folder, 'engine.json');
  await writeFile(engine, JSON.stringify({ kind: 'engine-profile', version: '1.0', ...FIGURES }));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function solved(
  options: SolveOptions,
): Promise<{ path: string; plan: PooledPlan; warnings: readonly string[] }> {
  const path = join(folder, `${options.for ?? 'own'}${options.engine === undefined ? '' : '-engine'}.json`);
  const found = await solveSpec(spec, { ...options, output: path });
  if (found.outcome !== 'plan') throw new Error(`no plan: ${JSON.stringify(found.document)}`);
  return { path, plan: found.plan, warnings: found.warnings };
}

async function withEdit(path: string, edit: (plan: PooledPlan) => void): Promise<string> {
  const plan = JSON.parse(await readFile(path, 'utf8')) as PooledPlan;
  edit(plan);
  const edited = join(folder, 'edited.json');
  await writeFile(edited, JSON.stringify(plan));
  return edited;
}

describe('solveSpec()', () => {
  it('names the scheduler of an engine and its figures in the plan, which is confirmed by spec and profile', async () => {
    const { path, plan } = await solved({ for: 'ray-serve', engine });
    expect(plan.serving).toEqual({ scheduler: 'ray-serve', engine: FIGURES });
    expect(plan.inputs?.filter(({ role }) => role === 'engine-profile')).toMatchObject([
      { path: 'engine.json' },
    ]);
    const [valid] = await validateFiles([path]);
    expect(valid).toMatchObject({ ok: true, checked: expect.arrayContaining(['engine']) });
  });

  it('is refuted where a figure of the engine, its file or the link to it is edited', async () => {
    const { path } = await solved({ for: 'ray-serve', engine });
    const faults = async (edit: (plan: PooledPlan) => void) => {
      const [found] = await validateFiles([await withEdit(path, edit)]);
      return found === undefined || found.ok
        ? undefined
        : found.faults.map(({ message }) => message).join('; ');
    };
    const figures = (plan: PooledPlan) => plan.serving?.engine as EngineFigures;
    expect(await faults(() => {})).toBeUndefined();
    expect(
      await faults((plan) => {
        figures(plan).hopUs += 1;
      }),
    ).toBe('is 1501; its spec gives 1500');
    expect(
      await faults((plan) => {
        figures(plan).ingress.replicas = 5;
      }),
    ).toBe('is 5; its spec gives 4');
    expect(
      await faults((plan) => {
        plan.inputs = plan.inputs?.filter(({ role }) => role !== 'engine-profile') ?? [];
      }),
    ).toMatch(/its spec gives absent/);
    expect(
      await faults((plan) => {
        plan.serving = { scheduler: 'triton', engine: FIGURES };
      }),
    ).toMatch(/is of the engine ray-serve, but the scheduler is triton/);
    const before = await readFile(engine, 'utf8');
    await writeFile(engine, before.replace('1500', '1501'));
    const [changed] = await validateFiles([path]);
    await writeFile(engine, before);
    expect(changed).toMatchObject({
      ok: false,
      faults: [{ message: expect.stringMatching(/^has changed/) }],
    });
  });

  it('refuses a profile of another engine, and one without an engine, and specs with a tuner', async () => {
    const said = (options: SolveOptions, path = spec) =>
      solveSpec(path, options).then(
        () => 'solved',
        (error: Error) => error.message,
      );
    expect(await said({ for: 'triton', engine })).toMatch(
      /engine.*is of the engine ray-serve, but the scheduler is triton/,
    );
    expect(await said({ engine })).toMatch(/ray-serve, ray-serve-batch serve as it does/);
    const tuned = join(folder, 'tuned.yaml');
    const pipeline = join(dirname(dirname(EXAMPLE)), 'pipeline');
    await cp(pipeline, join(folder, 'pipeline'), { recursive: true });
    const text = await readFile(join(pipeline, 'spec.yaml'), 'utf8');
    await writeFile(join(folder, 'pipeline/tuned.yaml'), `${text}\ntuner: inferline\n`);
    await copyFile(join(folder, 'pipeline/tuned.yaml'), tuned);
    expect(await said({ for: 'ray-serve' }, join(folder, 'pipeline/tuned.yaml'))).toMatch(
      /for engines that run no tuner, and the spec has inferline/,
    );
  });

  it('warns where more is planned than the ingress passes', async () => {
    const narrow = join(folder, 'narrow.json');
    const ingress = { replicas: 2, requestUs: 20_000 };
    await writeFile(narrow, JSON.stringify({ kind: 'engine-profile', version: '1.0', ...FIGURES, ingress }));
    expect((await solved({ for: 'ray-serve', engine: narrow })).warnings).toContainEqual(
      expect.stringMatching(
        /requests\/s are planned, and the ingress of ray-serve passes 100: give it more replicas/,
      ),
    );
    expect((await solved({ for: 'ray-serve', engine })).warnings).toEqual([]);
  });
});

describe('simulatePlan()', () => {
  it("simulates a plan's engine, or that of a profile, and only under its schedulers", async () => {
    const { path } = await solved({ for: 'ray-serve', engine });
    const bare = await solved({ for: 'ray-serve' });
    const run = { duration: 5 };
    const { report } = await simulatePlan(path, run);
    expect(report.engine).toEqual(FIGURES);
    const { report: given } = await simulatePlan(bare.path, { ...run, engine });
    const { checked: _, inputs: __, ...figures } = report;
    expect(given).toMatchObject(figures);
    expect(given.inputs?.map(({ role }) => role)).toContain('engine-profile');
    const { report: without } = await simulatePlan(bare.path, run);
    expect(without.engine).toBeUndefined();
    // Two stages at most, so from 2 ms and two hops to 2 ms and four hops longer where nobody waits; others wait too.
    expect(report.overall.latencyMs?.p50 as number).toBeGreaterThan(
      (without.overall.latencyMs?.p50 as number) + 4,
    );
    const { report: own } = await simulatePlan(path, { ...run, scheduler: 'room-first' });
    expect(own.engine).toBeUndefined();
    await expect(simulatePlan(path, { ...run, scheduler: 'fifo', engine })).rejects.toThrow(
      /is of the engine ray-serve, but the scheduler is fifo: ray-serve, ray-serve-batch serve as it does/,
    );
  });

  inWholeRun('simulates the engine in sweeps and comparisons too', async () => {
    const { path } = await solved({ for: 'ray-serve', engine });
    const swept = await sweepPlan(path, { duration: 2, sweep: 'load=0.2..0.4:2' });
    expect(swept.engine).toEqual(FIGURES);
    const { comparison } = await compareSchedulers(path, { duration: 2, schedulers: 'fifo,ray-serve' });
    expect(comparison.engine).toEqual(FIGURES);
    const { report } = await simulatePlan(path, { duration: 2 });
    const row = comparison.rows.find(({ scheduler }) => scheduler === 'ray-serve');
    expect(row?.attainment?.mean).toEqual(report.overall.attainment);
    await expect(
      compareSchedulers(path, { duration: 2, schedulers: 'fifo,room-first', engine }),
    ).rejects.toThrow(/is of the engine ray-serve, but the scheduler is fifo/);
  });
});
