import { beforeAll, describe, expect, test } from 'vitest';
import { randomProblem } from '../../../bench/refute/pooled/random-problem.js';
import type { PooledSpec } from '../../../src/formats/index.js';
import type { SolveOutcome } from '../../../src/lp/highs.js';
import { type HighsEngine, loadHighs } from '../../../src/lp/index.js';
import { literalModel, solveLiteral } from '../../../src/milp/literal/literal.js';
import { literalChoices } from '../../../src/milp/literal/literal-size.js';
import { usedRps } from '../../../src/milp/plan/plan-model.js';
import { spanUs } from '../../../src/milp/tables/span-latencies.js';
import { classesOf, modelTable } from '../../../src/milp/tables/tables.js';
import { type ModelByHand, problemByHand } from '../by-hand.js';

let highs: HighsEngine;
beforeAll(async () => {
  highs = await loadHighs();
});

/** Times are powers of two, and what crosses the cut takes 64 µs. */
const MODEL: ModelByHand = {
  name: 'm',
  sloMs: 10,
  cutBytes: [64_000, 0],
  latencyUs: { A: { 1: { 1: [512, 1024] }, 2: { 1: [1024, 2048] } }, B: { 1: { 1: [256, 4096] } } },
};
const DEVICES = {
  A: { count: 2, virtual: [1, 2], hourlyCost: 3 },
  B: { count: 3, hourlyCost: 2 },
};

function stated(planner: PooledSpec['planner'], model: Partial<ModelByHand> = {}, copies = 1) {
  const problem = problemByHand(DEVICES, [{ ...MODEL, ...model }], {
    maxPartitions: 2,
    sloMarginMs: 1.808,
    linkThroughput: false,
    ...planner,
  });
  const tables = problem.models.map((_, m) => modelTable(problem, m));
  const { model: lp } = literalModel({ problem, classes: classesOf(problem), tables }, copies);
  const lines = lp.toText().split('\n');
  return { problem, lp, lines: lines.map((line) => line.trim()) };
}

/** The rows of one pipeline, by the beginning of their names. */
function rowsOf(lines: readonly string[], pipeline: string, kind: string): string[] {
  return lines.filter((line) => line.startsWith(`${kind}[${pipeline}`));
}

