import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { validateFiles } from '../../src/api/index.js';
import { InputError } from '../../src/formats/index.js';
import { compareSpec, solveSpec } from '../../src/specs/index.js';

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
  return error.faults.map(({ path, message }) =>
    `${path} ${message}`.replaceAll(/\S*\/inferplan-every-fault-\w+\//g, ''),
  );
}

const SPEC = `kind: pooled
cluster: ${POOLED}/cluster.yaml
models:
  - { profile: ${POOLED}/detector.profile.json, sloMs: 120, wieght: 2 }
  - { profile: gone.json, sloMs: 120 }
`;

it('solveSpec() reports unknown keys, missing files and wrong options in one round', async () => {
  await writeFile(at('spec.yaml'), SPEC);
  const faults = await faultsOf(solveSpec(at('spec.yaml'), { baseline: 'dart-r', explain: true }));
  expect(faults).toEqual([
    expect.stringContaining("explains the planner's own plan"),
    expect.stringMatching(/^spec\.yaml \/models\/0 has an unknown key "wieght".*\(line 4, column \d+\)$/),
    expect.stringContaining('gone.json there is no such file'),
  ]);
});

it('validateFiles() reports the same of a spec, also where a required value is wrong', async () => {
  await writeFile(at('spec.yaml'), SPEC);
  const [checked] = await validateFiles([at('spec.yaml')]);
  const said = JSON.stringify(checked);
  expect(said).toContain('wieght');
  expect(said).toContain('gone.json');
  await writeFile(at('spec.yaml'), SPEC.replace('sloMs: 120, wieght: 2', 'sloMs: fast'));
  expect(await faultsOf(solveSpec(at('spec.yaml')))).toEqual([
    expect.stringContaining('/models/0/sloMs'),
    'gone.json there is no such file',
  ]);
});

