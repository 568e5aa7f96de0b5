import { describe, expect, it } from 'vitest';
import { streamOf } from '../../../src/random/index.js';
import { QueueSet } from '../../../src/serving/stage-local/placing/queue-set.js';
import { WakeTimes } from '../../../src/serving/stage-local/wake-times.js';
import { membersOf } from './placing/queue-sets.js';

const NEVER = Number.POSITIVE_INFINITY;

describe('WakeTimes', () => {
  it('knows the least of all times, whichever is set to earlier, later or never', () => {
    const stream = streamOf(1, 'wake');
    const wake = new WakeTimes(5);
    const times = new Array<number>(5).fill(NEVER);
    for (let i = 0; i < 500; i++) {
      const queue = stream.integer(5);
      const at = stream.uniform() < 0.3 ? NEVER : stream.integer(20);
      wake.set(queue, at);
      times[queue] = at;
      if (stream.uniform() < 0.7) expect(wake.earliest()).toBe(Math.min(...times));
    }
  });

  it('addDue() adds the queues whose time has come, and no others', () => {
    const wake = new WakeTimes(4);
    const due = new QueueSet(4);
    for (const [queue, at] of [7, 9, 8].entries()) wake.set(queue, at);
    wake.addDue(6, due);
    expect(membersOf(due)).toEqual([]);
    wake.addDue(8, due);
    expect(membersOf(due)).toEqual([0, 2]);
  });
});
