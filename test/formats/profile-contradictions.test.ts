import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { profilesIn } from '../../bench/ppipe/plans.js';
import { parseArtifact } from '../../src/artifacts/index.js';
import {
  type DeviceProfile,
  dipNotes,
  InputError,
  type Measurement,
  type Profile,
  unmeasuredFaults,
} from '../../src/formats/index.js';
import { readProfileFaults } from '../../src/formats/profile-contradictions.js';

const profileOf = (device: Partial<DeviceProfile>, measurement?: Measurement): Profile => ({
  kind: 'profile',
  version: '1.0',
  model: { name: 'm' },
  blocks: [
    { nodes: ['a', 'b'], cutBytes: 8 },
    { nodes: ['c'], cutBytes: 0 },
  ],
  devices: { gpu: { blockLatencyUs: { '1': { '1': [100, 200], '8': [300, 500] } }, ...device } },
  ...(measurement === undefined ? {} : { measurement }),
});
const told = (device: Partial<DeviceProfile>, measurement?: Measurement) =>
  readProfileFaults(profileOf(device, measurement)).map(
    ({ path, message }) => `${path.replace('/devices/gpu/', '')}: ${message}`,
  );
const blocks = (one: (number | null)[], eight: (number | null)[]) => ({
  blockLatencyUs: { '1': { '1': one, '8': eight } },
});

