import { describe, expect, it } from 'vitest';
import { InputError } from '../../src/formats/index.js';
import { streamOf } from '../../src/random/index.js';
import { EventQueue } from '../../src/simulator/events.js';
import { fewOf } from '../cases.js';

interface Told {
  at: number;
  priority: number;
  sequence: number;
}

const takeAll = (queue: EventQueue, scheduled: readonly Told[]): Told[] => {
  const told: Told[] = [];
  while (queue.size > 0) {
    const at = queue.nextAt;
    const priority = queue.nextPriority;
    const sequence = queue.take();
    told.push({ at, priority, sequence });
  }
  expect(told).toEqual(told.map(({ sequence }) => scheduled[sequence]));
  return told;
};

const inTotalOrder = (a: Told, b: Told) => a.at - b.at || a.priority - b.priority || a.sequence - b.sequence;

describe('EventQueue', () => {
  it('gives events of one instant by priority, and equal ones in the order they were scheduled', () => {
    const queue = new EventQueue();
    for (const [event, priority] of [3, 0, 3, 1, 0, 15, 1].entries()) queue.schedule(7, priority, event);
    queue.schedule(6, 15, 100);
    const order: number[] = [];
    while (queue.size > 0) order.push(queue.take());
    expect(order).toEqual([100, 1, 4, 3, 6, 0, 2, 5]);
  });

  it('sorts by (time, priority, sequence), whatever is scheduled and taken in between', () => {
    for (let seed = 1; seed <= 12; seed++) {
      const stream = streamOf(seed, 'events');
      const queue = new EventQueue();
      const scheduled: Told[] = [];
      const waiting: Told[] = [];
      const taken: number[][] = [];
      const expected: number[][] = [];
      const times = 1 + stream.integer(50);
      for (let i = 0; i < 2000; i++) {
        if (stream.uniform() < 0.55) {
          const told = { at: stream.integer(times), priority: stream.integer(4), sequence: scheduled.length };
          queue.schedule(told.at, told.priority, told.sequence);
          scheduled.push(told);
          waiting.push(told);
        } else if (waiting.length > 0) {
          waiting.sort(inTotalOrder);
          taken.push([queue.nextAt, queue.take(), queue.size]);
          const { at, sequence } = waiting.shift()!;
          expected.push([at, sequence, waiting.length]);
        }
      }
      expect(taken).toEqual(expected);
      expect(takeAll(queue, scheduled)).toEqual(waiting.sort(inTotalOrder));
      expect(queue.nextAt).toBe(Number.POSITIVE_INFINITY);
    }
  });

  /** How far ahead events are scheduled: evenly, most of them soon, in few steps, and one in fifty very late. */
  const AHEAD: ((uniform: () => number) => number)[] = [
    (uniform) => 1e6 * uniform(),
    (uniform) => 1e3 / (uniform() + 1e-4),
    (uniform) => [0, 700, 20_000, 20_001][Math.floor(4 * uniform())]!,
    (uniform) => (uniform() < 0.02 ? 1e12 : 50) * uniform(),
  ];

  it.each(fewOf([...AHEAD.entries()], 1))(
    'takes events in order while others are scheduled ahead of time, way %i',
    (way, ahead) => {
      const { uniform, integer } = streamOf(way, 'ahead');
      for (const pending of [1, 7, 30, 3000]) {
        const queue = new EventQueue();
        const waiting: Told[] = [];
        let now = 0;
        const schedule = (sequence: number) => {
          const told = { at: now + Math.floor(ahead(uniform)), priority: integer(3), sequence };
          queue.schedule(told.at, told.priority, sequence);
          const after = waiting.findIndex((other) => inTotalOrder(told, other) < 0);
          waiting.splice(after < 0 ? waiting.length : after, 0, told);
        };
        for (let sequence = 0; sequence < 3 * pending + 300; sequence++) {
          schedule(sequence);
          if (sequence < pending) continue;
          const { at, ...next } = waiting.shift()!;
          expect([queue.nextAt, queue.nextPriority]).toEqual([at, next.priority]);
          expect([queue.take(), queue.size]).toEqual([next.sequence, waiting.length]);
          now = at;
        }
        // The queue runs empty, and goes on.
        for (const more of [20, 0]) {
          while (waiting.length > 0) expect(queue.take()).toBe(waiting.shift()!.sequence);
          expect([queue.size, queue.nextAt]).toEqual([0, Number.POSITIVE_INFINITY]);
          for (let sequence = 0; sequence < more; sequence++) schedule(sequence);
        }
      }
    },
  );

  it('keeps equals in order through a million events, and times apart to the last nanosecond', () => {
    const queue = new EventQueue();
    for (let i = 0; i < 1_000_000; i++) {
      queue.schedule(Number.MAX_SAFE_INTEGER - (i % 2), 15, i);
      if (i >= 10) queue.take();
    }
    const left: number[] = [];
    while (queue.size > 0) left.push(queue.take());
    expect(left).toEqual([...left].sort((a, b) => (b % 2) - (a % 2) || a - b));
  });

  it('refuses times and priorities outside its order', () => {
    const queue = new EventQueue();
    for (const at of [0.5, Number.NaN, Number.NEGATIVE_INFINITY])
      expect(() => queue.schedule(at, 0, 1)).toThrow(`at ${at} ns`);
    for (const at of [Number.MAX_SAFE_INTEGER + 1, Number.POSITIVE_INFINITY])
      expect(() => queue.schedule(at, 0, 1)).toThrow(InputError);
    // 2^53 ns are 104 days and 6 hours.
    expect(() => queue.schedule(2 ** 53, 0, 1)).toThrow('would come 104 days after the start');
    expect(() => queue.schedule(86_400e9 * 1000, 0, 1)).toThrow('would come 1.00e+3 days after the start');
    for (const priority of [-1, 16, Number.NaN])
      expect(() => queue.schedule(1, priority, 1)).toThrow(`priority ${priority}`);
    expect(queue.size).toBe(0);
  });
});
