import { describe, expect, it } from 'vitest';
import { Durations } from '../../../src/serving/state/index.js';
import type { Topology } from '../../../src/serving/topology.js';
import { chainOf, modelOf, stage } from '../by-hand.js';
import type { PartShape } from '../plans.js';

/** A stage whose batch of b rows takes the b-th of these times in nanoseconds. Sending a row on takes `sendNs`. */
const part = (latenciesNs: number[], sendNs = 0): PartShape =>
  stage(
    latenciesNs.map((ns) => ns / 1e6),
    // Each byte takes 8 ns.
    { transferBytes: sendNs / 8 },
  );
const chain = (sloNs: number, ...parts: PartShape[]) => chainOf(sloNs / 1e6, ...parts);

const AVERAGE = { kind: 'average', weight: 0.5 } as const;
const steps = (deviations: number) => ({ kind: 'steps', weight: 0.5, deviations }) as const;

const executions = (durations: Durations, pool: number, batch: number) =>
  Array.from({ length: batch }, (_, i) => durations.executionNs(pool, i + 1));

describe('Durations as planned', () => {
  // Batches have 4, 2 and 3 rows. A row takes 8 ns to the second stage and 16 ns to the third.
  const three = chain(10_000, part([100, 140, 180, 160], 8), part([60, 80], 16), part([30, 40, 50]));
  const durations = new Durations(three, { kind: 'none' });

  it('executionNs(), transferNs() and stepNs() are those of the plan', () => {
    expect(executions(durations, 0, 4)).toEqual([100, 140, 180, 160]);
    expect(executions(durations, 1, 2)).toEqual([60, 80]);
    expect(executions(durations, 2, 3)).toEqual([30, 40, 50]);
    expect([1, 2, 3, 4].map((size) => durations.transferNs(0, size))).toEqual([8, 16, 24, 32]);
    expect([1, 2].map((size) => durations.transferNs(1, size))).toEqual([16, 32]);
    expect([1, 2, 3].map((size) => durations.transferNs(2, size))).toEqual([0, 0, 0]);
    expect([durations.stepNs(0, 3), durations.stepNs(1, 2), durations.stepNs(2, 3)]).toEqual([204, 112, 50]);
  });

  it('workNs() counts no more rows in each next stage than it takes', () => {
    // 100 + 8 + 60 + 16 + 30 for one; 140 + 16 + 80 + 32 + 40 for two; three and four begin with 180 + 24 and 160 + 32
    // and then go on as two.
    expect([1, 2, 3, 4].map((size) => durations.workNs(0, size))).toEqual([214, 308, 356, 344]);
    expect([1, 2].map((size) => durations.workNs(1, size))).toEqual([106, 152]);
    expect([1, 2, 3].map((size) => durations.workNs(2, size))).toEqual([30, 40, 50]);
  });

  it('mostWorkNs() is the work of the batch that takes longest, even if a larger one is faster', () => {
    expect([0, 1, 2].map((pool) => durations.mostWorkNs(pool))).toEqual([356, 152, 50]);
  });

  it('fullRestNs() is the time of full batches in the later stages, with the transfers between these', () => {
    // Two rows take 80 + 32 in the second stage, then three take 50 in the third.
    expect([0, 1, 2].map((pool) => durations.fullRestNs(pool))).toEqual([162, 50, 0]);
  });

  it('plannedWorkNs() is the work of a batch that no stage makes smaller', () => {
    expect([durations.plannedWorkNs(0, 1), durations.plannedWorkNs(0, 2)]).toEqual([214, 308]);
    expect([durations.plannedWorkNs(1, 2), durations.plannedWorkNs(2, 3)]).toEqual([152, 50]);
  });

  it('learn nothing where the policy corrects nothing', () => {
    durations.observeExecution(0, 1, 200);
    durations.observeTransfer(0, 1, 200);
    durations.relax(0);
    expect([durations.executionNs(0, 1), durations.transferNs(0, 1), durations.workNs(0, 1)]).toEqual([
      100, 8, 214,
    ]);
  });
});

