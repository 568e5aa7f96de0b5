import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { validateFiles } from '../../../src/api/index.js';
import { parseArtifact } from '../../../src/artifacts/index.js';
import {
  InputError,
  type PipelineMethod,
  type PipelinePlan,
  type PipelineSpec,
} from '../../../src/formats/index.js';
import { solveSpec, solveTogether } from '../../../src/specs/index.js';
import { cases, inWholeRun, whole } from '../../cases.js';
import { plan } from '../../cli/plan.js';

const EXAMPLE = new URL('../../../examples/pipeline', import.meta.url).pathname;

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-together-'));
  await cp(EXAMPLE, folder, { recursive: true });
  await writeSpec('a', { rps: 500 });
  await writeSpec('b', { rps: 300 });
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const at = (name: string): string => join(folder, name);

/** writeSpec writes a pipeline whose stages are to be chosen. */
async function writeSpec(
  name: string,
  { rps, method = 'exact', ...more }: { rps: number; method?: PipelineMethod } & Pick<PipelineSpec, 'tuner'>,
): Promise<void> {
  const spec = parse(await readFile(join(EXAMPLE, 'spec.yaml'), 'utf8')) as PipelineSpec;
  delete spec.shared;
  for (const stage of spec.stages)
    for (const key of ['device', 'batch', 'replicas', 'standby'] as const) delete stage[key];
  const load = { arrivals: 'gamma' as const, rps, cv: 2, duration: whole('500ms', '2s') };
  // Of other schedulers, the exact method proves no least cost.
  const serving = method === 'exact' ? { serving: { scheduler: 'inferline' } } : {};
  await writeFile(
    at(`${name}.yaml`),
    stringify({ ...spec, name, planner: { method }, load, ...serving, ...more }),
  );
}

/** writeCount makes L4 scarce, and T4 so dear that every stage would rather have L4. */
async function writeCount(L4: number): Promise<void> {
  const cluster = parse(await readFile(join(EXAMPLE, 'cluster.yaml'), 'utf8')) as {
    devices: Record<string, { count?: number; hourlyCost?: number }>;
    networkGbps?: number;
  };
  // Costs are proved to be the least where no batch can wait for a link.
  delete cluster.networkGbps;
  cluster.devices.L4!.count = L4;
  cluster.devices.T4!.hourlyCost = 1.5;
  await writeFile(at('cluster.yaml'), stringify(cluster));
}

async function costAlone(name: string, L4: number): Promise<number> {
  await writeCount(L4);
  const solved = await solveSpec(at(`${name}.yaml`));
  return solved.outcome === 'pipeline-plan' ? (solved.plan.hourlyCost as number) : Number.POSITIVE_INFINITY;
}

const specs = (): string[] => [at('a.yaml'), at('b.yaml')];

