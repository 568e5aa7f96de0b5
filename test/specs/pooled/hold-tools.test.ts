import { beforeAll, describe, expect, it } from 'vitest';
import { randomProblem } from '../../../bench/refute/pooled/random-problem.js';
import { checkedOutcome } from '../../../src/checks/index.js';
import { type HoldTools, searchHeld } from '../../../src/hold/index.js';
import { type HighsEngine, loadHighs } from '../../../src/lp/index.js';
import { boundPooled, type PlanBody, planPooled } from '../../../src/milp/index.js';
// The library gives only the plan that is found; the steps of its search are seen here alone.
import { HoldTime, holdTools } from '../../../src/specs/pooled/hold-tools.js';
import type { HoldJob, HoldRun } from '../../../src/specs/pooled/hold-worker.js';
import type { SolveJob } from '../../../src/specs/pooled/solve-job.js';
import type { SolverPool } from '../../../src/specs/pooled/solver-pool.js';
import { describeInWholeRun, inWholeRun } from '../../cases.js';

const PROBLEM = randomProblem(
  3,
  { classes: 2, blocks: 4, batches: 3, virtual: [1, 2], models: 2, mostGpus: 16 },
  { sloMargin: 0.4 },
);
const TARGET = { attainment: [0.9, 0.9], arrivals: 'poisson' as const, mostTrials: 60 };
const RUN_MS = 10;

let highs: HighsEngine;
let plan: PlanBody;
beforeAll(async () => {
  highs = await loadHighs();
  const outcome = planPooled(PROBLEM, { highs });
  if (!('plan' in outcome)) throw new Error(outcome.status);
  plan = outcome.plan;
});

/** Tools whose clock moves by RUN_MS in every simulation, and which keep the jobs that the solver was given. */
async function timed(
  limitMs: number | undefined,
  { mostRequests, signal }: { readonly mostRequests?: number; readonly signal?: AbortSignal } = {},
) {
  const clock = { nowMs: 5e6 };
  const jobs: SolveJob[] = [];
  const runAll = async (asked: Iterable<{ job: SolveJob }>) => {
    const mine = [...asked].map(({ job }) => job);
    jobs.push(...mine);
    return mine.map(({ kind, problem }) =>
      kind === 'bound'
        ? boundPooled(problem, { highs })
        : checkedOutcome(planPooled(problem, { highs }), problem),
    );
  };
  let runs = 0;
  const simulate = async ({ plan: { models }, rps }: HoldJob): Promise<HoldRun> => {
    runs += 1;
    clock.nowMs += RUN_MS;
    return models.map(({ throughputRps }, m) => ({
      attainment: Math.min(1, (0.7 * throughputRps) / (rps[m] as number)),
      arrived: 1000,
    }));
  };
  const time = new HoldTime(limitMs, () => clock.nowMs, mostRequests);
  const tools: HoldTools = await holdTools({
    solver: { runAll } as unknown as SolverPool,
    simulate,
    attainment: TARGET.attainment,
    limits: { gap: 0.01 },
    time,
    signal,
  });
  return { clock, jobs, tools, time, runs: () => runs };
}

