import { describe, expect, it } from 'vitest';
import { formationOf } from '../../../../src/serving/stage-local/forming/formation.js';
import { PlannedBatches } from '../../../../src/serving/stage-local/forming/planned-batches.js';
import type { StatePlanner } from '../../../../src/serving/stage-local/pard-state/state-planner.js';
import type { FormationRule } from '../../../../src/serving/stage-local/policy.js';
import { PlanColumns } from '../../../../src/serving/state/index.js';
import { BYTES_PER_MS, chainOf, MS, stage, Waiting } from '../../by-hand.js';

const NOW = Number.NEGATIVE_INFINITY;

/** One stage of batch 4. */
const single = chainOf(100, stage([10, 14, 18, 22]));
/** The first stage has batch 2 and sends a row in 1 ms to a second stage, which takes 8 ms for a full batch. */
const twoStages = chainOf(100, stage([10, 14], { transferBytes: BYTES_PER_MS }), stage([4, 8]));

function formation(rule: FormationRule, waiting = new Waiting(single), planner?: StatePlanner) {
  const { topology, requests, queues, durations } = waiting;
  const columns = new PlanColumns(topology);
  const planned = new PlannedBatches(columns, durations);
  const forms = formationOf(rule, { columns, requests, queues, durations, planned, planner });
  if (forms === undefined) throw new Error('these batches are formed ahead');
  return { waiting, forms };
}

describe('Formation of tasks that are in time together (eager)', () => {
  it('size() is the largest batch that meets every deadline, to the nanosecond', () => {
    const { waiting, forms } = formation({ kind: 'eager' });
    for (let i = 0; i < 4; i++) waiting.add(0, 50 * MS);
    // Batches of 1 to 4 take 10, 14, 18 and 22 ms: they have to begin by 40, 36, 32 and 28 ms.
    for (const [size, latestMs] of [
      [4, 28],
      [3, 32],
      [2, 36],
      [1, 40],
    ] as const) {
      expect(forms.size(latestMs * MS, 0, 0)).toBe(size);
      expect(forms.size(latestMs * MS + 1, 0, 0)).toBe(size === 1 ? 4 : size - 1);
    }
  });

  it('size() is the number that waits, up to the planned batch, where not even the head can be in time', () => {
    const { waiting, forms } = formation({ kind: 'eager' });
    for (const size of [1, 2, 3, 4, 4]) {
      waiting.add(0, 50 * MS);
      expect(forms.size(41 * MS, 0, 0)).toBe(size);
    }
  });

  it('size() is no more than the number that waits', () => {
    const { waiting, forms } = formation({ kind: 'eager' });
    for (const size of [1, 2, 3, 4, 4]) {
      waiting.add(0, 50 * MS);
      expect(forms.size(0, 0, 0)).toBe(size);
    }
  });

  it('size() obeys the earliest deadline in the batch, wherever its task stands', () => {
    const { waiting, forms } = formation({ kind: 'eager' }, new Waiting(single, { order: { kind: 'fifo' } }));
    waiting.add(0, 50 * MS);
    waiting.add(0, 19 * MS);
    waiting.add(0, 50 * MS);
    // A batch of two ends at 15 ms, and one of three at 19 ms, the deadline of the second task. Begun a nanosecond
    // later, the batch of three is late.
    expect(forms.size(1 * MS, 0, 0)).toBe(3);
    expect(forms.size(1 * MS + 1, 0, 0)).toBe(2);
    // The second task is too late in any batch, so the head goes alone.
    expect(forms.size(5 * MS + 1, 0, 0)).toBe(1);
  });

  it('size() takes a larger batch that is in time where a smaller one is not', () => {
    const { waiting, forms } = formation({ kind: 'eager' }, new Waiting(chainOf(100, stage([10, 30, 12]))));
    for (let i = 0; i < 3; i++) waiting.add(0, 50 * MS);
    expect(forms.size(38 * MS, 0, 0)).toBe(3);
    expect(forms.size(38 * MS + 1, 0, 0)).toBe(1);
  });

  it('size() is 1 for a head that is tried alone, and ends a batch before another such task', () => {
    const { waiting, forms } = formation({ kind: 'eager' });
    waiting.add(0, 50 * MS, { tries: 1 });
    waiting.add(0, 51 * MS);
    expect(forms.size(0, 0, 0)).toBe(1);
    // The head stays alone where it is late, too.
    expect(forms.size(45 * MS, 0, 0)).toBe(1);
    const second = formation({ kind: 'eager' });
    second.waiting.add(0, 50 * MS);
    second.waiting.add(0, 51 * MS);
    second.waiting.add(0, 52 * MS, { tries: 1 });
    second.waiting.add(0, 53 * MS);
    expect(second.forms.size(0, 0, 0)).toBe(2);
    expect(second.forms.size(45 * MS, 0, 0)).toBe(2);
  });

  it('waitUntil() is the past', () => {
    const { waiting, forms } = formation({ kind: 'eager' });
    waiting.add(0, 50 * MS);
    expect(forms.waitUntil(0, 0, 1)).toBe(NOW);
  });

  it('waitUntil() is the past, whenever the head was queued', () => {
    const { waiting, forms } = formation({ kind: 'eager' });
    waiting.add(0, 50 * MS, { queuedAt: 4 * MS });
    expect(forms.waitUntil(0, 0, 1)).toBe(NOW);
  });
});

