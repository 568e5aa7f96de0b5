import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stream } from '../../bench/refute/pooled/random-problem.js';
import { parseArtifact } from '../../src/artifacts/index.js';
import type { CompareRow, PooledSpec, Profile } from '../../src/formats/index.js';
import { type HighsEngine, loadHighs } from '../../src/lp/index.js';
import { type PlanBody, planPooled } from '../../src/milp/index.js';
import { compareSpec, solveSpec } from '../../src/specs/index.js';
import { cases, inWholeRun } from '../cases.js';
import { EXAMPLE, withCounts, withSlos, writeRandomSpec, writeSpec } from './specs.js';

let folder: string;
let highs: HighsEngine;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-compare-'));
  highs = await loadHighs();
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/**
 * busyGpus computes the busy GPUs from latencies instead of pool rates, which is right where no link binds.
 */
function busyGpus(plan: PlanBody): number {
  const parts = plan.models.flatMap(({ pipelines }) =>
    pipelines.flatMap(({ throughputRps, partitions }) =>
      partitions.map(
        ({ latencyUsByBatch, batch, virtual }) =>
          (throughputRps * (latencyUsByBatch.at(-1) as number)) / batch / 1e6 / virtual,
      ),
    ),
  );
  return parts.reduce((sum, gpus) => sum + gpus, 0);
}