describe('solveTogether()', () => {
  inWholeRun('finds the best division of a scarce class among pipelines, and proves it', async () => {
    const alone: [number[], number[]] = [[], []];
    const most = cases(6, 9);
    for (let n = 0; n <= most; n++) {
      alone[0].push(await costAlone('a', n));
      alone[1].push(await costAlone('b', n));
    }
    const statuses = new Set<string>();
    let contended = 0;
    for (let count = 1; count <= most; count++) {
      await writeCount(count);
      const least = Math.min(
        ...Array.from({ length: count + 1 }, (_, n) => alone[0][n]! + alone[1][count - n]!),
      );
      const solved = await solveTogether(specs(), {});
      statuses.add(solved.outcome);
      if (solved.outcome !== 'plan-set') {
        expect([count, solved.outcome, least]).toEqual([count, 'infeasible', Number.POSITIVE_INFINITY]);
        continue;
      }
      if (least > alone[0][count]! + alone[1][count]! + 1e-9) contended++;
      parseArtifact(JSON.stringify(solved.document), 'answer', ['plan-set']);
      expect(solved.document.status).toBe('optimal');
      expect(solved.document.objective.value).toBeCloseTo(least, 9);
      expect(solved.document.classes.L4?.used).toBeLessThanOrEqual(count);
    }
    expect(statuses.size).toBe(2);
    expect(contended).toBeGreaterThan(0);
  });

  inWholeRun(
    'writes a plan for each, with its share of the cluster, that is confirmed from its own files',
    async () => {
      await writeCount(8);
      for (const name of ['a', 'b']) await writeSpec(name, { rps: 400, method: 'inferline' });
      const solved = await solveTogether(specs(), { output: at('plans') });
      expect(solved.outcome).toBe('plan-set');
      expect(await readdir(at('plans'))).toEqual(['a.plan.json', 'b.plan.json']);
      const plans: PipelinePlan[] = [];
      for (const name of ['a', 'b'])
        plans.push(JSON.parse(await readFile(at(`plans/${name}.plan.json`), 'utf8')) as PipelinePlan);
      expect(plans.map(({ share }) => share)).toEqual([{ with: ['b'] }, { with: ['a'] }]);
      const counts = plans.map(({ cluster }) => cluster.devices.L4?.count ?? Number.NaN);
      expect(counts).toEqual(plans.map(({ classes }) => classes.L4?.used ?? 0));
      expect(counts[0]! + counts[1]!).toBeLessThanOrEqual(8);
      const files = ['plans/a.plan.json', 'plans/b.plan.json'].map(at);
      expect(await validateFiles(files)).toMatchObject([{ ok: true }, { ok: true }]);
      plans[0]!.cluster.devices.L4!.count = 9;
      await writeFile(files[0]!, JSON.stringify(plans[0]));
      expect(await validateFiles(files)).toMatchObject([{ ok: false }, { ok: true }]);
    },
  );

  inWholeRun(
    'divides the devices that no plan uses among those with a tuner, which say what they may activate',
    async () => {
      await writeCount(40);
      await writeSpec('a', { rps: 400, method: 'inferline', tuner: 'inferline' });
      await writeSpec('b', { rps: 400, method: 'inferline' });
      const counted = async () => {
        const { code, stdout } = await plan(['solve', ...specs(), '-o', at('plans')]);
        expect(code).toBe(0);
        const files = ['plans/a.plan.json', 'plans/b.plan.json'].map(at);
        expect(await validateFiles(files)).toMatchObject([{ ok: true }, { ok: true }]);
        const plans = await Promise.all(
          files.map(async (file) => JSON.parse(await readFile(file, 'utf8')) as PipelinePlan),
        );
        return { stdout, uses: plans.map(({ classes }) => classes.L4 ?? { used: 0 }) };
      };
      const one = await counted();
      const [a, b] = one.uses;
      expect(a?.standby).toBeGreaterThan(0);
      expect([b?.standby, b?.count]).toEqual([undefined, b?.used]);
      expect((a?.count ?? 0) + (b?.count ?? 0)).toBe(40);
      expect(one.stdout).toMatch(/^a: the tuner inferline may activate .*L4/m);
      expect(one.stdout).not.toMatch(/^b: /m);
      await writeSpec('b', { rps: 400, method: 'inferline', tuner: 'inferline' });
      const two = await counted();
      expect(two.uses.map(({ count }) => count).reduce((sum = 0, count = 0) => sum + count)).toBe(40);
      for (const { standby } of two.uses) expect(standby).toBeGreaterThan(0);
      // Where the plans use all that there is, their tuners have nothing to activate, and that is said.
      await writeCount(two.uses.reduce((sum, { used }) => sum + used, 0));
      const none = await counted();
      for (const { standby, count, used } of none.uses) expect([standby, count]).toEqual([undefined, used]);
    },
  );

  inWholeRun(
    'says which class is too scarce and how many more would do, and of one without a plan alone why',
    async () => {
      const needed = [0, 0];
      for (const [k, name] of ['a', 'b'].entries())
        while ((await costAlone(name, needed[k]!)) === Number.POSITIVE_INFINITY) needed[k]!++;
      await writeCount(needed[0]! + needed[1]! - 2);
      const { code, stdout, stderr } = await plan(['solve', ...specs(), '--json']);
      expect(code).toBe(3);
      expect(stderr).toMatch(/together they have none: there are \d+ L4, and with 2 more there is a plan/);
      expect(JSON.parse(stdout)).toMatchObject({
        kind: 'no-plan',
        reasons: [{ code: 'too-few-gpus', missing: { L4: 2 } }],
        models: [{ name: 'a' }, { name: 'b' }],
      });
      await writeCount(needed[0]! - 1);
      const alone = await plan(['solve', ...specs()]);
      expect([alone.code, alone.stderr]).toEqual([3, expect.stringMatching(/^ *a: .*needs more replicas/m)]);
    },
  );

  it('refuses at once unlike clusters, equal names and methods that do not search', async () => {
    await writeSpec('b', { rps: 300, method: 'coarse-mean' });
    const spec = parse(await readFile(at('b.yaml'), 'utf8')) as PipelineSpec;
    const cluster = { devices: { L4: { hourlyCost: 1 }, T4: { hourlyCost: 1 } } };
    await writeFile(at('b.yaml'), stringify({ ...spec, name: 'a', cluster }));
    const error = (await solveTogether(specs(), {}).catch((thrown: unknown) => thrown)) as InputError;
    expect(error).toBeInstanceOf(InputError);
    expect(error.faults.map(({ message }) => message)).toEqual([
      'is coarse-mean; pipelines are planned together by inferline or exact',
      `is a, as that of ${at('a.yaml')}; give each pipeline its own`,
      `is another cluster than that of ${at('a.yaml')}`,
    ]);
    const { code, stderr } = await plan(['solve', ...specs(), '--explain']);
    expect([code, stderr]).toEqual([2, expect.stringContaining('is for one spec')]);
  });

  it('leaves no folder where there is no plan, and refuses one that is a file', async () => {
    await writeCount(1);
    const none = await solveTogether(specs(), { output: at('new/plans') });
    expect(none.outcome).toBe('infeasible');
    expect(await readdir(folder)).not.toContain('new');
    const error: unknown = await solveTogether(specs(), { output: at('a.yaml') }).catch((thrown) => thrown);
    expect(error).toBeInstanceOf(InputError);
    expect((error as InputError).faults).toMatchObject([{ message: expect.stringContaining('is a file') }]);
    await writeCount(9);
    await solveTogether(specs(), { output: at('new/plans') });
    expect(await readdir(at('new/plans'))).toEqual(['a.plan.json', 'b.plan.json']);
  });

  it('is shown as tables of the pipelines and of the classes', async () => {
    await writeCount(9);
    const { code, stdout } = await plan(['solve', ...specs(), '-o', at('plans')]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^2 pipelines for ([0-9.]+) per hour \(bound \1, gap 0\.00 %: optimal\) on /m);
    expect(stdout).toMatch(/^b +[0-9.]+ +\d+\.\d\d % +\d L4/m);
    expect(stdout).toMatch(/^L4 +\d +9$/m);
  });
});
