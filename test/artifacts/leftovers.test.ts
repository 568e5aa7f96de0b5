import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { withTemporaryFolder } from '../../src/artifacts/index.js';

/** The test has a temporary folder of its own. */
let outer: string | undefined;
let folder = '';
beforeEach(() => {
  outer = process.env.TMPDIR;
  folder = mkdtempSync(join(tmpdir(), 'inferplan-leftovers-'));
  process.env.TMPDIR = folder;
});
afterEach(() => {
  rmSync(folder, { recursive: true });
  if (outer === undefined) delete process.env.TMPDIR;
  else process.env.TMPDIR = outer;
});

test('withTemporaryFolder() removes its folder, also on failure', async () => {
  const made = await withTemporaryFolder('timings', async (path) => {
    mkdirSync(join(path, 'inner'));
    return path;
  });
  const failing = withTemporaryFolder('profile', async () => {
    throw new Error('why');
  });
  await expect(failing).rejects.toThrow('why');
  expect(existsSync(made)).toBe(false);
  expect(readdirSync(folder)).toEqual([]);
});

test('withTemporaryFolder() removes what killed processes left, whatever its purpose, and nothing else', async () => {
  const { pid: gone } = spawnSync(process.execPath, ['-e', '']);
  const left = [`inferplan-timings-${gone}-abcdef`, `inferplan-profile-${gone}-abcdef`];
  const kept = [
    `inferplan-timings-${process.ppid}-abcdef`,
    `inferplan-others-${gone}-abcdef`,
    'inferplan-timings-ab',
  ];
  for (const name of [...left, ...kept]) mkdirSync(join(folder, name));
  await withTemporaryFolder('timings', async () => {});
  expect(readdirSync(folder).sort()).toEqual([...kept].sort());
});
