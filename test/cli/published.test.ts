import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { inWholeRun, inWholeRunOnly } from '../cases.js';
import { PLAN_PROGRAM } from './plan.js';

const SPEC = fileURLToPath(new URL('../../examples/pooled/spec.yaml', import.meta.url));

const UNBUNDLED = fileURLToPath(new URL('../../dist/src/', import.meta.url));
/** A bug: what the program prints on throws. */
const BROKEN = `process.stdout.write = () => { throw new Error('broken'); };`;

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'inferplan-published-'));
  run(['solve', SPEC, '-o', 'plan.json']);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function run(args: readonly string[], env: Record<string, string> = {}) {
  const ended = spawnSync(process.execPath, [PLAN_PROGRAM, ...args], {
    cwd: folder,
    encoding: 'utf8',
    env: { ...process.env, ...env },
  });
  return { code: ended.status, stdout: ended.stdout, stderr: ended.stderr };
}

/** The files that a command loads, in each of its threads: V8 writes them down where it is asked for coverage. */
function loadedBy(args: readonly string[]): string[][] {
  const coverage = mkdtempSync(join(folder, 'loaded-'));
  expect(run(args, { NODE_V8_COVERAGE: coverage })).toMatchObject({ code: 0 });
  return readdirSync(coverage).map((file) => {
    const { result } = JSON.parse(readFileSync(join(coverage, file), 'utf8')) as {
      result: { url: string }[];
    };
    return result.flatMap(({ url }) => (url.startsWith('file:') ? [fileURLToPath(url)] : []));
  });
}

describe('the published program', () => {
  it.each<[args: string[], most: number, threads: number]>([
    [['--version'], 5, 1],
    [['validate', 'plan.json'], 42, 1],
    ...inWholeRunOnly<[string[], number, number]>([
      [['simulate', 'plan.json', '--duration', '1s'], 60, 1],
      [['simulate', 'plan.json', '--duration', '100s'], 90, 2],
      [['solve', SPEC], 60, 1],
      [['solve', SPEC, '--time-limit', '60'], 90, 2],
    ]),
  ])(
    'loads few files of its own, and starts a thread only where the work may be long: plan %j',
    (args, most, threads) => {
      const loaded = loadedBy(args);
      expect(loaded).toHaveLength(threads);
      const files = loaded.flat().filter((file) => !file.includes('/node_modules/'));
      expect(files.filter((file) => file.startsWith(UNBUNDLED))).toEqual([]);
      expect(files.length).toBeGreaterThan(1);
      expect(files.length).toBeLessThan(most);
    },
  );

  inWholeRun('says where in the sources a bug is, to who sets PLAN_DEBUG', () => {
    writeFileSync(join(folder, 'broken.mjs'), BROKEN);
    const env = { NODE_OPTIONS: `--import ${pathToFileURL(join(folder, 'broken.mjs'))}` };
    const { code, stderr } = run(['validate', 'plan.json'], { ...env, PLAN_DEBUG: '1' });
    expect(code).toBe(1);
    expect(stderr).toMatch(/\/src\/cli\/[a-z-]+\.ts:\d+:\d+/);
    expect(run(['validate', 'plan.json'], env).stderr).not.toContain('.ts:');
  });
});
