import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { parseArtifact, sha256OfFile } from '../../src/artifacts/index.js';
import type { Profile } from '../../src/formats/index.js';
import { inWholeRun, WHOLE } from '../cases.js';
import * as w from '../onnx/writer.js';
import { plan, type Ran } from './plan.js';

let folder: string;
const at = (file: string): string => join(folder, file);
const run = (...args: string[]): Promise<Ran> => plan(args, { cwd: folder });
const save = (file: string, profile: object): Promise<void> => writeFile(at(file), JSON.stringify(profile));

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-cli-init-'));
  const graph = w.graph({
    nodes: [w.node('Relu', ['x'], ['y'])],
    inputs: [w.value('x', w.FLOAT, ['batch', 4])],
    outputs: [w.value('y', w.FLOAT, ['batch', 4])],
  });
  await writeFile(at('m.onnx'), w.model(graph));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

beforeEach(async () => {
  for (const file of await readdir(folder)) if (file !== 'm.onnx') await rm(at(file), { recursive: true });
  await save('p.json', profileOf('p'));
});

function profileOf(name: string, more: Partial<Profile> = {}, row: (number | null)[] = [900, 1100]): Profile {
  return {
    kind: 'profile',
    version: '1.0',
    model: { name },
    blocks: [{ cutBytes: 30 }, { cutBytes: 4 }],
    devices: { L4: { blockLatencyUs: { 1: { 1: row } } } },
    ...more,
  };
}

describe('plan init', () => {
  it('writes a spec that plan solve plans as it stands, and says how to go on', async () => {
    const { code, stdout, stderr } = await run('init', 'p.json', '-o', 'spec.yaml');
    expect([code, stderr]).toEqual([0, 'next: plan solve spec.yaml -o plan.json\n']);
    expect(stdout).toMatch(/^p +10 +5 × 2.00 ms on L4 \(sum of the blocks, batch 1\)$/m);
    expect(stdout).toMatch(/^L4 +1 +1\/1$/m);
    expect(stdout).toMatch(/^spec: spec\.yaml$/m);
    expect(await run('solve', 'spec.yaml', '-o', 'plan.json')).toMatchObject({ code: 0 });
    expect(await run('validate', 'spec.yaml')).toMatchObject({ code: 0 });
  });

  it('prints the same spec with -o -, and as JSON with --json', async () => {
    await run('init', 'p.json', '-o', 'spec.yaml', '--slo', '12.5');
    const written = await readFile(at('spec.yaml'), 'utf8');
    const printed = await run('init', 'p.json', '-o', '-', '--slo', '12.5');
    expect(printed).toMatchObject({ code: 0, stdout: written, stderr: expect.stringContaining('as given') });
    const json = await run('init', 'p.json', '-o', 'again.yaml', '--slo', '12.5', '--json');
    await save('spec.json', JSON.parse(json.stdout));
    expect(await run('validate', 'spec.json')).toMatchObject({ code: 0 });
    expect(JSON.parse(json.stdout)).toMatchObject({
      $schema: expect.stringContaining('pooled'),
      kind: 'pooled',
      version: '1.0',
      models: [{ sloMs: 12.5 }],
    });
  });

  it('replaces a file only with --force', async () => {
    const args = ['init', 'p.json', '-o', 'spec.yaml', '--cluster', 'cluster.yaml'];
    await writeFile(at('spec.yaml'), 'mine');
    await writeFile(at('cluster.yaml'), 'mine too');
    const refused = await run(...args);
    expect(refused.code).toBe(2);
    for (const [option, file] of [
      ['--output', 'spec'],
      ['--cluster', 'cluster'],
    ])
      expect(refused.stderr).toContain(
        `${option}: ${file}.yaml exists already, and its contents would be lost; --force replaces it`,
      );
    expect(await readFile(at('spec.yaml'), 'utf8')).toBe('mine');
    expect(await run(...args, '--force')).toMatchObject({ code: 0 });
    expect(await readFile(at('spec.yaml'), 'utf8')).toContain('cluster: cluster.yaml');
    expect(await readFile(at('cluster.yaml'), 'utf8')).toContain('kind: cluster');
  });

  it('replaces no profile, even with --force', async () => {
    await save('p.yaml', profileOf('p'));
    const before = await readFile(at('p.yaml'), 'utf8');
    const { code, stderr } = await run('init', 'p.yaml', '-o', 'p.yaml', '--force');
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining('--output: p.yaml is a profile of the spec, an input'),
    ]);
    expect(await readFile(at('p.yaml'), 'utf8')).toBe(before);
  });

  it('names the profile that a model needs and the command that makes it, and uses it once it is there', async () => {
    const missing = await run('init', 'm.onnx', '-o', 'spec.yaml');
    expect(missing.code).toBe(7);
    expect(missing.stderr).toContain('m.onnx: is a model; a spec is made from its profile m.profile.json');
    expect(missing.stderr).toContain('plan profile m.onnx -o m.profile.json');
    await save('m.profile.json', profileOf('m', { model: { name: 'm', sha256: '0'.repeat(64) } }));
    const other = await run('init', 'm.onnx', '-o', 'spec.yaml');
    expect([other.code, other.stderr]).toEqual([
      2,
      expect.stringContaining('a profile of another version of this model'),
    ]);
    const sha256 = await sha256OfFile(at('m.onnx'));
    await save('m.profile.json', profileOf('m', { model: { name: 'm', sha256 } }));
    expect(await run('init', 'm.onnx', '-o', 'spec.yaml')).toMatchObject({ code: 0 });
    expect(await readFile(at('spec.yaml'), 'utf8')).toContain('profile: m.profile.json');
  });

  it('reports every fault of profiles and options at once, and writes nothing', async () => {
    await save('same.json', profileOf('p'));
    await save(
      'empty.json',
      profileOf('empty', { devices: { T4: { blockLatencyUs: {}, layerLatencyUs: { 1: { 1: [1, 1] } } } } }),
    );
    await save(
      'sizes.json',
      profileOf('sizes', { devices: { L4: { blockLatencyUs: { 2: { 1: [1, 1] } } } } }),
    );
    const files = ['p.json', 'same.json', 'empty.json', 'sizes.json'];
    const { code, stderr } = await run('init', ...files, '-o', 'spec.json', '--cluster', 'spec.json');
    expect(code).toBe(2);
    for (const said of [
      '--output: spec.json would hold YAML; name a file that ends in .yaml or .yml',
      '--cluster: spec.json is named for two outputs',
      'same.json: is of the model p, as is p.json: merge them with plan profile merge',
      'empty.json: has no latencies',
      'class L4: the profiles have no virtual size of it in common',
    ])
      expect(stderr).toContain(said);
    expect(await readdir(folder)).not.toContain('spec.json');
    const unread = await run('init', 'none.json', 'm.onnx', 'p.json', '-o', 'spec.yaml');
    expect(unread.code).toBe(7);
    for (const said of ['none.json: there is no such file', 'm.onnx: is a model'])
      expect(unread.stderr).toContain(said);
  });

  it('refuses a profile that is not complete', async () => {
    await save('part.json', profileOf('part', { measurement: { complete: false } }, [900, null]));
    await save('ok.json', profileOf('ok', { devices: { L4: { blockLatencyUs: { 1: { 1: [1, 1] } } } } }));
    const { code, stderr } = await run('init', 'part.json', 'ok.json', '--slo', '5', '-o', 'spec.yaml');
    expect(code).toBe(2);
    expect(stderr).toContain('part.json#/devices/L4/blockLatencyUs/1/1/1: was not measured (null)');
    expect(stderr).toContain('--resume');
    expect(await readdir(folder)).not.toContain('spec.yaml');
  });
});

