import { link, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import * as api from '../../src/api/index.js';

let folder: string;
const at = (name: string) => join(folder, name);

const PROFILE = {
  kind: 'profile',
  version: '1.0',
  model: { name: 'm' },
  blocks: [{ cutBytes: 0 }],
  devices: { gpu: { blockLatencyUs: { 1: { 1: [1000], 2: [1500] } } } },
};
const SPEC = { kind: 'pooled', cluster: 'cluster.json', models: [{ profile: 'm.json', sloMs: 100 }] };

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'one-run-'));
  await writeFile(at('m.json'), JSON.stringify(PROFILE));
  await writeFile(
    at('cluster.json'),
    JSON.stringify({ kind: 'cluster', networkGbps: 10, devices: { gpu: { count: 2, hourlyCost: 1 } } }),
  );
  await writeFile(at('spec.json'), JSON.stringify(SPEC));
  await writeFile(at('trace.csv'), '0\n1\n2\n');
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** Calls of the library, each of which is told to write over what it reads, by the file that it would replace. */
const OVERWRITING: Readonly<Record<string, readonly [string, (output: string) => Promise<unknown>]>> = {
  'solveSpec its profile': ['m.json', (output) => api.solveSpec(at('spec.json'), { output })],
  'solveSpec its cluster': ['cluster.json', (output) => api.solveSpec(at('spec.json'), { output })],
  'convertTrace its trace': [
    'trace.csv',
    (output) => api.convertTrace(at('trace.csv'), { to: 'counts', interval: 1, output }),
  ],
  'rescaleTrace its trace': ['trace.csv', (output) => api.rescaleTrace(at('trace.csv'), { rps: 2, output })],
  'compareSpec its cluster': [
    'cluster.json',
    (output) => api.compareSpec(at('spec.json'), { mixes: ['gpu=1'], output } as never),
  ],
};

describe('a call of the library', () => {
  it.each(Object.entries(OVERWRITING))(
    'does not replace what it read by another name: %s',
    async (_, [file, call]) => {
      const before = await readFile(at(file));
      const other = at(`other${file.slice(file.lastIndexOf('.'))}`);
      await link(at(file), other);
      await expect(call(other)).rejects.toThrow(/would be replaced/);
      expect(await readFile(at(file))).toEqual(before);
      expect(await readFile(other)).toEqual(before);
    },
  );

  it('does not replace what a file names that it read, though it does not read that itself', async () => {
    const named = { ...PROFILE, model: { name: 'm', file: 'm.onnx' } };
    await writeFile(at('named.json'), JSON.stringify(named));
    await writeFile(at('m.onnx'), 'a model');
    await expect(
      api.initSpec([at('named.json')], { kind: 'pooled', output: at('m.onnx'), force: true }),
    ).rejects.toThrow(/would be replaced/);
    expect(await readFile(at('m.onnx'), 'utf8')).toBe('a model');
  });

  it('is a part of the run in which it is called', async () => {
    const { asOneRun, readWhole } = await import('../../src/artifacts/index.js');
    await writeFile(at('kept.json'), 'kept');
    await asOneRun(async () => {
      await readWhole(at('kept.json'));
      await expect(api.solveSpec(at('spec.json'), { output: at('kept.json') })).rejects.toThrow(
        /would be replaced/,
      );
    });
    expect(await readFile(at('kept.json'), 'utf8')).toBe('kept');
  });

  it('may replace what a call before it has read', async () => {
    await api.convertTrace(at('trace.csv'), { output: at('other.csv') });
    await api.rescaleTrace(at('other.csv'), { rps: 2, output: at('trace.csv') });
    expect(await readFile(at('trace.csv'), 'utf8')).toContain('arrival_s');
  });
});