describe('literalModel()', () => {
  test('has every sequence of classes as often as there are copies', () => {
    const used = (copies: number, maxPartitions: number) =>
      stated({ maxPartitions }, {}, copies).lp.variableNames.filter((name) => name.startsWith('used'));
    expect(used(1, 2)).toEqual([
      'used[0.A.0]',
      'used[0.B.0]',
      'used[0.A-A.0]',
      'used[0.A-B.0]',
      'used[0.B-A.0]',
      'used[0.B-B.0]',
    ]);
    expect(used(2, 1)).toEqual(['used[0.A.0]', 'used[0.A.1]', 'used[0.B.0]', 'used[0.B.1]']);
    // These are the 14 pipelines of the paper for two classes and three partitions.
    expect(used(1, 3)).toHaveLength(14);
  });

  test('states a pipeline of two partitions, from Eq. (16) to Eq. (28)', () => {
    const { lines } = stated({ wholeGpusPer: 'class' });
    expect(rowsOf(lines, '0.A-B.0', '(16)')).toEqual([
      '(16)[0.A-B.0,0]: p[0.A-B.0,0,1/1,b1,0..1] + p[0.A-B.0,0,1/2,b1,0..1] - used[0.A-B.0] = 0',
      '(16)[0.A-B.0,1]: p[0.A-B.0,1,1/1,b1,1..2] - used[0.A-B.0] = 0',
    ]);
    expect(rowsOf(lines, '0.A-B.0', '(18)')).toEqual([
      '(18)[0.A-B.0,0,1,b0]: p[0.A-B.0,0,1/1,b1,0..1] + p[0.A-B.0,0,1/2,b1,0..1] - p[0.A-B.0,1,1/1,b1,1..2] = 0',
    ]);
    // Two GPUs of A are four halves, and there are three of B.
    expect(rowsOf(lines, '0.A-B.0', '(21)').map((line) => line.split(']]: ')[1])).toEqual([
      'g[0.A-B.0,0,1/1,b1,0..1] - 2·p[0.A-B.0,0,1/1,b1,0..1] ≤ 0',
      'g[0.A-B.0,0,1/2,b1,0..1] - 4·p[0.A-B.0,0,1/2,b1,0..1] ≤ 0',
      'g[0.A-B.0,1,1/1,b1,1..2] - 3·p[0.A-B.0,1,1/1,b1,1..2] ≤ 0',
    ]);
    expect(rowsOf(lines, '0.A-B.0', '(22)').map((line) => line.split(']]: ')[1])).toEqual([
      '0 ≤ g[0.A-B.0,0,1/1,b1,0..1] - p[0.A-B.0,0,1/1,b1,0..1]',
      '0 ≤ g[0.A-B.0,0,1/2,b1,0..1] - p[0.A-B.0,0,1/2,b1,0..1]',
      '0 ≤ g[0.A-B.0,1,1/1,b1,1..2] - p[0.A-B.0,1,1/1,b1,1..2]',
    ]);
    // The SLO leaves 8192 µs, which count as 2¹⁷: 512 + 64, 1024 + 64 and 4096 µs are sixteen times as many.
    expect(rowsOf(lines, '0.A-B.0', '(27)')).toEqual([
      '(27)[0.A-B.0]: batch formation[0.A-B.0] + 9216·p[0.A-B.0,0,1/1,b1,0..1]' +
        ' + 17408·p[0.A-B.0,0,1/2,b1,0..1] + 65536·p[0.A-B.0,1,1/1,b1,1..2] ≤ 131072',
    ]);
    expect(rowsOf(lines, '0.A-B.0', '(28)')).toEqual([
      '(28)[0.A-B.0,0]: x[0.A-B.0] - 1953.125·g[0.A-B.0,0,1/1,b1,0..1] - 976.5625·g[0.A-B.0,0,1/2,b1,0..1] ≤ 0',
      '(28)[0.A-B.0,1]: x[0.A-B.0] - 244.140625·g[0.A-B.0,1,1/1,b1,1..2] ≤ 0',
    ]);
    expect(lines).toContain('0 ≤ g[0.A-B.0,0,1/2,b1,0..1] ≤ 4 integer');
    expect(lines).toContain('0 ≤ p[0.A-B.0,0,1/2,b1,0..1] ≤ 1 integer');
  });

  test('counts whole GPUs per pool, position or class', () => {
    const one = { maxPartitions: 1 };
    const rows = (planner: PooledSpec['planner']) =>
      stated({ ...one, ...planner }).lines.filter((line) => /^(\(23\)|whole)/.test(line));
    expect(rows({ wholeGpusPer: 'pool' })).toEqual([
      '(23)[A]: g[0.A.0,0,1/1,b1,0..2] + g[0.A.0,0,1/2,b1,0..2] ≤ 2',
      '(23)[B]: g[0.B.0,0,1/1,b1,0..2] ≤ 3',
    ]);
    expect(rows({ wholeGpusPer: 'class' })).toEqual([
      'whole GPUs[0]: g[0.A.0,0,1/1,b1,0..2] + 0.5·g[0.A.0,0,1/2,b1,0..2] - n[0] ≤ 0',
      'whole GPUs[1]: g[0.B.0,0,1/1,b1,0..2] - n[1] ≤ 0',
      '(23)[A]: n[0] ≤ 2',
      '(23)[B]: n[1] ≤ 3',
    ]);
    expect(rows({ wholeGpusPer: 'position' })[0]).toBe(
      'whole GPUs[0/0/0]: g[0.A.0,0,1/1,b1,0..2] + 0.5·g[0.A.0,0,1/2,b1,0..2] - n[0/0/0] ≤ 0',
    );
    const positions = stated({ wholeGpusPer: 'position' }).lines;
    expect(positions).toContain('(23)[A]: n[0/0/0] + n[0/0/1] ≤ 2');
    // A pool of halves has two of them in each of its units, and serves twice as much with one.
    expect(stated({ ...one, wholeGpusPer: 'pool' }).lines).toContain(
      '0 ≤ g[0.A.0,0,1/2,b1,0..2] ≤ 2 integer',
    );
    expect(rowsOf(stated({ wholeGpusPer: 'pool' }).lines, '0.A-B.0', '(28)')[0]).toBe(
      '(28)[0.A-B.0,0]: x[0.A-B.0] - 1953.125·g[0.A-B.0,0,1/1,b1,0..1] - 1953.125·g[0.A-B.0,0,1/2,b1,0..1] ≤ 0',
    );
  });

  test('states the objective, the rates and the minimum shares', () => {
    const one = { maxPartitions: 1 };
    const most = stated(one, { weight: 4, minShare: { B: 0.25 } }).lines;
    expect(most.slice(0, 2)).toEqual(['maximize', 'least throughput/weight']);
    expect(most).toContain('throughput of m: 0 ≤ x[0.A.0] + x[0.B.0] - 4·least throughput/weight');
    expect(most).toContain('share of B in m: 0 ≤ - 0.25·x[0.A.0] + 0.75·x[0.B.0]');
    expect(most.filter((line) => line.startsWith('share'))).toHaveLength(1);
    const least = stated({ ...one, objective: 'cost', wholeGpusPer: 'class' }, { rps: 70 }).lines;
    expect(least.slice(0, 2)).toEqual(['minimize', '3·n[0] + 2·n[1]']);
    expect(least).toContain('throughput of m: 70 ≤ x[0.A.0] + x[0.B.0]');
    const pools = stated({ ...one, objective: 'cost' }, { rps: 70 }).lines;
    expect(pools[1]).toBe('3·g[0.A.0,0,1/1,b1,0..2] + 3·g[0.A.0,0,1/2,b1,0..2] + 2·g[0.B.0,0,1/1,b1,0..2]');
  });

  test('asks each model for its own share and throughput', () => {
    const two = ['m', 'n'].map((name, m) => ({ ...MODEL, name, minShare: { [m === 0 ? 'A' : 'B']: 0.25 } }));
    const problem = problemByHand(DEVICES, two, { maxPartitions: 1 });
    const tables = problem.models.map((_, m) => modelTable(problem, m));
    const { model } = literalModel({ problem, classes: classesOf(problem), tables }, 1);
    const lines = model
      .toText()
      .split('\n')
      .map((line) => line.trim());
    expect(lines.filter((line) => /^(share|throughput)/.test(line))).toEqual([
      'share of A in m: 0 ≤ 0.75·x[0.A.0] - 0.25·x[0.B.0]',
      'share of B in n: 0 ≤ - 0.25·x[1.A.0] + 0.75·x[1.B.0]',
      'throughput of m: 0 ≤ x[0.A.0] + x[0.B.0] - least throughput/weight',
      'throughput of n: 0 ≤ x[1.A.0] + x[1.B.0] - least throughput/weight',
    ]);
  });

  test('counts the time that the largest batch takes to fill', () => {
    const latencyUs = {
      A: { 1: { 1: [512, 1024], 3: [1024, 2048] }, 2: { 1: [1024, 2048], 3: [2048, 4096] } },
    };
    const planner = { maxPartitions: 2, batchFormation: { factor: 1, estimatedRps: 1e6 / 512 } };
    const free = stated({ ...planner, unifiedBatch: false }, { latencyUs }).lines;
    // Two further requests take 1024 µs, counted sixteen times.
    expect(rowsOf(free, '0.A.0,0', 'batch formation')).toEqual([
      'batch formation[0.A.0,0]: 0 ≤ batch formation[0.A.0] - 16384·p[0.A.0,0,1/1,b3,0..2] - 16384·p[0.A.0,0,1/2,b3,0..2]',
    ]);
    // A batch of three crosses in 192 µs.
    expect(rowsOf(free, '0.A-A.0', '(27)')[0]).toContain('19456·p[0.A-A.0,0,1/1,b3,0..1]');
    expect(rowsOf(free, '0.A-A.0', '(18)')).toHaveLength(1);
    expect(rowsOf(free, '0.A-A.0', '(18)')[0]).toMatch(/^\(18\)\[0\.A-A\.0,0,1,b0\/1\]/);
    const unified = stated({ ...planner, unifiedBatch: true }, { latencyUs }).lines;
    expect(rowsOf(unified, '0.A-A.0', '(18)')).toEqual([
      '(18)[0.A-A.0,0,1,b0]: p[0.A-A.0,0,1/1,b1,0..1] + p[0.A-A.0,0,1/2,b1,0..1] - p[0.A-A.0,1,1/1,b1,1..2] - p[0.A-A.0,1,1/2,b1,1..2] = 0',
      '(18)[0.A-A.0,0,1,b1]: p[0.A-A.0,0,1/1,b3,0..1] + p[0.A-A.0,0,1/2,b3,0..1] - p[0.A-A.0,1,1/1,b3,1..2] - p[0.A-A.0,1,1/2,b3,1..2] = 0',
    ]);
  });

  test('leaves out what does not fit into memory or was not measured', () => {
    const weightBytes = [2 ** 30, 2 ** 30];
    const problem = problemByHand(
      { A: { count: 2, virtual: [1, 2], memoryGiB: 2 }, B: { count: 3, memoryGiB: 1 } },
      [{ ...MODEL, weightBytes }],
      { maxPartitions: 1 },
    );
    const tables = [modelTable(problem, 0)];
    const { model } = literalModel({ problem, classes: classesOf(problem), tables }, 1);
    expect(model.variableNames.filter((name) => name.startsWith('p['))).toEqual(['p[0.A.0,0,1/1,b1,0..2]']);
    const some = { ...tables[0]!, latencies: [undefined, ...tables[0]!.latencies.slice(1)] };
    const none = literalModel({ problem, classes: classesOf(problem), tables: [some] }, 1).model;
    expect(none.variableNames.filter((name) => name.startsWith('p['))).toEqual([]);
  });
});

