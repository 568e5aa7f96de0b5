import { describe, expect, it } from 'vitest';
import type { GearPlan } from '../../../src/formats/index.js';
import { planTopologyOf } from '../../../src/plans/index.js';
import { gearsOf, type Topology } from '../../../src/serving/index.js';
import { type GivenGears, gearPlan } from '../../gear-plans.js';

/** Three models, of which no gear goes from the second to the third, on three devices of two classes of links. */
const GIVEN: GivenGears = {
  latencyUs: [[1000, 1500.4], [2000], [3000, 4000]],
  held: [[0, 2], [1], [0, 1]],
  gears: [
    {
      toRps: 40,
      timeoutMs: 2.5,
      steps: [
        { model: 0, threshold: 0.75, minQueue: 2, shares: [0.25, 0.75] },
        { model: 2, minQueue: 3, shares: [1] },
      ],
    },
    {
      toRps: 100,
      steps: [
        { model: 0, threshold: 0.5, shares: [1, 0] },
        { model: 1, shares: [0.5, 0.5] },
      ],
    },
    { toRps: 160, steps: [{ model: 1, minQueue: 4 }] },
  ],
  sloMs: 80,
  intervalMs: 62.5,
  alpha: 3,
};

const PLAN: GearPlan = gearPlan(GIVEN);

/** linked gives the cluster links, and the models inputs of some bytes. */
function linked(cluster: Partial<GearPlan['cluster']>, bytes: readonly number[]): GearPlan {
  return {
    ...PLAN,
    cluster: { ...PLAN.cluster, ...cluster },
    stages: PLAN.stages.map((stage, i) => ({ ...stage, transferBytes: bytes[i] as number })),
  };
}

/** sentFrom lists the edges of a stage, with what a row of each takes and how long batches take. */
const sentFrom = (plan: GearPlan, stage: number, transfers?: 'none') =>
  planTopologyOf(plan, transfers && { transfers }).pools[stage]?.edges?.map(
    ({ to, transferBytes, transferNs }) => [to, transferBytes, [...transferNs]],
  );

const gearsIn = ({ routes }: Topology) => gearsOf(routes);