describe('compareSpec()', () => {
  inWholeRun('plans each mix as if it were the cluster, with its cost and utilisation', async () => {
    let plans = 0;
    for (let seed = 1; seed <= cases(3, 6); seed++) {
      const { path, problem } = await writeRandomSpec(folder, seed, {}, { linkThroughput: false });
      const mixes = [{ C0: 1, C1: 1 }, { C0: 3 }, { C1: 2 }, { C0: 2, C1: 5 }];
      const texts = mixes.map((mix) =>
        Object.entries(mix)
          .map(([k, n]) => `${k}=${n}`)
          .join(', '),
      );
      const { document } = await compareSpec(path, { mixes: texts, threads: 2 });
      expect(document).toMatchObject({ kind: 'comparison', complete: true, cases: 4 });
      document.rows.forEach((row, i) => {
        expect(row.mix).toEqual(mixes[i]);
        const outcome = planPooled(withCounts(problem, mixes[i] as Record<string, number>), { highs });
        expect({ seed, i, status: row.status }).toEqual({ seed, i, status: outcome.status });
        if (!('plan' in outcome)) return;
        plans += 1;
        const { plan } = outcome;
        expect(row.objective).toEqual(plan.objective);
        const gpus = new Map<string, Set<string>>();
        for (const { class: name, server, gpu } of plan.placement)
          gpus.set(name, (gpus.get(name) ?? new Set()).add(`${server}/${gpu}`));
        const cost = [...gpus].reduce(
          (sum, [name, set]) => sum + set.size * (problem.cluster.devices[name]?.hourlyCost as number),
          0,
        );
        expect(row.hourlyCost).toBeCloseTo(cost, 9);
        const rps = plan.models.reduce((sum, model) => sum + model.throughputRps, 0);
        expect(row.costPerMillionRequests).toBeCloseTo((cost * 1e6) / rps / 3600, 9);
        const there = Object.values(mixes[i] as object).reduce((sum: number, n: number) => sum + n, 0);
        expect(row.utilisation).toBeCloseTo(busyGpus(plan) / there, 9);
      });
    }
    expect(plans).toBeGreaterThan(10);
  });

  inWholeRun(
    'gives the same rows in the same order whatever the threads, and writes the same bytes',
    async () => {
      const asked = { budget: 5, sweeps: ['margin=0.2..0.4:2'] };
      const [one, two] = [join(folder, 'one.json'), join(folder, 'two.json')];
      await compareSpec(EXAMPLE, { ...asked, threads: 1, output: one });
      const { document } = await compareSpec(EXAMPLE, { ...asked, threads: 3, output: two });
      expect(await readFile(two, 'utf8')).toBe(await readFile(one, 'utf8'));
      expect(document.rows.length).toBe(16);
      expect(document.rows.map(({ mix, margin }) => [mix.L4, margin]).slice(0, 4)).toEqual([
        [0, 0.2],
        [0, 0.4],
        [1, 0.2],
        [1, 0.4],
      ]);
    },
  );

  it('reports a mix without a plan as a row that says why', async () => {
    const { path } = await writeRandomSpec(folder, 2, { models: 1 });
    const spec = JSON.parse(await readFile(path, 'utf8')) as PooledSpec;
    spec.models[0] = { ...(spec.models[0] as PooledSpec['models'][number]), not: ['C1'] };
    await writeFile(path, JSON.stringify(spec));
    const { document } = await compareSpec(path, {
      mixes: ['C0=2', 'C1=2'],
      sweeps: ['slo=0.001ms..500ms:2'],
    });
    expect(document.rows.map(({ status }) => status)).toEqual([
      'infeasible',
      'optimal',
      'infeasible',
      'infeasible',
    ]);
    expect(document.rows[0]?.reasons?.join()).toContain('its fastest pipeline takes');
    expect(document.rows[3]?.reasons?.join()).toContain('can use no free device');
    const fixed = { ...spec, planner: { sloMarginMs: 1 } };
    await writeFile(path, JSON.stringify({ ...fixed, models: [{ ...spec.models[0], sloMs: 100 }] }));
    const { document: late } = await compareSpec(path, { sweeps: ['slo=0.5ms..500ms:2'] });
    expect(late.rows[0]).toMatchObject({ status: 'infeasible' });
    expect(late.rows[0]?.reasons?.join()).toContain('leaves nothing of the SLO');
  });

  it("sweeps SLOs as multiples of each model's SLO, and margins as fractions", async () => {
    const { path, problem } = await writeRandomSpec(folder, 5, { models: 2 });
    const { document } = await compareSpec(path, { sweeps: ['slo=2x..10x:3', 'margin=0..0.6:2'] });
    const fastest = problem.models.map(({ profile }) =>
      Math.min(
        ...Object.values(profile.devices).map((d) =>
          (d.blockLatencyUs['1']?.['1'] ?? []).reduce<number>((sum, us) => sum + (us as number) / 1000, 0),
        ),
      ),
    );
    expect(document.rows.map(({ slo, margin }) => [slo, margin])).toEqual([
      ['2x', 0],
      ['2x', 0.6],
      ['6x', 0],
      ['6x', 0.6],
      ['10x', 0],
      ['10x', 0.6],
    ]);
    document.rows.forEach((row, i) => {
      const times = [2, 2, 6, 6, 10, 10][i] as number;
      row.sloMs.forEach((ms, m) => {
        expect(ms).toBeCloseTo(times * (fastest[m] as number), 9);
      });
      const margined = { ...problem, planner: { ...problem.planner, sloMargin: row.margin as number } };
      const outcome = planPooled(withSlos(margined, row.sloMs), { highs });
      expect(row.status).toBe(outcome.status);
      if ('plan' in outcome) expect(row.objective).toEqual(outcome.plan.objective);
    });
  });

  inWholeRun('keeps the rows that are done when it is interrupted', async () => {
    const abort = new AbortController();
    const whole = await compareSpec(EXAMPLE, { sweeps: ['slo=2x..10x:20'] });
    const { document } = await compareSpec(EXAMPLE, {
      sweeps: ['slo=2x..10x:20'],
      signal: abort.signal,
      output: join(folder, 'part.json'),
      onProgress: ({ done }) => {
        if (done === 4) abort.abort();
      },
    });
    expect(document.complete).toBe(false);
    expect(document.rows.length).toBeGreaterThanOrEqual(3);
    expect(document.rows.length).toBeLessThan(20);
    for (const row of document.rows) expect(whole.document.rows).toContainEqual(row);
    expect(JSON.parse(await readFile(join(folder, 'part.json'), 'utf8'))).toMatchObject({ complete: false });
  });

  it("gives the plan's own price where the objective is cost", async () => {
    let plans = 0;
    for (let seed = 1; seed <= cases(2, 3); seed++) {
      const { path } = await writeRandomSpec(folder, 40 + seed, {}, { objective: 'cost' });
      const { document } = await compareSpec(path, { mixes: ['C0=4,C1=4', 'C0=1,C1=1'] });
      for (const row of document.rows) {
        if (row.objective === undefined) continue;
        plans += 1;
        expect(row.hourlyCost).toBeCloseTo(row.objective.value, 9);
      }
    }
    expect(plans).toBeGreaterThan(2);
  });

  it('writes CSV that reads back', async () => {
    const output = join(folder, 'rows.csv');
    const { document } = await compareSpec(EXAMPLE, { mixes: ['L4=4,P4=12', 'P4=1'], output });
    const read = parse(await readFile(output, 'utf8'), { columns: true }) as Record<string, string>[];
    expect(read.map(({ mix, status }) => [mix, status])).toEqual([
      ['L4=4,P4=12', 'optimal'],
      ['P4=1', 'infeasible'],
    ]);
    expect(Number(read[0]?.throughputRps)).toBe(document.rows[0]?.throughputRps);
    expect(read[1]?.reasons).toContain('on P4 it takes');
  });

  it('refuses invalid mixes and sweeps and reports them all at once', async () => {
    const mixFile = join(folder, 'mixes.txt');
    await writeFile(mixFile, '# ours\nL4=4\n\nL5=1\n');
    const asked = {
      mixes: ['L4', 'L4=1,L4=2', 'P4=0'],
      mixFile,
      sweeps: ['slo=2..10', 'slo=9x..2x', 'margin=0..1', 'rps=1..2', 'slo=1x..2ms', 'margin=0..0.5:0'],
    };
    const refused = compareSpec(EXAMPLE, asked).catch((error: Error) => error.message);
    for (const said of [
      '`mixes` "L4": "L4" is not class=count',
      'names L4 twice',
      '`mixes` "P4=0": has no device',
      `${mixFile}:4: the cluster has no class L5; it has L4, P4`,
      '"slo=2..10": needs a unit',
      'runs from 9 down to 2',
      'reaches 1',
      '"rps=1..2": is not a sweep',
      'has two units, x and ms',
      'has 0 steps',
    ])
      expect(await refused).toContain(said);
    await expect(compareSpec(EXAMPLE, {})).rejects.toThrow('nothing to compare');
    await expect(compareSpec(EXAMPLE, { budget: 0.1 })).rejects.toThrow(
      'buys no device: the cheapest, P4, costs 0.6',
    );
    await expect(compareSpec(EXAMPLE, { budget: 1, output: 'x.txt' })).rejects.toThrow(
      'neither .json nor .csv',
    );
    const many = { budget: 1e5, sweeps: ['slo=2x..10x:100'] };
    await expect(compareSpec(EXAMPLE, many)).rejects.toThrow('at most 1000 are compared');
  });
});

