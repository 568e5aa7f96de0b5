import { describe, expect, it } from 'vitest';
import { GivingUp, type GivingUpParts } from '../../../src/serving/workflow/giving-up.js';
import type { Task } from '../../../src/serving/workflow/work.js';

/** A rule that gives up what is expired at `at`, of two tasks of one request with a deadline, and what it told of. */
function givenUpAt(
  at: number,
  { deadlineNs, isSettled = false }: { deadlineNs: number; isSettled?: boolean },
) {
  const request = { isSettled, deadlineNs };
  const tasks = [{ request }, { request }] as unknown as Task[];
  const told: unknown[] = [];
  const parts = {
    waits: { over: (whenNs: number, task: Task) => told.push(['waited', whenNs, tasks.indexOf(task)]) },
    ends: {
      drop: (dropped: typeof request, _code: number, pool: number) => {
        told.push(['dropped', dropped === request, pool]);
        dropped.isSettled = true;
      },
    },
    queues: { gaveUp: () => told.push(['gave up']) },
  } as unknown as GivingUpParts;
  return {
    any: new GivingUp({ kind: 'expired' }, parts).drops(at, tasks, { endNs: at + 10, pool: 3 }),
    told,
  };
}

describe('GivingUp of what has expired', () => {
  it('keeps a request at its deadline and drops it a nanosecond later, once, with the waits of all its tasks', () => {
    expect(givenUpAt(100, { deadlineNs: 100 })).toEqual({ any: false, told: [] });
    const waits = [0, 1].map((task) => ['waited', 101, task]);
    expect(givenUpAt(101, { deadlineNs: 100 })).toEqual({
      any: true,
      told: [...waits, ['dropped', true, 3]],
    });
  });

  it('passes over requests that have their outcomes, or no deadline', () => {
    expect(givenUpAt(101, { deadlineNs: 100, isSettled: true }).any).toBe(false);
    expect(givenUpAt(1e18, { deadlineNs: Number.POSITIVE_INFINITY }).any).toBe(false);
  });
});
