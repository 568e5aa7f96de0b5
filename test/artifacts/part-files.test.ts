import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { partFault as found } from '../../src/artifacts/part-files.js';

const partFault = async (folder: string, path: string) => (await found(folder, path))?.message;

let root: string;
let folder: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'inferplan-parts-'));
  folder = join(root, 'bundle');
  await mkdir(join(folder, 'inner'), { recursive: true });
  await writeFile(join(folder, 'a'), 'a');
  await writeFile(join(folder, '..b'), 'b');
  await writeFile(join(root, 'secret'), 'x');
  await symlink('../secret', join(folder, 'out'));
  await symlink('../a', join(folder, 'inner', 'in'));
  await symlink(folder, join(root, 'link'));
});
afterAll(() => rm(root, { recursive: true }));

describe('partFault()', () => {
  it('accepts files of the folder, links to such files, and a linked folder', async () => {
    for (const path of ['a', './a', 'inner/../a', '..b', 'inner/in'])
      expect([path, await partFault(folder, path)]).toEqual([path, undefined]);
    expect(await partFault(join(root, 'link'), 'a')).toBeUndefined();
  });

  it('refuses files outside the folder, however their paths are written', async () => {
    for (const path of ['../secret', 'inner/../../secret', '..', join(root, 'secret'), join(folder, 'a')])
      expect([path, await partFault(folder, path)]).toEqual([path, 'it lies outside the folder']);
    expect(await partFault(folder, 'out')).toBe('it is a link that leads outside the folder');
  });

  it('reports paths that are missing, or are no files', async () => {
    expect(await found(folder, 'nowhere')).toEqual({ isMissing: true, message: 'there is no such file' });
    expect((await found(folder, '..'))?.isMissing).toBe(false);
    expect(await partFault(folder, '.')).toBe('it is a folder, not a file');
    expect(await partFault(folder, '')).toBe('it is a folder, not a file');
    expect(await partFault(folder, 'a\0')).toBe('its path holds a NUL character');
    expect(await partFault(folder, 'a/x')).toBe('a part of its path is a file, not a folder');
  });
});
