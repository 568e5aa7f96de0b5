import { spawnSync } from 'node:child_process';
import { cp, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { PooledPlan } from '../../src/formats/index.js';
import { inWholeRun, WHOLE } from '../cases.js';
import { PLAN_PROGRAM } from './plan.js';

let folder: string;
let spec: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-stdin-'));
  await cp(new URL('../../examples/pooled', import.meta.url).pathname, folder, { recursive: true });
  spec = await readFile(join(folder, 'spec.yaml'), 'utf8');
});
afterAll(() => rm(folder, { recursive: true, force: true }));

function piped(input: string, ...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [PLAN_PROGRAM, ...args], {
    cwd: folder,
    encoding: 'utf8',
    input,
  });
  return { status, stdout, stderr };
}

describe('a spec on stdin', () => {
  it('is solved with paths relative to the working folder, into a plan that names all but the spec', async () => {
    expect(piped(spec, 'solve', '-', '-o', 'plan.json')).toMatchObject({ status: 0 });
    const { inputs, ...plan } = JSON.parse(await readFile(join(folder, 'plan.json'), 'utf8')) as PooledPlan;
    const expected = JSON.parse(await readFile(join(folder, 'expected-plan.json'), 'utf8')) as PooledPlan;
    expect(plan).toEqual({ ...expected, inputs: undefined });
    expect(inputs).toEqual(expected.inputs?.filter(({ role }) => role !== 'spec'));
    if (WHOLE) expect(piped('', 'validate', 'plan.json')).toMatchObject({ status: 0 });
  });

  inWholeRun('is validated, also in JSON, and compared', () => {
    const asJson = `{"kind":"pooled",\t"cluster":"cluster.yaml",\n"models":[{"profile":"detector.profile.json","sloMs":120}]}`;
    expect(piped(asJson, 'validate', '-')).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/^<stdin>: pooled spec/),
    });
    if (WHOLE) expect(piped(spec, 'compare', '-', '--mix', 'L4=1')).toMatchObject({ status: 0 });
  });

  inWholeRun('is named as what it is where it is wrong, empty, or names a file that is not there', () => {
    const wrong = piped(spec.replace('sloMs: 120', 'sloMs: soon'), 'solve', '-');
    expect(wrong).toMatchObject({ status: 2, stderr: expect.stringContaining('Cannot read <stdin>') });
    if (!WHOLE) return;
    expect(piped('', 'solve', '-')).toMatchObject({ status: 2, stderr: expect.stringContaining('is empty') });
    const elsewhere = piped(spec.replace('cluster.yaml', 'gone.yaml'), 'solve', '-');
    expect(elsewhere).toMatchObject({ status: 7, stderr: expect.stringContaining('gone.yaml') });
  });

  inWholeRun('keeps the files that it names from being replaced', async () => {
    const before = await readFile(join(folder, 'detector.profile.json'), 'utf8');
    expect(piped(spec, 'solve', '-', '-o', 'detector.profile.json')).toMatchObject({ status: 2 });
    expect(await readFile(join(folder, 'detector.profile.json'), 'utf8')).toBe(before);
  });
});
