import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { simulatePlan, sweepPlan } from '../../../src/api/index.js';
import { InputError, type PipelineSpec, type Profile } from '../../../src/formats/index.js';
import { compareSpec, solveSpec, solveTogether } from '../../../src/specs/index.js';
import { writeFamily } from '../../cascade-specs.js';
import { inWholeRun } from '../../cases.js';

const EXAMPLE = new URL('../../../examples/pipeline', import.meta.url).pathname;
const UNFIT = 'is unfit: 3 runs came within 9 ms, 10 are wanted';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-marked-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const at = (name: string): string => join(folder, name);

async function mark(file: string, change: (profile: Profile) => void): Promise<void> {
  const profile = JSON.parse(await readFile(at(file), 'utf8')) as Profile;
  change(profile);
  await writeFile(at(file), JSON.stringify(profile));
}

async function faultsOf(made: Promise<unknown>): Promise<string[]> {
  const error = await made.catch((thrown: unknown) => thrown);
  if (!(error instanceof InputError)) throw new Error(`no InputError: ${String(error)}`);
  return error.faults.map(({ path = '', message }) =>
    `${path.replace(/^[^#]*\//, '')} ${message}`.replace(/[;,].*/, ''),
  );
}

/** notesOf are the notes of a plan that is written to plan.json, without those on other things. */
async function notesOf(spec: string): Promise<readonly string[]> {
  const solved = await solveSpec(spec, { output: at('plan.json') });
  if (!('plan' in solved)) throw new Error(solved.outcome);
  expect(solved.warnings).toEqual(solved.plan.notes ?? []);
  return onFigures(solved.plan.notes);
}

function onFigures(notes: readonly string[] = []): readonly string[] {
  return notes.filter((note) => /figures/.test(note));
}

async function expectToTravel(notes: readonly string[]): Promise<void> {
  const { report } = await simulatePlan(at('plan.json'), { duration: 0.1 });
  expect(onFigures(report.notes)).toEqual(notes);
  const sweep = await sweepPlan(at('plan.json'), { sweep: 'load=0.5', duration: 0.1 });
  expect(onFigures(sweep.notes)).toEqual(notes);
}

describe('Marked figures of a cascade', () => {
  let spec: string;
  beforeEach(async () => {
    spec = await writeFamily(folder, { planner: { method: 'ms+' } });
    await mark('small.json', ({ devices }) => Object.assign(devices.V100!, { imported: true }));
    await mark('middle.json', ({ devices }) =>
      Object.assign(devices.V100!, { slowdown: 20, emulated: true }),
    );
    await mark('large.json', (profile) => {
      profile.measurement = { warnings: [2, 8].map((batch) => `V100 1/1 batch ${batch} block 0 ${UNFIT}`) };
    });
  });

  inWholeRun(
    'are reported of the models that its plan uses, in reports, sweeps and comparisons too',
    async () => {
      // The plan does not use the small model.
      const notes = [
        'middle: its figures of V100 (20× slower) were measured on an emulated device',
        'large: its profile calls figures unfit that the plan could use: V100 1/1 batch 2',
      ];
      expect(await notesOf(spec)).toEqual(notes);
      await expectToTravel(notes);
      const { document } = await compareSpec(spec, { mixes: ['V100=2'], threads: 1 });
      expect(document.notes).toEqual(notes);
    },
  );

  it('are refused with strictProfile, all at once, of every model that could be used', async () => {
    const faults = [
      'small.json#/devices/V100 was imported from the files of another tool',
      'middle.json#/devices/V100 is an emulated device (20× slower)',
      'large.json#/devices/V100 has unfit figures at 1/1 batch 2',
    ];
    expect(await faultsOf(solveSpec(spec, { strictProfile: true }))).toEqual(faults);
    const asked = { mixes: ['V100=1', 'V100=2'], threads: 1, strictProfile: true };
    expect(await faultsOf(compareSpec(spec, asked))).toEqual(faults);
  });
});

describe('Marked figures of a pipeline', () => {
  beforeEach(async () => {
    await cp(EXAMPLE, folder, { recursive: true });
    await mark('detect.profile.json', ({ devices }) =>
      Object.assign(devices.L4!, { slowdown: 2, emulated: true }),
    );
    await mark('face.profile.json', ({ devices }) => Object.assign(devices.T4!, { imported: true }));
  });

  /** openSpec leaves all to the planner. */
  async function openSpec(name = 'open'): Promise<string> {
    const spec = parse(await readFile(join(EXAMPLE, 'spec.yaml'), 'utf8')) as PipelineSpec;
    delete spec.shared;
    for (const stage of spec.stages)
      for (const key of ['device', 'batch', 'replicas', 'standby'] as const) delete stage[key];
    const load = { arrivals: 'gamma' as const, rps: 300, cv: 2, duration: '2s' };
    const planner = { method: 'inferline' as const };
    await writeFile(at(`${name}.yaml`), stringify({ ...spec, name, planner, load }));
    return at(`${name}.yaml`);
  }

  const FAULTS = [
    'detect.profile.json#/devices/L4 is an emulated device (2× slower)',
    'face.profile.json#/devices/T4 was imported from the files of another tool',
  ];

  it('are reported of the classes that its stages have, in reports and sweeps too', async () => {
    const spec = parse(await readFile(at('spec.yaml'), 'utf8')) as PipelineSpec;
    const notes = await notesOf(at('spec.yaml'));
    const plan = JSON.parse(await readFile(at('plan.json'), 'utf8'));
    const classOf = (name: string) => plan.stages.find((one: { name: string }) => one.name === name).device;
    expect(spec.planner?.method).toBe('given');
    expect(notes).toEqual([
      ...(classOf('detect') === 'L4'
        ? ['detect: its figures of L4 (2× slower) were measured on an emulated device']
        : []),
      ...(classOf('face') === 'T4'
        ? ['face: its figures of T4 were imported, so nothing says how they were measured']
        : []),
    ]);
    expect(notes.length).toBeGreaterThan(0);
    await expectToTravel(notes);
    expect((await faultsOf(solveSpec(at('spec.yaml'), { strictProfile: true }))).length).toBe(notes.length);
  });

  inWholeRun(
    'are refused with strictProfile where they could be used, and not where a mix leaves the class out',
    async () => {
      const spec = await openSpec();
      expect(await faultsOf(solveSpec(spec, { strictProfile: true }))).toEqual(FAULTS);
      const asked = { threads: 1, strictProfile: true };
      expect(await faultsOf(compareSpec(spec, { ...asked, mixes: ['T4=12', 'L4=8,T4=12'] }))).toEqual(FAULTS);
      expect(await faultsOf(compareSpec(spec, { ...asked, mixes: ['T4=12'] }))).toEqual([FAULTS[1]]);
      const { document } = await compareSpec(spec, { threads: 1, mixes: ['T4=12'] });
      if (document.rows[0]?.status !== 'infeasible') expect(onFigures(document.notes)).toHaveLength(1);
    },
  );

  it('are refused once for pipelines that are planned together', async () => {
    const specs = [await openSpec('a'), await openSpec('b')];
    expect(await faultsOf(solveTogether(specs, { strictProfile: true }))).toEqual(FAULTS);
  });
});