/** priced writes a spec of one tiny model over classes with these prices. Solving it takes no noticeable time. */
async function priced(prices: readonly number[]): Promise<string> {
  const names = prices.map((_, k) => `C${k}`);
  const profile: Profile = {
    kind: 'profile',
    version: '1.0',
    model: { name: 'm' },
    blocks: [{ cutBytes: 0 }],
    devices: Object.fromEntries(names.map((name, k) => [name, { blockLatencyUs: { 1: { 1: [1000 + k] } } }])),
  };
  const devices = Object.fromEntries(
    names.map((name, k) => [name, { count: 0, hourlyCost: prices[k] as number }]),
  );
  const spec: PooledSpec = {
    kind: 'pooled',
    cluster: { devices, networkGbps: 10 },
    models: [{ profile: 'tiny.json', sloMs: 50 }],
  };
  parseArtifact(JSON.stringify(spec), 'spec.json', ['pooled']);
  return writeSpec(folder, 'priced.json', spec, [profile]);
}

/** fullMixes lists every mix within a budget to which no GPU can be added. */
function fullMixes(prices: readonly number[], budget: number): string[] {
  const full: string[] = [];
  const walk = (counts: number[], left: number): void => {
    if (counts.length < prices.length) {
      for (let n = 0; n * (prices[counts.length] as number) <= left + 1e-9; n++)
        walk([...counts, n], left - n * (prices[counts.length] as number));
    } else if (prices.every((price) => price > left + 1e-9)) full.push(counts.join());
  };
  walk([], budget);
  return full.sort();
}

