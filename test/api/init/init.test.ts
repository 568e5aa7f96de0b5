import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { initSpec } from '../../../src/api/index.js';
import { loadArtifact, parseArtifact, schemaText } from '../../../src/artifacts/index.js';
import { checkPlan } from '../../../src/checks/index.js';
import { harmless, harmlessLine } from '../../../src/cli/harmless.js';
import type { Cluster, DeviceProfile, Loaded, PooledSpec, Profile } from '../../../src/formats/index.js';
import { type HighsEngine, loadHighs } from '../../../src/lp/index.js';
import { type PooledOutcome, planPooled, resolvePooled } from '../../../src/milp/index.js';
import { inWholeRunOnly } from '../../cases.js';

let folder: string;
let highs: HighsEngine;
const at = (file: string): string => join(folder, file);
const save = (file: string, profile: object): Promise<void> => writeFile(at(file), JSON.stringify(profile));

beforeAll(async () => {
  highs = await loadHighs();
  folder = await mkdtemp(join(tmpdir(), 'inferplan-init-'));
  await save('one.json', profileOf('one', { L4: device([900, 1100]), cpu: device([4000, 4200]) }));
  await save('two.json', profileOf('two', { cpu: device([5000, 5000]), L4: device([2500, 2600], 6900) }));
  await save(
    'odd.json',
    profileOf('odd\n#weight: 3', { 'slow: {x}\n"y"': device([10, 10]), true: device([9, 9]) }),
  );
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** The device has sizes 1 and 2 and batches 1 and 2. `wholeUs` is the whole model's latency at size 1, batch 1. */
function device(blocks: number[], wholeUs?: number): DeviceProfile {
  const times = (factor: number) => blocks.map((us) => factor * us);
  return {
    blockLatencyUs: { 1: { 1: times(1), 2: times(1.6) }, 2: { 1: times(2.1), 2: times(3) } },
    ...(wholeUs === undefined ? {} : { wholeLatencyUs: { 1: { 1: wholeUs } } }),
  };
}

function profileOf(name: string, devices: Profile['devices']): Profile {
  const blocks = [{ cutBytes: 3000 }, { cutBytes: 40 }];
  return { kind: 'profile', version: '1.0', model: { name }, blocks, devices };
}

/** planned reads a spec's text as `plan solve` does, and solves it. */
async function planned(text: string, clusterText?: string): Promise<PooledOutcome> {
  const { value: spec } = parseArtifact(text, 'spec.yaml', ['pooled']);
  const cluster =
    clusterText === undefined
      ? (spec.cluster as Cluster)
      : (parseArtifact(clusterText, 'c.yaml', ['cluster']).value as Cluster);
  const profiles: Loaded<'profile'>[] = [];
  for (const { profile } of spec.models) profiles.push(await loadArtifact(at(profile), ['profile']));
  const problem = resolvePooled(spec, {
    cluster,
    profiles: profiles.map(({ value, path }) => ({ profile: value, path })),
    where: 'spec.yaml',
  });
  const outcome = planPooled(problem, { highs });
  if ('plan' in outcome) expect(checkPlan(outcome.plan, problem)).toEqual([]);
  return outcome;
}

const begun = async (files: readonly string[], options: Partial<Parameters<typeof initSpec>[1]> = {}) => {
  const output = at(`${files.join('-')}.yaml`);
  const made = await initSpec(files.map(at), { kind: 'pooled', force: true, output, ...options });
  expect(await readFile(output, 'utf8')).toBe(made.text);
  return made;
};

/** OPTION matches a line that is commented out: a "#" with no space after it. */
const OPTION = /^( *)#(?! )(.*)$/;

/** The indices of the lines that are options. */
const optionsOf = (text: string): number[] =>
  text.split('\n').flatMap((line, i) => (OPTION.test(line) ? [i] : []));

/** set takes the "#" away from these lines. */
const set = (text: string, lines: readonly number[]): string =>
  text
    .split('\n')
    .map((line, i) => (lines.includes(i) ? line.replace(OPTION, '$1$2') : line))
    .join('\n');

describe('initSpec()', () => {
  it.each([[['one.json']], [['one.json', 'two.json']], [['odd.json']]])(
    'writes a spec of %j that is planned as it stands',
    async (files) => {
      const { text, spec, models } = await begun(files);
      const outcome = await planned(text);
      expect(outcome.status).toBe('optimal');
      expect('plan' in outcome && outcome.plan.models.map(({ name }) => name)).toEqual(
        models.map(({ name }) => name),
      );
      expect((spec as PooledSpec).models.map(({ profile }) => profile)).toEqual(files);
    },
  );

  it('escapes every character in names that a terminal or an editor would obey', async () => {
    const obeyed = Array.from({ length: 0x10000 }, (_, code) => String.fromCharCode(code)).filter(
      (character) => harmlessLine(character) !== character,
    );
    const name = `a${obeyed.join('')}é模`;
    await save('marks.json', profileOf(name, { [name]: device([10, 10]) }));
    const { text, spec } = await begun(['marks.json']);
    expect(harmless(text)).toBe(text);
    expect(text).toContain('é模');
    expect(Object.keys((spec.cluster as Cluster).devices)).toEqual([name]);
  });

  it('proposes the classes of all profiles, with one device and the sizes common to all', async () => {
    await save('small.json', {
      ...profileOf('small', { T4: device([5, 6]), L4: { blockLatencyUs: { 1: { 1: [100, 200] }, 4: {} } } }),
    });
    const { cluster } = await begun(['one.json', 'small.json', 'two.json']);
    expect(cluster.devices).toEqual({
      L4: { count: 3, virtual: [1] },
      cpu: { count: 2, virtual: [1, 2] },
      T4: { count: 1, virtual: [1, 2] },
    });
  });

  it('proposes as the SLO five times the fastest latency, of the whole model or of its blocks', async () => {
    const { models, text } = await begun(['one.json', 'two.json']);
    expect(models.map(({ sloMs }) => sloMs)).toEqual([10, 34.5]);
    expect(text).toContain(
      '5 × 2 ms, the fastest latency in its profile\n    # (sum of the blocks, batch 1, on L4)',
    );
    expect(text).toContain(
      '5 × 6.9 ms, the fastest latency in its profile\n    # (whole model, batch 1, on L4)',
    );
    // The class with the fastest whole model counts, even where another has faster blocks.
    const classes = { A: device([3000, 3200], 6000), B: device([4000, 4100], 5000) };
    await save('classes.json', profileOf('classes', classes));
    expect((await begun(['classes.json'])).models[0]).toMatchObject({
      sloMs: 25,
      from: { deviceClass: 'B' },
    });
    // Plans count the whole model as it was measured, also where its blocks take over three times as long apart.
    await save('sum.json', profileOf('sum', { L4: device([3000, 3300], 1000) }));
    const whole = await begun(['sum.json']);
    expect(whole.models[0]).toMatchObject({ sloMs: 5, from: { what: 'whole model' } });
    expect((await planned(whole.text)).status).toBe('optimal');
    const later = { L4: { blockLatencyUs: { 1: { 8: [3000, 1000], 16: [2900, 900] } } } };
    await save('fixed.json', profileOf('fixed', later));
    const fixed = await begun(['fixed.json']);
    expect(fixed.models[0]).toMatchObject({ sloMs: 20, from: { batch: 8 } });
    expect((await planned(fixed.text)).status).toBe('optimal');
  });

  it('takes a given SLO, and then gives no reason for it', async () => {
    const { spec, text } = await begun(['one.json', 'two.json'], { slo: 77 });
    expect((spec as PooledSpec).models.map(({ sloMs }) => sloMs)).toEqual([77, 77]);
    expect(text).not.toContain('proposal');
  });

  it('writes the memory of devices where the profile knows it', async () => {
    const L4 = { ...device([5, 6]), memoryBytes: 24 * 2 ** 30, emulated: true as const, slowdown: 3 };
    await save('memory.json', profileOf('memory', { L4 }));
    const { cluster, text } = await begun(['memory.json']);
    expect(cluster.devices.L4).toEqual({ count: 1, virtual: [1, 2], memoryGiB: 24 });
    expect(text).toContain('# emulated: 3 × slower');
  });

  it.each(inWholeRunOnly([[['one.json']], [['one.json', 'two.json']], [['odd.json']]]))(
    'writes options for %j, each of which can be set, alone and with the others',
    async (files) => {
      const { text } = await begun(files);
      const options = optionsOf(text);
      expect(options.length).toBeGreaterThanOrEqual(22);
      for (const line of options) {
        const changed = set(text, [line]);
        expect(changed).not.toBe(text);
        // The option has an effect: the spec says more than before.
        const before = parseArtifact(text, 's.yaml', ['pooled']).value;
        expect(parseArtifact(changed, 's.yaml', ['pooled']).value).not.toEqual(before);
        const outcome = await planned(changed);
        expect({ line: text.split('\n')[line], status: outcome.status }).toMatchObject({ status: 'optimal' });
      }
      // Two margins for one SLO are refused, as the comment says.
      const margins = options.filter((line) => /#sloMarginMs/.test(text.split('\n')[line] as string));
      const all = options.filter((line) => !margins.includes(line));
      const statusOf = async (changed: string) => (await planned(changed)).status;
      expect(await statusOf(set(text, all))).toMatch(/optimal|feasible/);
      for (const objective of ['cost', 'power'])
        expect(
          await statusOf(set(text, all).replace('objective: throughput', `objective: ${objective}`)),
        ).toMatch(/optimal|feasible/);
    },
  );

  const OF_WORKFLOWS = ['gpuLinkGbps', 'loadGBps', 'hostMemoryGiB', 'diskGBps'];

  it('names every field of the schemas', async () => {
    const { text } = await begun(['one.json']);
    const everything = set(text, optionsOf(text));
    const { value } = parseArtifact(everything.replaceAll(/^ +sloMarginMs.*\n/gm, ''), 's.yaml', [
      'pooled',
    ]) as { value: PooledSpec };
    const pooled = JSON.parse(schemaText('pooled')) as Schema;
    const cluster = JSON.parse(schemaText('cluster')) as Schema;
    const [model] = value.models;
    const { devices } = value.cluster as Cluster;
    for (const [schema, has] of [
      [pooled, value],
      [pooled.definitions.model, { ...model, sloMarginMs: 1 }],
      [pooled.definitions.planner, { ...value.planner, sloMarginMs: 1 }],
      [cluster.definitions.deviceClass, { ...devices['L4-spot'], ...devices.L4 }],
      [cluster, { ...(value.cluster as Cluster), kind: 'cluster', version: '1.0' }],
    ] as const)
      expect(Object.keys(has as object).sort()).toEqual(
        Object.keys((schema as Schema).properties)
          // Pooled plans have no standby devices, and no components to load.
          .filter((key) => !['$schema', 'activationDelayMs', ...OF_WORKFLOWS].includes(key))
          .sort(),
      );
    expect(everything.match(/^ +sloMarginMs/gm)).toHaveLength(2);
  });

  it('writes the cluster to a file of its own, with paths that lead from one file to the other', async () => {
    await mkdir(at('specs'), { recursive: true });
    const made = await initSpec([at('one.json')], {
      kind: 'pooled',
      output: at('specs/spec.yaml'),
      cluster: at('cluster.yaml'),
    });
    expect(made.spec).toMatchObject({ cluster: '../cluster.yaml', models: [{ profile: '../one.json' }] });
    const cluster = await readFile(at('cluster.yaml'), 'utf8');
    expect(parseArtifact(cluster, 'cluster.yaml', ['cluster']).value).toEqual(made.cluster);
    const text = (await readFile(at('specs/spec.yaml'), 'utf8')).replace('../one.json', 'one.json');
    expect((await planned(text, cluster)).status).toBe('optimal');
    const options = optionsOf(cluster);
    expect(options.length).toBeGreaterThanOrEqual(7);
    for (const line of options) expect((await planned(text, set(cluster, [line]))).status).toBe('optimal');
  });
});

interface Schema {
  properties: Record<string, unknown>;
  definitions: Record<string, Schema>;
}
