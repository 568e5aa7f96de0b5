import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FilesRead } from '../../src/artifacts/index.js';
import { MOST_OPEN, whileOpen } from '../../src/artifacts/open-files.js';
import { inWholeRun } from '../cases.js';

const MANY = 300;

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-open-'));
  const cluster = JSON.stringify({ kind: 'cluster', devices: { A: { count: 1 } } });
  for (let i = 0; i < MANY; i++) await writeFile(join(folder, `${i}.json`), cluster);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe('whileOpen()', () => {
  it('does so much at once, in the order in which it was asked for, whatever fails', async () => {
    let open = 0;
    let most = 0;
    const begun: number[] = [];
    const work = (i: number) => async () => {
      begun.push(i);
      open += 1;
      most = Math.max(most, open);
      await new Promise((resolve) => setTimeout(resolve, i % 3));
      open -= 1;
      if (i % 5 === 0) throw new Error('cannot be read');
      return i;
    };
    const all = Array.from({ length: MANY }, (_, i) => i);
    const done = await Promise.allSettled(all.map((i) => whileOpen(work(i))));
    expect(done.map(({ status }) => status === 'fulfilled')).toEqual(all.map((i) => i % 5 !== 0));
    expect(begun).toEqual(all);
    expect(most).toBe(MOST_OPEN);
    // All places are free again.
    await Promise.allSettled(all.slice(0, MOST_OPEN).map((i) => whileOpen(work(i))));
    expect(begun).toHaveLength(MANY + MOST_OPEN);
    expect(most).toBe(MOST_OPEN);
  });
});

inWholeRun('more files than a process may have open are read side by side', async () => {
  const names = Array.from({ length: MANY }, (_, i) => `${i}.json`);
  const command = `ulimit -n 100; exec "$0" "$@"`;
  const main = join(process.cwd(), 'dist/bundle/cli/main.js');
  const args = ['-c', command, process.execPath, main, 'validate', ...names];
  const { stderr } = await promisify(execFile)('bash', args, { cwd: folder });
  expect(stderr).not.toContain('EMFILE');
});

it('a file that is asked for many times at once is read once', async () => {
  const files = new FilesRead();
  const path = join(folder, '0.json');
  const loaded = await Promise.all(Array.from({ length: 8 }, () => files.load(path, ['cluster'])));
  expect(new Set(loaded.map(({ value }) => value)).size).toBe(1);
  const none = join(folder, 'none.json');
  const missing = await Promise.allSettled([files.load(none, ['cluster']), files.load(none, ['cluster'])]);
  expect(new Set(missing.map((one) => (one as PromiseRejectedResult).reason)).size).toBe(1);
  await writeFile(none, JSON.stringify({ kind: 'cluster', devices: { B: { count: 1 } } }));
  expect((await files.load(none, ['cluster'])).value.devices).toEqual({ B: { count: 1 } });
});
