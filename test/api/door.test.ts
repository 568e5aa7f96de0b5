import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { door } from '../../src/api/door.js';
import { pause, readWhole, writeWhole } from '../../src/artifacts/index.js';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'door-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** copied reads a file and writes another, and looks at nothing by itself, as a command that forgets to. */
const copied = door(async () => async (path: string, output: string) => {
  await writeWhole(output, `${(await readWhole(path)).toString()}, copied`);
});

describe('a door', () => {
  it('lets no command replace what it read, also one without a check of its own', async () => {
    const path = join(folder, 'read.txt');
    await writeFile(path, 'kept');
    await expect(copied(path, path)).rejects.toThrow(/an input that would be replaced/);
    expect(await readFile(path, 'utf8')).toBe('kept');
    await copied(path, join(folder, 'other.txt'));
    expect(await readFile(join(folder, 'other.txt'), 'utf8')).toBe('kept, copied');
  });

  it('makes each call a run of its own', async () => {
    const [one, other] = [join(folder, 'one.txt'), join(folder, 'other.txt')];
    await writeFile(one, 'a');
    await copied(one, other);
    await copied(other, one);
    expect(await readFile(one, 'utf8')).toBe('a, copied, copied');
  });

  it('hands the signal of the options to what reads in steps', async () => {
    const reads = door(async () => async (_options: { signal?: AbortSignal }) => pause());
    await expect(reads({})).resolves.toBeUndefined();
    const signal = AbortSignal.abort(new Error('the caller left'));
    await expect(reads({ signal })).rejects.toThrow('the caller left');
  });
});
