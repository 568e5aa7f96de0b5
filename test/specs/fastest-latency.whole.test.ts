import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { initSpec } from '../../src/api/index.js';
import type { PooledSpec, Profile } from '../../src/formats/index.js';
import { compareSpec } from '../../src/specs/index.js';
import { inWholeRun } from '../cases.js';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-fastest-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const at = (name: string): string => join(folder, name);

/** The whole takes 22 ms, its blocks 30 ms; half a GPU is slower, and so is T4. */
const PROFILE: Profile = {
  kind: 'profile',
  version: '1.0',
  model: { name: 'net' },
  blocks: [{ cutBytes: 1000 }, { cutBytes: 40 }],
  devices: {
    L4: {
      blockLatencyUs: { 1: { 1: [10_000, 20_000] }, 2: { 1: [20_000, 40_000] } },
      wholeLatencyUs: { 1: { 1: 22_000 }, 2: { 1: 42_000 } },
    },
    T4: { blockLatencyUs: { 1: { 1: [40_000, 50_000] } } },
  },
};

const cluster = (virtual: number[]) => ({
  devices: { L4: { count: 2, virtual, hourlyCost: 1 }, T4: { count: 2, hourlyCost: 1 } },
  networkGbps: 10,
});

/** multiple compares a spec at five times the fastest latency, and gives the SLO in milliseconds that this was. */
async function multiple(spec: object): Promise<number | undefined> {
  await writeFile(at('asked.json'), JSON.stringify(spec));
  const { document } = await compareSpec(at('asked.json'), { sweeps: ['slo=5x'] });
  return document.rows[0]?.sloMs[0];
}

describe('five times the fastest latency of a profile', () => {
  const models = [{ profile: 'net.json', sloMs: 1 }];
  beforeEach(() => writeFile(at('net.json'), JSON.stringify(PROFILE)));

  inWholeRun(
    'is the same SLO in a spec that is begun, and in comparisons of pooled specs and of pipelines',
    async () => {
      await initSpec([at('net.json')], { kind: 'pooled', output: at('spec.yaml') });
      const begun = parse(await readFile(at('spec.yaml'), 'utf8')) as PooledSpec;
      expect(begun.models[0]?.sloMs).toBe(110);
      expect(await multiple({ kind: 'pooled', cluster: cluster([1, 2]), models })).toBe(110);
      expect(
        await multiple({
          kind: 'pipeline',
          cluster: cluster([1]),
          name: 'one',
          stages: [{ name: 'only', profile: 'net.json' }],
          sloMs: 1,
          planner: { method: 'exact' },
          load: { arrivals: 'poisson', rps: 2, duration: '5s' },
        }),
      ).toBe(110);
    },
  );

  it('is of the virtual sizes that the cluster offers', async () => {
    expect(await multiple({ kind: 'pooled', cluster: cluster([2]), models })).toBe(210);
  });
});
