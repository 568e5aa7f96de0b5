import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { validateFiles } from '../../src/api/index.js';
import { InputError } from '../../src/artifacts/index.js';
import { solveSpec } from '../../src/specs/index.js';

const POOLED = new URL('../../examples/pooled', import.meta.url).pathname;

let folder: string;
const at = (file: string): string => join(folder, file);
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-every-fault-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function faultsOf(work: Promise<unknown>): Promise<string[]> {
  const error = await work.catch((thrown: unknown) => thrown);
  if (!(error instanceof InputError)) throw new Error(`no InputError: ${String(error)}`);
  return error.faults.map(({ path, message }) => `${path} ${message}`.replaceAll(`${folder}/`, ''));
}

const SPEC = `kind: pooled
cluster: ${POOLED}/cluster.yaml
models:
  - { profile: ${POOLED}/detector.profile.json, sloMs: 120, wieght: 2 }
  - { profile: gone.json, sloMs: 120 }
`;

it('solveSpec() tells unknown keys, missing files and wrong options in one round', async () => {
  await writeFile(at('spec.yaml'), SPEC);
  const faults = await faultsOf(solveSpec(at('spec.yaml'), { baseline: 'dart-r', explain: true }));
  expect(faults).toEqual([
    expect.stringContaining("explains the planner's own plan"),
    expect.stringMatching(/^spec\.yaml \/models\/0 has an unknown key "wieght".*\(line 4, column \d+\)$/),
    expect.stringContaining('gone.json there is no such file'),
  ]);
});

it('validateFiles() tells the same of a spec, and only what is sure of one that cannot be read as one', async () => {
  await writeFile(at('spec.yaml'), SPEC);
  const [checked] = await validateFiles([at('spec.yaml')]);
  const said = JSON.stringify(checked);
  expect(said).toContain('wieght');
  expect(said).toContain('gone.json');
  await writeFile(at('spec.yaml'), SPEC.replace('sloMs: 120, wieght: 2', 'sloMs: fast'));
  expect(await faultsOf(solveSpec(at('spec.yaml')))).toEqual([expect.stringContaining('/models/0/sloMs')]);
});
