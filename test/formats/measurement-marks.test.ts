import { describe, expect, test } from 'vitest';
import {
  type DeviceProfile,
  measurementFaults,
  measurementNotes,
  type Profile,
  withAliases,
} from '../../src/formats/index.js';

const FIGURES: DeviceProfile = {
  blockLatencyUs: { '1': { '1': [100], '2': [150], '20': [900] }, '2': { '1': [180] } },
};
const CLASSES = ['A', 'B', 'C'];
const whole = [1, 2, 20].map((batch) => ({ virtual: 1, batch }));
/** A plan has no use for class C, nor for halves of A. */
const USED = [
  { className: 'A', cells: whole },
  { className: 'B', cells: [...whole, { virtual: 2, batch: 1 }] },
];

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

function told(profile: Profile): { notes: string[]; faults: string[] } {
  const faults = measurementFaults([{ profile, path: 'm.json', classes: USED }]);
  return {
    notes: measurementNotes('m', profile, USED),
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

  test('count the figures and steps of an alias once, under the class that was measured', () => {
    const profile = profileWith([`A 1/1 batch 2 block 0 ${UNFIT}`], {
      A: { blockLatencyUs: { '1': { '1': [100], '2': [80], '20': [900] } } },
    });
    const spot = withAliases(profile, { devices: { spot: { as: 'A' } } });
    const classes = [...USED, { className: 'spot', cells: whole }];
    const notes = measurementNotes('m', spot, classes);
    expect(notes).toEqual(measurementNotes('m', profile, USED));
    expect(notes.join('\n')).toMatch(/unfit .*: A 1\/1 batch 2$/m);
  });

  test('take unfit figures as the profile lists them, whatever its warnings say', () => {
    const profile = profileWith([`A 1/1 batch 1 block 0 ${UNFIT}`]);
    const cell = { class: 'B', virtual: 1, batch: 20, figures: [{ part: 'whole' as const }] };
    profile.measurement = { ...profile.measurement, unfit: [{ ...cell, warning: 'too few runs' }] };
    const { notes, faults } = told(profile);
    expect(notes).toEqual(['m: its profile calls figures unfit that the plan could use: B 1/1 batch 20']);
    expect(faults).toEqual([
      expect.stringMatching(
        /^m\.json#\/devices\/B has unfit figures at 1\/1 batch 20, for example too few runs;/,
      ),
    ]);
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

  test('refuse a class of a file once, for all figures that several stages use of it', () => {
    const profile = profileWith(
      [1, 2, 20].map((batch) => `A 1/1 batch ${batch} block 0 ${UNFIT}`),
      { B: { slowdown: 2 } },
    );
    const uses = (className: string, batch: number) => ({
      profile,
      path: 'm.json',
      classes: [{ className, cells: [{ virtual: 1, batch }] }],
    });
    const faults = measurementFaults([uses('A', 1), uses('B', 1), uses('A', 20), uses('B', 2), uses('A', 1)]);
    expect(faults.map(({ path, message }) => `${path} ${message.split(',')[0]}`)).toEqual([
      'm.json#/devices/A has unfit figures at 1/1 batch 1',
      'm.json#/devices/B is an emulated device (2× slower); profile the model on the device itself',
    ]);
    expect(faults[0]?.message).toContain('1/1 batch 1, 1/1 batch 20, for example');
    expect(measurementFaults([uses('A', 1), { ...uses('A', 1), path: 'n.json' }])).toHaveLength(2);
  });

  test('know profiles that were imported before classes were marked', () => {
    const profile = { ...profileWith([]), inputs: [{ role: 'latencies', path: 'm-A-0.csv', sha256: '00' }] };
    expect(told(profile).faults.length).toBe(2);
    const measured = { ...profile, inputs: [{ role: 'profile', path: 'p.json', sha256: '00' }] };
    expect(told(measured).faults).toEqual([]);
  });
});
