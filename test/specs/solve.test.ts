import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { validateFiles } from '../../src/api/index.js';
import { checkPlan } from '../../src/checks/index.js';
import { type HighsEngine, loadHighs } from '../../src/lp/index.js';
import { type PooledProblem, planPooled } from '../../src/milp/index.js';
import { type Solved, solveSpec } from '../../src/specs/index.js';
import { cases, describeInWholeRun } from '../cases.js';
import { EXAMPLE, withCounts, withSlos, writeRandomSpec } from './specs.js';

let folder: string;
let highs: HighsEngine;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-solve-'));
  highs = await loadHighs();
});
afterAll(() => rm(folder, { recursive: true, force: true }));

function bestValue(problem: PooledProblem): number | undefined {
  const outcome = planPooled(problem, { highs });
  return 'plan' in outcome ? outcome.plan.objective.value : undefined;
}

function planned(solved: Solved): Extract<Solved, { outcome: 'plan' }> {
  if (solved.outcome !== 'plan') throw new Error(`no plan: ${JSON.stringify(solved.document)}`);
  return solved;
}

describeInWholeRun('solveSpec() explains a plan', () => {
  it('with the value of one GPU more or less, and with the SLOs at which the plan changes', async () => {
    let told = 0;
    for (let seed = 1; seed <= cases(3, 8); seed++) {
      const { path, problem } = await writeRandomSpec(folder, seed);
      const solved = await solveSpec(path, { explain: true });
      if (solved.outcome !== 'plan') continue;
      const { plan, explanation } = solved;
      const counts = Object.fromEntries(
        Object.entries(plan.classes).map(([name, { count }]) => [name, count]),
      );
      const value = plan.objective.value;
      for (const { name, used, count, oneMore, oneLess, binds } of explanation?.classes ?? []) {
        const more = bestValue(withCounts(problem, { ...counts, [name]: count + 1 })) as number;
        expect({ seed, name, oneMore }).toEqual({ seed, name, oneMore: expect.closeTo(more - value, 6) });
        expect(plan.classes[name]?.oneMore).toBe(oneMore);
        expect(binds).toBe(used === count && more - value > 1e-6 * value);
        const fewer = { ...counts, [name]: count - 1 };
        const less = Object.values(fewer).some((n) => n > 0) ? lessOr(problem, fewer) : undefined;
        if (less === undefined) expect({ seed, name, oneLess }).toEqual({ seed, name, oneLess: undefined });
        else
          expect({ seed, name, oneLess }).toEqual({ seed, name, oneLess: expect.closeTo(less - value, 6) });
      }
      const slo = explanation?.models[0];
      if (slo?.tighterSloMs === undefined) continue;
      const holds = (sloMs: number): boolean =>
        checkPlan(
          { ...plan, models: plan.models.map((m) => ({ ...m, sloMs, sloMarginMs: 0.1 * sloMs })) },
          withSlos(problem, [sloMs]),
        ).length === 0;
      expect([holds(slo.tighterSloMs * (1 + 1e-8)), holds(slo.tighterSloMs * (1 - 1e-6))]).toEqual([
        true,
        false,
      ]);
      if (slo.looserSloMs !== undefined) {
        told += 1;
        expect(bestValue(withSlos(problem, [slo.looserSloMs]))).toBeGreaterThan(value);
        expect(bestValue(withSlos(problem, [slo.looserSloMs - 0.006 * slo.sloMs]))).toBeCloseTo(value, 6);
      }
    }
    expect(told).toBeGreaterThan(1);
  });

  function lessOr(problem: PooledProblem, counts: Record<string, number>): number | undefined {
    try {
      return bestValue(withCounts(problem, counts));
    } catch {
      return undefined;
    }
  }

  it('only in part when it is interrupted, and reports so, while the plan is written all the same', async () => {
    const abort = new AbortController();
    const output = join(folder, 'interrupted.json');
    const solved = planned(
      await solveSpec(EXAMPLE, {
        explain: true,
        output,
        signal: abort.signal,
        onProgress: (doing) => {
          if (doing.includes('explaining P4')) abort.abort();
        },
      }),
    );
    expect(solved.explanation?.complete).toBe(false);
    expect(solved.explanation?.models).toEqual([]);
    expect(solved.plan.status).toBe('optimal');
    const [checked] = await validateFiles([output]);
    expect(checked).toMatchObject({ ok: true });
  });
});

