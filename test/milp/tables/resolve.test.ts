import { describe, expect, test } from 'vitest';
import {
  type Cluster,
  InputError,
  MissingError,
  type PooledSpec,
  type Profile,
} from '../../../src/formats/index.js';
import { resolvePooled } from '../../../src/milp/index.js';

function profile(): Profile {
  const rows = { '1': { '1': [100, 200], '2': [150, 300] }, '2': { '1': [180, 350] } };
  return {
    kind: 'profile',
    version: '1.0',
    model: { name: 'm' },
    blocks: [{ cutBytes: 1000 }, { cutBytes: 0 }],
    devices: { A: { blockLatencyUs: structuredClone(rows) }, B: { blockLatencyUs: structuredClone(rows) } },
  };
}

function cluster(): Cluster {
  return { devices: { A: { count: 2, virtual: [1, 2] }, B: { count: 3 } }, networkGbps: 10 };
}

function spec(): PooledSpec {
  return { kind: 'pooled', cluster: 'c.yaml', models: [{ profile: 'm.json', sloMs: 10 }] };
}

/** The faults after one change of a sound spec. The error must be of the given class. */
function faultsOf(
  change: (parts: { spec: PooledSpec; cluster: Cluster; profile: Profile }) => void,
): string[] {
  const parts = { spec: spec(), cluster: cluster(), profile: profile() };
  change(parts);
  try {
    resolvePooled(parts.spec, {
      cluster: parts.cluster,
      profiles: [{ profile: parts.profile, path: 'm.json' }],
      where: 'spec.yaml',
    });
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    return error.faults.map(({ path, message }) => `${path} ${message}`);
  }
  return [];
}

