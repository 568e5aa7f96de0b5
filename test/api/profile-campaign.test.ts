import { existsSync } from 'node:fs';
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ProfileModelOptions, profileModelFile } from '../../src/api/profile.js';
import { askedCampaign } from '../../src/api/profile-campaign.js';
import type { Profile } from '../../src/formats/index.js';
import { fewOf, inWholeRun } from '../cases.js';
import { plan } from '../cli/plan.js';
import { tinyModel } from '../execution/tiny-models.js';

let folder: string;
const at = (file: string): string => join(folder, file);
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-campaign-'));
  const ops = ['Neg', 'Relu', 'Neg', 'Relu'];
  const shape: [string, (string | number)[]] = ['float32', ['batch', 'width']];
  const name = (i: number) => (i === 0 ? 'x' : i === ops.length ? 'y' : `t${i}`);
  const nodes = ops.map((op, i) => ({ op, inputs: [name(i)], outputs: [name(i + 1)] }));
  await writeFile(at('model.onnx'), tinyModel({ nodes, inputs: { x: shape }, outputs: { y: shape } }));
  await profileModelFile(at('model.onnx'), {
    ...OPTIONS,
    devices: ['cpu:1'],
    batch: [1],
    output: at('begun.json'),
  });
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const OPTIONS: ProfileModelOptions = {
  devices: ['cpu:1', 'slow=cpu:1,slowdown=2'],
  batch: [1, 3],
  dim: { width: 8 },
  fill: { x: 2 },
  blocks: '2',
  boundary: 'float16',
  warmup: 1,
  minRuns: 2,
  minMs: 0,
  maxMs: 20,
  pauseMs: 1,
};

inWholeRun(
  'is not complete where what float16 changes was not tried before an interruption, and is when gone on with',
  async () => {
    const controller = new AbortController();
    // The figures are saved before float16 is tried.
    const seen = setInterval(() => {
      if (existsSync(at('probe.json'))) controller.abort();
    });
    const options = { ...OPTIONS, devices: ['cpu:1'], batch: [1], output: at('probe.json') };
    try {
      const { profile } = await profileModelFile(at('model.onnx'), { ...options, signal: controller.signal });
      expect(profile.measurement).toMatchObject({ complete: false });
      expect(profile.measurement).not.toHaveProperty('boundaryChange');
      expect(await saved('probe.json')).toEqual(profile);
    } finally {
      clearInterval(seen);
    }
    const { profile } = await profileModelFile(at('model.onnx'), { ...options, resume: true });
    expect(profile.measurement).toMatchObject({ complete: true, boundaryChange: expect.any(Number) });
  },
);

/** interrupted profiles the model, and stops at the first cell of the second class. */
async function interrupted(file: string): Promise<Profile> {
  const controller = new AbortController();
  const { profile } = await profileModelFile(at('model.onnx'), {
    ...OPTIONS,
    output: at(file),
    signal: controller.signal,
    onProgress: ({ doing }) => {
      if (doing.startsWith('measuring blocks on slow')) controller.abort();
    },
  });
  return profile;
}

/** cellsOf lists the batch sizes that were measured, by class. */
function cellsOf({ devices }: Profile): Record<string, string[]> {
  const cells = Object.entries(devices).map(([name, { blockLatencyUs }]) => {
    const rows = Object.entries(blockLatencyUs[1] ?? {}).filter(([, row]) => row.every((us) => us !== null));
    return [name, rows.map(([batch]) => batch)];
  });
  return Object.fromEntries(cells);
}

async function saved(file: string): Promise<Profile> {
  return JSON.parse(await readFile(at(file), 'utf8')) as Profile;
}