describe('compareSpec() with a budget', () => {
  it('plans every mix to which no GPU can be added when they are few', async () => {
    const next = stream(7);
    for (let round = 0; round < cases(3, 6); round++) {
      const prices = Array.from({ length: 1 + (round % 3) }, () => Math.ceil(20 * next()) / 10);
      const budget = Math.max(...prices) * (1 + 2 * next());
      const { document } = await compareSpec(await priced(prices), { budget });
      const mixes = document.rows.map(({ mix }) => Object.values(mix).join());
      expect({ prices, budget, mixes: mixes.sort() }).toEqual({
        prices,
        budget,
        mixes: fullMixes(prices, budget),
      });
    }
  });

  inWholeRun(
    'spreads at most 60 mixes evenly when there are more, with one of a single class among them',
    async () => {
      const prices = [0.7, 0.31, 1.9];
      const { document } = await compareSpec(await priced(prices), { budget: 60 });
      const full = new Set(fullMixes(prices, 60));
      const mixes = document.rows.map(({ mix }) => Object.values(mix).join());
      expect(mixes.length).toBeGreaterThan(30);
      expect(mixes.length).toBeLessThanOrEqual(60);
      expect(mixes.filter((mix) => !full.has(mix))).toEqual([]);
      expect(mixes).toContain('0,193,0');
    },
  );

  it('marks as the frontier the mixes that no other beats in both price and rate', async () => {
    const { document } = await compareSpec(EXAMPLE, { budget: 6, sweeps: ['slo=3x..6x:2'] });
    const points = document.rows.flatMap((row) =>
      row.objective === undefined ? [] : [{ row, cost: row.hourlyCost as number, rps: row.objective.value }],
    );
    for (const { row, cost, rps } of points) {
      const beaten = points.some(
        (other) =>
          other.row.slo === row.slo &&
          ((other.cost < cost - 1e-9 && other.rps >= rps - 1e-9) ||
            (other.cost <= cost + 1e-9 && other.rps > rps + 1e-6)),
      );
      expect({ mix: row.mix, frontier: row.frontier }).toEqual({ mix: row.mix, frontier: !beaten });
    }
    const marked = (rows: readonly CompareRow[]) => rows.filter(({ frontier }) => frontier).length;
    expect(marked(document.rows)).toBeGreaterThan(2);
    expect(marked(document.rows)).toBeLessThan(points.length);
  });
});

describe('a class that no profile has', () => {
  it('is reported in comparisons, and in answers without a plan', async () => {
    const { path, problem } = await writeRandomSpec(folder, 1);
    const devices = { ...problem.cluster.devices, c0: { count: 3, hourlyCost: 1 } };
    const spec = JSON.parse(await readFile(path, 'utf8')) as PooledSpec;
    const typed = join(folder, 'typed.json');
    const name = problem.models[0]?.name;
    const note = `${name} cannot use c0: only C0, C1 are profiled`;
    await writeFile(typed, JSON.stringify({ ...spec, cluster: { ...problem.cluster, devices } }));
    const { document } = await compareSpec(typed, { mixes: ['C0=1,c0=2', 'C0=2'] });
    expect(document.notes).toContain(note);
    const without = await compareSpec(typed, { mixes: ['C0=1', 'C0=2'] });
    expect(without.document.notes ?? []).not.toContain(note);
    const models = spec.models.map((model) => ({ ...model, sloMs: 1e-6 }));
    await writeFile(typed, JSON.stringify({ ...spec, models, cluster: { ...problem.cluster, devices } }));
    const solved = await solveSpec(typed);
    const told: unknown = expect.arrayContaining([note]);
    expect(solved).toMatchObject({ outcome: 'infeasible', document: { notes: told }, warnings: told });
  });
});

inWholeRun('plans for most throughput are the same at any rps, which they do not use', async () => {
  const planAt = async (rps: number | undefined) => {
    const { path } = await writeRandomSpec(folder, 3, { models: 2 });
    const spec = JSON.parse(await readFile(path, 'utf8')) as PooledSpec;
    const models = spec.models.map(({ rps: _, ...model }, m) => ({
      ...model,
      ...(rps === undefined ? {} : { rps: rps * (m + 1) }),
    }));
    await writeFile(path, JSON.stringify({ ...spec, models }));
    const { document } = await solveSpec(path);
    const { notes: _, inputs: __, solver: ___, ...plan } = document as unknown as Record<string, unknown>;
    return JSON.parse(JSON.stringify(plan, (key, value) => (key === 'rps' ? undefined : value))) as unknown;
  };
  const plan = await planAt(undefined);
  expect(plan).toMatchObject({ kind: 'pooled-plan' });
  expect(await planAt(0.001)).toEqual(plan);
  expect(await planAt(1e6)).toEqual(plan);
});
