import { describe, expect, it } from 'vitest';
import { Lists, NONE } from '../../../../src/collections/index.js';
import { streamsOf } from '../../../../src/random/index.js';
import { droppingOf } from '../../../../src/serving/stage-local/dropping/dropping.js';
import { PlannedBatches } from '../../../../src/serving/stage-local/forming/planned-batches.js';
import type { DropRule } from '../../../../src/serving/stage-local/policy.js';
import { OpenBatches, PlanColumns } from '../../../../src/serving/state/index.js';
import { chainOf, MS, stage, Waiting } from '../../by-hand.js';

const NEVER = Number.POSITIVE_INFINITY;
const NOW = Number.NEGATIVE_INFINITY;

/** One stage of batch 4. */
const single = chainOf(100, stage([10, 14, 18, 22]));

/** This rule gives up a head only where it cannot be in time even alone. */
const ALONE = { kind: 'nearly-full', share: 0, spares: 'all-waited' } as const;

function dropping(rule: DropRule, waiting = new Waiting(single)) {
  const { topology, requests, queues, durations } = waiting;
  const columns = new PlanColumns(topology);
  const planned = new PlannedBatches(columns, durations);
  const [batches, streams] = [new OpenBatches(4), streamsOf(1, 'core')];
  const collected = new Lists(queues.count);
  const state = { topology, columns, requests, batches, queues, collected, durations, planned, streams };
  return { waiting, drops: droppingOf(rule, state) };
}

