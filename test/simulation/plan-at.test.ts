import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Bundle, MissingError, sha256Of } from '../../src/formats/index.js';
import { planAt } from '../../src/simulation/plan-at.js';
import { planOf } from '../serving/plans.js';

const PLAN = JSON.stringify(
  planOf([{ sloMs: 20, pipelines: [{ throughputRps: 250, parts: [{ batch: 1, latencyUs: () => 4000 }] }] }]),
);

let folder: string;
const at = (file: string): string => join(folder, file);
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-plan-at-'));
  await mkdir(at('bundle'));
  await mkdir(at('empty'));
  await writeFile(at('plan.json'), PLAN);
  await writeFile(at('bundle/plan.json'), PLAN);
  const plan = { path: 'plan.json', sha256: sha256Of(Buffer.from(PLAN)) };
  const ends = { inputs: [], outputs: [] };
  const bundle: Bundle = {
    kind: 'bundle',
    version: '1.0',
    target: 'local',
    plan,
    devices: { cpu: { provider: 'cpu' } },
    models: [{ name: 'm', ...ends }],
    partitions: [{ file: 'm.onnx', sha256: plan.sha256, model: 0, from: 0, to: 1, ...ends }],
    inputs: [{ role: 'plan', ...plan, path: '../plan.json' }],
  };
  await writeFile(at('bundle/manifest.json'), JSON.stringify(bundle));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe('planAt()', () => {
  it('reads a plan, whose transfers take the time of its links', async () => {
    expect(await planAt(at('plan.json'))).toMatchObject({ madeAt: at('plan.json'), transfers: 'links' });
  });

  it('reads the plan of a bundle, whose transfers take none and whose inputs lie where it was deployed from', async () => {
    for (const path of [at('bundle'), at('bundle/manifest.json')]) {
      const { plan, madeAt, transfers } = await planAt(path);
      expect([resolve(plan.path), resolve(madeAt)]).toEqual([at('bundle/plan.json'), at('plan.json')]);
      expect(plan.value).toMatchObject({ models: [{ sloMs: 20 }] });
      expect(transfers).toBe('none');
    }
  });

  it('refuses a bundle whose plan lies outside of it', async () => {
    const manifest = JSON.parse(await readFile(at('bundle/manifest.json'), 'utf8'));
    await mkdir(at('outside'));
    await symlink('../plan.json', at('outside/link.json'));
    for (const [path, words] of [
      ['../plan.json', 'it lies outside the folder'],
      [at('plan.json'), 'it lies outside the folder'],
      ['link.json', 'it is a link that leads outside the folder'],
      ['.', 'it is a folder, not a file'],
    ] as const) {
      const moved = { ...manifest, plan: { ...manifest.plan, path } };
      await writeFile(at('outside/manifest.json'), JSON.stringify(moved));
      await expect(planAt(at('outside'))).rejects.toThrow(
        `Cannot simulate ${at('outside')}: ${path}: ${words}`,
      );
    }
  });

  it('refuses folders that are no bundles, and names what is missing', async () => {
    await expect(planAt(at('empty'))).rejects.toThrow(
      'it is a folder without a manifest.json, and so no bundle; name a file',
    );
    await expect(planAt(at('nothing.json'))).rejects.toThrow(MissingError);
  });
});
