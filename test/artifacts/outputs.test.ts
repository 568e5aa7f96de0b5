import {
  link,
  lstat,
  mkdir,
  mkdtemp,
  readFile,
  realpath,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  makeFolderWhole,
  type OutputPath,
  outputFiles,
  refuseReplacing,
  replacingFaults,
  writeWhole,
} from '../../src/artifacts/index.js';
import { InputError } from '../../src/formats/index.js';
import { type Stream, streamOf } from '../../src/random/index.js';
import { whole } from '../cases.js';

let folder: string;
/** at gives a path in the folder and keeps its dots. */
const at = (path: string): string => `${folder}/${path}`;

beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'inferplan-outputs-')));
  await mkdir(at('sub'));
  await writeFile(at('spec.yaml'), 'spec');
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const SPEC = 'the spec';

/** saidOf gives the fault of a file that is to be written while the spec is an input. */
async function saidOf(path: string, input = at('spec.yaml')): Promise<string | undefined> {
  const faults = await replacingFaults(outputFiles({ output: path }), [{ what: SPEC, path: input }]);
  return faults[0]?.message;
}

function folderOutput(path: string): OutputPath {
  return { field: 'extract', path, isFolder: true };
}

async function saidOfFolder(path: string, input = at('spec.yaml')): Promise<string | undefined> {
  const faults = await replacingFaults([folderOutput(path)], [{ what: SPEC, path: input }]);
  return faults[0]?.message;
}

describe('replacingFaults() of a file', () => {
  it('recognizes an input by every path that leads to it', async () => {
    await symlink('spec.yaml', at('link'));
    await symlink(at('link'), at('sub/link-to-link'));
    await link(at('spec.yaml'), at('sub/hard'));
    await symlink('.', at('here'));
    const same = [
      ...['spec.yaml', './spec.yaml', 'sub/../spec.yaml', 'here/spec.yaml', 'here/sub/../spec.yaml'],
      ...['link', 'sub/link-to-link', 'sub/hard', 'here/here/sub/hard'],
    ].map(at);
    for (const output of [...same, relative(process.cwd(), at('spec.yaml'))])
      for (const input of same) expect(await saidOf(output, input)).toMatch(/is the spec, an input that/);
    expect(await saidOf(at('spec.yaml'))).toBe(
      `${at('spec.yaml')} is the spec, an input that would be replaced; name another file`,
    );
    expect(await saidOf(at('link'))).toContain(`link, the same file as ${at('spec.yaml')}, is the spec`);
  });

  it('allows other files: files beside the input, new ones, links that lead nowhere, and an input that does not exist', async () => {
    await writeFile(at('other.yaml'), 'spec');
    await symlink('nowhere', at('loose'));
    await symlink('round', at('round'));
    const others = [
      'other.yaml',
      'new.json',
      'sub/spec.yaml',
      'spec.yam',
      'loose',
      'round',
      'none/spec.yaml',
    ];
    for (const output of others) expect(await saidOf(at(output))).toBeUndefined();
    expect(await saidOf(at('gone'), at('gone'))).toBeUndefined();
  });

  it('refuses a path without a file name', async () => {
    expect(await saidOf('')).toBe('names no file');
    expect(await saidOfFolder('')).toBe('names no folder');
  });
});

