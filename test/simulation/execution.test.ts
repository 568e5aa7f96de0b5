import { describe, expect, it } from 'vitest';
import { topologyOf } from '../../src/plans/index.js';
import type { ChosenScheduler } from '../../src/serving/index.js';
import { describedEngine, describedExecution, executionOf } from '../../src/simulation/execution.js';
import { planOf } from '../serving/plans.js';

const part = { batch: 2, latencyUs: () => 1000 };
const topology = topologyOf(planOf([{ sloMs: 9, pipelines: [{ throughputRps: 1, parts: [part, part] }] }]));
const factors = [Float64Array.of(1.5, 2), Float64Array.of(1, 3)];

describe('executionOf() with measured factors', () => {
  it('multiplies the planned time by the factor of the pool and the size', () => {
    const execution = executionOf({ slow: 1, factors }, topology, 0)!;
    expect(execution(0, 1, 1000)).toBe(1500);
    expect(execution(0, 2, 1000)).toBe(2000);
    expect(execution(1, 2, 1000)).toBe(3000);
  });

  it('varies and slows the measured time, with the same draws as the planned one', () => {
    const varied = { slow: 2, jitter: { kind: 'cv', cv: 0.3 } } as const;
    const planned = executionOf(varied, topology, 7)!;
    const measured = executionOf({ ...varied, factors }, topology, 7)!;
    for (let i = 0; i < 5; i++) expect(measured(1, 2, 1e6)).toBeCloseTo(3 * planned(1, 2, 1e6), 3);
  });

  it('changes nothing without them', () => {
    expect(executionOf({ slow: 1 }, topology, 0)).toBeUndefined();
  });
});

describe('The execution that a report describes', () => {
  it('is slowed, and varies by a coefficient, by a profile or not at all', () => {
    expect(describedExecution({ slow: 1.5 })).toEqual({ slow: 1.5, jitter: 'none' });
    expect(describedExecution({ slow: 1, jitter: { kind: 'cv', cv: 0.3 } })).toEqual({
      slow: 1,
      jitter: 'cv',
      cv: 0.3,
    });
    const jitter = { kind: 'profile', deviations: [], quantiles: [] } as never;
    expect(describedExecution({ slow: 1, jitter })).toEqual({ slow: 1, jitter: 'profile' });
  });

  it('has the figures of the first engine that is simulated', () => {
    const engine = { target: 'triton' } as never;
    const named = { name: 'fifo', policy: {} } as never as ChosenScheduler;
    expect(describedEngine([named])).toEqual({});
    expect(describedEngine([named, { ...named, engine }])).toEqual({ engine: { target: 'triton' } });
  });
});

describe('executionOf() with the spread of profiles', () => {
  it('draws half of the times above a planned median, and a twentieth above a planned 95th percentile', () => {
    const deviations = [Float64Array.of(0.4, 0.4), Float64Array.of(0.4, 0.4)];
    const jitter = { kind: 'profile', deviations, quantiles: ['p50', 'p95'] } as const;
    const execution = executionOf({ slow: 1, jitter }, topology, 3)!;
    const above = [0, 1].map((pool) => {
      const drawn = Array.from({ length: 20_000 }, () => execution(pool, 1, 1e6));
      return drawn.filter((ns) => ns > 1e6).length / drawn.length;
    });
    expect(above[0]).toBeCloseTo(0.5, 1);
    expect(above[1]).toBeGreaterThan(0.045);
    expect(above[1]).toBeLessThan(0.055);
  });
});