describe('what is read of a profile', () => {
  it('takes figures that may be true together', () => {
    const p95 = { blockLatencyP95Us: { '1': { '1': [100, 200], '8': [301, 900] } } };
    const whole = { wholeLatencyUs: { '1': { '1': 31, '8': 81 } }, pairLatencyUs: { '1': { '1': [31] } } };
    expect(told({ ...p95, ...whole })).toEqual([]);
    expect(told(blocks([100, 200], [26, 51]))).toEqual([]);
    expect(told(blocks([null, 200], [null, null]))).toEqual([]);
  });

  it('refuses latencies of zero, unless all layers of the block took zero', () => {
    expect(told(blocks([0, 200], [300, 500]))).toEqual([
      'blockLatencyUs/1/1/0: is 0 µs, which nothing takes; give null for what was not measured',
    ]);
    const untimed = { layerLatencyUs: { '1': { '1': [0, 0, 200], '8': [90, 90, 200] } } };
    expect(told({ ...blocks([0, 200], [300, 500]), ...untimed })).toEqual([]);
    expect(told({ ...blocks([0, 0], [300, 500]), layerLatencyUs: { '1': { '1': [0, 0, 0] } } })).toEqual([
      'blockLatencyUs/1/1: has only blocks of 0 µs: the whole model takes some time',
    ]);
    expect(told({ pairLatencyUs: { '1': { '1': [0] } } })[0]).toContain('pairLatencyUs/1/1/0: is 0 µs');
  });

  it('refuses latencies that are shorter than any execution', () => {
    expect(told(blocks([1e-6, 200], [300, 500]))).toEqual([
      'blockLatencyUs/1/1/0: is 0.000001 µs, which nothing takes: 0.001 µs is the least',
    ]);
    expect(told(blocks([0.001, 200], [300, 500]))).toEqual([]);
    expect(told({ wholeLatencyUs: { '1': { '1': 1e-300 } } })[0]).toContain('1e-300 µs, which nothing takes');
    expect(told({ layerLatencyUs: { '1': { '1': [50, 50, 1e-9] } } })[0]).toContain(
      'layerLatencyUs/1/1/2: is 1e-9 µs',
    );
  });

  it('refuses a share of a GPU under a quarter of a larger share, and layers under a tenth of their block', () => {
    const shares = (two: number[]) => ({
      blockLatencyUs: { '1': { '1': [100, 200] }, '2': { '1': two } },
    });
    expect(told(shares([25, 50]))).toEqual([]);
    expect(told(shares([24, 50]))).toEqual([
      'blockLatencyUs/2/1/0: is 24 µs on 1/2 of a GPU, under a quarter of the 100 µs on 1/1: measure both again',
    ]);
    expect(told(shares([24, 50]), { host: {} })).toEqual([]);
    const layers = (first: number) => ({ layerLatencyUs: { '1': { '1': [first, 5, 200] } } });
    expect(told(layers(5))).toEqual([]);
    expect(told(layers(4))).toEqual([
      'blockLatencyUs/1/1/0: is 100 µs, and its layers take 9 µs, under a tenth of it: measure both again',
    ]);
  });

  it('refuses a 95th percentile below its median', () => {
    expect(told({ blockLatencyP95Us: { '1': { '1': [99, 200] } } })).toEqual([
      'blockLatencyP95Us/1/1/0: is 99 µs, below the median of 100 µs: measure the block again',
    ]);
  });

  it('refuses blocks that take under a tenth in one piece', () => {
    expect(told({ wholeLatencyUs: { '1': { '1': 29 } } })).toEqual([
      'wholeLatencyUs/1/1: is 29 µs in one piece, under a tenth of the 300 µs that its blocks take apart: measure both again',
    ]);
    expect(told({ pairLatencyUs: { '1': { '1': [29] } } })[0]).toContain(
      'pairLatencyUs/1/1/0: is 29 µs in one piece',
    );
    const span = (layers: [number, number]) => ({ spanLatencyUs: { '1': { '1': [{ layers, us: 1 }] } } });
    expect(told(span([0, 2]))[0]).toContain(
      'spanLatencyUs/1/1/0: is 1 µs in one piece, under a tenth of the 100 µs',
    );
    expect(told(span([1, 2]))).toEqual([]);
  });

  it('takes blocks of a small model that spend their time on the way to an executor', () => {
    const sent = { wholeLatencyUs: { '1': { '1': 29 } }, wholeExecutionUs: { '1': { '1': 9 } } };
    expect(told(sent)).toEqual([]);
    const long = blocks([20_000, 30_000], [20_000, 30_000]);
    expect(told({ ...long, wholeLatencyUs: { '1': { '1': 4599 } }, wholeExecutionUs: {} })).toHaveLength(1);
    expect(told({ ...long, wholeLatencyUs: { '1': { '1': 4600 } }, wholeExecutionUs: {} })).toEqual([]);
  });

  it('refuses a batch that takes under a quarter of a smaller one, whichever is the largest before', () => {
    expect(
      told({
        blockLatencyUs: { '1': { '1': [100, 200], '2': [400, 300], '4': [150, 290], '8': [99, 400] } },
      }),
    ).toEqual([
      'blockLatencyUs/1/8/0: is 99 µs at batch 8, under a quarter of the 400 µs at batch 2: measure both again',
    ]);
    expect(told({ wholeLatencyUs: { '2': { '1': 900, '2': 224 } } })).toEqual([
      'wholeLatencyUs/2/2: is 224 µs at batch 2, under a quarter of the 900 µs at batch 1: measure both again',
    ]);
  });

  it('takes a stall of the machine that measured a small model, and refuses what none explains', () => {
    const measured: Measurement = { host: { cpu: 'busy' } };
    const dip = (us: number) => ({ ...blocks([us, 200], [500, 500]) });
    expect(told(dip(17_996))).toHaveLength(1);
    expect(told(dip(52_000), measured)).toEqual([]);
    expect(told(dip(52_001), measured)).toEqual([
      'blockLatencyUs/1/8/0: is 500 µs at batch 8, under a quarter of the 52001 µs at batch 1: measure both again',
    ]);
    const piece = (us: number) => ({
      ...blocks([us, 200], [us, 200]),
      wholeLatencyUs: { '1': { '1': 690 } },
    });
    expect(told(piece(56_700), measured)).toEqual([]);
    expect(told(piece(56_701), measured)).toHaveLength(1);
  });

  it('takes no stall that makes a figure more than two hundred times another, except for a millisecond', () => {
    const measured: Measurement = { host: { cpu: 'busy' } };
    const dip = (us: number) => blocks([2709, 200], [us, 500]);
    expect(told(dip((2709 - 1000) / 200), measured)).toEqual([]);
    expect(told(dip(8.5), measured)).toEqual([
      'blockLatencyUs/1/8/0: is 8.5 µs at batch 8, under a quarter of the 2709 µs at batch 1: measure both again',
    ]);
    expect(told(blocks([900, 200], [0.5, 500]), measured)).toEqual([]);
    const piece = (us: number) => ({
      ...blocks([2709, 200], [2709, 200]),
      wholeLatencyUs: { '1': { '1': us } },
    });
    expect(told(piece(9.6), measured)).toEqual([]);
    expect(told(piece(9.5), measured)).toHaveLength(1);
  });

  it('looks at no ratio of figures that the profile itself calls unfit', () => {
    const warning = 'gpu 1/1 batch 8 block 0 is unfit: 3 runs came within 9 ms, 10 are wanted';
    const low = { ...blocks([100, 200], [20, 500]), wholeLatencyUs: { '1': { '8': 1 } } };
    expect(told(low)).toHaveLength(2);
    expect(told(low, { warnings: [warning] })).toEqual([]);
    expect(told(blocks([100, 200], [0, 500]), { warnings: [warning] })).toHaveLength(1);
  });

  it('refuses a profile without latencies, but to go on with one that was interrupted', () => {
    const none = { blockLatencyUs: { '1': { '1': [null, null] } } };
    expect(told(none)).toEqual([
      '/devices: hold no latency of any block or layer, nor of the whole model; profile the model on a device',
    ]);
    expect(told({ blockLatencyUs: {} })).toHaveLength(1);
    expect(told({ blockLatencyUs: {}, layerLatencyUs: { '1': { '1': [1, 2, 3] } } })).toEqual([]);
    expect(told(none, { complete: false })).toEqual([]);
    expect(unmeasuredFaults(profileOf(none, { complete: false }))[0]?.message).toContain(
      'plan profile --resume',
    );
  });

  it('is refused by whoever reads the file, with the first faults and the number of the others', () => {
    const zeros = Array.from({ length: 1000 }, () => 0);
    const many = {
      ...profileOf({ blockLatencyUs: { '1': { '1': zeros } } }),
      blocks: zeros.map(() => ({ cutBytes: 1 })),
    };
    const read = () => parseArtifact(JSON.stringify(many), 'm.json', ['profile']);
    expect(read).toThrow(InputError);
    try {
      read();
    } catch (error) {
      expect((error as InputError).faults.length).toBeLessThan(60);
      expect((error as InputError).message).toMatch(/… and 9\d\d more faults/);
    }
  });

  it('is noted once where larger batches take less, with the number of such steps and the deepest', () => {
    const falling = profileOf({
      blockLatencyUs: { '1': { '1': [100, 200], '2': [90, 210], '4': [120, 160], '8': [130, 170] } },
    });
    expect(dipNotes(falling)).toEqual([
      'm: a larger batch takes less time than the next smaller one at 2 of 3 steps of its profile, most on gpu 1/1, block 1, from batch 2 to 4: 160 µs after 210 µs',
    ]);
    expect(dipNotes(profileOf({}))).toEqual([]);
    expect(dipNotes(profileOf({ wholeLatencyUs: { '1': { '1': 300, '8': 200 } } }))[0]).toContain(
      'most on gpu 1/1, from batch 1 to 8: 200 µs after 300 µs',
    );
  });
});

