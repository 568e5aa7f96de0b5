import { describe, expect, it } from 'vitest';
import { type InputError, type Loaded, type PooledPlan, ToldFaults } from '../../src/formats/index.js';
import { topologyOf } from '../../src/plans/index.js';
import type { ChosenScheduler } from '../../src/serving/index.js';
import {
  describedEngine,
  describedExecution,
  executionOf,
  profiledJitter,
} from '../../src/simulation/execution.js';
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

describe('profiledJitter()', () => {
  const Z95 = 1.6448536269514722;
  const plan = planOf([{ sloMs: 9, pipelines: [{ throughputRps: 1, parts: [part, part] }] }]);
  /** A profile of two blocks, of which batches of 1 and 2 were measured unless `p95s` says otherwise. */
  const profileOf = (p95s: Record<number, number[]>) => {
    const medians = { 1: [100, 200], 2: [150, 300] };
    const devices = { cpu: { blockLatencyUs: { 1: medians }, blockLatencyP95Us: { 1: p95s } } };
    return { path: 'p.json', value: { model: { name: 'm0' }, devices } } as never as Loaded<'profile'>;
  };
  const read = (profiles: Loaded<'profile'>[], of: PooledPlan = plan) => {
    const told = new ToldFaults();
    const jitter = profiledJitter(of, profiles, told);
    const faults = told.count === 0 ? [] : (told.error('simulate') as InputError).faults;
    return { jitter, faults: faults.map(({ path, message }) => `${path} ${message}`) };
  };

  it('is the spread of the blocks of each pool at each batch, and none where the tail is no longer than the median', () => {
    const { jitter, faults } = read([profileOf({ 1: [200, 200], 2: [300, 450] })]);
    expect(faults).toEqual([]);
    expect(jitter).toEqual({
      kind: 'profile',
      deviations: [
        Float64Array.of(Math.log(2) / Z95, Math.log(2) / Z95),
        Float64Array.of(0, Math.log(1.5) / Z95),
      ],
    });
    const short = read([profileOf({ 1: [50, 50], 2: [300, 450] })]).jitter;
    expect(short).toMatchObject({ deviations: [Float64Array.of(0, Math.log(2) / Z95), expect.anything()] });
  });

  it('is that of the next larger batch where one was not measured, and missing where none was', () => {
    const { jitter } = read([profileOf({ 2: [300, 450] })]);
    expect(jitter).toMatchObject({
      deviations: [
        Float64Array.of(Math.log(2) / Z95, Math.log(2) / Z95),
        Float64Array.of(Math.log(1.5) / Z95, Math.log(1.5) / Z95),
      ],
    });
    const missing = read([profileOf({ 1: [200, 200] })]);
    expect(missing.jitter).toBe(undefined);
    expect([...new Set(missing.faults)]).toEqual([
      'p.json#/devices/cpu/blockLatencyP95Us/1 has no spread at batch 2, which the plan uses; give one instead, such as `jitter` 0.1',
    ]);
    expect(read([profileOf({ 1: [200], 2: [300] })]).jitter).toBe(undefined);
  });

  it('sums the blocks of a pool, those of the whole model where it has layers', () => {
    const [model] = plan.models;
    const withBlocks = (blocks: [number, number] | undefined): PooledPlan => {
      const [pipeline] = model!.pipelines;
      const [first] = pipeline!.partitions;
      const { blocks: _, ...rest } = first!;
      const partitions = [blocks === undefined ? rest : { ...rest, blocks }] as never;
      return { ...plan, models: [{ ...model!, pipelines: [{ ...pipeline!, partitions }] }] };
    };
    // Of 300 µs, 600 are the 95th percentile.
    const profile = profileOf({ 1: [200, 400], 2: [300, 300] });
    const twice = { deviations: [Float64Array.of(Math.log(2) / Z95, Math.log(600 / 450) / Z95)] };
    expect(read([profile], withBlocks([0, 2])).jitter).toMatchObject(twice);
    expect(read([profile], withBlocks(undefined)).jitter).toMatchObject(twice);
  });

  it('is none where the profiles of a plan are not all there', () => {
    expect(read([]).faults).toEqual([
      expect.stringContaining("none of the plan's profiles exists; give a coefficient of variation instead"),
    ]);
    const two = planOf([
      { sloMs: 9, pipelines: [{ throughputRps: 1, parts: [part] }] },
      { sloMs: 9, pipelines: [{ throughputRps: 1, parts: [part] }] },
    ]);
    const { jitter, faults } = read([profileOf({ 1: [200, 200], 2: [300, 450] })], two);
    expect([jitter, faults]).toEqual([
      undefined,
      [expect.stringContaining("only 1 of the plan's profiles exist; give")],
    ]);
  });
});

describe('executionOf() of slow executions', () => {
  it('takes a multiple of the planned time, and no less than a nanosecond', () => {
    const slow = executionOf({ slow: 2.5 }, topology, 0)!;
    expect([slow(0, 1, 1000), slow(0, 1, 0.1)]).toEqual([2500, 1]);
    const measured = executionOf({ slow: 1, factors: [Float64Array.of(0)] }, topology, 0)!;
    expect([measured(0, 1, 1000), measured(0, 2, 1000), measured(1, 1, 1000)]).toEqual([1, 1000, 1000]);
  });

  it('varies by factors of mean 1 and the coefficient, with draws of each pool and seed', () => {
    const jitter = { kind: 'cv', cv: 0.5 } as const;
    const drawnBy = (seed: number, pool = 0) => {
      const execution = executionOf({ slow: 2, jitter }, topology, seed)!;
      return Array.from({ length: 20_000 }, () => execution(pool, 1, 1000));
    };
    const drawn = drawnBy(1);
    const mean = drawn.reduce((sum, one) => sum + one, 0) / drawn.length;
    const deviation = Math.sqrt(drawn.reduce((sum, one) => sum + (one - mean) ** 2, 0) / drawn.length);
    expect(mean / 2000).toBeCloseTo(1, 1);
    expect(deviation / mean).toBeCloseTo(0.5, 1);
    expect(drawnBy(1)).toEqual(drawn);
    expect(drawnBy(2)[0]).not.toBe(drawn[0]);
    expect(drawnBy(1, 1)[0]).not.toBe(drawn[0]);
  });
});
