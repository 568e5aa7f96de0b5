import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RESULT } from './results.js';

/** The program has an exit code of its own, so it runs as a process, from the built code. */
const PROGRAM = createRequire(import.meta.url).resolve('#dist/bench/compare.js');

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-bench-'));
  await writeFile(join(folder, 'old.json'), JSON.stringify(RESULT));
  const measures = [{ name: '100 GPUs: requests/s', values: [200] }];
  await writeFile(join(folder, 'new.json'), JSON.stringify({ ...RESULT, commit: 'bbbb', measures }));
  const unlike = { ...RESULT, bench: 'planner', machine: { cpu: 'Model B', cores: 2 } };
  await writeFile(join(folder, 'unlike.json'), JSON.stringify(unlike));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

function compare(...args: string[]): { status: number | null; stdout: string; stderr: string } {
  return spawnSync(process.execPath, [PROGRAM, ...args], { cwd: folder, encoding: 'utf8' });
}

describe('bench/compare', () => {
  it('prints a table of two comparable runs', () => {
    const { status, stdout } = compare('old.json', 'new.json');
    expect(status).toBe(0);
    expect(stdout).toMatch(/^simulate: aaaaaaaaaaaa → bbbb\n +old +spread +new +spread +new\/old +measure\n/);
    expect(stdout).toMatch(/ 100 +20\.0 % +200 +– +2\.000 +100 GPUs: requests\/s\n/);
  });

  it('refuses runs that are not comparable with status 2, and names each difference', () => {
    const { status, stdout, stderr } = compare('old.json', 'unlike.json');
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toBe(
      'Cannot compare old.json with unlike.json: the runs are not alike.\n' +
        '  bench: "simulate" and "planner"\n  cpu: "Model A" and "Model B"\n',
    );
  });

  it('ends with status 2 where a file is missing or not named', () => {
    for (const args of [['old.json', 'none.json'], ['old.json'], ['old.json', 'new.json', 'more.json']]) {
      const { status, stderr } = compare(...args);
      expect(status).toBe(2);
      expect(stderr).toMatch(/none\.json|usage:/);
    }
  });
});
