import { describe, expect, it } from 'vitest';
import { ToldFaults } from '../../src/formats/index.js';
import { plannedScheduler } from '../../src/plans/index.js';
import type { ChosenScheduler } from '../../src/serving/index.js';
import { comparedRun } from '../../src/simulation/compared-run.js';
import { runSimulation, type SimulationSetup } from '../../src/simulation/run.js';
import { runComparison } from '../../src/simulation/scheduler-comparison.js';
import { inWholeRun } from '../cases.js';
import { affine, planOf } from '../serving/plans.js';

/** Two models, of which the second gets more than it can serve. */
const PLAN = planOf([
  {
    sloMs: 50,
    pipelines: [
      {
        throughputRps: 200,
        parts: [
          { batch: 2, latencyUs: affine(4000, 0) },
          { batch: 2, latencyUs: affine(3000, 0) },
        ],
      },
    ],
  },
  { sloMs: 20, pipelines: [{ throughputRps: 100, parts: [{ batch: 1, latencyUs: affine(10_000, 0) }] }] },
]);

function chosen(scheduler: string): ChosenScheduler {
  const options = { scheduler, policy: [] };
  return plannedScheduler({}, { options, leastSloNs: 20e6 }, new ToldFaults()) as ChosenScheduler;
}

function setupOf(more: Partial<SimulationSetup> = {}): SimulationSetup {
  return {
    plan: PLAN,
    transfers: 'links',
    scheduler: chosen('stage-local'),
    execution: { slow: 1 },
    seed: 4,
    exact: true,
    workload: { kind: 'drawn', process: 'poisson', durationNs: 6e9, rps: [150, 130] },
    ...more,
  };
}

describe('comparedRun()', () => {
  const setup = setupOf();
  const scheduler = chosen('fifo');

  it('keeps of a run the figures that a run of its scheduler and seed has', async () => {
    const { figures } = await runSimulation(setup, { scheduler, seed: 9 });
    const run = await comparedRun(setup, { scheduler, seed: 9 }, {});
    const { overall } = figures;
    expect(run.complete).toBe(true);
    expect(run.arrived).toBe(overall.arrived);
    expect(run.figures).toEqual({
      goodputRps: overall.goodputRps,
      attainment: overall.attainment,
      dropRate: overall.dropRate,
      invalidRate: overall.invalidRate,
      meanMs: overall.latencyMs?.mean,
      p50Ms: overall.latencyMs?.p50,
      p95Ms: overall.latencyMs?.p95,
      p99Ms: overall.latencyMs?.p99,
    });
    expect(run).not.toHaveProperty('windows');
    expect(run).not.toHaveProperty('weighed');
    expect(run).not.toHaveProperty('applications');
  });

  it('counts the drops of each place, the entry first', async () => {
    const late = chosen('stage-local');
    const { figures } = await runSimulation(setup, { scheduler: late, seed: 9 });
    const run = await comparedRun(setup, { scheduler: late, seed: 9 }, {});
    expect(run.dropped).toHaveLength(1 + 3);
    expect(figures.overall.dropped).toBeGreaterThan(50);
    const at = (pool: number) =>
      figures.drops.reduce((sum, drop) => sum + (drop.pool === pool ? drop.count : 0), 0);
    expect(run.dropped).toEqual([at(-1), at(0), at(1), at(2)]);
    expect(run.dropped.reduce((sum, count) => sum + count, 0)).toBe(figures.overall.dropped);
  });

  it('has the worst windows of 1, 10 and 60 s as far as the run is as long, and windows where the job has a length', async () => {
    const run = await comparedRun(setup, { scheduler, seed: 9, windowNs: 2e9 }, {});
    expect(run.worst.map(({ seconds }) => seconds)).toEqual([1]);
    const long = setupOf({
      workload: { kind: 'drawn', process: 'poisson', durationNs: 61e9, rps: [5, 5] },
    });
    const { worst } = await comparedRun(long, { scheduler, seed: 9 }, {});
    expect(worst.map(({ seconds }) => seconds)).toEqual([1, 10, 60]);
    expect(run.windows?.map(({ fromS }) => fromS)).toEqual([0, 2, 4]);
    const { figures } = await runSimulation(setup, { scheduler, seed: 9, windowNs: 2e9 });
    run.windows?.forEach((window, i) => {
      const one = figures.windows?.[i];
      expect(window).toMatchObject({ offeredRps: one?.offeredRps, goodputRps: one?.goodputRps });
      expect([window.attainment, window.p99Ms]).toEqual([one?.attainment, one?.latencyMs?.p99]);
      const { inTime = 0, late = 0, dropped = 0, failed = 0 } = one ?? {};
      expect(window.dropRate).toBeCloseTo((late + dropped) / (inTime + late + dropped + failed), 12);
    });
  });

  it('leaves out the figures of a run without requests', async () => {
    const none = setupOf({
      workload: { kind: 'drawn', process: 'poisson', durationNs: 1e9, rps: [0, 0] },
    });
    const run = await comparedRun(none, { scheduler, seed: 1 }, {});
    expect(run.figures).toEqual({ goodputRps: 0 });
    expect([run.arrived, run.dropped]).toEqual([0, [0, 0, 0, 0]]);
  });

  it('says what was lost of the weight where requests have priorities', async () => {
    const priorities = [
      { priority: 0, share: 0.5, weight: 1 },
      { priority: 1, share: 0.5, weight: 4 },
    ];
    const weighed = setupOf({ priorities });
    const { levels } = await runSimulation(weighed, { scheduler: weighed.scheduler, seed: 9 });
    const run = await comparedRun(weighed, { scheduler: weighed.scheduler, seed: 9 }, {});
    expect(levels?.weightedDropRate).toBeGreaterThan(0);
    expect(run.weighed).toEqual({ dropRate: levels?.weightedDropRate, asHeaviest: levels?.asHeaviest });
  });
});

