import { spawnSync } from 'node:child_process';
import { lstat, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { checkFolder, makeFolderWhole, writeWhole } from '../../src/artifacts/index.js';
import { InputError } from '../../src/formats/index.js';
import { describeInWholeRun } from '../cases.js';

let parent: string;
const at = (name: string): string => join(parent, name);
const mine = async (): Promise<string[]> => [];
const others = (folder: string): Promise<string[]> => readdir(folder);

beforeEach(async () => {
  parent = await mkdtemp(join(tmpdir(), 'inferplan-folder-'));
});
afterEach(() => rm(parent, { recursive: true, force: true }));

function writes(text: string): (folder: string) => Promise<void> {
  return (folder) => writeFile(join(folder, 'file'), text);
}

/** deadPid gives the id of a process that has ended. */
function deadPid(): number {
  return spawnSync(process.execPath, ['-e', '']).pid;
}

describe('makeFolderWhole()', () => {
  it('makes a folder, fills an empty one, and replaces a folder that it made before', async () => {
    await makeFolderWhole(at('new'), others, writes('1'));
    await mkdir(at('empty'));
    await makeFolderWhole(at('empty'), others, writes('2'));
    await makeFolderWhole(at('new'), mine, writes('3'));
    expect(await readFile(at('new/file'), 'utf8')).toBe('3');
    expect(await readFile(at('empty/file'), 'utf8')).toBe('2');
    expect((await readdir(parent)).sort()).toEqual(['empty', 'new']);
  });

  it('refuses a folder with other files, a file, and a missing parent', async () => {
    await makeFolderWhole(at('new'), others, writes('1'));
    await writeFile(at('plain'), '');
    for (const [target, why] of [
      ['new', 'holds other files'],
      ['plain', 'it is a file'],
      ['none/new', 'there is no folder'],
    ] as const) {
      await expect(makeFolderWhole(at(target), others, writes('2'))).rejects.toThrow(why);
      await expect(checkFolder(at(target), others)).rejects.toBeInstanceOf(InputError);
    }
    expect(await readFile(at('new/file'), 'utf8')).toBe('1');
  });

  it('names the other files that a folder holds, the first five of them', async () => {
    await mkdir(at('full'));
    for (const name of 'abcdefg') await writeFile(at(`full/${name}`), '');
    await expect(checkFolder(at('full'), others)).rejects.toThrow('other files: a, b, c, d, e and 2 more');
  });

  it('fills the folder behind a link, and keeps the link', async () => {
    await mkdir(at('real'));
    await symlink('real', at('link'));
    for (const text of ['1', '2']) {
      await makeFolderWhole(at('link'), mine, writes(text));
      expect(await readFile(at('real/file'), 'utf8')).toBe(text);
      expect((await lstat(at('link'))).isSymbolicLink()).toBe(true);
    }
    expect((await readdir(parent)).sort()).toEqual(['link', 'real']);
  });

  it('leaves the earlier contents, and nothing else, when filling fails', async () => {
    await makeFolderWhole(at('new'), mine, writes('1'));
    const failing = async (folder: string): Promise<void> => {
      await writes('2')(folder);
      throw new Error('the disk is full');
    };
    await expect(makeFolderWhole(at('new'), mine, failing)).rejects.toThrow('the disk is full');
    expect(await readFile(at('new/file'), 'utf8')).toBe('1');
    expect(await readdir(parent)).toEqual(['new']);
  });

  it('removes what killed processes left beside it, and nothing of living processes', async () => {
    const dead = deadPid();
    const kept = [`.new.${process.ppid}.tmp`, `.newer.${dead}.tmp`, `.new.x.tmp`];
    for (const name of [`.new.${dead}.tmp`, ...kept]) await mkdir(at(name));
    await makeFolderWhole(at('new'), mine, writes('1'));
    expect((await readdir(parent)).sort()).toEqual([...kept, 'new'].sort());
  });

  it('moves back a folder that a killed process had moved aside, and removes it where another has taken its place', async () => {
    const dead = deadPid();
    await mkdir(at(`.new.${dead}.old`));
    await writes('old')(at(`.new.${dead}.old`));
    const failing = () => Promise.reject(new Error('no'));
    await expect(makeFolderWhole(at('new'), mine, failing)).rejects.toThrow('no');
    expect(await readFile(at('new/file'), 'utf8')).toBe('old');
    await mkdir(at(`.new.${dead}.old`));
    await makeFolderWhole(at('new'), mine, writes('1'));
    expect(await readdir(parent)).toEqual(['new']);
    expect(await readFile(at('new/file'), 'utf8')).toBe('1');
  });
});

describeInWholeRun('writeWhole()', () => {
  it('removes the leftovers of a killed process of the same file', async () => {
    await writeFile(at(`.p.json.${deadPid()}.tmp`), 'half');
    await writeWhole(at('p.json'), 'whole');
    expect(await readdir(parent)).toEqual(['p.json']);
  });
});