describe('Formation of all that wait (waiting)', () => {
  it('size() is the number that waits, up to the planned batch, whether it is in time or not', () => {
    const { waiting, forms } = formation({ kind: 'waiting' });
    for (const size of [1, 2, 3, 4, 4]) {
      waiting.add(0, 50 * MS);
      for (const startMs of [0, 28.1, 41, 100]) expect(forms.size(startMs * MS, 0, 0)).toBe(size);
    }
    expect(forms.waitUntil(0, 0, 1)).toBe(NOW);
  });

  it('size() is 1 for a head that is tried alone, and ends a batch before another such task', () => {
    const { waiting, forms } = formation({ kind: 'waiting' });
    waiting.add(0, 50 * MS, { tries: 1 });
    waiting.add(0, 51 * MS);
    expect(forms.size(0, 0, 0)).toBe(1);
    const second = formation({ kind: 'waiting' });
    for (const tries of [0, 0, 1, 0]) second.waiting.add(0, 50 * MS, { tries });
    expect(second.forms.size(0, 0, 0)).toBe(2);
  });
});

describe('Formation at the last moment', () => {
  const LEAVES = { kind: 'last-moment', leaves: 'transfer', stepNs: 7 } as const;

  it('size() is the largest planned batch in which the head is in time, even if fewer wait', () => {
    const { waiting, forms } = formation(LEAVES);
    waiting.add(0, 50 * MS);
    expect(forms.size(28 * MS, 0, 0)).toBe(4);
    expect(forms.size(28 * MS + 1, 0, 0)).toBe(3);
    waiting.add(0, 50 * MS);
    expect(forms.size(40 * MS, 0, 0)).toBe(1);
  });

  it('size() is the number that waits, up to the planned batch, where the head cannot be in time', () => {
    const { waiting, forms } = formation(LEAVES);
    for (const size of [1, 2, 3, 4, 4]) {
      waiting.add(0, 50 * MS);
      expect(forms.size(40 * MS + 1, 0, 0)).toBe(size);
    }
  });

  it('size() is 1 for a head that is tried alone, in time or not', () => {
    const { waiting, forms } = formation(LEAVES);
    waiting.add(0, 50 * MS, { tries: 1 });
    waiting.add(0, 60 * MS);
    expect(forms.size(0, 0, 0)).toBe(1);
    expect(forms.size(45 * MS, 0, 0)).toBe(1);
  });

  it('waitUntil() is the past once as many tasks wait as the batch was meant for', () => {
    const { waiting, forms } = formation(LEAVES);
    waiting.add(0, 50 * MS);
    waiting.add(0, 50 * MS);
    expect(forms.waitUntil(0, 0, 2)).toBe(NOW);
    expect(forms.waitUntil(0, 0, 1)).toBe(NOW);
    // A batch of three takes 18 ms.
    expect(forms.waitUntil(0, 0, 3)).toBe(32 * MS + 7);
  });

  it('waitUntil() leaves time for the transfer of the larger batch, or not, as the rule says', () => {
    // The last start is 50 − 8 for the next stage − 14 for two; sending them takes 2 ms more.
    for (const [leaves, until] of [
      ['transfer', 26 * MS + 7],
      ['nothing', 28 * MS + 7],
    ] as const) {
      const { waiting, forms } = formation({ ...LEAVES, leaves }, new Waiting(twoStages));
      waiting.add(0, 50 * MS);
      expect(forms.waitUntil(0, 0, 2)).toBe(until);
    }
  });

  it('waitUntil() is one step past the whole nanosecond before the last moment', () => {
    const topology = chainOf(100, stage([3e-6, 3e-6]));
    const waiting = new Waiting(topology, { correction: { kind: 'average', weight: 0.25 } });
    // 3 ns were planned and 6 ns measured: 3.75 ns are expected, so the last moment is 96.25 ns.
    waiting.durations.observeExecution(0, 1, 6);
    const { forms } = formation(LEAVES, waiting);
    waiting.add(0, 100);
    expect(forms.waitUntil(0, 0, 2)).toBe(96 + 7);
  });
});

