import { describe, expect, test } from 'vitest';
import type { Cluster, DeviceProfile, Profile } from '../../../src/artifacts/index.js';
import { measurementFaults, measurementNotes } from '../../../src/milp/index.js';

const FIGURES: DeviceProfile = {
  blockLatencyUs: { '1': { '1': [100], '2': [150], '20': [900] }, '2': { '1': [180] } },
};
const CLASSES = ['A', 'B', 'C'];
const CLUSTER: Cluster = {
  devices: { A: { count: 2 }, B: { count: 3, virtual: [1, 2] }, C: { count: 1, taken: 1 } },
};

/** profileWith gives a profile of the classes A, B and C, with warnings and with changes of some classes. */
function profileWith(
  warnings: readonly string[],
  devices: Readonly<Record<string, Partial<DeviceProfile>>> = {},
): Profile {
  return {
    kind: 'profile',
    version: '1.0',
    model: { name: 'm' },
    blocks: [{ cutBytes: 0 }],
    devices: Object.fromEntries(CLASSES.map((name) => [name, { ...FIGURES, ...devices[name] }])),
    measurement: { warnings: [...warnings] },
  };
}

function told(profile: Profile, cluster = CLUSTER): { notes: string[]; faults: string[] } {
  const model = { profile, classes: CLASSES };
  const faults = measurementFaults([model], [{ path: 'm.json' }], cluster);
  return {
    notes: measurementNotes(model, cluster),
    faults: faults.map(({ path, message }) => `${path} ${message}`),
  };
}

const UNFIT = 'is unfit: 3 runs came within 9 ms, 10 are wanted';

describe('measurementNotes() and measurementFaults()', () => {
  test('say nothing of figures that were measured well', () => {
    const other = ['A 1/1 batch 1: what blocks and pairs say is unfitting', 'layers of A: why'];
    expect(told(profileWith(other, { B: { slowdown: 1 } }))).toEqual({ notes: [], faults: [] });
  });

  test('name unfit figures only where the plan could use them', () => {
    const first = `A 1/1 batch 2 block 0 ${UNFIT}`;
    const warnings = [
      first,
      `A 1/1 batch 2 whole model ${UNFIT}`,
      `A 1/2 batch 1 block 0 ${UNFIT}`,
      'B 1/2 batch 1: 2 of 3 figures are unfit (block 0, whole model), for example block 0: why',
      `C 1/1 batch 1 block 0 ${UNFIT}`,
      `D 1/1 batch 1 block 0 ${UNFIT}`,
    ];
    const { notes, faults } = told(profileWith(warnings));
    expect(notes).toEqual([
      'm: its profile calls figures unfit that the plan could use: A 1/1 batch 2, B 1/2 batch 1',
    ]);
    expect(faults).toEqual([
      expect.stringMatching(
        /^m\.json#\/devices\/A has unfit figures at 1\/1 batch 2, for example A 1\/1 batch 2 block 0 is/,
      ),
      expect.stringMatching(
        /^m\.json#\/devices\/B has unfit figures at 1\/2 batch 1, .*measure them again .*\(plan profile --max-ms\)$/,
      ),
    ]);
    expect(faults[0]).toContain(first);
  });

  test('name the first five combinations and count the others', () => {
    const warnings = ['A', 'B'].flatMap((name) =>
      [1, 2, 20].map((batch) => `${name} 1/1 batch ${batch} block 0 ${UNFIT}`),
    );
    const [note] = told(profileWith(warnings)).notes;
    expect(note).toMatch(
      /: A 1\/1 batch 1, A 1\/1 batch 2, A 1\/1 batch 20, B .*, B 1\/1 batch 2 and 1 more$/,
    );
  });

  test('name emulated and imported classes, one note for each kind', () => {
    const devices = {
      A: { slowdown: 3, emulated: true as const, imported: true as const },
      B: { imported: true as const },
      C: { slowdown: 2, emulated: true as const },
    };
    const { notes, faults } = told(profileWith([], devices));
    expect(notes).toEqual([
      'm: its figures of A (3× slower) were measured on an emulated device',
      'm: its figures of A, B were imported, so nothing says how they were measured',
    ]);
    expect(faults.map((text) => text.split(';')[0])).toEqual([
      'm.json#/devices/A is an emulated device (3× slower)',
      'm.json#/devices/A was imported from the files of another tool',
      'm.json#/devices/B was imported from the files of another tool',
    ]);
  });

  test('know profiles that were imported before classes were marked', () => {
    const profile = { ...profileWith([]), inputs: [{ role: 'latencies', path: 'm-A-0.csv', sha256: '00' }] };
    expect(told(profile).faults.length).toBe(2);
    const measured = { ...profile, inputs: [{ role: 'profile', path: 'p.json', sha256: '00' }] };
    expect(told(measured).faults).toEqual([]);
  });
});