describe('holdTools() with a time limit', () => {
  it('gives every single solve half of the time that is left to try plans, and later half of what is left', async () => {
    const { clock, jobs, tools } = await timed(8000);
    const ends = async (afterMs: number) => {
      clock.nowMs = 5e6 + afterMs;
      jobs.length = 0;
      await tools.plans([PROBLEM, PROBLEM]);
      return jobs.map((job) => job.kind === 'plan' && [job.gap, (job.endsAtMs as number) - 5e6]);
    };
    expect(await ends(0)).toEqual([
      [0.01, 2000],
      [0.01, 2000],
    ]);
    expect((await ends(3000))[0]).toEqual([0.01, 3500]);
    expect((await ends(6000))[0]).toEqual([0.01, 7000]);
    expect((await ends(9000))[0]).toEqual([0.01, 9000]);
  });

  it('tries plans for half of it, compares them until three quarters of it, and confirms until it is over', async () => {
    const { clock, tools } = await timed(8e6);
    const startRps = plan.models.map(({ throughputRps }) => throughputRps);
    const asked = { plan, startRps };
    const known = async (afterMs: number) => {
      clock.nowMs = 5e6 + afterMs;
      const [held] = await tools.held([asked]);
      const [ranked, promised] = [await tools.ranked(asked), await tools.promised(asked, [7, 8, 9, 10])];
      return [tools.isOver(), held, ranked, promised].map((one) => (typeof one === 'object' ? 'rates' : one));
    };
    expect(await known(3.9e6)).toEqual([false, 'rates', 'rates', 'rates']);
    expect(await known(4e6)).toEqual([true, undefined, 'rates', 'rates']);
    expect(await known(6e6)).toEqual([true, undefined, undefined, 'rates']);
    expect(await known(8e6)).toEqual([true, undefined, undefined, undefined]);
  });

  inWholeRun(
    'ends the whole search by the limit and the runs of one rate, with a confirmed plan or none',
    async () => {
      const free = await timed(undefined);
      const whole = await searchHeld(PROBLEM, TARGET, free.tools);
      expect(whole).toMatchObject({ status: 'held', isCut: false });
      expect(free.jobs.every((job) => !('endsAtMs' in job))).toBe(true);
      const neededMs = RUN_MS * free.runs();
      const ends: string[] = [];
      for (const share of [0.01, 0.03, 0.1, 0.3, 0.6, 3]) {
        const { clock, tools } = await timed(share * neededMs);
        const outcome = await searchHeld(PROBLEM, TARGET, tools);
        ends.push(
          'isCut' in outcome ? `${outcome.status}, ${outcome.isCut ? 'cut' : 'whole'}` : outcome.status,
        );
        // Four plans are tried side by side, each by the runs of a rate; a promise takes eight runs of a rate.
        expect(clock.nowMs - 5e6).toBeLessThanOrEqual(share * neededMs + 8 * RUN_MS);
      }
      expect(ends[0]).toBe('unfinished');
      expect(ends).toContain('held, cut');
      expect(ends.at(-1)).toBe('held, whole');
    },
  );
});

describeInWholeRun('holdTools() with a limit of requests', () => {
  it('ends the whole search by it and the runs of one rate, with a confirmed plan or none', async () => {
    const free = await timed(undefined);
    await searchHeld(PROBLEM, TARGET, free.tools);
    const needed = 2000 * free.runs();
    const ends: string[] = [];
    for (const share of [0.01, 0.1, 0.6, 3]) {
      const { time, tools, runs } = await timed(undefined, { mostRequests: share * needed });
      const { status } = await searchHeld(PROBLEM, TARGET, tools);
      ends.push(`${status}${time.isWorkDone ? ', by the work' : ''}`);
      // Each run has 1000 requests of both models; four plans are tried side by side, and a promise takes eight runs.
      expect(2000 * runs()).toBeLessThanOrEqual(share * needed + 2000 * 8);
    }
    expect(ends[0]).toBe('unfinished, by the work');
    expect(ends.at(-1)).toBe('held');
  });
});

describe('holdTools() after an interruption', () => {
  it('simulates nothing more, and confirms no plan', async () => {
    for (const after of [0, 1, 4]) {
      const abort = new AbortController();
      const { tools, runs } = await timed(undefined, { signal: abort.signal });
      const held = async (plans: Parameters<typeof tools.held>[0]) => {
        if (runs() >= after) abort.abort();
        return tools.held(plans);
      };
      let atAbort: number | undefined;
      abort.signal.addEventListener('abort', () => {
        atAbort = runs();
      });
      expect(await searchHeld(PROBLEM, TARGET, { ...tools, held })).toEqual({ status: 'unfinished' });
      expect(runs()).toBe(atAbort);
    }
  });
});
