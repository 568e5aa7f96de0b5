import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Profile, sha256OfFile } from '../../src/artifacts/index.js';
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
  for (const file of await readdir(folder)) if (file !== 'm.onnx') await rm(at(file));
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
      ...{ $schema: expect.stringContaining('pooled'), kind: 'pooled', version: '1.0' },
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
    await save('empty.json', profileOf('empty', { devices: { T4: { blockLatencyUs: {} } } }));
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