describe('replacingFaults() of two outputs', () => {
  const both = (output: string, timeline: string) =>
    replacingFaults(outputFiles({ output: at(output), timeline: at(timeline) }), []);

  it('refuses one place for both outputs, whether it exists yet or not', async () => {
    await symlink('.', at('here'));
    await symlink('new.json', at('loose'));
    await symlink(at('here/new.json'), at('sub/loose'));
    for (const other of ['new.json', 'sub/../new.json', 'here/new.json', 'loose', 'sub/loose'])
      expect(await both('new.json', other)).toMatchObject([
        { path: '`timeline`', message: expect.stringContaining('is named for two outputs') },
      ]);
    expect(await both('new.json', 'sub/new.json')).toEqual([]);
    expect(await both('spec.yaml', 'here/spec.yaml')).toHaveLength(1);
  });

  it('refuses a file in a folder that is written as a whole, in either order', async () => {
    await mkdir(at('blocks'));
    const file = outputFiles({ output: at('blocks/p.json') });
    expect(await replacingFaults([folderOutput(at('blocks')), ...file], [])).toMatchObject([
      { path: '`output`', message: expect.stringContaining('a folder that is written as a whole') },
    ]);
    expect(await replacingFaults([...file, folderOutput(at('blocks'))], [])).toMatchObject([
      { path: '`extract`', message: expect.stringContaining('p.json would lie in it') },
    ]);
    expect(await replacingFaults([folderOutput(at('block')), ...file], [])).toEqual([]);
    expect(
      await replacingFaults([folderOutput(at('p')), ...outputFiles({ output: at('p') })], []),
    ).toMatchObject([{ message: expect.stringContaining('is named for two outputs') }]);
  });
});

describe('replacingFaults() of a folder', () => {
  it('refuses a folder that holds an input, whatever paths name the two', async () => {
    await writeFile(at('sub/spec.yaml'), 'spec');
    await symlink('sub', at('linked'));
    await symlink('sub/spec.yaml', at('link'));
    await mkdir(at('apart'));
    for (const output of ['sub', 'sub/', './sub', 'apart/../sub', 'linked'])
      for (const input of ['sub/spec.yaml', 'linked/spec.yaml', 'link', 'sub/../sub/spec.yaml'])
        expect(await saidOfFolder(at(output), at(input))).toMatch(
          /^the folder .* holds .*: the spec, an input/,
        );
    for (const output of ['apart', 'new', 'su', 'sub/inner'])
      expect(await saidOfFolder(at(output), at('linked/spec.yaml'))).toBeUndefined();
    expect(await saidOfFolder(at('spec.yaml'))).toContain('is the spec');
  });

  it('reads its own path as text, and takes no name that begins with dots for a parent', async () => {
    await mkdir(at('sub/deep'));
    await symlink('sub/deep', at('far'));
    expect(await saidOfFolder(at('far/../spec.yaml'))).toContain('is the spec');
    await writeFile(at('sub/..spec'), 'spec');
    expect(await saidOfFolder(at('sub'), at('sub/..spec'))).toContain('holds');
  });

  it('allows a folder that holds another name of an input: that name is removed, but the input stays', async () => {
    await mkdir(at('bundle'));
    await link(at('spec.yaml'), at('bundle/hard'));
    await symlink(at('spec.yaml'), at('bundle/soft'));
    expect(await saidOfFolder(at('bundle'))).toBeUndefined();
    expect(await isWritten(at('bundle'), true)).toBe(true);
    expect(await read(at('spec.yaml'))).toBe('spec');
  });

  it('refuses a folder that holds a link through which an input is read', async () => {
    await mkdir(at('bundle'));
    await symlink(at('spec.yaml'), at('bundle/link'));
    await symlink('..', at('bundle/up'));
    expect(await saidOfFolder(at('bundle'), at('bundle/link'))).toContain('holds');
    expect(await saidOfFolder(at('bundle'), at('bundle/up/spec.yaml'))).toContain('holds');
    expect(await saidOfFolder(at('bundle'), at('bundle/../spec.yaml'))).toBeUndefined();
  });
});

describe('refuseReplacing()', () => {
  it('reports the faults of all outputs at once, and none where all are fine', async () => {
    const inputs = [{ what: SPEC, path: at('spec.yaml') }];
    const outputs = outputFiles({
      output: at('spec.yaml'),
      timeline: at('sub/../spec.yaml'),
      none: undefined,
    });
    const refused = refuseReplacing('solve it', outputs, inputs);
    await expect(refused).rejects.toBeInstanceOf(InputError);
    await expect(refused).rejects.toThrow(/^Cannot solve it:\n {2}`output`: .*\n {2}`timeline`: /);
    await refuseReplacing('solve it', outputFiles({ output: at('plan.json') }), inputs);
  });
});

