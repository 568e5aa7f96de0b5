import { describe, expect, it } from 'vitest';
import { topologyOf } from '../../src/plans/index.js';
import { filledLatencies, fullBatches, mostStages, stagesFrom } from '../../src/serving/topology.js';
import { stage } from './by-hand.js';
import { planOf } from './plans.js';

/** One model has pipelines of two and one stages, the other of a single stage: pools 0 to 3. */
const twoModels = () =>
  planOf([
    {
      sloMs: 50,
      pipelines: [
        { throughputRps: 100, parts: [stage([1, 2, 3]), stage([1, 2])] },
        { throughputRps: 50, parts: [stage([1, 2, 3, 4])] },
      ],
    },
    { sloMs: 60, pipelines: [{ throughputRps: 10, parts: [stage([1])] }] },
  ]);

describe('filledLatencies()', () => {
  it('gives a batch that was not measured the latency of the next larger one, and refuses to guess the largest', () => {
    expect([...filledLatencies([1.5, null, 4], 3)]).toEqual([1500, 4000, 4000]);
    expect(() => filledLatencies([1.5, null], 2)).toThrow('no latency of batch 2');
    expect(() => filledLatencies([1.5], 2)).toThrow('no latency of batch 2');
  });
});

describe('stagesFrom(), fullBatches() and mostStages()', () => {
  it('give for each pool the stages from there on and the largest batch that fits them all, and the longest pipeline', () => {
    const topology = topologyOf(twoModels());
    const { pools } = topology;
    expect([...stagesFrom(topology)]).toEqual([2, 1, 1, 1]);
    expect([...fullBatches(pools)]).toEqual([2, 2, 4, 1]);
    expect(mostStages(pools)).toBe(2);
    expect(mostStages(pools.slice(2))).toBe(1);
  });

  it('fullBatches() is the smallest planned batch of the stages to come, not of those before', () => {
    const parts = [stage([1, 2, 3, 4]), stage([1, 2, 3]), stage([1, 2])];
    const topology = topologyOf(planOf([{ sloMs: 50, pipelines: [{ throughputRps: 1, parts }] }]));
    expect([...fullBatches(topology.pools)]).toEqual([2, 2, 2]);
    const wider = [stage([1, 2]), stage([1, 2, 3, 4])];
    const later = topologyOf(planOf([{ sloMs: 50, pipelines: [{ throughputRps: 1, parts: wider }] }]));
    expect([...fullBatches(later.pools)]).toEqual([2, 4]);
    expect([...stagesFrom(topology)]).toEqual([3, 2, 1]);
  });
});