describe('Durations by an average', () => {
  it('scale all executions of a pool by a moving average of measured over planned', () => {
    const durations = new Durations(chain(10_000, part([100, 150], 8), part([60])), AVERAGE);
    durations.observeExecution(0, 2, 300);
    // 1 + 0.5 · (2 − 1)
    expect(executions(durations, 0, 2)).toEqual([150, 225]);
    durations.observeExecution(0, 1, 50);
    // 1.5 + 0.5 · (0.5 − 1.5)
    expect(executions(durations, 0, 2)).toEqual([100, 150]);
    durations.observeExecution(0, 1, 50);
    expect(executions(durations, 0, 2)).toEqual([75, 112.5]);
    expect([durations.executionNs(1, 1), durations.plannedWorkNs(0, 1)]).toEqual([60, 168]);
  });

  it('count a measured time as at least a quarter and at most sixteen times the plan', () => {
    for (const [tookNs, expectedNs] of [
      [0, 100 * (1 - 0.5 * 0.75)],
      [25, 100 * (1 - 0.5 * 0.75)],
      [26, 63],
      [1600, 850],
      [1e9, 850],
      [1500, 800],
    ] as const) {
      const durations = new Durations(chain(10_000, part([100])), AVERAGE);
      durations.observeExecution(0, 1, tookNs);
      expect(durations.executionNs(0, 1)).toBe(expectedNs);
    }
  });

  it('do not correct transfers', () => {
    const durations = new Durations(chain(10_000, part([100], 8), part([60])), AVERAGE);
    durations.observeTransfer(0, 1, 800);
    expect([durations.transferNs(0, 1), durations.workNs(0, 1)]).toEqual([8, 168]);
  });

  it('update all sums of the pool and those before it, in its own pipeline only', () => {
    const two: Topology = modelOf(
      1,
      { throughputRps: 1, parts: [part([100], 8), part([60], 8), part([30])] },
      { throughputRps: 1, parts: [part([100], 8), part([60, 90])] },
    );
    const durations = new Durations(two, AVERAGE);
    const all = () => ({
      work: [0, 1, 2, 3, 4].map((pool) => durations.workNs(pool, 1)),
      most: [0, 1, 2, 3, 4].map((pool) => durations.mostWorkNs(pool)),
      rest: [0, 1, 2, 3, 4].map((pool) => durations.fullRestNs(pool)),
    });
    expect(all()).toEqual({
      work: [206, 98, 30, 168, 60],
      most: [206, 98, 30, 168, 90],
      rest: [98, 30, 0, 90, 0],
    });
    // Pool 1 goes from 60 to 90 ns.
    durations.observeExecution(1, 1, 120);
    expect(all()).toEqual({
      work: [236, 128, 30, 168, 60],
      most: [236, 128, 30, 168, 90],
      rest: [128, 30, 0, 90, 0],
    });
    // Pool 4 goes from 60 to 90 ns and from 90 to 135 ns.
    durations.observeExecution(4, 2, 180);
    expect(all()).toEqual({
      work: [236, 128, 30, 198, 90],
      most: [236, 128, 30, 198, 135],
      rest: [128, 30, 0, 135, 0],
    });
    // Pool 2 goes from 30 to 45 ns.
    durations.observeExecution(2, 1, 60);
    expect(all()).toMatchObject({ work: [251, 143, 45, 198, 90], rest: [143, 45, 0, 135, 0] });
  });

  it('relax() moves executions that take longer than planned towards the plan, in the pool and those after it', () => {
    const durations = new Durations(chain(10_000, part([100], 8), part([60]), part([30])), AVERAGE);
    for (const [pool, tookNs] of [200, 120, 60].entries()) durations.observeExecution(pool, 1, tookNs);
    const now = () => [0, 1, 2].map((pool) => durations.executionNs(pool, 1));
    expect(now()).toEqual([150, 90, 45]);
    durations.relax(1);
    // 1.5 − 0.5 · 0.5
    expect(now()).toEqual([150, 75, 37.5]);
    expect(durations.workNs(0, 1)).toBe(150 + 8 + 75 + 37.5);
    durations.relax(0);
    expect(now()).toEqual([125, 67.5, 33.75]);
  });

  it('relax() leaves other pipelines as they are', () => {
    const two = modelOf(
      1,
      { throughputRps: 1, parts: [part([100])] },
      { throughputRps: 1, parts: [part([100])] },
    );
    const durations = new Durations(two, AVERAGE);
    for (const pool of [0, 1]) durations.observeExecution(pool, 1, 200);
    durations.relax(0);
    expect([durations.executionNs(0, 1), durations.executionNs(1, 1)]).toEqual([125, 150]);
  });

  it('relax() leaves executions that take less than planned as they are', () => {
    const durations = new Durations(chain(10_000, part([100])), AVERAGE);
    durations.observeExecution(0, 1, 50);
    durations.relax(0);
    expect(durations.executionNs(0, 1)).toBe(75);
  });
});

