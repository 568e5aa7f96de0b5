import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { othersThanBundle } from '../../src/deploy/bundle-folder.js';
import { sha256Of } from '../../src/formats/index.js';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-bundle-'));
  await mkdir(join(folder, 'models/m'), { recursive: true });
  for (const file of ['plan.json', 'models/m/0-1.onnx', 'models/m/0-1.onnx.data'])
    await writeFile(join(folder, file), '');
});
afterEach(() => rm(folder, { recursive: true }));

const sha256 = sha256Of(new Uint8Array());
const manifest = {
  kind: 'bundle',
  plan: { path: 'plan.json', sha256 },
  partitions: [{ file: './models/m/0-1.onnx', sha256, data: [{ path: 'models/m/0-1.onnx.data', sha256 }] }],
};
const written = (value: unknown) => writeFile(join(folder, 'manifest.json'), JSON.stringify(value));

describe('othersThanBundle()', () => {
  it('finds nothing in an empty folder, nor in an unchanged bundle', async () => {
    await written(manifest);
    expect(await othersThanBundle(folder)).toEqual([]);
    await rm(folder, { recursive: true });
    await mkdir(folder);
    expect(await othersThanBundle(folder)).toEqual([]);
  });

  it('finds files that a person added to a bundle, in its folders too', async () => {
    await written(manifest);
    await writeFile(join(folder, 'notes.txt'), '');
    await writeFile(join(folder, 'models/m/mine.onnx'), '');
    expect(await othersThanBundle(folder)).toEqual(['models/m/mine.onnx', 'notes.txt']);
  });

  it('finds files that a person changed in a bundle', async () => {
    await written(manifest);
    await writeFile(join(folder, 'models/m/0-1.onnx.data'), 'mine');
    expect(await othersThanBundle(folder)).toEqual(['models/m/0-1.onnx.data']);
  });

  it("takes every file for a person's where the manifest is not that of a bundle", async () => {
    for (const value of [undefined, { ...manifest, kind: 'pooled-plan' }, { kind: 'bundle' }, 7]) {
      if (value !== undefined) await written(value);
      expect((await othersThanBundle(folder)).filter((file) => file !== 'manifest.json')).toHaveLength(3);
    }
  });
});