describe('a required value that is wrong', () => {
  const PIPELINE = new URL('../../examples/pipeline', import.meta.url).pathname;
  const CASCADE = new URL('../../examples/cascade', import.meta.url).pathname;

  /** A spec of the examples with its files where they lie, and some of its text replaced. */
  async function written(from: string, ...changes: readonly (readonly [string, string])[]): Promise<string> {
    const text = await readFile(join(from, 'spec.yaml'), 'utf8');
    const absolute = text.replaceAll(
      /(: )([a-z]+\.(?:profile\.json|csv)|cluster\.yaml)/g,
      (_, colon, file) => `${colon}${from}/${file}`,
    );
    const changed = changes.reduce((all, [before, after]) => {
      expect(all).toContain(before);
      return all.replace(before, after);
    }, absolute);
    await writeFile(at('spec.yaml'), changed);
    return at('spec.yaml');
  }

  it('does not hide missing files and what is wrong elsewhere in a pooled spec', async () => {
    const spec = await written(
      POOLED,
      ['sloMs: 120, weight: 2', 'sloMs: -1'],
      [', sloMs: 200', ''],
      [`${POOLED}/segmenter`, 'gone'],
    );
    await writeFile(spec, `${await readFile(spec, 'utf8')}serving: { scheduler: best }\n`);
    const wanted = [
      expect.stringMatching(/^spec\.yaml \/models\/0\/sloMs is -1; it must be above 0 \(line \d+/),
      expect.stringMatching(/^spec\.yaml \/models\/1 lacks "sloMs" \(line \d+/),
      expect.stringMatching(/^gone\.profile\.json there is no such file/),
      expect.stringMatching(/^spec\.yaml \/serving\/scheduler is "best"/),
    ];
    expect(await faultsOf(solveSpec(spec))).toEqual(wanted);
    expect(new Set(await faultsOf(compareSpec(spec, { sweeps: ['margin=0..0.5'] })))).toEqual(
      new Set(wanted),
    );
    const [checked] = await validateFiles([spec]);
    expect(checked).toMatchObject({ ok: false, faults: wanted.map(() => expect.anything()) });
  });

  it('says nothing that follows from what stands in for it', async () => {
    const [slo, wrongSlo] = [
      /^spec\.yaml \/sloMs is [^;]*; it must be a number/,
      ['sloMs: 100', 'sloMs: fast'],
    ] as const;
    expect(await faultsOf(solveSpec(await written(PIPELINE, wrongSlo)))).toEqual([
      expect.stringMatching(/\/sloMs/),
    ]);
    // The load is needed, and its rate decides whether the given replicas suffice.
    const load = await written(
      PIPELINE,
      wrongSlo,
      ['rps: 600', 'rps: many'],
      ['device: T4, batch', 'device: X4, batch'],
    );
    expect(await faultsOf(solveSpec(load))).toEqual([
      expect.stringMatching(slo),
      expect.stringMatching(/^spec\.yaml \/load\/rps is [^;]*; it must be a number/),
      expect.stringMatching(/^spec\.yaml \/stages\/1\/device is X4, which is no class of the cluster/),
      expect.stringMatching(/^spec\.yaml \/stages\/1\/device is X4, which the profile .* lacks/),
    ]);
    // Nothing leads to a stage whose name is lost, and edges to it seem to lead nowhere.
    const named = await written(PIPELINE, ['name: plate', 'nmae: plate'], [`${PIPELINE}/face`, 'gone']);
    expect(await faultsOf(solveSpec(named))).toEqual([
      expect.stringMatching(/\/stages\/2 lacks "name"/),
      expect.stringMatching(/\/stages\/2 has an unknown key "nmae"/),
      'gone.profile.json there is no such file',
    ]);
  });

  it('does not hide what is wrong in a cascade', async () => {
    const spec = await written(
      CASCADE,
      ['maxRps: 900', 'maxRps: 0'],
      ['{ latencyMs: 60 }', '{}'],
      [`${CASCADE}/records`, 'gone'],
    );
    expect(await faultsOf(solveSpec(spec, { baseline: 'dart-r' }))).toEqual([
      expect.stringMatching(/\/slo has no keys; it must have at least 1/),
      expect.stringMatching(/\/load\/maxRps is 0; it must be above 0/),
      expect.stringMatching(/^`baseline` is not for specs of kind cascade/),
      'gone.csv there is no such file',
    ]);
  });
});

describe('options', () => {
  it('that the kind refuses are reported with missing files, in every command that plans', async () => {
    await writeFile(at('spec.yaml'), SPEC.replace(', wieght: 2', ''));
    expect(await faultsOf(solveSpec(at('spec.yaml'), { frontier: true }))).toEqual([
      '`frontier` is for specs of kind cascade',
      'gone.json there is no such file',
    ]);
    expect(
      await faultsOf(
        compareSpec(at('spec.yaml'), { sweeps: ['slo=3..5', 'x'], mixes: ['L4=x'], output: 'x.txt' }),
      ),
    ).toEqual([
      expect.stringContaining('its name ends in neither .json nor .csv'),
      expect.stringContaining('gone.json there is no such file'),
      expect.stringContaining('is not class=count'),
      expect.stringContaining('needs a unit'),
      expect.stringContaining('is not a sweep'),
    ]);
  });

  it('that name a class which the cluster has not are reported with values that are wrong', async () => {
    await writeFile(
      at('spec.yaml'),
      SPEC.replace(', wieght: 2', '')
        .replace(/sloMs: \d+/, 'sloMs: -1')
        .replace(/ {2}- \{ profile: gone.*\n/, ''),
    );
    const faults = await faultsOf(compareSpec(at('spec.yaml'), { mixes: ['X=1'] }));
    expect(faults).toContainEqual(expect.stringContaining('the cluster has no class X'));
    expect(faults).toContainEqual(expect.stringContaining('/sloMs'));
  });

  it('that do not go with the spec are reported with what is wrong in it and with mixes', async () => {
    await writeFile(
      at('spec.yaml'),
      SPEC.replace(', wieght: 2', '').replace(
        / {2}- \{ profile: gone.*\n/,
        'planner: { granularity: layer }\n',
      ),
    );
    await expect(
      faultsOf(solveSpec(at('spec.yaml'), { measure: true, hold: 0.9, explain: true })),
    ).resolves.toEqual([
      expect.stringContaining('it explains a plan of one margin'),
      expect.stringContaining('is for plans of blocks'),
      ...(await faultsOf(solveSpec(at('spec.yaml')))),
    ]);
    const compared = await faultsOf(
      compareSpec(at('spec.yaml'), { mixes: ['H100=3'], sweeps: ['margin=0..0.5'] }),
    );
    expect(compared).toEqual([
      expect.stringContaining('the cluster has no class H100'),
      ...(await faultsOf(compareSpec(at('spec.yaml'), { mixes: ['L4=3'] }))),
    ]);
  });
});