describe('Durations by an average and deviations', () => {
  it("take a pipeline's room from its own pools and the SLO, whatever other pipelines take", () => {
    const slow = { throughputRps: 1, parts: [stage([50])] };
    const quick = { throughputRps: 1, parts: [stage([40])] };
    const alone = new Durations(modelOf(100, quick), steps(2));
    const second = new Durations(modelOf(100, slow, quick), steps(2));
    alone.observeExecution(0, 1, 60e6);
    second.observeExecution(1, 1, 60e6);
    expect(alone.executionNs(0, 1)).toBeGreaterThan(51e6);
    expect(second.executionNs(1, 1)).toBe(alone.executionNs(0, 1));
  });

  it('add a number of mean deviations, in whole nanoseconds', () => {
    const durations = new Durations(chain(10_000, part([101, 151])), steps(1));
    durations.observeExecution(0, 1, 202);
    // The ratio is 1 + 0.5 · 1 and the deviation 0 + 0.5 · (1 − 0), which is 2 in all.
    expect(executions(durations, 0, 2)).toEqual([202, 302]);
    durations.observeExecution(0, 1, 101);
    // The ratio is 1.5 − 0.5 · 0.5 and the deviation 0.5 + 0.5 · (0.5 − 0.5), which is 1.75 in all: 176.75 and 264.25
    // ns.
    expect(executions(durations, 0, 2)).toEqual([177, 264]);
    durations.observeExecution(0, 1, 101);
    // The ratio is 1.25 − 0.5 · 0.25 and the deviation 0.5 + 0.5 · (0.25 − 0.5), which is 1.5 in all.
    expect(executions(durations, 0, 2)).toEqual([152, 227]);
  });

  it('correct transfers too, apart from executions', () => {
    const durations = new Durations(chain(10_000, part([100, 100], 8), part([60, 60])), steps(2));
    durations.observeTransfer(0, 2, 32);
    // The ratio is 1.5 and the deviation 0.5.
    expect([durations.transferNs(0, 1), durations.transferNs(0, 2)]).toEqual([20, 40]);
    expect([durations.executionNs(0, 1), durations.workNs(0, 2)]).toEqual([100, 100 + 40 + 60]);
  });

  it('learn nothing from steps that are planned to take no time', () => {
    // A row takes 0.4 ns: one row is rounded to 0 ns, two to 1 ns.
    const durations = new Durations(chain(10_000, part([100, 100], 0.4), part([60, 60])), steps(2));
    for (const tookNs of [0, 500]) durations.observeTransfer(0, 1, tookNs);
    expect([durations.transferNs(0, 1), durations.transferNs(0, 2)]).toEqual([0, 1]);
    expect([durations.workNs(0, 1), durations.workNs(0, 2)]).toEqual([160, 161]);
  });

  it('learn from a step that took as planned once another did not', () => {
    const durations = new Durations(chain(10_000, part([100])), steps(1));
    durations.observeExecution(0, 1, 100);
    expect(durations.executionNs(0, 1)).toBe(100);
    durations.observeExecution(0, 1, 200);
    durations.observeExecution(0, 1, 100);
    // The ratio goes from 1.5 to 1.25, the deviation from 0.5 to 0.5.
    expect(durations.executionNs(0, 1)).toBe(175);
    const settled = new Durations(chain(10_000, part([100])), steps(1));
    settled.observeExecution(0, 1, 200);
    settled.observeExecution(0, 1, 50);
    // The ratio goes from 1.5 to 1, the deviation from 0.5 to 0.75: the ratio is back at the plan, and the spread is
    // not.
    expect(settled.executionNs(0, 1)).toBe(175);
    settled.observeExecution(0, 1, 100);
    expect(settled.executionNs(0, 1)).toBe(138);
  });

  it('keep every step that takes some time above 0, and every other at 0', () => {
    const durations = new Durations(
      chain(10_000, part([1, 2, 100]), part([60, 60, 60])),
      // With this weight, the moving average is the last measured value.
      { kind: 'steps', weight: 1, deviations: 0 },
    );
    durations.observeExecution(0, 3, 25);
    // A quarter of 1 and of 2 ns is rounded up.
    expect(executions(durations, 0, 3)).toEqual([1, 1, 25]);
    expect(durations.transferNs(0, 3)).toBe(0);
  });

  it('add no more than leaves a full batch three tenths of its room within the SLO', () => {
    // The execution took twice as long as planned: the ratio is 1.5 and the deviation 0.5. The mean and pool 1's 100 ns
    // leave the SLO less 250 ns as room. Two deviations are 100 ns, for which 100 / 0.7 ns of room is needed.
    for (const [sloNs, expectedNs] of [
      [400, 250],
      [393, 250],
      // 0.7 · (390 − 250) = 98 ns.
      [390, 248],
      [300, 185],
      [250, 150],
      [200, 150],
    ] as const) {
      const durations = new Durations(chain(sloNs, part([100]), part([100])), steps(2));
      durations.observeExecution(0, 1, 200);
      expect([sloNs, durations.executionNs(0, 1)]).toEqual([sloNs, expectedNs]);
    }
  });

  it('compute that room from the first stage to the last, with the largest batch that fits all stages', () => {
    // Full batches have two rows and take 140 + 16, 80 + 32 and 40 ns.
    const parts = [part([100, 140, 180], 8), part([60, 80], 16), part([30, 40, 50])];
    const planned = 140 + 16 + 80 + 32 + 40;
    // Pool 1 and the transfer from it take twice as long: 1.5 times 80 and 32 ns are expected, with deviations of 40
    // and 16 ns.
    const mean = planned + 40 + 16;
    for (const [roomNs, factor] of [
      // The margin is two deviations of 56 ns where 0.7 of the room is 112 ns.
      [160, 1.5 + 2 * 0.5],
      // The factor is 0.7 · 80 / 56 = 1.
      [80, 1.5 + 0.5],
      [0, 1.5],
    ] as const) {
      const durations = new Durations(chain(mean + roomNs, ...parts), steps(2));
      durations.observeExecution(1, 1, 120);
      durations.observeTransfer(1, 2, 64);
      const expected = [60, 80, 16, 32].map((ns) => factor * ns);
      expect([
        ...executions(durations, 1, 2),
        durations.transferNs(1, 1),
        durations.transferNs(1, 2),
      ]).toEqual(expected);
    }
  });

  it('relax() halves the spread as well', () => {
    const durations = new Durations(chain(10_000, part([100], 8), part([60])), steps(1));
    durations.observeExecution(0, 1, 200);
    durations.observeTransfer(0, 1, 16);
    expect([durations.executionNs(0, 1), durations.transferNs(0, 1)]).toEqual([200, 16]);
    durations.relax(0);
    // The ratio is 1.25 and the deviation 0.25.
    expect([durations.executionNs(0, 1), durations.transferNs(0, 1)]).toEqual([150, 12]);
  });
});