describe('Dropping by deadline', () => {
  it('dropTime() is never, under the rule "never"', () => {
    const { waiting, drops } = dropping({ kind: 'never' });
    expect(drops.dropTime(0, waiting.add(0, 5), 0, NEVER)).toBe(NEVER);
  });

  it('dropTime() is a nanosecond after the deadline less the slack, under the rule "expired"', () => {
    const { waiting, drops } = dropping({ kind: 'expired' }, new Waiting(single, { slackNs: 3 }));
    expect(drops.dropTime(0, waiting.add(0, 50 * MS), 0, NEVER)).toBe(50 * MS - 3 + 1);
  });

  it('dropTime() is the first instant at which the head alone would be late, under "hopeless" and "full-batch"', () => {
    for (const rule of [{ kind: 'hopeless' }, { kind: 'full-batch', share: 1 }] as const) {
      const { waiting, drops } = dropping(rule);
      const head = waiting.add(0, 50 * MS);
      // Alone the head takes 10 ms: begun at 40 ms it ends at its deadline, and a nanosecond later it ends late.
      expect(drops.dropTime(0, head, 0, NEVER)).toBe(40 * MS + 1);
      // Without a pool, the time that is left to do is not known.
      expect(drops.dropTime(0, head, NONE, NEVER)).toBe(50 * MS + 1);
    }
  });

  it('dropTime() is a whole nanosecond where the expected time is not', () => {
    const topology = chainOf(100, stage([3e-6]));
    const waiting = new Waiting(topology, { correction: { kind: 'average', weight: 0.25 } });
    // 3 ns were planned and 6 ns measured: the average is 1 + 0.25 · (2 − 1) of the plan, which is 3.75 ns.
    waiting.durations.observeExecution(0, 1, 6);
    const { drops } = dropping({ kind: 'hopeless' }, waiting);
    // Begun at 96 ns the task ends at 99.75 ns, begun at 97 ns it ends at 100.75 ns.
    expect(drops.dropTime(0, waiting.add(0, 100), 0, NEVER)).toBe(97);
  });

  it('refuses() no head under the rules "never", "expired" and "hopeless"', () => {
    for (const kind of ['never', 'expired', 'hopeless'] as const) {
      const { waiting, drops } = dropping({ kind });
      for (let i = 0; i < 9; i++) waiting.add(0, 1);
      expect(drops.refuses(0, 0, 0, 0)).toBe(false);
    }
  });

  it('refuses() the head under "full-batch" when it would be late in a full batch, by a nanosecond', () => {
    const { waiting, drops } = dropping({ kind: 'full-batch', share: 1 });
    for (let i = 0; i < 5; i++) waiting.add(0, 50 * MS);
    // Four tasks take 22 ms: begun at 28 ms they end at the deadline.
    expect(drops.refuses(0, 28 * MS, 0, 0)).toBe(false);
    expect(drops.refuses(0, 28 * MS + 1, 0, 0)).toBe(true);
  });

  it('refuses() the head under "full-batch" only when more tasks wait than that batch holds', () => {
    const { waiting, drops } = dropping({ kind: 'full-batch', share: 1 });
    for (let i = 0; i < 4; i++) waiting.add(0, 50 * MS);
    expect(drops.refuses(0, 35 * MS, 0, 0)).toBe(false);
    waiting.add(0, 50 * MS);
    expect(drops.refuses(0, 35 * MS, 0, 0)).toBe(true);
  });

  it('refuses() by a share of the batch, rounded, with at least one task and at most the whole batch', () => {
    // Each row gives the share of 4, the rounded batch, and the time that such a batch takes.
    for (const [share, target, takesMs] of [
      [0, 1, 10],
      [0.3, 1, 10],
      [0.4, 2, 14],
      [0.6, 2, 14],
      [0.625, 3, 18],
      [1, 4, 22],
      [1.5, 4, 22],
    ] as const) {
      const { waiting, drops } = dropping({ kind: 'full-batch', share });
      for (let i = 0; i < target; i++) waiting.add(0, 50 * MS);
      const latestStart = (50 - takesMs) * MS;
      expect([share, drops.refuses(0, latestStart + 1, 0, 0)]).toEqual([share, false]);
      waiting.add(0, 50 * MS);
      expect([share, drops.refuses(0, latestStart, 0, 0)]).toEqual([share, false]);
      expect([share, drops.refuses(0, latestStart + 1, 0, 0)]).toEqual([share, true]);
    }
  });

  it('refuses() no head that is tried alone, under "full-batch"', () => {
    const { waiting, drops } = dropping({ kind: 'full-batch', share: 1 });
    waiting.add(0, 50 * MS, { tries: 1 });
    for (let i = 0; i < 5; i++) waiting.add(0, 60 * MS);
    expect(drops.refuses(0, 35 * MS, 0, 0)).toBe(false);
  });

  it('forbids() always, since no device could serve what its deadline gives up', () => {
    const { waiting, drops } = dropping({ kind: 'hopeless' });
    expect(drops.forbids(0, waiting.add(0, 50 * MS), 0)).toBe(true);
  });

  it('batchUnderLoad() is the number that waits and comes, between one and the share of a batch', () => {
    const { waiting, drops } = dropping({ kind: 'full-batch', share: 0.75 });
    expect([0, 1, 2, 3, 4].map((more) => drops.batchUnderLoad(0, more))).toEqual([1, 1, 2, 3, 3]);
    waiting.add(0, 50 * MS);
    expect([0, 1, 2, 3].map((more) => drops.batchUnderLoad(0, more))).toEqual([1, 2, 3, 3]);
    expect(dropping({ kind: 'hopeless' }, waiting).drops.batchUnderLoad(0, 9)).toBe(1);
  });
});