describe('profiles that were measured', () => {
  const EXAMPLES = new URL('../../examples/', import.meta.url);
  const files = readdirSync(EXAMPLES, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.json'),
  );
  it('of the examples contradict nothing', () => {
    const profiles = files
      .map((name) => JSON.parse(readFileSync(new URL(name, EXAMPLES), 'utf8')))
      .filter(({ kind }) => kind === 'profile') as Profile[];
    expect(profiles.length).toBeGreaterThan(30);
    expect(profiles.flatMap(readProfileFaults)).toEqual([]);
  });

  const SHARED = new URL('../../../shared/', import.meta.url);
  it.runIf(existsSync(SHARED))('and published contradict nothing; many of them have dips', () => {
    const folder = new URL('data/ppipe/', SHARED);
    const names = readFileSync(new URL('model_list.txt', folder), 'utf8').trim().split('\n');
    const published = names.map((name) => profilesIn(folder)(name.trim()));
    expect(published.flatMap(readProfileFaults)).toEqual([]);
    const repro = new URL('repro/cascade/', SHARED);
    const measured = readdirSync(repro, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.profile.json'))
      .map((name) => JSON.parse(readFileSync(new URL(name, repro), 'utf8')) as Profile);
    expect(measured.flatMap(readProfileFaults)).toEqual([]);
    const notes = measured.flatMap(dipNotes);
    expect(notes.join('\n')).toMatch(/59 of 99 steps/);
    expect(notes.join('\n')).toMatch(/from batch 70 to 71: 39642.1 µs after 76657.6 µs/);
  });
});
