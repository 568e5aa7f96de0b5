import { describe, expect, it } from 'vitest';
import { FreeTimes } from '../../src/inferline/replicas.js';
import { streamOf } from '../../src/random/index.js';
import { whole } from '../cases.js';

describe('FreeTimes', () => {
  it('always has the replica that falls free first, with few replicas and with many', () => {
    const free = new FreeTimes();
    for (let seed = 0; seed < whole(40, 200); seed++) {
      const random = streamOf(seed, 'replicas');
      const times = new Array<number>(1 + random.integer(40)).fill(0);
      free.reset(times.length);
      for (let i = 0; i < 200; i++) {
        expect(free.first).toBe(times[0]);
        const until = (times[0] as number) + random.integer(1000);
        free.occupy(until);
        times[0] = until;
        times.sort((a, b) => a - b);
      }
    }
  });
});