describe('solveLiteral()', () => {
  test('gives the pipelines in use as columns, with their latencies, rates and GPUs', () => {
    const { problem } = stated({});
    const tables = problem.models.map((_, m) => modelTable(problem, m));
    const all = { problem, classes: classesOf(problem), tables };
    const { outcome, used } = solveLiteral(highs, all, { copies: 1, gap: 0 });
    if (outcome.status !== 'optimal') throw new Error(outcome.status);
    const served = used.reduce((sum, one) => sum + usedRps(one), 0);
    expect(served).toBeCloseTo(outcome.objective, 6);
    // One of B before two of A serves 1953 requests per second, and whole models on two of B 460.
    expect(served).toBeCloseTo(2e6 / 1024 + 2e6 / 4352, 6);
    for (const { column } of used) {
      const us = column.parts.reduce((sum, { first, end, slot }) => {
        return sum + spanUs(tables[0]!.latencies[slot]!, first, end) + (end < 2 ? 64 : 0);
      }, 0);
      expect(column.latencyUs).toBeCloseTo(us, 9);
    }
    expect(used.every((one) => !('rps' in one))).toBe(true);
  });

  test('cuts a model where that serves more, and crosses the cut in time', () => {
    const latencyUs = { A: { 1: { 1: [4096, 1024] } }, B: { 1: { 1: [1024, 16_384] } } };
    const problem = problemByHand(
      { A: { count: 1 }, B: { count: 1 } },
      [{ ...MODEL, latencyUs, minShare: { A: 0.5 } }],
      {
        maxPartitions: 2,
        linkThroughput: false,
      },
    );
    const tables = [modelTable(problem, 0)];
    const { used } = solveLiteral(
      highs,
      { problem, classes: classesOf(problem), tables },
      { copies: 1, gap: 0 },
    );
    expect(used).toEqual([
      {
        column: {
          model: 0,
          parts: [
            { first: 0, end: 1, slot: 1, batch: 0, rps: 976.5625 },
            { first: 1, end: 2, slot: 0, batch: 0, rps: 976.5625 },
          ],
          latencyUs: 1024 + 64 + 1024,
        },
        virtualGpus: [1, 1],
        rps: expect.closeTo(976.5625, 6),
      },
    ]);
  });

  test('gives the best solution so far, as feasible, if the solver ends early', () => {
    const early: HighsEngine = {
      ...highs,
      solve: (model, options) => ({ ...highs.solve(model, options), status: 'feasible' }) as SolveOutcome,
    };
    const { problem } = stated({ maxPartitions: 1 });
    const all = { problem, classes: classesOf(problem), tables: [modelTable(problem, 0)] };
    const { outcome, used } = solveLiteral(early, all, { copies: 1, gap: 0 });
    expect(outcome.status).toBe('feasible');
    expect(used.reduce((sum, one) => sum + usedRps(one), 0)).toBeCloseTo(2e6 / 1536 + 3e6 / 4352, 6);
  });

  test('has nothing in use where there is no solution', () => {
    const { problem } = stated({ objective: 'cost' }, { rps: 1e6 });
    const tables = [modelTable(problem, 0)];
    const none = solveLiteral(highs, { problem, classes: classesOf(problem), tables }, { copies: 1 });
    expect(none).toEqual({ outcome: { status: 'infeasible' }, used: [] });
  });
});

