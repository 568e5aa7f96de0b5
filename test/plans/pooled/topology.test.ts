import { describe, expect, it } from 'vitest';
import { InputError, stageIndex, stageRoute } from '../../../src/formats/index.js';
import { topologyOf } from '../../../src/plans/index.js';
import { followersOf } from '../../../src/serving/index.js';
import { Durations } from '../../../src/serving/state/durations.js';
import { stage } from '../../serving/by-hand.js';
import { affine, planOf } from '../../serving/plans.js';

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
    expect(pools.map(followersOf)).toEqual([[1], []]);
    expect(pools.map((pool) => pool.devices)).toEqual([[0, 1, 2], [3]]);
    expect(devices[1]).toMatchObject({ name: 's1/gpu0/0', pool: 0, server: 's1', deviceClass: 'slow' });
    // 1 MB at 8 Gbps takes 1 ms per row; the next pool takes at most two rows at a time.
    expect([...pools[0]!.transferNs]).toEqual([1e6, 2e6, 3e6, 4e6]);
    const durations = new Durations(topologyOf(twoStages(8)), { kind: 'none' });
    expect([1, 2, 3, 4].map((b) => durations.workNs(0, b))).toEqual([2.6e6, 4.7e6, 7.7e6, 8.7e6]);
    expect([1, 2].map((b) => durations.workNs(1, b))).toEqual([6e5, 7e5]);
  });

  it('gives transfers no time where no link rate is known, or where all runs on one machine', () => {
    expect([...topologyOf(twoStages()).pools[0]!.transferNs]).toEqual([0, 0, 0, 0]);
    const together = new Durations(topologyOf(twoStages(8), { transfers: 'none' }), { kind: 'none' });
    expect([1, 2, 3, 4].map((b) => together.workNs(0, b))).toEqual([1.6e6, 2.7e6, 4.7e6, 4.7e6]);
    expect(topologyOf(twoStages(), { sloMs: 7 }).models[0]!.sloNs).toBe(7e6);
  });

  it('leads from a pool only within its pipeline, and begins every pipeline of a model at its first pool', () => {
    const { models, pools } = topologyOf(twoModels());
    expect(pools.map(followersOf)).toEqual([[1], [], [], []]);
    expect(pools.map(({ model, stage }) => [model, stageRoute(stage), stageIndex(stage)])).toEqual([
      [0, 0, 0],
      [0, 0, 1],
      [0, 1, 0],
      [1, 0, 0],
    ]);
    expect(models.map(({ entries }) => entries)).toEqual([[0, 2], [3]]);
    expect(pools.map(({ throughputRps }) => throughputRps)).toEqual([100, 100, 50, 10]);
  });

  it('rounds SLOs, latencies and transfers to the nearest nanosecond', () => {
    const parts = [
      { batch: 2, latencyUs: (b: number) => (b === 1 ? 0.0014 : 0.0016), transferBytes: 0.05 },
      { batch: 2, latencyUs: () => 1 },
    ];
    const slo = (sloMs: number) =>
      topologyOf(planOf([{ sloMs, pipelines: [{ throughputRps: 1, parts }] }], 1));
    expect([slo(1.4e-6), slo(1.6e-6)].map(({ models }) => models[0]!.sloNs)).toEqual([1, 2]);
    expect([...slo(1).pools[0]!.latencyNs]).toEqual([1, 2]);
    // Each row takes 0.4 ns.
    expect([...slo(1).pools[0]!.transferNs]).toEqual([0, 1]);
  });

  it('rounds the transfer time of a row to whole microseconds under the published rules', () => {
    // 1400 bytes take 1.12 µs at 10 Gbps, and 2000 take 1.6 µs.
    for (const [transferBytes, rowNs] of [
      [1400, 1000],
      [2000, 2000],
    ] as const) {
      const parts = [stage([1, 2, 3], { transferBytes }), stage([1])];
      const plan = planOf([{ sloMs: 1, pipelines: [{ throughputRps: 1, parts }] }], 10);
      const sent = topologyOf(plan, { rules: 'published' }).pools[0]!.transferNs;
      expect([...sent]).toEqual([rowNs, 2 * rowNs, 3 * rowNs]);
    }
  });

  it("sends at the rate of the slower class of both ends, where the cluster's rate stands in for a class without one", () => {
    const plan = twoStages(8);
    const transferMs = () => topologyOf(plan).pools.map(({ transferNs }) => transferNs[0]! / 1e6);
    // 1 MB is sent at the cluster's 8 Gbps.
    expect(transferMs()).toEqual([1, 0]);
    plan.cluster.devices.fast!.linkGbps = 4;
    expect(transferMs()).toEqual([2, 0]);
    plan.cluster.devices.slow!.linkGbps = 2;
    expect(transferMs()).toEqual([4, 0]);
    plan.cluster.devices.fast!.linkGbps = 16;
    plan.cluster.devices.slow!.linkGbps = 16;
    expect(transferMs()).toEqual([0.5, 0]);
    // Only one class names its link.
    delete plan.cluster.networkGbps;
    delete plan.cluster.devices.fast!.linkGbps;
    expect(transferMs()).toEqual([0.5, 0]);
  });

  it('gives the last stage no transfer, whatever its partition says', () => {
    const plan = twoStages(8);
    plan.models[0]!.pipelines[0]!.partitions[1]!.transferBytes = 1e6;
    expect([...topologyOf(plan).pools[1]!.transferNs]).toEqual([0, 0]);
  });

  it('numbers devices by their placement, with its own rules, and names the virtual GPUs of one GPU apart', () => {
    const plan = twoStages();
    plan.placement.reverse();
    plan.placement.forEach((place, i) => {
      place.server = 's';
      place.gpu = i === 3 ? 1 : 0;
    });
    const { devices, links, pools } = topologyOf(plan);
    expect(devices.map(({ name, pool }) => [name, pool])).toEqual([
      ['s/gpu0/0', 1],
      ['s/gpu0/1', 0],
      ['s/gpu0/2', 0],
      ['s/gpu1/0', 0],
    ]);
    expect(pools.map((pool) => pool.devices)).toEqual([[1, 2, 3], [0]]);
    // The devices are in one server and share its links.
    expect([links.uplinkCount, ...links.uplinkOf]).toEqual([1, 0, 0, 0, 0]);
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

  it('assumes one GPU per server where worker groups are asked for and the cluster does not say', () => {
    const { links } = topologyOf(twoStages(), { sharing: 'worker-groups' });
    expect([...links.uplinkOf]).toEqual([0, 1, 2, 3]);
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
    plan.placement[2]!.virtual = 2;
    plan.placement[3]!.class = 'slow';
    plan.models[0]!.pipelines[0]!.partitions[1]!.latencyUsByBatch[1] = null;
    const error = catchError(() => topologyOf(plan));
    expect(error).toBeInstanceOf(InputError);
    expect((error as InputError).faults.map((f) => f.path)).toEqual([
      '/placement/0',
      '/placement/2',
      '/placement/3',
      '/models/0/pipelines/0/partitions/0',
      '/models/0/pipelines/0/partitions/1/latencyUsByBatch',
    ]);
    expect((error as InputError).message).toContain('has 3 virtual GPUs, but 2 are placed');
    expect((error as InputError).message).toContain('is slow in 2; its partition is planned for slow in 1');
  });

  it('refuses a plan in which a partition is placed nowhere', () => {
    const plan = twoStages();
    plan.placement.pop();
    const error = catchError(() => topologyOf(plan));
    expect((error as InputError).message).toContain('has 1 virtual GPUs, but 0 are placed');
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
