import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { importedFiles, writeProgram } from '../../src/deploy/program-files.js';
import { sha256Of } from '../../src/formats/index.js';

const folders: string[] = [];
afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true });
});

/** folderOf writes files into a fresh folder. */
async function folderOf(files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'inferplan-program-files-'));
  folders.push(folder);
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }
  return folder;
}

const TREE = {
  'main.mjs': `import { a } from './a.mjs';
import './side/effect.js';
import package from 'package';
const later = () => import("./side/later.mjs");
export { b } from './b.json';`,
  'a.mjs': "import '../outside/of-comment.mjs'.length; export const a = 1;".replace(
    /import '.*?length; /,
    '',
  ),
  'side/effect.js': "export * from '../a.mjs'; import './own.mjs'",
  'side/own.mjs': '',
  'side/later.mjs': "import '../main.mjs'",
  'b.json': '{"from": "./not-a-module.mjs"}',
  'unused.mjs': '',
};

describe('importedFiles()', () => {
  it('lists a module first, and then each file of its folder that it imports, once', async () => {
    const folder = await folderOf(TREE);
    const found = (await importedFiles(join(folder, 'main.mjs'))).map((file) => relative(folder, file));
    expect(found[0]).toBe('main.mjs');
    expect(found.slice(1).sort()).toEqual([
      ...['a.mjs', 'b.json', 'side/effect.js', 'side/later.mjs', 'side/own.mjs'],
    ]);
  });

  it('refuses what is missing or lies outside, all of a module at once', async () => {
    const folder = await folderOf({ 'main.mjs': "import './gone.mjs';\nimport '../away.mjs'" });
    await expect(importedFiles(join(folder, 'main.mjs'))).rejects.toThrow(
      /gone.mjs: there is no such file.*away.mjs: it lies outside/s,
    );
  });
});

describe('writeProgram()', () => {
  it('copies a program with its files, and says what their digests are', async () => {
    const [from, to] = [await folderOf(TREE), await folderOf({})];
    const program = { workflow: 'flow', path: join(from, 'main.mjs') };
    const written = await writeProgram(to, 'programs/flow', program);
    expect(written).toMatchObject({ workflow: 'flow', file: 'programs/flow/main.mjs' });
    expect(written.modules).toHaveLength(5);
    for (const { path, sha256 } of [{ path: written.file, sha256: written.sha256 }, ...written.modules!]) {
      const text = await readFile(join(to, path));
      expect(sha256Of(text)).toBe(sha256);
      expect(text).toEqual(await readFile(join(from, relative('programs/flow', path))));
    }
  });
});
