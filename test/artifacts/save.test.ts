import { once } from 'node:events';
import { closeSync, existsSync, openSync } from 'node:fs';
import { lstat, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  checkWritable,
  emittedHead,
  loadArtifact,
  StreamedFile,
  saveArtifact,
  writeWhole,
} from '../../src/artifacts/index.js';
import { unwritable } from '../../src/artifacts/save.js';
import type { Profile } from '../../src/formats/index.js';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-save-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const PROFILE: Profile = {
  ...emittedHead('profile', [{ role: 'model', path: 'm.onnx', sha256: 'a'.repeat(64) }]),
  model: { name: 'm' },
  blocks: [{ nodes: ['a', 'b'], cutBytes: 12 }, { cutBytes: 0 }],
  devices: { 'cpu:1': { blockLatencyUs: { 1: { 1: [1.5, 2], 2: [2, null] } } } },
};

describe('saveArtifact()', () => {
  it('writes what loadArtifact() reads, with kind, version, tool and inputs', async () => {
    const path = join(folder, 'p.json');
    await saveArtifact<'profile'>(path, PROFILE);
    expect((await loadArtifact(path, ['profile'])).value).toEqual(PROFILE);
    expect(PROFILE.tool?.name).toBe('inferplan');
  });

  it('writes the same bytes for the same value', async () => {
    await saveArtifact<'profile'>(join(folder, '1.json'), PROFILE);
    await saveArtifact<'profile'>(join(folder, '2.json'), structuredClone(PROFILE));
    expect(await readFile(join(folder, '1.json'))).toEqual(await readFile(join(folder, '2.json')));
  });
});

describe('writeWhole()', () => {
  it('leaves the old file, and no other, when it cannot write', async () => {
    const inner = join(folder, 'inner');
    await expect(writeWhole(join(inner, 'x.json'), 'text')).rejects.toThrow('there is no folder');
    await writeFile(join(folder, 'kept.json'), 'old');
    await expect(writeWhole(folder, 'text')).rejects.toThrow();
    expect(await readFile(join(folder, 'kept.json'), 'utf8')).toBe('old');
    expect((await readdir(folder)).filter((name) => name.includes('.tmp'))).toEqual([]);
  });
});

describe('writeWhole() to a path that names a folder', () => {
  it('reports the folder, and writes nothing beside it', async () => {
    await expect(writeWhole(`${folder}/`, 'text')).rejects.toThrow('it is a folder; name a file');
  });
});

describe('writeWhole() to a path that is no plain file', () => {
  it('replaces no device, pipe or folder, and follows no path through a file', async () => {
    const socket = join(folder, 'socket');
    const server = createServer().listen(socket);
    await once(server, 'listening');
    await expect(writeWhole(socket, 'text')).rejects.toThrow('it is no plain file');
    await expect(checkWritable(socket)).rejects.toThrow('it is no plain file');
    await expect(StreamedFile.open(socket)).rejects.toThrow('it is no plain file');
    expect((await stat(socket)).isSocket()).toBe(true);
    server.close();
    await expect(checkWritable(folder)).rejects.toThrow('it is a folder; name a file');
    await writeFile(join(folder, 'file'), '');
    await expect(writeWhole(join(folder, 'file', 'x'), 'text')).rejects.toThrow('file is not a folder');
  });
});

describe('writeWhole() to a link', () => {
  it('writes the file that the link leads to, whether it exists or not, and keeps the link', async () => {
    const [real, link, loose] = ['real.json', 'link.json', 'loose.json'].map((name) =>
      join(folder, name),
    ) as [string, string, string];
    await writeFile(real, 'old');
    await symlink('real.json', link);
    await symlink(join(folder, 'new.json'), loose);
    await checkWritable(link);
    await writeWhole(link, 'new');
    await writeWhole(loose, 'text');
    expect((await lstat(link)).isSymbolicLink()).toBe(true);
    expect(await readFile(real, 'utf8')).toBe('new');
    expect(await readFile(join(folder, 'new.json'), 'utf8')).toBe('text');
    const streamed = await StreamedFile.open(link);
    streamed.write('streamed');
    streamed.finish();
    expect(await readFile(real, 'utf8')).toBe('streamed');
    const round = join(folder, 'round.json');
    await symlink('round.json', round);
    await expect(writeWhole(round, 'text')).rejects.toThrow();
  });

  it.runIf(existsSync('/proc/self/fd'))('replaces no terminal and no open file', async () => {
    const open = openSync(join(folder, 'open.txt'), 'w');
    const link = join(folder, 'stdout');
    await symlink(`/proc/self/fd/${open}`, link);
    for (const path of [link, `/proc/self/fd/${open}`]) {
      await expect(checkWritable(path)).rejects.toThrow('it is no plain file');
      await expect(writeWhole(path, 'text')).rejects.toThrow('it is no plain file');
    }
    closeSync(open);
    expect((await lstat(link)).isSymbolicLink()).toBe(true);
    expect(await readFile(join(folder, 'open.txt'), 'utf8')).toBe('');
  });
});

describe('unwritable()', () => {
  it("names the path when the disk is full, which the system's error does not", () => {
    const full = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
    expect(unwritable('out/plan.json', full)).toMatchObject({ code: 'ENOSPC', path: 'out/plan.json' });
  });

  it.each([
    ['EROFS', 'Cannot write x: the file system is read-only'],
    ['EPERM', 'Cannot write x: permission denied'],
  ])('explains %s in words', (code, message) => {
    const told = unwritable('x', Object.assign(new Error('raw'), { code }));
    expect((told as Error).message).toBe(message);
  });
});

describe('checkWritable()', () => {
  it('reports a missing folder before any work, and writes nothing', async () => {
    await expect(checkWritable(join(folder, 'none', 'x.json'))).rejects.toThrow('there is no folder');
    const before = await readdir(folder);
    await checkWritable(join(folder, 'new.json'));
    expect(await readdir(folder)).toEqual(before);
  });
});
