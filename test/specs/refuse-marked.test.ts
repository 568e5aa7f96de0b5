import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { simulatePlan, sweepPlan } from '../../src/api/index.js';
import { InputError, type PooledPlan, type PooledSpec, type Profile } from '../../src/formats/index.js';
import { compareSpec, solveSpec } from '../../src/specs/index.js';
import { inWholeRun } from '../cases.js';
import { writeRandomSpec } from './specs.js';

const IMPORTED = 'were imported, so nothing says how they were measured';

let folder: string;
let spec: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-marked-'));
  spec = await markedSpec();
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** markedSpec writes a spec of two classes: C0 is imported and C1 is emulated. */
async function markedSpec(): Promise<string> {
  const { path } = await writeRandomSpec(folder, 3);
  const written = JSON.parse(await readFile(path, 'utf8')) as PooledSpec;
  // A rate that the objective does not use would be a note of its own.
  const models = written.models.map(({ rps: _, ...model }) => model);
  await writeFile(path, JSON.stringify({ ...written, models }));
  const file = join(folder, models[0]?.profile as string);
  const profile = JSON.parse(await readFile(file, 'utf8')) as Profile;
  Object.assign(profile.devices.C0 as object, { imported: true });
  Object.assign(profile.devices.C1 as object, { slowdown: 2, emulated: true });
  await writeFile(file, JSON.stringify(profile));
  return path;
}

async function faultsOf(made: Promise<unknown>): Promise<string[]> {
  const error = await made.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof InputError)) throw new Error('no InputError was thrown');
  return error.faults.map(({ message }) => message.replace(/;.*/, ''));
}

describe('Imported and emulated figures', () => {
  inWholeRun(
    'are reported in the notes of a plan, and of its baselines, simulations and sweeps',
    async () => {
      const output = join(folder, 'plan.json');
      const solved = await solveSpec(spec, { output });
      const notes = solved.outcome === 'plan' ? solved.plan.notes : undefined;
      expect(notes).toEqual([expect.stringContaining('(2× slower)'), expect.stringContaining(IMPORTED)]);
      const written = JSON.parse(await readFile(output, 'utf8')) as PooledPlan;
      expect(written.notes).toEqual(notes);
      const baseline = await solveSpec(spec, { baseline: 'dart-r' });
      expect(baseline.outcome === 'plan' && baseline.plan.notes).toEqual(notes);
      expect((await simulatePlan(output, { duration: 0.1 })).report.notes).toEqual(notes);
      expect((await sweepPlan(output, { sweep: 'load=0.5', duration: 0.1 })).notes).toEqual(notes);
    },
  );

  it('are refused with strictProfile, all of them at once', async () => {
    expect(await faultsOf(solveSpec(spec, { strictProfile: true }))).toEqual([
      'was imported from the files of another tool',
      'is an emulated device (2× slower)',
    ]);
  });

  inWholeRun('are reported and refused by a comparison only where a mix has such a class', async () => {
    const asked = { threads: 1, strictProfile: true };
    expect(await faultsOf(compareSpec(spec, { ...asked, mixes: ['C0=1', 'C0=2'] }))).toEqual([
      'was imported from the files of another tool',
    ]);
    const both = { mixes: ['C0=1', 'C1=2'], threads: 1 };
    expect(await faultsOf(compareSpec(spec, { ...both, strictProfile: true }))).toHaveLength(2);
    expect((await compareSpec(spec, both)).document.notes).toHaveLength(2);
    expect((await compareSpec(spec, { ...both, mixes: ['C1=1'] })).document.notes).toHaveLength(1);
  });
});