describeInWholeRun('solveSpec() without a feasible plan', () => {
  it('explains it with the smallest feasible SLO, which has a plan while smaller SLOs have none', async () => {
    let tried = 0;
    for (let seed = 1; seed <= cases(4, 10); seed++) {
      const { problem } = await writeRandomSpec(folder, seed);
      const tight = withSlos(problem, [(problem.models[0]?.spec.sloMs as number) / 8]);
      const { path } = await writeTight(seed);
      const solved = await solveSpec(path, { explain: true });
      if (solved.outcome !== 'infeasible') continue;
      const alone = await solveSpec(path);
      expect([alone, solved]).toMatchObject([
        { outcome: 'infeasible', advice: expect.stringContaining('`explain` looks for the smallest SLOs') },
        { explanation: expect.anything() },
      ]);
      expect(solved).not.toHaveProperty('advice');
      const { complete, models, reasons } = solved.explanation ?? {};
      expect(complete).toBe(true);
      expect(reasons?.join()).toMatch(/its fastest pipeline takes .*on C0 it takes/);
      const smallest = models?.[0]?.smallestFeasibleSloMs as number;
      const feasible = models?.[0]?.feasibleSloMs as number;
      expect(bestValue(withSlos(tight, [feasible]))).toBeGreaterThan(0);
      expect(bestValue(withSlos(tight, [smallest * (1 - 1e-6)]))).toBeUndefined();
      tried += 1;
    }
    expect(tried).toBeGreaterThan(cases(2, 5));
  });

  async function writeTight(seed: number): Promise<{ path: string }> {
    const { path } = await writeRandomSpec(folder, seed);
    const spec = JSON.parse(await readFile(path, 'utf8')) as { models: { sloMs: number }[] };
    for (const model of spec.models) model.sloMs /= 8;
    await writeFile(path, JSON.stringify(spec));
    return { path };
  }
});

describe('solveSpec() with a baseline', () => {
  it.each(['no-partitioning', 'dart-r'] as const)(
    'makes the plan of %s, which says so and is checked as a baseline',
    async (baseline) => {
      const output = join(folder, `${baseline}.json`);
      const solved = planned(await solveSpec(EXAMPLE, { baseline, output }));
      const best = planned(await solveSpec(EXAMPLE));
      expect(solved.plan).toMatchObject({ baseline, status: 'optimal', objective: { gap: 0 } });
      expect(solved.plan.objective.value).toBeLessThan(best.plan.objective.value);
      const most = baseline === 'dart-r' ? 2 : 1;
      const partitions = solved.plan.models.flatMap((m) => m.pipelines.map((p) => p.partitions));
      expect(Math.max(...partitions.map((list) => list.length))).toBe(most);
      expect(partitions.flat().every(({ virtual }) => virtual === 1)).toBe(true);
      expect(await validateFiles([output])).toMatchObject([
        { ok: true, what: expect.stringContaining(`plan of the baseline ${baseline}`) },
      ]);
    },
  );

  it('refuses options that baselines do not have', async () => {
    await expect(
      solveSpec(EXAMPLE, { baseline: 'dart-r', explain: true, formulation: 'literal' }),
    ).rejects.toThrow(/`explain`: .*\n.*`formulation` literal: /);
    const { path } = await writeRandomSpec(folder, 3, {}, { objective: 'cost' });
    await expect(solveSpec(path, { baseline: 'dart-r' })).rejects.toThrow("the spec's objective is cost");
  });
});

describe('solveSpec() with the literal formulation', () => {
  it('finds the same optimum on small specs, and its plan says so', async () => {
    let found = 0;
    for (let seed = 1; seed <= cases(2, 5); seed++) {
      const shape = { blocks: 3, mostGpus: 2 };
      const { path } = await writeRandomSpec(folder, 100 + seed, shape, { maxPartitions: 2 });
      const literal = await solveSpec(path, { formulation: 'literal', gap: 0, work: 1e6 });
      const columns = await solveSpec(path, { gap: 0, work: 1e6 });
      expect(literal.outcome).toBe(columns.outcome);
      if (literal.outcome !== 'plan' || columns.outcome !== 'plan') continue;
      found += 1;
      expect(literal.plan.formulation).toBe('literal');
      expect(literal.plan.objective.value).toBeCloseTo(columns.plan.objective.value, 6);
      expect(literal.warnings.join()).toContain('at most 2 pipelines');
    }
    expect(found).toBeGreaterThan(cases(1, 2));
  });

  it('refuses a spec that is too large, with its sizes', async () => {
    await expect(solveSpec(EXAMPLE, { formulation: 'literal' })).rejects.toThrow(
      'it would have 6464 choices, a binary each; at most 4000 are solved',
    );
  });
});