describe('literalChoices()', () => {
  test('counts the binaries of the model without building it', () => {
    for (const seed of [1, 2])
      for (const maxPartitions of [1, 2, 3]) {
        const shape = { classes: 2, blocks: 4, batches: 2, virtual: [1, 2], models: 2, mostGpus: 2 };
        const problem = randomProblem(seed, shape, { maxPartitions });
        const tables = problem.models.map((_, m) => modelTable(problem, m));
        const { model } = literalModel({ problem, classes: classesOf(problem), tables }, 2);
        const binaries = model.variableNames.filter((name) => name.startsWith('p[')).length;
        expect({ seed, maxPartitions, choices: literalChoices(problem, 2) }).toEqual({
          seed,
          maxPartitions,
          choices: binaries,
        });
      }
  });

  test('leaves out batch sizes that a class was not measured at', () => {
    const latencyUs = { A: { 1: { 1: [1, 1], 2: [1, 1] } }, B: { 1: { 1: [1, 1] } } };
    const problem = problemByHand({ A: { count: 1 }, B: { count: 1 } }, [{ ...MODEL, latencyUs }], {
      maxPartitions: 1,
    });
    expect(literalChoices(problem, 1)).toBe(3);
    expect(literalChoices(problem, 3)).toBe(9);
  });
});