describe('plan profile --resume', () => {
  inWholeRun('says how to measure all that is left where it was asked for a part of it', async () => {
    await interrupted('part.json');
    const args = ['profile', at('model.onnx'), '--resume', '-o', at('part.json')];
    const part = await plan([...args, '-b', '1', '--memory-limit', '1.5GiB', '-d', 'cpu:1']);
    expect(part.code).toBe(0);
    expect((await saved('part.json')).measurement?.complete).toBe(false);
    const rest = `${args[1]} --resume --memory-limit 1536MiB -o ${at('part.json')}`;
    expect(part.stderr).toContain(`To measure the rest: plan profile ${rest}\n`);
    expect((await plan(['profile', ...rest.split(' ')])).code).toBe(0);
    expect((await saved('part.json')).measurement?.complete).toBe(true);
  });

  it('needs no other option than the file, which says what was asked for', async () => {
    const before = await interrupted('x.json');
    expect(before.measurement).toMatchObject({
      complete: false,
      asked: { devices: OPTIONS.devices, batch: OPTIONS.batch, virtual: [1] },
    });
    expect(cellsOf(before).slow ?? []).toEqual([]);
    const { code } = await plan(['profile', at('model.onnx'), '--resume', '-o', at('x.json')]);
    expect(code).toBe(0);
    const after = await saved('x.json');
    expect(cellsOf(after)).toEqual({ 'cpu:1': ['1', '3'], slow: ['1', '3'] });
    expect(after.devices['cpu:1']?.blockLatencyUs).toEqual(before.devices['cpu:1']?.blockLatencyUs);
    expect(after.devices.slow).toMatchObject({ provider: 'cpu', threads: 1, slowdown: 2, emulated: true });
    expect(after).toMatchObject({
      boundary: 'float16',
      model: { dims: { width: 8 }, inputs: [{ name: 'x', fill: 2 }] },
      measurement: { complete: true, warmupRuns: 1, minRuns: 2, minMs: 0, maxMs: 20, pauseMs: 1 },
    });
    expect(after.blocks).toHaveLength(2);
    expect(after.measurement?.asked).toBeUndefined();
  });

  const CHANGED: [string[], string | undefined][] = [
    [['--dim', 'width=16'], 'other dimensions'],
    [['--fill', 'x=3'], 'other values in its inputs'],
    [['--blocks', '3'], 'begun with 2 blocks, not 3'],
    [['--boundary', 'exact'], 'has boundary float16, not exact'],
    [['--min-runs', '5'], 'measured with minRuns 2, not 5'],
    [['--pause-ms', '5'], 'measured with pauseMs 1, not 5'],
    [['--device', 'cpu:1', '--batch', '5'], undefined],
  ];
  it.each(fewOf(CHANGED, 1))(
    'refuses %j where it contradicts the file, and adds what does not',
    async (args, why) => {
      await copyFile(at('begun.json'), at('y.json'));
      const command = ['profile', at('model.onnx'), '--resume', '-o', at('y.json'), ...args];
      const { code, stderr } = await plan(command);
      expect(code).toBe(why === undefined ? 0 : 2);
      if (why !== undefined) expect(stderr).toContain(why);
      else if (args.includes('5')) expect(cellsOf(await saved('y.json'))).toEqual({ 'cpu:1': ['1', '5'] });
    },
  );
});

describe('askedCampaign()', () => {
  const measured = { measurement: { minRuns: 4 }, model: { name: 'm' } } as Profile;
  const table = { 2: { 1: [5], 4: [7] } };
  const profile = {
    ...measured,
    devices: {
      'cpu:2': { provider: 'cpu', threads: 2, blockLatencyUs: table },
      slow: { provider: 'cpu', threads: 2, slowdown: 3, blockLatencyUs: { 1: { 8: [9] } } },
      imported: { blockLatencyUs: table },
    },
  } as Profile;

  it('has defaults where no profile is continued', async () => {
    expect(await askedCampaign({}, undefined)).toMatchObject({
      cells: { devices: ['cpu:1'], batch: [1, 2, 4, 8], virtual: [1] },
      boundary: 'exact',
      model: {},
      limits: {},
    });
  });

  it('takes what a profile has that does not say what it was asked for', async () => {
    const { cells, limits } = await askedCampaign({}, profile);
    expect(cells).toEqual({ devices: ['cpu:2', 'slow=cpu:2,slowdown=3'], batch: [1, 4, 8], virtual: [1, 2] });
    // Earlier versions did not pause.
    expect(limits).toEqual({ minRuns: 4, pauseMs: 0 });
  });

  it('measures what is given, and remembers the rest for a further run', async () => {
    const options = { devices: ['slow=cpu:2,slowdown=3', 'new=cuda:1'], batch: [16] };
    const { cells, allCells } = await askedCampaign(options, profile);
    expect(cells).toEqual({ ...options, virtual: [1, 2] });
    expect(allCells).toEqual({
      devices: ['cpu:2', 'slow=cpu:2,slowdown=3', 'new=cuda:1'],
      batch: [1, 4, 8, 16],
      virtual: [1, 2],
    });
  });
});
