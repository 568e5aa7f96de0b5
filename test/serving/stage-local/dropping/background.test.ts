import { describe, expect, it } from 'vitest';
import { NONE } from '../../../../src/collections/index.js';
import { topologyOf } from '../../../../src/plans/index.js';
import { Background } from '../../../../src/serving/stage-local/dropping/background.js';
import { DEFAULT_POLICY, type LateRule } from '../../../../src/serving/stage-local/policy.js';
import { PlanColumns, Requests, TaskQueues } from '../../../../src/serving/state/index.js';
import { MS, stage } from '../../by-hand.js';
import { planOf } from '../../plans.js';

const RULE = { kind: 'background', patience: 4, mostMissed: 0.25, window: 4 } as const;

/** Two models with SLOs of 20 and 30 ms, each of one pool of batch 3. */
function background(rule: LateRule = RULE) {
  const pipelines = [{ throughputRps: 100, parts: [stage([10, 14, 18])] }];
  const topology = topologyOf(
    planOf([
      { sloMs: 20, pipelines },
      { sloMs: 30, pipelines },
    ]),
  );
  const requests = new Requests();
  const queues = new TaskQueues(2, requests, { order: { kind: 'deadline' }, slackNs: 0 });
  const taskOf = (model: number, deadline: number) => requests.firstTask(requests.add(model, deadline, 1));
  return {
    requests,
    taskOf,
    late: new Background(rule, { columns: new PlanColumns(topology), requests, queues }),
  };
}

describe('Background', () => {
  it('takes() while at most the allowed share was missed, by a moving average over the window', () => {
    const { late } = background();
    expect(late.takes(0)).toBe(true);
    // 0 + (1 − 0) / 4 = 0.25: the allowed share itself still passes.
    late.observe(0, true);
    expect(late.takes(0)).toBe(true);
    // 0.25 + (1 − 0.25) / 4 = 0.4375.
    late.observe(0, true);
    expect(late.takes(0)).toBe(false);
    // 0.4375 · 3/4 = 0.328125, then 0.24609375.
    late.observe(0, false);
    expect(late.takes(0)).toBe(false);
    late.observe(0, false);
    expect(late.takes(0)).toBe(true);
  });

  it('takes() nothing where the average over the window is too high, though one over twice the window would not be', () => {
    // 1/4 is more than the allowed 0.2. Over twice the window it would be 1/8.
    const { late } = background({ ...RULE, mostMissed: 0.2 });
    late.observe(0, true);
    expect(late.takes(0)).toBe(false);
  });

  it('takes() with the defaults while at most a quarter of about 128 requests was missed, and waits 4 SLOs', () => {
    const { late, taskOf } = background(DEFAULT_POLICY.late);
    // After k misses the share is 1 − (127/128)^k: 0.246 after 36, and 0.252 after 37.
    for (let k = 0; k < 36; k++) late.observe(0, true);
    expect(late.takes(0)).toBe(true);
    late.observe(0, true);
    expect(late.takes(0)).toBe(false);
    expect(late.dropTime(taskOf(0, 7))).toBe(7 + 4 * 20 * MS + 1);
  });

  it('takes() keeps an average for each model', () => {
    const { late } = background();
    for (let i = 0; i < 3; i++) late.observe(1, true);
    expect([late.takes(0), late.takes(1)]).toEqual([true, false]);
  });

  it('takes() nothing and drops nothing under the rule "drop"', () => {
    const { late, taskOf } = background({ kind: 'drop' });
    late.observe(0, true);
    expect(late.takes(0)).toBe(false);
    expect(late.dropTime(taskOf(0, 20 * MS))).toBe(Number.POSITIVE_INFINITY);
  });

  it('first() is the task of a queue that was given up first, and remove() takes any task out', () => {
    const { late, requests, taskOf } = background();
    const [a, b, c] = [taskOf(0, 30), taskOf(0, 20), taskOf(0, 10)] as const;
    expect(late.first(1)).toBe(NONE);
    for (const task of [a, b, c]) late.add(1, task);
    expect([a, b, c].map((task) => requests.isLate(task))).toEqual([true, true, true]);
    expect([late.first(0), late.first(1)]).toEqual([NONE, a]);
    late.remove(1, a);
    expect([a, b, c].map((task) => requests.isLate(task))).toEqual([false, true, true]);
    expect(late.first(1)).toBe(b);
    late.remove(1, c);
    late.remove(1, b);
    expect(late.first(1)).toBe(NONE);
  });

  it('batchSize() is the number that waits, up to the planned batch', () => {
    const { late, taskOf } = background();
    for (const size of [1, 2, 3, 3]) {
      late.add(0, taskOf(0, 0));
      expect(late.batchSize(0, 1)).toBe(size);
    }
  });

  it('batchSize() ends before a task that is tried alone, and is 1 where that task is the first', () => {
    const { late, requests, taskOf } = background();
    const [a, b, c] = [taskOf(0, 0), taskOf(0, 0), taskOf(0, 0)] as const;
    requests.loseTask(c, 1);
    for (const task of [a, b, c]) late.add(0, task);
    expect(late.batchSize(0, 0)).toBe(2);
    late.remove(0, a);
    expect(late.batchSize(0, 0)).toBe(1);
    late.remove(0, b);
    expect(late.batchSize(0, 0)).toBe(1);
    late.add(0, a);
    expect(late.batchSize(0, 0)).toBe(1);
  });

  it('dropTime() is a nanosecond after the deadline and `patience` SLOs of the model', () => {
    const { late, taskOf } = background();
    expect(late.dropTime(taskOf(0, 7))).toBe(7 + 4 * 20 * MS + 1);
    expect(late.dropTime(taskOf(1, 7))).toBe(7 + 4 * 30 * MS + 1);
    expect(late.dropTime(NONE)).toBe(Number.POSITIVE_INFINITY);
    // 20 ms · 1/32e6 = 0.625 ns: 7 ns is within its patience, and 8 ns is not.
    const brief = background({ ...RULE, patience: 1 / 32e6 });
    expect(brief.late.dropTime(brief.taskOf(0, 7))).toBe(8);
  });
});
