import { link, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  asOneRun,
  checkWritable,
  loadArtifact,
  makeFolderWhole,
  readInPieces,
  readWhole,
  StreamedFile,
  sha256OfFile,
  writeWhole,
} from '../../src/artifacts/index.js';

let folder: string;
const at = (name: string) => join(folder, name);

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'run-files-'));
  await writeFile(at('input'), 'kept');
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const REPLACED = 'input, an input that would be replaced';

/** Every way in which this room reads a file. */
const READING: Readonly<Record<string, (path: string) => Promise<unknown>>> = {
  readWhole,
  sha256OfFile,
  readInPieces: async (path) => {
    for await (const _ of readInPieces(path));
  },
};
/** Every way in which it writes one. */
const WRITING: Readonly<Record<string, (path: string) => Promise<unknown>>> = {
  writeWhole: (path) => writeWhole(path, 'new'),
  checkWritable: (path) => checkWritable(path),
  StreamedFile: (path) => StreamedFile.open(path),
};

describe('asOneRun()', () => {
  it('lets nothing replace what was read in it, whatever the path', async () => {
    await symlink(at('input'), at('symbolic'));
    await link(at('input'), at('hard'));
    await mkdir(at('inside'));
    await symlink(folder, at('inside/back'));
    const paths = ['input', 'symbolic', 'hard', 'inside/../input', 'inside/back/input'].map(at);
    for (const read of Object.values(READING))
      for (const write of Object.values(WRITING))
        for (const path of [...paths, relative(process.cwd(), at('input'))])
          await expect(
            asOneRun(async () => {
              await read(at('symbolic'));
              await write(path);
            }),
          ).rejects.toThrow(/an input that would be replaced/);
    expect(await readFile(at('input'), 'utf8')).toBe('kept');
  });

  it('lets a run replace what it wrote, what it updates, and what another run read', async () => {
    await asOneRun(() => readWhole(at('input')));
    await asOneRun(async () => {
      await writeWhole(at('input'), 'first');
      await readWhole(at('input'));
      await writeWhole(at('input'), 'second');
    });
    await asOneRun(async () => {
      await readWhole(at('input'));
      await writeWhole(at('input'), 'third', { isUpdate: true });
    });
    await readWhole(at('input'));
    await writeWhole(at('input'), 'fourth');
    expect(await readFile(at('input'), 'utf8')).toBe('fourth');
  });

  it('is one run where one is within another', async () => {
    const within = asOneRun(async () => {
      await asOneRun(() => readWhole(at('input')));
      await asOneRun(() => writeWhole(at('input'), 'new'));
    });
    await expect(within).rejects.toThrow(REPLACED);
  });

  it('lets nothing replace the inputs that a file names which was read, except for the records of a cascade', async () => {
    const spec = {
      kind: 'cascade',
      version: '1.0',
      cluster: 'cluster.yaml',
      records: 'records.csv',
      models: [{ name: 'a', profile: 'a.profile.json' }],
      slo: { latencyMs: 1 },
      load: { maxRps: 1, distribution: 'loads.csv' },
      planner: { method: 'gears' },
    };
    await writeFile(at('spec.json'), JSON.stringify(spec));
    const named = ['cluster.yaml', 'a.profile.json', 'loads.csv', 'records.csv'];
    for (const name of named) await writeFile(at(name), 'kept');
    await asOneRun(async () => {
      await loadArtifact(at('spec.json'), ['cascade']);
      for (const name of ['spec.json', ...named.slice(0, 3)])
        await expect(writeWhole(at(name), 'new')).rejects.toThrow('an input that would be replaced');
      await writeWhole(at('records.csv'), 'new');
    });
    await expect(
      asOneRun(async () => {
        await writeFile(at('own.json'), JSON.stringify({ ...spec, records: 'cluster.yaml' }));
        await loadArtifact(at('own.json'), ['cascade']);
        await writeWhole(at('cluster.yaml'), 'records');
      }),
    ).rejects.toThrow('cluster.yaml, an input that would be replaced');
  });

  it('lets no folder be replaced that holds what was read, links followed', async () => {
    await mkdir(at('bundle'));
    await writeFile(at('bundle/plan.json'), 'kept');
    await symlink(at('bundle/plan.json'), at('plan'));
    const remade = () =>
      makeFolderWhole(
        at('bundle'),
        async () => [],
        async () => {},
      );
    const remadeOnce = (path: string) =>
      asOneRun(async () => {
        await readWhole(path);
        await remade();
      });
    await expect(remadeOnce(at('plan'))).rejects.toThrow('an input that would be gone');
    expect(await readFile(at('bundle/plan.json'), 'utf8')).toBe('kept');
    await remadeOnce(at('input'));
  });

  it('counts what is looked at before an output as no input', async () => {
    await mkdir(at('bundle'));
    await writeFile(at('bundle/plan.json'), 'old');
    const ours = async (path: string) => {
      await readWhole(join(path, 'plan.json'));
      return [];
    };
    await asOneRun(() => makeFolderWhole(at('bundle'), ours, async () => {}));
    await expect(readFile(at('bundle/plan.json'))).rejects.toThrow('ENOENT');
  });
});
