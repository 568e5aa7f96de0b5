import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { StreamedFile } from '../../src/artifacts/index.js';
import { InputError } from '../../src/formats/index.js';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-streamed-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe('StreamedFile', () => {
  it('appears whole when it is finished, in place of the old file', async () => {
    const path = join(folder, 'whole.txt');
    await writeFile(path, 'before');
    const file = await StreamedFile.open(path);
    file.write('one ');
    file.write('zwölf');
    expect(await readFile(path, 'utf8')).toBe('before');
    expect(file.bytes).toBe(10);
    file.finish();
    expect(await readFile(path, 'utf8')).toBe('one zwölf');
    expect(await readdir(folder)).toEqual(['whole.txt']);
  });

  it('leaves the old file, and nothing else, when it is discarded', async () => {
    const path = join(folder, 'whole.txt');
    const file = await StreamedFile.open(path);
    file.write('half');
    file.discard();
    expect(await readFile(path, 'utf8')).toBe('one zwölf');
    expect(await readdir(folder)).toEqual(['whole.txt']);
  });

  it('reports that its folder is missing, or that a folder is in its place', async () => {
    await expect(StreamedFile.open(join(folder, 'none', 'x'))).rejects.toThrow(InputError);
    await expect(StreamedFile.open(folder)).rejects.toThrow(/it is a folder/);
    const place = join(folder, 'place');
    const file = await StreamedFile.open(place);
    await mkdir(place);
    expect(() => file.finish()).toThrow(/it is a folder/);
  });
});
