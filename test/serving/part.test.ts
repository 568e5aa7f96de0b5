import { describe, expect, it } from 'vitest';
import { planTopologyOf } from '../../src/plans/index.js';
import { gearsOf, topologyPartOf } from '../../src/serving/index.js';
import { gearPlan } from '../gear-plans.js';
import { edge, pipelineOf } from '../pipeline-plans.js';
import { planOf } from './plans.js';

const part = { batch: 2, latencyUs: (batch: number) => 1000 * batch };

describe('topologyPartOf()', () => {
  it('keeps the pipelines all of whose stages are there, with their part of the rate', () => {
    const whole = planTopologyOf(
      planOf([
        {
          sloMs: 20,
          pipelines: [
            { throughputRps: 100, parts: [part, part] },
            { throughputRps: 60, parts: [{ ...part, virtualGpus: 3 }] },
          ],
        },
        { sloMs: 20, pipelines: [{ throughputRps: 10, parts: [part] }] },
      ]),
    );
    // The first pipeline has s0 and s1, the second s2 to s4, and the other model s5.
    const { topology, pools } = topologyPartOf(whole, ({ server }) =>
      ['s1', 's2', 's3', 's5'].includes(server),
    );
    expect(pools).toEqual([2, 3]);
    expect(topology.models.map(({ entries, throughputRps }) => [entries, Math.round(throughputRps)])).toEqual(
      [
        [[0], 40],
        [[1], 10],
      ],
    );
    expect(topology.devices.map(({ server, pool }) => [server, pool])).toEqual([
      ['s2', 0],
      ['s3', 0],
      ['s5', 1],
    ]);
    expect(topology.pools.map(({ devices }) => devices)).toEqual([[0, 1], [2]]);
    expect(topology.links.uplinkCount).toBe(3);
  });

  it('keeps edges and stages that share devices, and takes the scarcest stage for the rate', () => {
    const plan = pipelineOf(
      [{ name: 'a', next: [edge('b')] }, { name: 'b' }],
      [['a', 'b'], ['a'], ['b'], ['b']],
    );
    const whole = planTopologyOf(plan);
    const { topology, pools } = topologyPartOf(whole, ({ server }) => server === 'cpu-0');
    expect(pools).toEqual([0, 1]);
    expect(topology.devices).toEqual([{ ...whole.devices[0] }]);
    expect(topology.pools[0]?.edges[0]?.to).toBe(1);
    expect(topology.models[0]?.throughputRps).toBeCloseTo((whole.models[0]?.throughputRps as number) / 3);
    expect(topologyPartOf(whole, ({ server }) => server === 'cpu-1').pools).toEqual([]);
  });

  it('is the whole where all devices are there', () => {
    const whole = planTopologyOf(
      pipelineOf([{ name: 'a', next: [edge('b')] }, { name: 'b' }], [['a'], ['b']]),
    );
    expect(topologyPartOf(whole, () => true).topology).toEqual(whole);
  });

  it('shifts gears at the part of the load that its devices get', () => {
    const plan = gearPlan({
      latencyUs: [[1000], [4000]],
      held: [[0, 1], [0, 1], [0, 1], [1]],
      gears: [
        {
          toRps: 100,
          steps: [
            { model: 0, threshold: 0.5, shares: [0.5, 0.25, 0.25] },
            { model: 1, shares: [0.1, 0.1, 0.3, 0.5] },
          ],
        },
      ],
    });
    const { topology } = topologyPartOf(planTopologyOf(plan), (_, device) => device < 2);
    const [gear] = gearsOf(topology.routes)?.gears ?? [];
    expect(gear?.toRps).toBe(50);
    expect(
      gear?.steps.map(({ shares }) => [...(shares ?? [])].map((share) => Math.round(1000 * share))),
    ).toEqual([
      [667, 333],
      [500, 500],
    ]);
    expect(topologyPartOf(planTopologyOf(plan), (_, device) => device === 3).pools).toEqual([]);
  });
});
