import { describe, expect, it } from 'vitest';
import { planTopologyOf, topologyOf } from '../../../../src/plans/index.js';
import { spareTimes, type Topology } from '../../../../src/serving/index.js';
import { gearPlan } from '../../../gear-plans.js';
import { chainOf, MS, modelOf, stage } from '../../by-hand.js';
import { planOf } from '../../plans.js';

const inMs = (topology: Topology) => {
  const { aloneNs, spareNs, shares } = spareTimes(topology);
  return {
    alone: [...aloneNs].map((ns) => ns / MS),
    spare: [...spareNs].map((ns) => ns / MS),
    shares: [...shares],
  };
};

describe('spareTimes()', () => {
  it('shares what the SLO leaves beside rows alone as full batches take it, in each pipeline by itself', () => {
    const first = [stage([6, 10]), stage([12, 20])];
    const topology = modelOf(
      90,
      { throughputRps: 1, parts: first },
      { throughputRps: 1, parts: [stage([8])] },
    );
    expect(inMs(topology)).toEqual({
      alone: [6, 12, 8],
      spare: [72, 72, 82],
      shares: [10 / 30, 20 / 30, 1],
    });
  });

  it('is below 0 where even a row alone is late', () => {
    expect(inMs(chainOf(15, stage([6, 10]), stage([12, 20]))).spare).toEqual([-3, -3]);
  });

  it('has a row alone on the fastest class of a stage, and its full batches by the mean of classes', () => {
    const topology = topologyOf(
      planOf([{ sloMs: 50, pipelines: [{ throughputRps: 1, parts: [stage([10, 20])] }] }]),
    );
    const classOf = (latencyMs: number[]) => ({
      deviceClass: 'one',
      virtual: 1,
      latencyNs: Float64Array.from(latencyMs, (ms) => ms * MS),
    });
    topology.pools[0]!.classes = [classOf([14, 30]), classOf([7, 15])];
    expect(inMs(topology)).toEqual({ alone: [7], spare: [43], shares: [1] });
  });

  it('goes along the gears of a cascade', () => {
    const steps = [{ model: 0, threshold: 0.6 }, { model: 1, threshold: 0.4 }, { model: 2 }];
    const plan = gearPlan({
      latencyUs: [[4000, 6000], [12_000, 16_000], [30_000]],
      held: [[0, 1, 2]],
      sloMs: 120,
      intervalMs: 50,
      alpha: 8,
      gears: [
        { toRps: 150, steps: steps.slice(1) },
        { toRps: 300, steps: [steps[0]!, { model: 1 }] },
      ],
    });
    expect(inMs(planTopologyOf(plan, { transfers: 'none' }))).toEqual({
      alone: [4, 12, 30],
      spare: [104, 78, 78],
      shares: [6 / 22, 16 / 46, 30 / 46],
    });
  });
});
