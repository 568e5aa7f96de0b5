import { describe, expect, it } from 'vitest';
import { InputError } from '../../src/artifacts/index.js';
import { topologyOf } from '../../src/serving/index.js';
import { Durations } from '../../src/serving/state/durations.js';
import { affine, planOf } from './plans.js';

const twoStages = (networkGbps?: number) =>
  planOf(
    [
      {
        sloMs: 50,
        pipelines: [
          {
            throughputRps: 100,
            parts: [
              {
                device: 'slow',
                batch: 4,
                virtualGpus: 3,
                latencyUs: (b) => (b === 3 ? null : 1000 * b),
                transferBytes: 1e6,
              },
              { device: 'fast', batch: 2, latencyUs: affine(500, 100) },
            ],
          },
        ],
      },
    ],
    networkGbps,
  );

describe('topologyOf()', () => {
  it('gives pools their successor, devices, and a latency for every batch size', () => {
    const { pools, devices, models } = topologyOf(twoStages(8));
    expect(models).toEqual([{ name: 'm0', sloNs: 50e6, throughputRps: 100, entries: [0] }]);
    expect([...pools[0]!.latencyNs]).toEqual([1e6, 2e6, 4e6, 4e6]);
    expect(pools[0]!.next).toBe(1);
    expect(pools[1]!.next).toBeUndefined();
    expect(pools.map((pool) => pool.devices)).toEqual([[0, 1, 2], [3]]);
    expect(devices[1]).toMatchObject({ name: 's1/gpu0/0', pool: 0, server: 's1', deviceClass: 'slow' });
    // 1 MB at 8 Gbps takes 1 ms per row; the next pool takes at most two rows at a time.
    expect([...pools[0]!.transferNs]).toEqual([1e6, 2e6, 3e6, 4e6]);
    const durations = new Durations(topologyOf(twoStages(8)), { kind: 'none' });
    expect([1, 2, 3, 4].map((b) => durations.workNs(0, b))).toEqual([2.6e6, 4.7e6, 7.7e6, 8.7e6]);
    expect([1, 2].map((b) => durations.workNs(1, b))).toEqual([6e5, 7e5]);
  });

  it('lets transfers take no time without a link rate, or where all is on one machine', () => {
    expect([...topologyOf(twoStages()).pools[0]!.transferNs]).toEqual([0, 0, 0, 0]);
    const together = new Durations(topologyOf(twoStages(8), { transfers: 'none' }), { kind: 'none' });
    expect([1, 2, 3, 4].map((b) => together.workNs(0, b))).toEqual([1.6e6, 2.7e6, 4.7e6, 4.7e6]);
    expect(topologyOf(twoStages(), { sloMs: 7 }).models[0]!.sloNs).toBe(7e6);
  });

  it('follows the published rules on request: microseconds, and uplinks of consecutive devices', () => {
    const plan = planOf(
      [
        {
          sloMs: 50.0009,
          pipelines: [
            {
              throughputRps: 1,
              parts: [
                { device: 'slow', batch: 2, virtualGpus: 7, latencyUs: affine(0, 9), transferBytes: 1900 },
                { device: 'fast', batch: 2, virtualGpus: 5, latencyUs: affine(0, 9), transferBytes: 1900 },
                { device: 'slow', batch: 2, virtualGpus: 3, latencyUs: affine(0, 9) },
              ],
            },
          ],
        },
      ],
      10,
    );
    plan.cluster.devices.slow!.perServer = 2;
    plan.cluster.devices.fast!.perServer = 4;
    plan.placement.reverse();
    const { models, pools, devices, links } = topologyOf(plan, { rules: 'published' });
    expect(models[0]!.sloNs).toBe(50_000_000);
    // 8 · 1900 bits at 10 Gbps take 1.52 µs per row.
    expect([...pools[0]!.transferNs]).toEqual([2000, 4000]);
    expect(pools.map((pool) => pool.devices.length)).toEqual([7, 5, 3]);
    expect(devices.map(({ pool }) => pool)).toEqual([0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 2]);
    // Four slow devices share an uplink where their servers hold two, since the next stage has servers of
    // four.
    expect([...links.uplinkOf]).toEqual([0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 2, 3, 4, 4, 5]);
    expect([...links.downlinkOf]).toEqual([0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 2, 3, 4, 5, 6]);
    expect([links.uplinkCount, links.downlinkCount]).toEqual([6, 7]);
    // Each of the two choices also works without the other. Every virtual GPU has a server of its own.
    const grouped = topologyOf(plan, { sharing: 'worker-groups' });
    expect([...grouped.pools[0]!.devices].map((device) => grouped.links.uplinkOf[device])).toEqual([
      0, 0, 0, 0, 1, 1, 1,
    ]);
    expect(grouped.models[0]!.sloNs).toBe(50_000_900);
    expect(topologyOf(plan, { rules: 'published', sharing: 'servers' }).links.uplinkCount).toBe(15);
  });

  it('refuses a plan that serves nothing', () => {
    const plan = twoStages();
    plan.placement = [];
    plan.models[0]!.pipelines = [];
    expect(() => topologyOf(plan)).toThrow('the plan serves nothing');
  });

  it('refuses a plan that contradicts itself, and names every contradiction', () => {
    const plan = twoStages();
    plan.placement[0]!.partition = 7;
    plan.placement[3]!.class = 'slow';
    plan.models[0]!.pipelines[0]!.partitions[1]!.latencyUsByBatch[1] = null;
    const error = catchError(() => topologyOf(plan));
    expect(error).toBeInstanceOf(InputError);
    expect((error as InputError).faults.map((f) => f.path)).toEqual([
      '/placement/0',
      '/placement/3',
      '/models/0/pipelines/0/partitions/0',
      '/models/0/pipelines/0/partitions/1/latencyUsByBatch',
    ]);
    expect((error as InputError).message).toContain('has 3 virtual GPUs, but 2 are placed');
  });
});

function catchError(act: () => unknown): unknown {
  try {
    act();
  } catch (error) {
    return error;
  }
  return undefined;
}
