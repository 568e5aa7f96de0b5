import { describe, expect, it } from 'vitest';
import type { CascadeSpec } from '../../src/formats/index.js';
import { cascadeSpecFaults, rangesOf, resolveCascade } from '../../src/gearplan/index.js';
import { FAMILY, FAMILY_SPEC, familyProfile } from '../cascade-specs.js';

const SPEC: CascadeSpec = {
  kind: 'cascade',
  cluster: 'c.yaml',
  records: 'r.csv',
  slo: { latencyMs: 100 },
  models: [{ name: 'a', profile: 'a.json' }],
  load: { maxRps: 100 },
  planner: { method: 'gears' },
};

const faultsOf = (change: Partial<CascadeSpec>) =>
  cascadeSpecFaults({ ...SPEC, ...change }).map(({ path, message }) => `${path} ${message}`);

describe('The spec of a cascade', () => {
  it('has no fault with a latency, or with an accuracy', () => {
    expect(faultsOf({})).toEqual([]);
    expect(faultsOf({ slo: { accuracy: 0.9 } })).toEqual([]);
  });

  it('names each model once', () => {
    const models = Array.from({ length: 9 }, (_, i) => ({ name: `m${i % 8}`, profile: 'p.json' }));
    expect(faultsOf({ models })).toEqual(['/models/8/name m0 is the name of another model too']);
  });

  it('promises what its objective needs', () => {
    expect(
      faultsOf({
        slo: { accuracy: 0.9, quantile: 0.9 },
        planner: { method: 'gears', objective: 'accuracy' },
      }),
    ).toEqual([
      '/slo/quantile is the share of requests that meet a latency; give latencyMs',
      '/slo/latencyMs is needed: the objective is accuracy, which grows with latency',
    ]);
    expect(faultsOf({ planner: { method: 'gears', objective: 'latency' } })).toEqual([
      '/slo/accuracy is needed: the objective is latency, and the fastest plan is the least accurate',
    ]);
    expect(faultsOf({ planner: { method: 'random', objective: 'devices' } })).toEqual([
      '/planner/objective is devices; random search is for accuracy',
    ]);
  });
});

describe('Records of a cascade', () => {
  const faultsWith = (certainty: NonNullable<CascadeSpec['certainty']>, values: readonly number[]) => {
    const profiles = FAMILY.map((_, model) => ({ path: '', profile: familyProfile(model) }));
    const records = {
      samples: values.length,
      models: FAMILY_SPEC.models.map(({ name }) => name),
      correct: FAMILY.map(() => new Uint8Array(values.length).fill(1)),
      certainty: FAMILY.map((_, i) => Float64Array.from(values, (value) => (i === 1 ? value : 0.5))),
    };
    const [device = ''] = Object.keys(familyProfile(0).devices);
    const cluster = { devices: { [device]: { count: 1 } } };
    const resolved = resolveCascade({ ...FAMILY_SPEC, certainty }, { cluster, profiles, records });
    return 'faults' in resolved ? resolved.faults.map(({ path, message }) => `${path} ${message}`) : [];
  };

  it('have certainties that the measure can have', () => {
    for (const measure of ['top-2', 'entropy'] as const) {
      expect(faultsWith(measure, [0, 1, 1 + 1e-9, -1e-9])).toEqual([]);
      const name = FAMILY_SPEC.models[1]!.name;
      for (const values of [
        [-0.5, 1],
        [0, 7],
      ])
        expect(faultsWith(measure, values)).toEqual([
          `/certainty is ${measure}, which is from 0 to 1, and the records of ${name} have certainties from ${values[0]} to ${values[1]}: name the measure that they were made with`,
        ]);
    }
    expect(faultsWith('logits', [-3, 12])).toEqual([]);
  });
});

describe('The largest batch of a cascade', () => {
  it('is refused where it is above what was measured', () => {
    const profiles = FAMILY.map((_, model) => ({ path: '', profile: familyProfile(model) }));
    const records = {
      samples: 1,
      models: FAMILY_SPEC.models.map(({ name }) => name),
      correct: FAMILY.map(() => Uint8Array.of(1)),
      certainty: FAMILY.map(() => Float64Array.of(0.5)),
    };
    const [device = ''] = Object.keys(familyProfile(0).devices);
    const notesOf = (batch: number) => {
      const spec = { ...FAMILY_SPEC, planner: { ...FAMILY_SPEC.planner, batch } };
      const found = resolveCascade(spec, {
        cluster: { devices: { [device]: { count: 1 } } },
        profiles,
        records,
      });
      return 'resolved' in found ? found.resolved.notes : found.faults;
    };
    expect(notesOf(1)).toEqual([]);
    expect(notesOf(1000)).toEqual([
      expect.stringMatching(
        new RegExp(
          `^planner.batch is 1000, and .* was measured up to batch \\d+ on ${device}: no batch is larger there$`,
        ),
      ),
    ]);
  });
});

describe('Ranges of loads', () => {
  it('are of equal size, and rarer the higher, by Zipf', () => {
    const ranges = rangesOf({ maxRps: 90, ranges: 3 });
    expect(ranges.map(({ fromRps, toRps }) => [fromRps, toRps])).toEqual([
      [0, 30],
      [30, 60],
      [60, 90],
    ]);
    ranges.forEach(({ share }, k) => {
      expect(share).toBeCloseTo(1 / (k + 1) / (1 + 1 / 2 + 1 / 3), 12);
    });
    expect(rangesOf({ maxRps: 90, ranges: 4, distribution: 'uniform' }).map(({ share }) => share)).toEqual([
      0.25, 0.25, 0.25, 0.25,
    ]);
    expect(rangesOf({ maxRps: 1 })).toHaveLength(20);
  });

  it('have the shares of a measured distribution, each rate in the range that it ends or lies in', () => {
    const points = [
      { rps: 0, share: 1 },
      { rps: 30, share: 1 },
      { rps: 31, share: 2 },
      { rps: 90, share: 4 },
    ];
    expect(
      rangesOf({ maxRps: 90, ranges: 3, distribution: 'd.csv' }, points).map(({ share }) => share),
    ).toEqual([0.25, 0.25, 0.5]);
  });
});
