import { describe, expect, it } from 'vitest';
import { type JobsProgress, jobsProgress } from '../../src/jobs/index.js';

describe('jobsProgress()', () => {
  it('reports how many jobs are done, and no time left before the first', () => {
    const told: JobsProgress[] = [];
    const tell = jobsProgress((progress) => told.push(progress));
    tell(0, 4);
    tell(1, 4);
    tell(4, 4);
    expect(told.map(({ done, of }) => [done, of])).toEqual([
      [0, 4],
      [1, 4],
      [4, 4],
    ]);
    expect(told[0]?.leftMs).toBeUndefined();
    expect(told[1]?.leftMs).toBeGreaterThan(0);
    expect(told[2]?.leftMs).toBe(0);
  });

  it('does nothing without a listener', () => {
    expect(() => jobsProgress(undefined)(1, 2)).not.toThrow();
  });
});
