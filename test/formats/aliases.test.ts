import { describe, expect, it } from 'vitest';
import { parseArtifact } from '../../src/artifacts/index.js';
import {
  aliasedProfiles,
  aliasFaults,
  figuresPlace,
  measurementFaults,
  type Profile,
  profiledClasses,
  withAliases,
} from '../../src/formats/index.js';

const CLUSTER = {
  devices: { L4: { count: 1 }, spot: { as: 'L4', count: 2 }, other: { as: 'K80', count: 1 } },
};

function profile(): Profile {
  const device = (us: number) => ({ blockLatencyUs: { 1: { 1: [us] } } });
  return {
    kind: 'profile',
    version: '1.3',
    model: { name: 'm' },
    blocks: [{ cutBytes: 0 }],
    devices: { L4: { ...device(10), emulated: true }, T4: device(20) },
    measurement: {
      host: { classes: { L4: { classes: { L4: { name: 'one' } } }, T4: { name: 'two' } } },
      asked: { devices: ['L4=cuda:0'], batch: [1], virtual: [1] },
      blockSumOverWhole: { L4: { 1: { 1: 1.1 } } },
      predictedOverWhole: { T4: { 1: { 1: 1.2 } } },
      correctedBy: { L4: { 1: { 1: 1.3 } }, T4: { 1: { 1: 1.4 } } },
      warnings: ['L4 1/1 batch 1 block 0 is unfit: it varies', 'T4 1/1 batch 1 block 0 is unfit: it varies'],
    },
  };
}

describe('withAliases()', () => {
  it('gives an alias all that the profile says of its class, also what only warnings say, and leaves the profile as it is', () => {
    const measured = profile();
    const { devices, measurement } = withAliases(measured, CLUSTER);
    expect(measured).toEqual(profile());
    expect(Object.keys(devices)).toEqual(['L4', 'T4', 'spot']);
    expect(devices.spot).toBe(devices.L4);
    expect(measurement).toMatchObject({
      host: { classes: { spot: { classes: { spot: { name: 'one' } } }, T4: { name: 'two' } } },
      asked: { devices: ['L4=cuda:0'] },
      blockSumOverWhole: { spot: { 1: { 1: 1.1 } } },
      correctedBy: { spot: { 1: { 1: 1.3 } } },
    });
    expect(Object.keys(measurement?.predictedOverWhole ?? {})).toEqual(['T4']);
    expect(measurement?.unfit?.map((one) => [one.class, one.warning])).toEqual([
      ['L4', 'L4 1/1 batch 1 block 0 is unfit: it varies'],
      ['T4', 'T4 1/1 batch 1 block 0 is unfit: it varies'],
      ['spot', 'L4 1/1 batch 1 block 0 is unfit: it varies'],
    ]);
  });

  it('gives the profile itself where the cluster has no alias of its classes', () => {
    const measured = profile();
    expect(withAliases(measured, { devices: { L4: {}, spot: { as: 'K80' } } })).toBe(measured);
  });

  it('leaves figures of an alias that the profile has itself, which are refused', () => {
    const measured = profile();
    const cluster = { devices: { T4: { as: 'L4' }, spot: { as: 'L4' } } };
    const [aliased] = aliasedProfiles([{ value: measured, path: 'p.json' }], cluster);
    expect(aliased?.profile.devices.T4).toBe(measured.devices.T4);
    const refused = [
      {
        path: '/cluster/devices/T4/as',
        message:
          'is L4, and p.json has figures of T4 itself: leave out "as" to plan with those, or give the class another name',
      },
    ];
    expect(aliasFaults(cluster, [{ profile: measured, path: 'p.json' }])).toEqual(refused);
    expect(aliasFaults(cluster, [aliased!])).toEqual(refused);
  });
});

it('aliasedProfiles() makes the profile of a file once, however many models use it', () => {
  const value = profile();
  const [one, other] = aliasedProfiles(
    [
      { value, path: 'p.json' },
      { value, path: './p.json' },
    ],
    CLUSTER,
  );
  expect(one?.profile).toBe(other?.profile);
  expect(other?.path).toBe('./p.json');
});

it('faults of an alias name the class that its figures are of in the file', () => {
  const aliased = withAliases(profile(), CLUSTER);
  expect(profiledClasses(aliased)).toEqual(['L4', 'T4']);
  expect(figuresPlace('p.json', aliased, 'spot')).toBe('p.json#/devices/L4');
  expect(figuresPlace('p.json', aliased, 'other')).toBe('p.json#/devices/other');
  const cells = [{ virtual: 1, batch: 1 }];
  const faults = measurementFaults([
    { profile: aliased, path: 'p.json', classes: [{ className: 'spot', cells }] },
    { profile: aliased, path: 'p.json', classes: [{ className: 'L4', cells }] },
  ]);
  expect(faults.map(({ path }) => path)).toEqual(['p.json#/devices/L4', 'p.json#/devices/L4']);
});

describe('parseArtifact() of a cluster', () => {
  const told = (cluster: string, kinds: Parameters<typeof parseArtifact>[2] = ['cluster']) => {
    try {
      parseArtifact(cluster, 'file.yaml', kinds);
      return [];
    } catch (error) {
      return (error as { faults: { path: string; message: string }[] }).faults.map(
        ({ path, message }) => `${path} ${message}`,
      );
    }
  };

  it('takes an alias of a class that the cluster lacks, as profiles may have it', () => {
    expect(told('devices: { spot: { as: L4, count: 1 } }')).toEqual([]);
  });

  it('refuses aliases of themselves, of aliases and in a circle, each with its line and what to write', () => {
    const cluster = `devices:
  L4: { as: L4 }
  a: { as: b }
  b: { as: c }
  c: { as: T4 }
  x: { as: y }
  y: { as: x }
`;
    expect(told(cluster)).toEqual([
      '/devices/L4/as is L4, the class itself: leave it out, or name another class (line 2, column 9)',
      '/devices/a/as is b, which is an alias of c: write T4 (line 3, column 8)',
      '/devices/b/as is c, which is an alias of T4: write T4 (line 4, column 8)',
      '/devices/x/as is y, which is an alias of x: name a class that profiles have (line 6, column 8)',
      '/devices/y/as is x, which is an alias of y: name a class that profiles have (line 7, column 8)',
    ]);
  });

  it('reports them of specs too, in one round with what the schema refuses', () => {
    const spec = `kind: pooled
models: [{ profile: p.json, sloMs: 1, wait: 1 }]
cluster:
  devices: { L4: { as: L4, count: 1 } }
`;
    expect(told(spec, ['pooled'])).toEqual([
      expect.stringMatching(/^\/models\/0 has an unknown key "wait".*\(line 2, column 39\)$/),
      '/cluster/devices/L4/as is L4, the class itself: leave it out, or name another class (line 4, column 20)',
    ]);
  });

  it('refuses names that every object has', () => {
    expect(told('devices: { spot: { as: __proto__ } }')).toEqual([
      '/devices/spot/as is "__proto__", a name that every object has; take another (line 1, column 20)',
    ]);
  });
});
