import { describe, expect, it } from 'vitest';
import { pipelineTopologyOf, topologyOf } from '../../src/plans/index.js';
import { scalingFaults, scalingRule } from '../../src/serving/scheduled-scaling.js';
import { pipelineOf } from '../pipeline-plans.js';
import { planOf } from './plans.js';

const pipeline = pipelineTopologyOf(
  pipelineOf(
    [{ name: 'a', next: [{ to: 'b', transferBytes: 0 }] }, { name: 'b' }],
    [['a'], ['a'], ['a', 'b'], ['b']],
  ),
);
const part = { batch: 1, latencyUs: () => 500 };
const pooled = topologyOf(
  planOf([
    { sloMs: 10, pipelines: [{ throughputRps: 1, parts: [part] }] },
    {
      sloMs: 10,
      pipelines: [
        { throughputRps: 1, parts: [part] },
        { throughputRps: 1, parts: [part, part] },
      ],
    },
  ]),
);
const names = pooled.models.map(({ name }) => name);

describe('scalingRule()', () => {
  it('finds pools by the names of stages, or of models, pipelines and partitions', () => {
    expect(scalingRule({ schedule: [{ atS: 1.5, pool: 'b', devices: 0 }] }, pipeline)).toEqual({
      kind: 'schedule',
      changes: [{ atNs: 1.5e9, pool: 1, devices: 0 }],
    });
    const rule = scalingRule(
      {
        schedule: [
          { atS: 0, pool: `${names[1]}/pipeline1/partition1`, devices: 1 },
          { atS: 0.1, pool: `${names[0]}/pipeline0/partition0`, devices: 0 },
        ],
      },
      pooled,
    );
    expect(rule).toMatchObject({
      changes: [
        { pool: 3, atNs: 0 },
        { pool: 0, atNs: 1e8 },
      ],
    });
  });
});

describe('scalingFaults()', () => {
  it('names every pool that does not exist, and every number above the devices that count for a pool', () => {
    const schedule = [
      { atS: 0, pool: 'c', devices: 1 },
      { atS: 0, pool: 'a', devices: 3 },
      // The device of both counts for the first of them.
      { atS: 0, pool: 'b', devices: 2 },
    ];
    expect(
      scalingFaults({ policy: { scaling: { schedule } } }, pipeline).map(
        ({ path, message }) => `${path} ${message}`,
      ),
    ).toEqual([
      '`policy` /scaling/schedule/0/pool there is no c; there are a, b',
      '`policy` /scaling/schedule/2/devices is 2; b has 1 that count for it',
    ]);
    expect(scalingFaults({ policy: {} }, pipeline)).toEqual([]);
  });
});
