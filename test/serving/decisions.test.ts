import { describe, expect, it } from 'vitest';
import { Answer, Decision, Decisions, DROP_REASONS, DropCode } from '../../src/serving/decisions.js';

describe('Decisions', () => {
  it('keeps the decisions that were appended, in order, until it is cleared', () => {
    const decisions = new Decisions();
    const kinds = Object.values(Decision);
    const rows = Array.from(
      { length: 300 },
      (_, i) => [kinds[i % kinds.length] as Decision, i, i + 0.5, -i, 1e15 + i] as const,
    );
    for (const [kind, a, b, c, d] of rows) decisions.push(kind, a, b, c, d);
    expect(decisions.count).toBe(300);
    const read = rows.map((_, i) => [
      decisions.kind(i),
      decisions.a(i),
      decisions.b(i),
      decisions.c(i),
      decisions.d(i),
    ]);
    expect(read).toEqual(rows);
    decisions.clear();
    expect(decisions.count).toBe(0);
    decisions.push(Decision.answer, 7, Answer.late);
    expect([decisions.count, decisions.kind(0), decisions.a(0), decisions.b(0)]).toEqual([1, 3, 7, 1]);
  });

  it('answers 0 for parts of a decision that were not given, whatever stood there before', () => {
    const decisions = new Decisions();
    decisions.push(Decision.transfer, 1, 2, 3, 4);
    decisions.clear();
    decisions.push(Decision.wakeAt, 5);
    expect([decisions.b(0), decisions.c(0), decisions.d(0)]).toEqual([0, 0, 0]);
  });

  it('keeps the numbers by which logs name kinds, answers and reasons', () => {
    expect(Decision).toEqual({
      execute: 1,
      transfer: 2,
      answer: 3,
      drop: 4,
      wakeAt: 5,
      activate: 6,
      retire: 7,
      shift: 8,
      collect: 9,
      load: 10,
      evict: 11,
      fetch: 12,
      spill: 13,
    });
    expect(Answer).toEqual({ inTime: 0, late: 1, failed: 2 });
    expect(DROP_REASONS).toEqual(['deadline', 'device-down', 'queue-full', 'draining', 'overload']);
    expect(DropCode).toEqual({ deadline: 0, deviceDown: 1, queueFull: 2, draining: 3, overload: 4 });
  });
});