describe('resolvePooled()', () => {
  test('fills in the defaults', () => {
    const { planner, models } = resolvePooled(spec(), {
      cluster: cluster(),
      profiles: [{ profile: profile(), path: 'm.json' }],
      where: 's',
    });
    expect(planner).toEqual({
      objective: 'throughput',
      maxPartitions: 3,
      granularity: 'block',
      sloMargin: 0.4,
      sloMarginMs: undefined,
      unifiedBatch: true,
      batchFormation: 'none',
      linkThroughput: true,
      wholeGpusPer: 'pool',
      virtualPer: 'gpu',
    });
    expect(models[0]).toMatchObject({
      name: 'm',
      sloUs: 10_000,
      sloMarginUs: 4000,
      weight: 1,
      classes: ['A', 'B'],
    });
  });

  test("takes a model's own margin before the planner's", () => {
    const margins = [
      [{ sloMargin: 0.1 }, {}, 1000],
      [{ sloMarginMs: 3 }, { sloMargin: 0.2 }, 3000],
      [{}, { sloMarginMs: 2 }, 2000],
      [{}, { sloMargin: 0.2 }, 2000],
    ] as const;
    for (const [own, planner, us] of margins) {
      const one: PooledSpec = { ...spec(), models: [{ profile: 'm.json', sloMs: 10, ...own }], planner };
      const { models } = resolvePooled(one, {
        cluster: cluster(),
        profiles: [{ profile: profile(), path: 'm.json' }],
        where: 's',
      });
      expect(models[0]?.sloMarginUs).toBeCloseTo(us, 9);
    }
  });

  const FAULTS: readonly [string, Parameters<typeof faultsOf>[0], RegExp][] = [
    [
      'a virtual size the profile lacks',
      (p) => Object.assign(p.cluster.devices.B as object, { virtual: [1, 4] }),
      /m\.json#\/devices\/B\/blockLatencyUs lacks virtual size 4.*has 1, 2/,
    ],
    [
      'rows of another length',
      (p) => p.profile.devices.A?.blockLatencyUs['1']?.['2']?.push(1),
      /blockLatencyUs\/1\/2 has 3 blocks; the model has 2/,
    ],
    [
      'a latency that was not measured',
      (p) => p.profile.devices.A?.blockLatencyUs['1']?.['2']?.splice(1, 1, null),
      /\/1\/2\/1 was not measured/,
    ],
    [
      'a latency that leaves nothing of others in a sum',
      (p) => p.profile.devices.A?.blockLatencyUs['1']?.['2']?.splice(1, 1, 1e18),
      /\/1\/2\/1 is 1000000000000000000 µs; latencies up to 500000000000000000 µs/,
    ],
    [
      'a whole model that takes no time',
      (p) => Object.assign(p.profile.devices.A as object, { wholeLatencyUs: { 1: { 2: 0 } } }),
      /wholeLatencyUs\/1\/2 is 0, not a latency/,
    ],
    [
      'pairs that are not those of the blocks',
      (p) => Object.assign(p.profile.devices.A as object, { pairLatencyUs: { 1: { 2: [null, 5] } } }),
      /pairLatencyUs\/1\/2 has 2 pairs; the model's 2 blocks make 1/,
    ],
    [
      'a pair at a negative latency',
      (p) => Object.assign(p.profile.devices.A as object, { pairLatencyUs: { 1: { 2: [-1] } } }),
      /pairLatencyUs\/1\/2\/0 is -1/,
    ],
    [
      'a timed span that the model lacks',
      (p) =>
        Object.assign(p.profile.devices.A as object, {
          spanLatencyUs: { 1: { 2: [{ layers: [1, 3], us: 5 }] } },
        }),
      /spanLatencyUs\/1\/2\/0\/layers is of layers 1 to 3; the model has 0/,
    ],
    [
      'a timed span that took no time',
      (p) =>
        Object.assign(p.profile.devices.A as object, {
          spanLatencyUs: { 1: { 2: [{ layers: [0, 1], us: 0 }] } },
        }),
      /spanLatencyUs\/1\/2\/0\/us is 0, not a latency/,
    ],
    [
      'a negative latency',
      (p) => p.profile.devices.A?.blockLatencyUs['2']?.['1']?.splice(0, 1, -5),
      /\/2\/1\/0 is -5/,
    ],
    [
      'a latency that is no number',
      (p) => p.profile.devices.A?.blockLatencyUs['2']?.['1']?.splice(0, 1, Number.NaN),
      /\/2\/1\/0 is NaN/,
    ],
    [
      'no device at all',
      (p) => Object.values(p.cluster.devices).map((d) => Object.assign(d, { count: 0 })),
      /no free device: A has 0, B has 0/,
    ],
    [
      'every device taken',
      (p) => Object.values(p.cluster.devices).map((d) => Object.assign(d, { taken: d.count })),
      /A has 2, 2 of them taken/,
    ],
    [
      'more taken than there are',
      (p) => Object.assign(p.cluster.devices.A as object, { taken: 9 }),
      /9 GPUs are taken and there are 2/,
    ],
    [
      'weights that sum to nothing',
      (p) => Object.assign(p.spec.models[0] as object, { weight: 0 }),
      /weights sum to 0: m 0/,
    ],
    [
      'a class that is not there',
      (p) => Object.assign(p.spec.models[0] as object, { only: ['Z'] }),
      /only names Z.*it has A, B/,
    ],
    [
      'a margin that leaves nothing',
      (p) => Object.assign(p.spec.models[0] as object, { sloMarginMs: 10 }),
      /leaves nothing/,
    ],
    [
      'no bandwidth where models are cut',
      (p) => Object.assign(p.cluster, { networkGbps: undefined }),
      /devices\/A has no linkGbps/,
    ],
    [
      'no price where it counts',
      (p) => Object.assign(p.spec, { planner: { objective: 'cost' } }),
      /devices\/A has no hourlyCost/,
    ],
    [
      'no rate where it must be met',
      (p) => Object.assign(p.spec, { planner: { objective: 'power' } }),
      /models\/0 has no rps/,
    ],
    [
      'layers where there are none',
      (p) => Object.assign(p.spec, { planner: { granularity: 'layer' } }),
      /layers has no layers/,
    ],
    [
      'bytes at a cut that are no number of bytes',
      (p) => Object.assign(p.profile.blocks[0] as object, { cutBytes: -1, weightBytes: Number.NaN }),
      /^m\.json#\/blocks\/0\/cutBytes is -1, not a number of bytes\nm\.json#\/blocks\/0\/weightBytes is NaN, not a number of bytes$/,
    ],
    [
      'a device that was profiled in no size',
      (p) => Object.assign(p.profile.devices.B as object, { blockLatencyUs: {} }),
      /devices\/B\/blockLatencyUs lacks virtual size 1.*it has none$/,
    ],
    [
      'layers in no block',
      (p) => {
        Object.assign(p.spec, { planner: { granularity: 'layer' } });
        Object.assign(p.profile.blocks[0] as object, { nodes: ['a'] });
        const names = ['a', 'b', 'c', 'd', 'e'];
        Object.assign(p.profile, { layers: names.map((name) => ({ name, op: 'Conv', cutBytes: 1 })) });
        for (const device of Object.values(p.profile.devices))
          Object.assign(device, { layerLatencyUs: { '1': { '1': [1, 2, 3, 4, 5] } } });
      },
      /^m\.json#\/layers\/1 is in no block\nm\.json#\/layers\/2 is in no block\nm\.json#\/layers\/3 is in no block$/,
    ],
    [
      'layers in another order than the blocks name them',
      (p) => {
        Object.assign(p.spec, { planner: { granularity: 'layer' } });
        Object.assign(p.profile.blocks[0] as object, { nodes: ['a', 'c'] });
        Object.assign(p.profile.blocks[1] as object, { nodes: ['b'] });
        const layers = ['a', 'b', 'c'].map((name) => ({ name, op: 'Conv', cutBytes: 1 }));
        Object.assign(p.profile, { layers });
        for (const device of Object.values(p.profile.devices))
          Object.assign(device, { layerLatencyUs: { '1': { '1': [1, 2, 3] } } });
      },
      /^m\.json#\/blocks name "c" where layer 1 is "b"$/,
    ],
    [
      'layers that were not measured one by one, or not all',
      (p) => {
        Object.assign(p.spec, { planner: { granularity: 'layer' } });
        Object.assign(p.profile.blocks[0] as object, { nodes: ['a', 'b'] });
        Object.assign(p.profile, { layers: ['a', 'b'].map((name) => ({ name, op: 'Conv', cutBytes: 1 })) });
        Object.assign(p.profile.devices.B as object, { layerLatencyUs: { '1': { '1': [1] } } });
      },
      /^m\.json#\/devices\/A\/layerLatencyUs lacks virtual size 1, batch 1\nm\.json#\/devices\/B\/layerLatencyUs\/1\/1 has 1 layers; the model has 2$/,
    ],
    [
      'two margins for one SLO',
      (p) => {
        Object.assign(p.spec.models[0] as object, { sloMargin: 0.1, sloMarginMs: 1 });
        Object.assign(p.spec, { planner: { sloMargin: 0.1, sloMarginMs: 1 } });
      },
      /^\/planner has both sloMargin and sloMarginMs: give one\n\/models\/0 has both sloMargin and sloMarginMs: give one$/,
    ],
    [
      'more GPUs and virtual GPUs than can be planned',
      (p) => Object.assign(p.cluster.devices.B as object, { count: 1e9 + 1, virtual: [1, 1001, 2000] }),
      /^\/cluster\/devices\/B\/count 1000000001 GPUs.*\n\/cluster\/devices\/B\/virtual a GPU cannot be 1001 or 2000 virtual ones: give at most 1000\n/,
    ],
    [
      'a weight too small to be counted',
      (p) => Object.assign(p.spec.models[0] as object, { weight: 9e-301 }),
      /^\/models\/0\/weight 9e-301 is too small to be counted: give at least 1e-300, or 0$/,
    ],
    [
      'a class that is not there, under the key that names it',
      (p) => Object.assign(p.spec.models[0] as object, { not: ['X'], minShare: { Y: 0.5 } }),
      /^\/models\/0\/not names X, which the cluster does not have; it has A, B\n\/models\/0\/minShare names Y/,
    ],
  ];
  test.each(FAULTS)('reports %s', (_, change, told) => {
    expect(faultsOf(change).join('\n')).toMatch(told);
  });

  test('reports a model that is listed twice, and one without a profile', () => {
    const twice = { ...spec(), models: [...spec().models, ...spec().models] };
    const files = (n: number) => Array.from({ length: n }, () => ({ profile: profile(), path: 'm.json' }));
    expect(() => resolvePooled(twice, { cluster: cluster(), profiles: files(2), where: 's' })).toThrow(
      /\/models\/1: is the model m, as is \/models\/0: list it once/,
    );
    expect(() => resolvePooled(twice, { cluster: cluster(), profiles: files(1), where: 's' })).toThrow(
      /\/models\/1: no profile was given for it/,
    );
  });

  test('requires weights to be within 300 decimal places of the largest, and not below 10⁻³⁰⁰', () => {
    const weighed = (...weights: number[]) => {
      const models = weights.map((weight) => ({ ...spec().models[0]!, weight }));
      const files = weights.map((_, m) => ({
        profile: { ...profile(), model: { name: `m${m}` } },
        path: 'm.json',
      }));
      return () => resolvePooled({ ...spec(), models }, { cluster: cluster(), profiles: files, where: 's' });
    };
    expect(weighed(1, 1e-300)).not.toThrow();
    expect(weighed(1e10, 1e-290)).not.toThrow();
    expect(weighed(1e10, 1e-291)).toThrow(/\/models\/1\/weight: 1e-291 is too small.*give at least 1e-290/);
    expect(weighed(1e-5, 1e-300)).not.toThrow();
  });

  test('leaves out shares of 0', () => {
    const one = { ...spec(), models: [{ profile: 'm.json', sloMs: 10, minShare: { A: 0, B: 0.2 } }] };
    const { models } = resolvePooled(one, {
      cluster: cluster(),
      profiles: [{ profile: profile(), path: 'm.json' }],
      where: 's',
    });
    expect(models[0]?.minShare).toEqual({ B: 0.2 });
  });

  test('reports all faults at once', () => {
    const told = faultsOf((p) => {
      Object.assign(p.spec.models[0] as object, { weight: 0, not: ['Z'] });
      p.profile.devices.A?.blockLatencyUs['1']?.['1']?.push(3);
    });
    expect(told).toHaveLength(3);
  });

  test("lists the profile's devices when the cluster has none of them", () => {
    const { A, ...rest } = cluster().devices;
    const other: Cluster = { devices: { X: A as { count: number } }, networkGbps: 1 };
    expect(rest).toBeDefined();
    const resolve = () =>
      resolvePooled(spec(), {
        cluster: other,
        profiles: [{ profile: profile(), path: 'm.json' }],
        where: 's',
      });
    expect(resolve).toThrow(MissingError);
    expect(resolve).toThrow(/m can use no device class of the cluster \(X\); its profile m\.json has A, B/);
  });

  test('warns of a class of the cluster that the profile lacks', () => {
    const more = cluster();
    more.devices.C = { count: 1 };
    const { models } = resolvePooled(spec(), {
      cluster: more,
      profiles: [{ profile: profile(), path: 'm.json' }],
      where: 's',
    });
    expect(models[0]?.notes).toEqual(['m cannot use C: only A, B are profiled']);
  });

  test('warns of a rate that the objective does not use', () => {
    const notesOf = (planner: NonNullable<PooledSpec['planner']>) => {
      const asked = { ...spec(), planner, models: [{ profile: 'm.json', sloMs: 10, rps: 900 }] };
      const priced = cluster();
      for (const device of Object.values(priced.devices)) device.hourlyCost = 1;
      const profiles = [{ profile: profile(), path: 'm.json' }];
      return resolvePooled(asked, { cluster: priced, profiles, where: 's' }).models[0]?.notes;
    };
    const said =
      'm: rps 900 is not used by the objective throughput, but the weight of 1 is; give the rate as the weight, or planner.objective: cost';
    expect(notesOf({})).toEqual([said]);
    expect(notesOf({ objective: 'throughput' })).toEqual([said]);
    expect(notesOf({ objective: 'cost' })).toEqual([]);
  });
});