describe('plan init --example', () => {
  it.each(['pooled', 'pipeline', 'cascade', 'workflow'])(
    'writes the example %s, which validates and solves',
    async (name) => {
      const { code, stderr } = await run('init', '--example', name);
      expect([code, stderr]).toEqual([0, `next: plan solve ${name}/spec.yaml -o plan.json\n`]);
      expect(await readdir(at(name))).not.toContain('expected-plan.json');
      expect(await run('validate', `${name}/spec.yaml`)).toMatchObject({ code: 0 });
      if (WHOLE || name === 'pooled' || name === 'pipeline')
        expect(await run('solve', `${name}/spec.yaml`, '-o', 'plan.json')).toMatchObject({ code: 0 });
      expect(await readFile(at(`${name}/spec.yaml`), 'utf8')).not.toContain('../../schemas');
    },
  );

  it('prints what it wrote as a document of a kind with --json', async () => {
    const { stdout } = await run('init', '--example', 'pooled', '-o', 'told', '--json');
    const { folder: told, files } = parseArtifact(stdout, 'answer', ['example']).value;
    expect([told, files]).toEqual(['told', expect.arrayContaining(['spec.yaml'])]);
  });

  it('replaces no file of anybody, nor with --force', async () => {
    await mkdir(at('mine'));
    await writeFile(at('mine/spec.yaml'), 'mine');
    for (const more of [[], ['--force']])
      expect(await run('init', '--example', 'pooled', '-o', 'mine', ...more)).toMatchObject({ code: 2 });
    expect(await readFile(at('mine/spec.yaml'), 'utf8')).toBe('mine');
    expect(await readdir(at('mine'))).toEqual(['spec.yaml']);
  });

  it('refuses what is for specs that are begun from profiles, all at once', async () => {
    const { code, stderr } = await run('init', 'p.json', '--example', 'pooled', '--slo', '5', '-o', '-');
    expect(code).toBe(2);
    for (const said of ['p.json: is a profile', '--slo: is for specs', '--output: is stdout'])
      expect(stderr).toContain(said);
    const none = await run('init');
    expect([none.code, none.stderr]).toEqual([2, expect.stringContaining('--example pooled')]);
  });
});

