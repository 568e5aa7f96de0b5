import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FilesRead, loadArtifact } from '../../src/artifacts/index.js';
import { InputError, MissingError, sha256Of } from '../../src/formats/index.js';

const CLUSTER = JSON.stringify({ kind: 'cluster', devices: { A: { count: 2 } } });

let folder: string;
const at = (name: string): string => join(folder, name);
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-read-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe('FilesRead', () => {
  it('reads a file once, by whatever path it is named, and hashes no bytes that it has read', async () => {
    await writeFile(at('cluster.json'), CLUSTER);
    const files = new FilesRead();
    const first = await files.load(at('cluster.json'), ['cluster']);
    await writeFile(at('cluster.json'), CLUSTER.replace('2', '3'));
    const other = `${folder}/./cluster.json`;
    expect(await files.load(other, ['cluster'])).toEqual({ ...first, path: other });
    expect(await files.digestOf(other)).toBe(sha256Of(CLUSTER));
    expect(await new FilesRead().digestOf(other)).toBe(sha256Of(CLUSTER.replace('2', '3')));
  });

  it('starts with what others have read', async () => {
    await writeFile(at('known.json'), CLUSTER);
    const files = new FilesRead([await loadArtifact(at('known.json'), ['cluster'])]);
    await rm(at('known.json'));
    expect((await files.load(at('known.json'), ['cluster', 'profile'])).value).toEqual(JSON.parse(CLUSTER));
  });

  it('refuses what cannot be read, or is of another kind, though it was read before', async () => {
    await writeFile(at('kind.json'), CLUSTER);
    const files = new FilesRead([await loadArtifact(at('kind.json'), ['cluster'])]);
    await expect(files.load(at('kind.json'), ['profile'])).rejects.toThrow(InputError);
    await expect(files.load(at('none.json'), ['profile'])).rejects.toThrow(MissingError);
    await expect(files.digestOf(at('none.json'))).rejects.toThrow(MissingError);
  });
});
