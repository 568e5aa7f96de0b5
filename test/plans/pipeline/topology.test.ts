import { describe, expect, it } from 'vitest';
import { stageIndex, stageName } from '../../../src/formats/index.js';
import { applicationsOf, pipelineTopologyOf, planTopologyOf } from '../../../src/plans/index.js';
import { followersOf } from '../../../src/serving/index.js';
import { edge, pipelineOf } from '../../pipeline-plans.js';

const forked = pipelineOf(
  [
    { name: 'a', batch: 2, next: [edge('b', 0.25, 1000), edge('c', undefined, 4000)] },
    { name: 'b', next: [edge('d')] },
    { name: 'c', next: [edge('d')], latencyUs: 2500 },
    { name: 'd' },
  ],
  [['a'], ['b', 'd'], ['c'], ['c']],
  { cluster: { devices: { cpu: {} }, networkGbps: 1 }, sloMs: 40, rps: 30 },
);

describe('pipelineTopologyOf()', () => {
  it('makes a pool of every stage, with the edges that lead on and what each sends', () => {
    const { models, pools, routes } = pipelineTopologyOf(forked);
    expect(models).toEqual([{ name: 'app', sloNs: 40e6, throughputRps: 100, entries: [0] }]);
    expect(pools.map(({ stage, batch }) => [stageName(stage), stageIndex(stage), batch])).toEqual([
      ...[
        ['a', 0, 2],
        ['b', 1, 1],
        ['c', 2, 1],
        ['d', 3, 1],
      ],
    ]);
    expect(pools[0]?.edges.map(({ to, when, transferNs }) => [to, when.kind, [...transferNs]])).toEqual([
      [1, 'verdict', [8000, 16000]],
      [2, 'always', [32000, 64000]],
    ]);
    expect([...pools[0]!.transferNs]).toEqual([32000, 64000]);
    expect(pools.map(({ latencyNs }) => [...latencyNs])).toEqual([[1e6, 2e6], [1e6], [2.5e6], [1e6]]);
    expect(routes.kind).toBe('dag');
  });

  it('lets a device serve every stage that it holds', () => {
    const { pools, devices } = pipelineTopologyOf(forked);
    expect(devices.map(({ pool, otherPools }) => [pool, otherPools])).toEqual([
      ...[
        [0, undefined],
        [1, [3]],
        [2, undefined],
        [2, undefined],
      ],
    ]);
    expect(pools.map((pool) => pool.devices)).toEqual([[0], [1], [2, 3], [1]]);
  });

  it('makes no transfer take time where all is on one machine, and takes another SLO where one is given', () => {
    const { models, pools } = pipelineTopologyOf(forked, { transfers: 'none', sloMs: 7 });
    expect(pools.flatMap(({ edges }) => edges.flatMap(({ transferNs }) => [...transferNs]))).toEqual([
      0, 0, 0, 0, 0, 0,
    ]);
    expect(models[0]?.sloNs).toBe(7e6);
  });

  it('makes a chain where every stage leads to the next alone and always', () => {
    const chain = pipelineOf([{ name: 'a', next: [edge('b')] }, { name: 'b' }], [['a'], ['b']]);
    const topology = planTopologyOf(chain);
    expect(topology.routes.kind).toBe('chains');
    expect(topology.pools.map(followersOf)).toEqual([[1], []]);
    const doubtful = pipelineOf([{ name: 'a', next: [edge('b', 0.5)] }, { name: 'b' }], [['a'], ['b']]);
    expect(planTopologyOf(doubtful).pools[0]?.edges).toHaveLength(1);
  });

  it('keeps standby devices down', () => {
    const { placement } = forked;
    const plan = {
      ...forked,
      placement: placement.map((place, i) => (i === 3 ? { ...place, standby: true as const } : place)),
    };
    expect(pipelineTopologyOf(plan).devices.map(({ standby }) => standby === true)).toEqual([
      false,
      false,
      false,
      true,
    ]);
  });
});

describe('applicationsOf()', () => {
  it('is the pipeline as a whole, with the rate that it was planned for', () => {
    expect(applicationsOf(forked)).toEqual([
      { name: 'app', sloMs: 40, throughputRps: 100, weight: 1, heldRps: 30 },
    ]);
  });
});