describe('The topology of a gear plan', () => {
  it('is one application, entered at the first stage, with the rate and the SLO of the plan', () => {
    expect(planTopologyOf(PLAN).models).toEqual([
      { name: 'cascade', sloNs: 80e6, throughputRps: 160, entries: [0] },
    ]);
    expect(planTopologyOf(PLAN, { sloMs: 12.5 }).models[0]?.sloNs).toBe(12.5e6);
  });

  it('has a pool for each model, with the devices that hold it', () => {
    const { pools, devices } = planTopologyOf(PLAN);
    expect(pools.map(({ stage, batch, throughputRps }) => [stage, batch, throughputRps])).toEqual([
      [{ kind: 'stage', name: 'm0', index: 0 }, 2, 160],
      [{ kind: 'stage', name: 'm1', index: 1 }, 1, 160],
      [{ kind: 'stage', name: 'm2', index: 2 }, 2, 160],
    ]);
    expect(pools.map(({ latencyNs }) => [...latencyNs])).toEqual([[1e6, 1_500_400], [2e6], [3e6, 4e6]]);
    expect(pools.map((pool) => pool.devices)).toEqual([[0, 2], [1, 2], [0]]);
    expect(devices.map(({ pool, otherPools }) => [pool, otherPools])).toEqual([
      [0, [2]],
      [1, undefined],
      [0, [1]],
    ]);
  });

  it('has an edge wherever a gear goes from one model to the next, and no other', () => {
    const { pools } = planTopologyOf(PLAN);
    expect(pools.map(({ edges }) => edges.map(({ to, when }) => [to, when.kind]))).toEqual([
      [
        [1, 'unsure'],
        [2, 'unsure'],
      ],
      [],
      [],
    ]);
  });

  it('sends the inputs of the next model, over the slower of the links', () => {
    // A gigabit per second is a bit per nanosecond.
    const plan = linked({ networkGbps: 2 }, [10, 1000, 3000]);
    expect(sentFrom(plan, 0)).toEqual([
      [1, 1000, [4000, 8000]],
      [2, 3000, [12_000, 24_000]],
    ]);
    const { pools } = planTopologyOf(plan);
    expect(pools.map(({ transferBytes }) => transferBytes)).toEqual([3000, 0, 0]);
    expect([...pools[0]!.transferNs]).toEqual([12_000, 24_000]);
    const slow = linked({ networkGbps: 2, devices: { V100: { count: 3, linkGbps: 1 } } }, [0, 1000, 0]);
    expect(sentFrom(slow, 0)).toEqual([
      [1, 1000, [8000, 16_000]],
      [2, 0, [0, 0]],
    ]);
  });

  it('sends in no time where the cluster names no links, or all is on one machine', () => {
    expect(sentFrom(linked({}, [0, 1000, 3000]), 0)).toEqual([
      [1, 1000, [0, 0]],
      [2, 3000, [0, 0]],
    ]);
    expect(sentFrom(linked({ networkGbps: 2 }, [0, 1000, 0]), 0, 'none')).toEqual([
      [1, 1000, [0, 0]],
      [2, 0, [0, 0]],
    ]);
  });

  it('shares the link of a server among its devices', () => {
    const placement = PLAN.placement.map((place, i) => ({ ...place, server: ['x', 'y', 'x'][i] as string }));
    const { links } = planTopologyOf({ ...PLAN, placement });
    expect([[...links.uplinkOf], links.uplinkCount]).toEqual([[0, 1, 0], 2]);
  });

  it('has the gears, whose last step is always sure', () => {
    const never = Number.NEGATIVE_INFINITY;
    expect(gearsIn(planTopologyOf(PLAN))).toEqual({
      intervalNs: 62.5e6,
      alpha: 3,
      gears: [
        {
          toRps: 40,
          timeoutNs: 2.5e6,
          steps: [
            { pool: 0, below: 0.75, minQueue: 2, visits: 1, shares: Float64Array.of(0.25, 0.75) },
            { pool: 2, below: never, minQueue: 3, visits: 1, shares: Float64Array.of(1) },
          ],
        },
        {
          toRps: 100,
          timeoutNs: 0,
          steps: [
            { pool: 0, below: 0.5, minQueue: 1, visits: 1, shares: Float64Array.of(1, 0) },
            { pool: 1, below: never, minQueue: 1, visits: 1, shares: Float64Array.of(0.5, 0.5) },
          ],
        },
        { toRps: 160, timeoutNs: 0, steps: [{ pool: 1, below: never, minQueue: 4, visits: 1 }] },
      ],
    });
  });

  it('has the mean rate that was planned for where only an accuracy is promised, and else none', () => {
    expect(gearsIn(planTopologyOf(PLAN))).not.toHaveProperty('plannedRps');
    const shares = [0.5, 0.25, 0.25];
    const gears = PLAN.gears.map((gear, i) => ({ ...gear, share: shares[i] as number }));
    const asked = { ...PLAN, gears, objective: { ...PLAN.objective, kind: 'devices' as const } };
    const promised = planTopologyOf({ ...asked, slo: { accuracy: 0.9 } });
    // The middles of the ranges are 20, 70 and 130 requests/s.
    expect(gearsIn(promised)?.plannedRps).toBeCloseTo(0.5 * 20 + 0.25 * 70 + 0.25 * 130, 9);
    // Gears for a lower rate than comes would not keep a latency.
    const timely = planTopologyOf({ ...asked, slo: { latencyMs: 80, accuracy: 0.9 } });
    expect(gearsIn(timely)).not.toHaveProperty('plannedRps');
    const fastest = { ...asked.objective, kind: 'latency' as const };
    const soonest = planTopologyOf({ ...asked, objective: fastest, slo: { accuracy: 0.9 } });
    expect(gearsIn(soonest)).not.toHaveProperty('plannedRps');
  });
});