/** randomTree makes folders, files and links, and lists every path in them that somebody could name. */
async function randomTree(stream: Stream): Promise<string[]> {
  const pick = <T>(items: readonly T[]): T => items[Math.floor(stream.uniform() * items.length)] as T;
  const folders = ['', 'a/', 'b/', 'a/c/'];
  for (const name of ['a', 'b', 'a/c']) await mkdir(at(name));
  const names: string[] = [];
  for (let i = 0; i < 4; i++) {
    const name = `${pick(folders)}f${i}`;
    await writeFile(at(name), name);
    names.push(name);
  }
  for (let i = 0; i < 4; i++) {
    const place = pick(folders);
    const target = pick([...names, 'a', 'b', 'a/c', `${pick(folders)}new`]);
    const way = pick([at(target), relative(at(place), at(target)) || '.']);
    await symlink(way, at(`${place}l${i}`));
    names.push(`${place}l${i}`);
  }
  const ways = [...folders, ...names.filter((name) => /\/?l\d$/.test(name)).map((name) => `${name}/`)];
  const last = [
    'f0',
    'f1',
    'f2',
    'f3',
    'l0',
    'l1',
    'l2',
    'l3',
    'new',
    'a',
    'b',
    'c',
    '../f0',
    './f1',
    '../f2',
  ];
  return ways.flatMap((way) => last.map((name) => `${way}${name}`)).filter((name) => !name.startsWith('..'));
}

const read = (path: string): Promise<string | undefined> => readFile(path, 'utf8').catch(() => undefined);

describe('replacingFaults() of random trees', () => {
  it.each([
    ['writeWhole()', false],
    ['makeFolderWhole()', true],
  ])('predicts which inputs %s changes', async (_, isFolder) => {
    const stream = streamOf(7, String(isFolder));
    const seen = { changed: 0, kept: 0 };
    for (let trial = 0; seen.changed < whole(15, 60); trial++) {
      await rm(folder, { recursive: true, force: true });
      await mkdir(folder);
      const paths = (await randomTree(stream)).map(at);
      const inputs = await readable(paths);
      // An existing path is more likely to change something than a new one.
      const there = isFolder ? await foldersOf(paths) : inputs.map(({ path }) => path);
      const candidates = stream.uniform() < 0.2 ? paths : there;
      const output = candidates[Math.floor(stream.uniform() * candidates.length)] as string;
      const outputs = [{ field: 'output', path: output, isFolder }];
      const told = await Promise.all(
        inputs.map(async ({ path }) => (await replacingFaults(outputs, [{ what: SPEC, path }])).length > 0),
      );
      const cautious = isFolder && (await isLink(output));
      if (!(await isWritten(output, isFolder))) continue;
      for (const [i, { path, before }] of inputs.entries()) {
        const changed = (await read(path)) !== before;
        seen[changed ? 'changed' : 'kept'] += 1;
        // The folder behind a link, or above it, may outlast the link. There too much is refused, but never too little.
        if (changed || !(cautious || (isFolder && path.includes('..'))))
          expect({ trial, output, path, told: told[i] }).toEqual({ trial, output, path, told: changed });
      }
    }
    expect(seen.kept).toBeGreaterThan(seen.changed);
  });
});

async function readable(paths: readonly string[]): Promise<{ path: string; before: string }[]> {
  const inputs: { path: string; before: string }[] = [];
  for (const path of paths) {
    const before = await read(path);
    if (before !== undefined) inputs.push({ path, before });
  }
  return inputs;
}

async function foldersOf(paths: readonly string[]): Promise<string[]> {
  const found = await Promise.all(paths.map((path) => stat(path).catch(() => undefined)));
  return paths.filter((_, i) => found[i]?.isDirectory());
}

async function isLink(path: string): Promise<boolean> {
  return lstat(path).then(
    (found) => found.isSymbolicLink(),
    () => false,
  );
}

/** isWritten writes to a path, whatever is lost. It gives false where that is not possible. */
async function isWritten(path: string, isFolder: boolean): Promise<boolean> {
  const write = isFolder
    ? makeFolderWhole(
        path,
        async () => [],
        async () => {},
      )
    : writeWhole(path, 'written');
  return write.then(
    () => true,
    () => false,
  );
}
