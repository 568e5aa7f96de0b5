import { describe, expect, it } from 'vitest';
import { topologyOf } from '../../src/serving/index.js';
import { executionOf } from '../../src/simulation/execution.js';
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
