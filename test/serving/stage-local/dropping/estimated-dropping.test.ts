import { describe, expect, it } from 'vitest';
import type { DropRule } from '../../../../src/serving/stage-local/policy.js';
import { chainOf, MS, stage } from '../../by-hand.js';
import { droppingOver, lastStartNs } from '../dropping-over.js';

const NEVER = Number.POSITIVE_INFINITY;
const NOW = Number.NEGATIVE_INFINITY;

/** dropping makes a rule over two stages whose planned batches of two take 10 and 20 ms, and queues of theirs. */
function dropping(drop: DropRule, slackNs = 0, sloMs = 90) {
  return droppingOver(chainOf(sloMs, stage([6, 10]), stage([12, 20])), drop, slackNs);
}

describe('end-to-end', () => {
  it('gives up who would end the last stage after the deadline less the slack, by the start of its batch', () => {
    for (const slackNs of [0, 5 * MS]) {
      const { waiting, drops } = dropping(
        { kind: 'end-to-end', queueing: true, execution: true, wait: 'none', quantile: 0, branches: 'worst' },
        slackNs,
      );
      const task = waiting.add(0, 90 * MS);
      const last = lastStartNs((start) => drops.dropTime(0, task, 0, start) === NOW, 0, 90 * MS);
      expect(last).toBe((90 - 10 - 20) * MS - slackNs);
      // No start is known: it is lost once it could not end this stage.
      expect(drops.dropTime(0, task, 0, NEVER)).toBe(80 * MS - slackNs + 1);
      expect(drops.dropTime(0, task, -1, NEVER)).toBe(90 * MS - slackNs + 1);
    }
  });
});

describe('stage-budget', () => {
  it('gives each stage its part of the SLO less the slack, until the start or the end', () => {
    for (const slackNs of [0, 6 * MS])
      for (const until of ['start', 'end'] as const) {
        const { waiting, drops } = dropping({ kind: 'stage-budget', shares: 'durations', until }, slackNs);
        const usedMs = (pool: number) => (until === 'end' ? [10, 20][pool]! : 0);
        for (const pool of [0, 1]) {
          // The task came to the stage at 3 ms, and has 1/3 or 2/3 of what is usable there.
          const task = waiting.add(pool, 90 * MS, { queuedAt: 3 * MS });
          const last = lastStartNs((start) => drops.dropTime(0, task, pool, start) === NOW, 0, 90 * MS);
          const budgetNs = ((90 * MS - slackNs) * (pool + 1)) / 3;
          expect(last).toBe(3 * MS + budgetNs - usedMs(pool) * MS);
        }
      }
  });

  it('is not decided by how a share is rounded: what takes exactly its part is kept, with any SLO', () => {
    for (let sloMs = 30; sloMs < 400; sloMs += 3) {
      const { waiting, drops } = dropping(
        { kind: 'stage-budget', shares: 'durations', until: 'start' },
        0,
        sloMs,
      );
      for (const pool of [0, 1]) {
        const budgetNs = (sloMs * MS * (pool + 1)) / 3;
        const task = waiting.add(pool, sloMs * MS);
        const asked = [budgetNs, budgetNs + 1].map((start) => drops.dropTime(0, task, pool, start));
        expect({ sloMs, asked }).toEqual({ sloMs, asked: [NEVER, NOW] });
      }
    }
  });

  it('gives each stage its part of what the SLO leaves beside rows alone, less the slack', () => {
    const spare = { kind: 'stage-budget', shares: 'spare', until: 'start' } as const;
    for (const slackNs of [0, 6 * MS])
      for (const pool of [0, 1]) {
        const { waiting, drops } = dropping(spare, slackNs);
        const task = waiting.add(pool, 90 * MS, { queuedAt: 3 * MS });
        const last = lastStartNs((start) => drops.dropTime(0, task, pool, start) === NOW, 0, 90 * MS);
        expect(last).toBe(3 * MS + ((72 * MS - slackNs) * (pool + 1)) / 3);
      }
    // Where nothing is left, what starts as it comes is kept.
    const { waiting, drops } = dropping(spare, 0, 15);
    const task = waiting.add(0, 15 * MS, { queuedAt: 3 * MS });
    expect([0, 1].map((later) => drops.dropTime(0, task, 0, 3 * MS + later))).toEqual([NEVER, NOW]);
  });

  it('waits where no device is known', () => {
    const { waiting, drops } = dropping({ kind: 'stage-budget', shares: 'durations', until: 'end' });
    expect(drops.dropTime(0, waiting.add(0, 1), 0, NEVER)).toBe(NEVER);
  });
});

describe('window', () => {
  it('refuses a head while one in its window would end the stage too late, and looks no further than the room', () => {
    const { waiting, collected, drops } = dropping({ kind: 'window', within: 'slo' });
    const tasks = [50, 30, 20].map((deadlineMs) => waiting.add(0, deadlineMs * MS));
    const refuses = (startMs: number) => drops.refuses(0, startMs * MS, 0, 0);
    // The window has two: it is in time up to a start of 20 ms.
    expect([refuses(20), refuses(20 + 1e-6)]).toEqual([false, true]);
    waiting.queues.remove(0, tasks[2]!);
    collected.push(0, tasks[2]!);
    // One was collected, so that the window has one.
    expect([refuses(40), refuses(40 + 1e-6)]).toEqual([false, true]);
  });

  it('has the share of the stage in place of the SLO, less the slack', () => {
    for (const slackNs of [0, 6 * MS]) {
      const { waiting, drops } = dropping({ kind: 'window', within: 'stage' }, slackNs);
      waiting.add(1, 90 * MS, { queuedAt: 4 * MS });
      const last = lastStartNs((start) => drops.refuses(0, start, 1, 1), 0, 90 * MS);
      expect(last).toBe(4 * MS + ((90 * MS - slackNs) * 2) / 3 - 20 * MS);
    }
  });
});

describe('overload', () => {
  const RULE = { kind: 'overload', thresholdNs: 1 * MS, share: 0.4 } as const;

  it('gives up its share of tasks evenly, judges each once, and counts each stage by itself', () => {
    const { waiting, planner, drops } = dropping(RULE);
    const ask = (pool: number) => {
      const task = waiting.add(pool, 90 * MS);
      drops.entered(pool, task);
      const first = drops.dropTime(0, task, pool, 0) === NOW;
      expect(drops.dropTime(0, task, pool, 0)).toBe(NEVER);
      return first;
    };
    expect([1, 2, 3, 4, 5].map(() => ask(0))).toEqual(new Array(5).fill(false));
    const slow = waiting.add(1, 90 * MS);
    planner.kept(2 * MS, slow, 1, 2 * MS);
    planner.passed(1e9);
    // Stage 1 queues for 2 ms, so that it and the one before it are overloaded.
    const five = [false, false, true, false, true];
    expect(Array.from({ length: 10 }, () => ask(0))).toEqual([...five, ...five]);
    expect(Array.from({ length: 5 }, () => ask(1))).toEqual(five);
  });

  it('does not judge a task for which no device is known', () => {
    const { waiting, planner, drops } = dropping({ ...RULE, share: 1 });
    planner.kept(2 * MS, waiting.add(0, 90 * MS), 0, 2 * MS);
    planner.passed(1e9);
    const task = waiting.add(0, 90 * MS);
    drops.entered(0, task);
    expect([drops.dropTime(0, task, 0, NEVER), drops.dropTime(0, task, 0, 0)]).toEqual([NEVER, NOW]);
  });
});