describe('runSimulation()', () => {
  it('lets a scheduler that weighs requests drop those that weigh less', async () => {
    const serving = { scheduler: 'room-first', priorities: { 1: 10, 2: 1 } };
    const asked = { options: {}, leastSloNs: 20e6 };
    const scheduler = plannedScheduler(serving, asked, new ToldFaults()) as ChosenScheduler;
    expect(scheduler.policy.weighing).toMatchObject({ kind: 'levels' });
    const priorities = [
      { priority: 1, share: 0.3, weight: 10 },
      { priority: 2, share: 0.7, weight: 1 },
    ];
    const setup = setupOf({ scheduler, priorities });
    const { levels, figures } = await runSimulation(setup, {});
    const [urgent, other] = levels!.levels;
    expect(figures.overall.dropped).toBeGreaterThan(50);
    expect(urgent!.dropped / urgent!.arrived).toBeLessThan(other!.dropped / other!.arrived / 3);
  });

  it('has the time of devices only where they come and go', async () => {
    expect(await runSimulation(setupOf(), {})).not.toHaveProperty('usedGpuS');
  });
});

describe('runComparison()', () => {
  const inputs = [{ role: 'plan' as const, path: 'plan.json', sha256: 'ab' }];
  const schedulers = [chosen('fifo'), chosen('stage-local')];
  const compared = {
    plan: PLAN,
    schedulers,
    skipped: [{ scheduler: 'gears', reason: 'it serves gear plans only' }],
    choices: [],
  };

  inWholeRun(
    'has a row of each scheduler, whose figures are the means of its runs over the seeds',
    async () => {
      const setup = setupOf();
      const document = await runComparison(
        { setup, compared, planned: 'stage-local', inputs },
        { runs: 3, windows: 3, threads: 1 },
      );
      expect(document).toMatchObject({
        kind: 'scheduler-comparison',
        seed: 4,
        runs: 3,
        confidence: 0.95,
        complete: true,
        windowS: 3,
        planned: 'stage-local',
        transfers: 'links',
        execution: { slow: 1 },
        percentileError: 0,
        skipped: compared.skipped,
        inputs,
      });
      expect(document).not.toHaveProperty('choices');
      expect(document).not.toHaveProperty('priorities');
      expect(document).not.toHaveProperty('notes');
      expect(document.rows.map(({ scheduler }) => scheduler)).toEqual(['fifo', 'stage-local']);
      for (const [k, row] of document.rows.entries()) {
        const scheduler = schedulers[k] as ChosenScheduler;
        expect(row.policy).toEqual(scheduler.policy);
        const runs = await Promise.all(
          [4, 5, 6].map((seed) => comparedRun(setup, { scheduler, seed, windowNs: 3e9 }, {})),
        );
        const mean = (of: (run: (typeof runs)[number]) => number | undefined) =>
          runs.reduce((sum, run) => sum + (of(run) as number), 0) / runs.length;
        expect(row.goodputRps.mean).toBeCloseTo(
          mean(({ figures }) => figures.goodputRps),
          9,
        );
        expect(row.p99Ms?.mean).toBeCloseTo(
          mean(({ figures }) => figures.p99Ms),
          9,
        );
        expect(row.windows?.map(({ fromS }) => fromS)).toEqual([0, 3]);
      }
      const [, dropping] = document.rows;
      // The second model has one pool, and its requests are dropped there.
      expect(dropping?.dropsByStage?.['m1/pipeline0/partition0']).toBeDefined();
      const places = [
        'entry',
        'm0/pipeline0/partition0',
        'm0/pipeline0/partition1',
        'm1/pipeline0/partition0',
      ];
      expect(places).toEqual(expect.arrayContaining(Object.keys(dropping?.dropsByStage ?? {})));
    },
  );

  inWholeRun('says which choices and priorities there were, and gives no interval over one run', async () => {
    const priorities = [{ priority: 0, share: 1, weight: 1 }];
    const plan = { ...PLAN, notes: ['it was made by hand'] };
    const document = await runComparison(
      {
        setup: setupOf({ exact: false, priorities, plan }),
        compared: { ...compared, choices: [{ choice: 'drop=never', schedulers: ['fifo'] }] as never },
        planned: 'fifo',
        inputs,
      },
      { threads: 1 },
    );
    expect(document.runs).toBe(1);
    expect(document).not.toHaveProperty('confidence');
    expect(document).not.toHaveProperty('windowS');
    expect(document.percentileError).toBeGreaterThan(0);
    expect(document.priorities).toEqual(priorities);
    expect(document.notes).toEqual(plan.notes);
    expect(document.choices).toHaveLength(1);
  });

  it('says which schedulers an interruption left without a run', async () => {
    const stopped = new AbortController();
    stopped.abort();
    const document = await runComparison(
      { setup: setupOf(), compared, planned: 'fifo', inputs },
      { threads: 1, signal: stopped.signal },
    );
    expect(document.complete).toBe(false);
    expect(document.rows).toEqual([]);
    expect(document.skipped).toEqual([
      ...compared.skipped,
      { scheduler: 'fifo', reason: 'the comparison was interrupted before it' },
      { scheduler: 'stage-local', reason: 'the comparison was interrupted before it' },
    ]);
  });
});
