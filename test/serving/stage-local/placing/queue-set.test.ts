import { describe, expect, it } from 'vitest';
import { NONE } from '../../../../src/collections/index.js';
import { streamOf } from '../../../../src/random/index.js';
import { QueueSet } from '../../../../src/serving/stage-local/placing/queue-set.js';
import { membersOf } from './queue-sets.js';

describe('QueueSet', () => {
  it('holds what a set of numbers holds, and gives it in order, whatever is added and removed', () => {
    const stream = streamOf(1, 'queues');
    for (const queues of [1, 31, 32, 33, 64, 100]) {
      const set = new QueueSet(queues);
      const known = new Set<number>();
      for (let i = 0; i < 300; i++) {
        const queue = stream.integer(queues);
        if (stream.uniform() < 0.5) {
          set.add(queue);
          known.add(queue);
        } else {
          set.remove(queue);
          known.delete(queue);
        }
        const asked = stream.integer(queues);
        expect(set.has(asked)).toBe(known.has(asked));
        const later = [...known].filter((member) => member >= asked).sort((a, b) => a - b);
        expect(set.next(asked)).toBe(later[0] ?? NONE);
      }
      expect(membersOf(set)).toEqual([...known].sort((a, b) => a - b));
    }
  });

  it('addAll() adds every queue and no number beyond them; clear() removes all', () => {
    const set = new QueueSet(40);
    set.addAll();
    expect(membersOf(set)).toEqual(Array.from({ length: 40 }, (_, queue) => queue));
    set.clear();
    expect(membersOf(set)).toEqual([]);
  });
});