describe('Dropping by device', () => {
  const AFTER = [
    { kind: 'nearly-full', share: 1, spares: 'all-waited' },
    { kind: 'queueing', share: 1, spares: 'all-waited' },
  ] as const;

  it('dropTime() is never while some device takes the batch, at whatever time', () => {
    const { waiting, drops } = dropping(ALONE);
    expect(drops.dropTime(0, waiting.add(0, 50 * MS), 0, 1e15)).toBe(NEVER);
  });

  it('dropTime() without a device is the past where no pool is known, and else the time when the head is hopeless', () => {
    const { waiting, drops } = dropping(ALONE);
    const head = waiting.add(0, 50 * MS);
    expect(drops.dropTime(0, head, NONE, NEVER)).toBe(NOW);
    expect(drops.dropTime(0, head, 0, NEVER)).toBe(40 * MS + 1);
  });

  it('refuses() with a share of 0 a head that would be late even alone, by a nanosecond', () => {
    const { waiting, drops } = dropping(ALONE);
    waiting.add(0, 50 * MS);
    expect(drops.refuses(0, 40 * MS, 0, 0)).toBe(false);
    expect(drops.refuses(0, 40 * MS + 1, 0, 0)).toBe(true);
  });

  it('refuses() at first sight a head that would be late in the share of a batch', () => {
    const { waiting, drops } = dropping({ kind: 'nearly-full', share: 0.75, spares: 'all-waited' });
    drops.entered(0, waiting.add(0, 50 * MS));
    // Three tasks take 18 ms.
    expect(drops.refuses(0, 32 * MS, 0, 0)).toBe(false);
    expect(drops.refuses(0, 32 * MS + 1, 0, 0)).toBe(true);
    // A free device does not help, since the rule asks only about a nearly full batch.
    expect(drops.refuses(33 * MS, 33 * MS, 0, 0)).toBe(true);
  });

  it('refuses() under "queueing" only where that batch would be in time on a free device', () => {
    const { waiting, drops } = dropping({ kind: 'queueing', share: 1, spares: 'all-waited' });
    drops.entered(0, waiting.add(0, 50 * MS));
    // A full batch takes 22 ms: begun at 28 ms it is in time, and begun at 30 ms it is not.
    expect(drops.refuses(28 * MS, 30 * MS, 0, 0)).toBe(true);
    expect(drops.refuses(28 * MS + 1, 30 * MS, 0, 0)).toBe(false);
    expect(drops.refuses(28 * MS + 1, 40 * MS + 1, 0, 0)).toBe(true);
  });

  it('refuses() with time left for the transfer and for full batches of the later stages', () => {
    // Two rows are sent in 2 ms; the next stage takes 8 ms for its full batch.
    const topology = chainOf(100, stage([10, 14], { transferBytes: 125_000 }), stage([4, 8]));
    const { waiting, drops } = dropping(
      { kind: 'queueing', share: 1, spares: 'all-waited' },
      new Waiting(topology),
    );
    drops.entered(0, waiting.add(0, 50 * MS));
    // The last start is 50 − 8 − 2 − 14 = 26 ms for two, and 50 − 8 − 1 − 10 = 31 ms for one.
    expect(drops.refuses(26 * MS, 26 * MS + 1, 0, 0)).toBe(true);
    expect(drops.refuses(26 * MS + 1, 26 * MS + 1, 0, 0)).toBe(false);
    expect(drops.refuses(26 * MS + 1, 31 * MS, 0, 0)).toBe(false);
    expect(drops.refuses(26 * MS + 1, 31 * MS + 1, 0, 0)).toBe(true);
  });

  it('refuses() a head that is tried alone only where it would be late alone', () => {
    for (const rule of AFTER) {
      const { waiting, drops } = dropping(rule);
      drops.entered(0, waiting.add(0, 50 * MS, { tries: 1 }));
      expect(drops.refuses(0, 40 * MS, 0, 0)).toBe(false);
      expect(drops.refuses(0, 40 * MS + 1, 0, 0)).toBe(true);
    }
  });

  it('refuses() and forbids() a head that is tried alone by its own time, though a larger batch would be faster', () => {
    const { waiting, drops } = dropping(ALONE, new Waiting(chainOf(100, stage([20, 10]))));
    const head = waiting.add(0, 50 * MS, { tries: 1 });
    expect(drops.refuses(0, 35 * MS, 0, 0)).toBe(true);
    expect(drops.forbids(35 * MS, head, 0)).toBe(true);
  });

  it('refuses() spares no task before the queue has waited on any', () => {
    const { waiting, drops } = dropping({ kind: 'nearly-full', share: 1, spares: 'last-waited' });
    expect(waiting.add(0, 50 * MS)).toBe(0);
    expect(drops.refuses(0, 35 * MS, 0, 0)).toBe(true);
  });

  it('refuses() spares a task that the queue has waited on, unless it would be late in every batch', () => {
    for (const rule of AFTER) {
      const { waiting, drops } = dropping(rule);
      const head = waiting.add(0, 50 * MS);
      drops.entered(0, head);
      expect(drops.refuses(0, 35 * MS, 0, 0)).toBe(true);
      drops.waitedOn(0, head);
      expect(drops.refuses(0, 35 * MS, 0, 0)).toBe(false);
      expect(drops.refuses(0, 40 * MS + 1, 0, 0)).toBe(true);
    }
  });

  it('refuses() spares all tasks that the queue has waited on, or only the last', () => {
    for (const [spares, again] of [
      ['all-waited', false],
      ['last-waited', true],
    ] as const) {
      const { waiting, drops } = dropping({ kind: 'nearly-full', share: 1, spares });
      const [sooner, later] = [waiting.add(0, 50 * MS), waiting.add(0, 51 * MS)];
      for (const task of [sooner, later]) drops.entered(0, task);
      drops.waitedOn(0, sooner);
      drops.waitedOn(0, later);
      expect(drops.refuses(0, 35 * MS, 0, 0)).toBe(again);
      waiting.queues.remove(0, sooner);
      expect(drops.refuses(0, 35 * MS, 0, 0)).toBe(false);
    }
  });

  it('refuses() spares tasks by queue: the last one waited on in one queue is not that of another', () => {
    const topology = chainOf(100, stage([10, 14, 18, 22]), stage([10, 14, 18, 22]));
    const rule = { kind: 'nearly-full', share: 1, spares: 'last-waited' } as const;
    const { waiting, drops } = dropping(rule, new Waiting(topology));
    const task = waiting.add(1, 50 * MS);
    drops.entered(1, task);
    drops.waitedOn(0, task);
    expect(drops.refuses(0, 35 * MS, 1, 1)).toBe(true);
    drops.waitedOn(1, task);
    expect(drops.refuses(0, 35 * MS, 1, 1)).toBe(false);
  });

  it('entered() forgets that the queue has waited on an earlier task of the same number', () => {
    for (const spares of ['all-waited', 'last-waited'] as const) {
      const { waiting, drops } = dropping({ kind: 'nearly-full', share: 1, spares });
      const [first, second] = [waiting.add(0, 50 * MS), waiting.add(0, 60 * MS)];
      for (const task of [first, second]) drops.entered(0, task);
      drops.waitedOn(0, first);
      drops.entered(0, second);
      expect(drops.refuses(0, 35 * MS, 0, 0)).toBe(false);
      drops.entered(0, first);
      expect(drops.refuses(0, 35 * MS, 0, 0)).toBe(true);
    }
  });

  it('entered() keeps what is known of other tasks when it grows', () => {
    const { waiting, drops } = dropping({ kind: 'nearly-full', share: 1, spares: 'all-waited' });
    const tasks = Array.from({ length: 17 }, (_, i) => waiting.add(0, 50 * MS + i));
    for (const task of tasks.slice(0, 16)) drops.entered(0, task);
    drops.waitedOn(0, tasks[0]!);
    drops.waitedOn(0, tasks[15]!);
    drops.entered(0, tasks[16]!);
    drops.waitedOn(0, tasks[16]!);
    for (const task of tasks) {
      const isSpared = [0, 15, 16].includes(tasks.indexOf(task));
      expect(drops.refuses(0, 35 * MS, 0, 0)).toBe(!isSpared);
      waiting.queues.remove(0, task);
    }
  });

  it('forbids() a head that would be late alone even on a free device', () => {
    const { waiting, drops } = dropping(ALONE);
    const head = waiting.add(0, 50 * MS);
    expect(drops.forbids(40 * MS, head, 0)).toBe(false);
    expect(drops.forbids(40 * MS + 1, head, 0)).toBe(true);
  });

  it('batchUnderLoad() is 1, since a device that becomes free sooner may take any batch', () => {
    const { drops } = dropping({ kind: 'queueing', share: 1, spares: 'all-waited' });
    expect(drops.batchUnderLoad(0, 9)).toBe(1);
  });
});