describe('plan init --kind pipeline', () => {
  it('begins a spec whose stages follow one another, and which is planned as it stands', async () => {
    await save('q.json', profileOf('q: 2'));
    const { code, stdout } = await run('init', '--kind', 'pipeline', 'p.json', 'q.json', '-o', 'spec.yaml');
    expect([code, stdout]).toEqual([0, expect.stringContaining('SLO 20 ms: the sum of these')]);
    const spec = parse(await readFile(at('spec.yaml'), 'utf8'));
    expect(spec.stages).toEqual([
      { name: 'p', profile: 'p.json', next: ['q--2'] },
      { name: 'q--2', profile: 'q.json' },
    ]);
    const solved = WHOLE ? 'solve' : 'validate';
    expect(await run(solved, 'spec.yaml', ...(WHOLE ? ['-o', 'plan.json'] : []))).toMatchObject({ code: 0 });
    expect(await run('init', '--kind', 'pipeline', 'p.json', '--slo', '9', '-o', 'one.yaml')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('SLO 9 ms: as given'),
    });
  });

  it('leaves stages apart whose tensors do not fit in a row, and says so', async () => {
    const tensor = (name: string) => ({ name, dtype: 'float32', shape: [1, 4], batchAxis: 0 });
    for (const [name, from, to] of [
      ['a', 'x', 'y'],
      ['b', 'z', 'w'],
    ] as const)
      await save(
        `${name}.json`,
        profileOf(name, {
          model: { name, inputs: [tensor(from)], outputs: [tensor(to)] } as Profile['model'],
        }),
      );
    const { code, stderr } = await run('init', '--kind', 'pipeline', 'a.json', 'b.json', '-o', 'spec.yaml');
    expect([code, stderr]).toEqual([0, expect.stringContaining('do not fit in a row')]);
    expect(parse(await readFile(at('spec.yaml'), 'utf8')).stages).toEqual([
      { name: 'a', profile: 'a.json' },
      { name: 'b', profile: 'b.json' },
    ]);
  });

  it.each(['pipeline', 'cascade', 'workflow'] as const)(
    'writes options of a %s, each of which can be set, and names every field',
    async (kind) => {
      await run('init', '--kind', kind, 'p.json', '--cluster', 'cluster.yaml', '-o', 'spec.yaml');
      const lines = (await readFile(at('spec.yaml'), 'utf8')).split('\n');
      const options = lines.flatMap((line, i) => (/^ *#(?! )/.test(line) ? [i] : []));
      expect(options.length).toBeGreaterThanOrEqual(8);
      for (const option of options) {
        const set = lines.map((line, i) => (i === option ? line.replace('#', '') : line)).join('\n');
        expect(() => parseArtifact(set, 'spec.yaml', [kind])).not.toThrow();
        await writeFile(at('set.yaml'), set);
        if (kind !== 'pipeline') continue;
        expect(await run('validate', 'set.yaml')).toMatchObject({ code: 0 });
      }
      const schema = JSON.parse(
        await readFile(new URL(`../../schemas/${kind}.schema.json`, import.meta.url), 'utf8'),
      );
      const fields = [
        schema,
        ...Object.values(schema.definitions),
        ...Object.values(schema.properties),
      ].flatMap((one) => Object.keys((one as { properties?: object }).properties ?? {}));
      const told = lines.join('\n');
      for (const field of fields.filter((name) => name !== '$schema'))
        expect(told).toMatch(new RegExp(`\\b${field}\\b`));
    },
  );
});

describe('plan init --kind cascade', () => {
  inWholeRun('begins a spec of records that are there, which is planned as it stands', async () => {
    await run('init', '--example', 'cascade');
    const profiles = ['tiny', 'base', 'large'].map((name) => `cascade/${name}.profile.json`);
    const args = [
      'init',
      ...profiles,
      '--kind',
      'cascade',
      '--records',
      'cascade/records.csv',
      '-o',
      'spec.yaml',
    ];
    const { code, stdout } = await run(...args);
    expect([code, stdout]).toEqual([0, expect.stringContaining('SLO 35.2 ms: the largest of these')]);
    expect(await run('solve', 'spec.yaml', '-o', 'plan.json')).toMatchObject({ code: 0 });
    await save('other.json', profileOf('other'));
    const other = await run(
      'init',
      'other.json',
      '--kind',
      'cascade',
      '--records',
      'cascade/records.csv',
      '-o',
      'o.yaml',
    );
    expect([other.code, other.stderr]).toEqual([2, expect.stringContaining('other')]);
    expect(await readdir(folder)).not.toContain('o.yaml');
  });

  it('says how records are made where there are none', async () => {
    const { code, stderr } = await run('init', 'p.json', '--kind', 'cascade', '-o', 'spec.yaml');
    expect(code).toBe(0);
    expect(stderr).toContain('next: plan profile spec.yaml --samples');
    const refused = await run('init', 'p.json', '--records', 'r.csv', '-o', 'other.yaml');
    expect([refused.code, refused.stderr]).toEqual([
      2,
      expect.stringContaining('--records: is for cascades'),
    ]);
  });
});

describe('plan init --kind workflow', () => {
  inWholeRun(
    'begins a spec that calls the models one after another, and which is planned as it stands',
    async () => {
      await save('q.json', profileOf('q: 2'));
      const { code, stdout, stderr } = await run(
        ...['init', '--kind', 'workflow', 'p.json', 'q.json', '--cluster', 'cluster.yaml', '-o', 'spec.yaml'],
      );
      expect([code, stdout]).toEqual([0, expect.stringContaining('SLO 20 ms: the sum of these')]);
      expect(stderr).toContain('say what yours does, by chain, runs or program');
      const [{ chain, sloMs }] = parse(await readFile(at('spec.yaml'), 'utf8')).workflows;
      expect(sloMs).toBe(20);
      expect(chain.steps).toEqual([
        { name: 'p', calls: [{ component: 'p', inputs: ['request'], outputBytes: 4 }], next: 'q--2' },
        { name: 'q--2', calls: [{ component: 'q--2', inputs: ['p'], outputBytes: 4 }] },
      ]);
      expect(await run('solve', 'spec.yaml', '-o', 'plan.json')).toMatchObject({ code: 0 });
      expect(await run('validate', 'plan.json')).toMatchObject({ code: 0 });
    },
  );

  it('proposes what components take whose weights no profile reports, and takes the weights of others', async () => {
    const heavy = { blocks: [2, 1].map((gib) => ({ cutBytes: 8, weightBytes: gib * 2 ** 30 })) };
    await save('heavy.json', profileOf('heavy', heavy));
    await run('init', '--kind', 'workflow', 'p.json', 'heavy.json', '-o', 'spec.yaml');
    const { components, cluster } = parse(await readFile(at('spec.yaml'), 'utf8'));
    expect(components.map(({ memoryGiB }: { memoryGiB?: number }) => memoryGiB)).toEqual([1, undefined]);
    // Twice the 3 GiB of one and the 1 GiB that is proposed for the other.
    for (const { memoryGiB } of Object.values(cluster.devices) as { memoryGiB: number }[])
      expect(memoryGiB).toBe(8);
    if (!WHOLE) return;
    expect(await run('solve', 'spec.yaml', '-o', 'plan.json')).toMatchObject({ code: 0 });
    // A device of the proposed memory holds all components, as the spec says.
    const { placement } = JSON.parse(await readFile(at('plan.json'), 'utf8'));
    for (const { holds } of placement as { holds: string[] }[]) expect(holds.sort()).toEqual(['heavy', 'p']);
  });

  inWholeRun('writes options with which, all together, the spec is planned', async () => {
    await save(
      'heavy.json',
      profileOf('heavy', { blocks: [1, 2].map(() => ({ cutBytes: 8, weightBytes: 1e6 })) }),
    );
    await run('init', '--kind', 'workflow', 'heavy.json', '-o', 'spec.yaml');
    const text = await readFile(at('spec.yaml'), 'utf8');
    const set = text.replaceAll(/^( *)#(?! )/gm, '$1');
    await writeFile(at('set.yaml'), set);
    expect(await run('solve', 'set.yaml', '-o', 'plan.json')).toMatchObject({ code: 0 });
    const { serving, attainment } = JSON.parse(await readFile(at('plan.json'), 'utf8'));
    expect([serving, attainment]).toEqual([{ scheduler: 'greedy' }, 0.99]);
  });
});