describe('Formation of those that have time to spare (room-first)', () => {
  /** The stage takes 22 ms and later ones 30 ms by estimate, of which 24 ms are work: a third more is 8 ms. */
  const planner = {
    durationNs: () => 22 * MS,
    laterNs: () => 30 * MS,
    laterWorkNs: () => 24 * MS,
  } as unknown as StatePlanner;
  const rule: FormationRule = { kind: 'room-first', room: 1 / 3 };

  /** picked gives the deadlines (ms) of the batch that begins at 0, of tasks with these deadlines. */
  function picked(deadlinesMs: readonly number[], triesOf: (i: number) => number = () => 0) {
    const { waiting, forms } = formation(rule, new Waiting(single), planner);
    const tasks = deadlinesMs.map((ms, i) => waiting.add(0, ms * MS, { tries: triesOf(i) }));
    const size = forms.size(0, 0, 0);
    const picks = forms.picksOf?.(0);
    if (picks?.after === undefined) throw new Error('this formation picks nothing');
    const batch: number[] = [];
    for (let task = picks.from(0, 0, 0, size); batch.length < size; task = picks.after(task))
      batch.push(deadlinesMs[tasks.indexOf(task)] as number);
    return batch;
  }

  it('takes all where they are no more than a batch', () => {
    expect(picked([1, 59, 60])).toEqual([1, 59, 60]);
    expect(picked([1, 2, 3, 4])).toEqual([1, 2, 3, 4]);
  });

  it('begins with the most urgent that would be in time if the later stages took longer', () => {
    expect(picked([58, 59, 60, 61, 62, 63, 64])).toEqual([60, 61, 62, 63]);
    expect(picked([60, 61, 62, 63, 64])).toEqual([60, 61, 62, 63]);
  });

  it('takes the least urgent where fewer than a batch have time to spare', () => {
    expect(picked([55, 56, 57, 58, 61, 62])).toEqual([57, 58, 61, 62]);
    expect(picked([52, 53, 54, 55, 56])).toEqual([53, 54, 55, 56]);
  });

  it('leaves a task alone that is tried alone', () => {
    expect(picked([55, 56, 57, 58, 61, 62], (i) => (i === 0 ? 1 : 0))).toEqual([55]);
    expect(picked([55, 56, 57, 58, 61, 62], (i) => (i === 4 ? 1 : 0))).toEqual([55, 56, 57, 58]);
  });

  it('must know what is observed of the stages', () => {
    expect(() => formation(rule)).toThrow('batches are formed by what is observed');
  });
});
