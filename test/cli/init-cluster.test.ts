import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { gpuNode, madeList, rayNode } from '../api/init/nodes/index.js';
import { inWholeRun } from '../cases.js';
import { plan, planProcess, type Ran } from './plan.js';

let folder: string;
const at = (file: string): string => join(folder, file);
const run = (...args: string[]): Promise<Ran> => plan(args, { cwd: folder });
const examples = new URL('../../examples/', import.meta.url);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-cli-init-cluster-'));
  await cp(new URL('nodes', examples), at('nodes'), { recursive: true });
  await cp(new URL('pooled', examples), at('pooled'), { recursive: true });
  await cp(new URL('cascade', examples), at('cascade'), { recursive: true });
  await writeFile(at('nodes.json'), JSON.stringify(madeList(gpuNode('a', 'NVIDIA-L4', { gpus: 2 }))));
  await writeFile(at('ray.json'), JSON.stringify([rayNode('a', { GPU: 2, 'accelerator_type:L4': 1 })]));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe('plan init --from-kubectl', () => {
  it('begins a cluster that a spec names, which is solved from end to end', async () => {
    const args = ['init', '--from-kubectl', 'nodes/nodes.json', '-o', 'nodes/made.yaml'];
    const { code, stdout, stderr } = await run(...args);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^class +devices +per server +GiB +virtual sizes$/m);
    expect(stdout).toMatch(/^L4 +4 +2 +22\.49 +1\/1$/m);
    expect(stdout).toMatch(/^cluster: nodes\/made\.yaml$/m);
    expect(stderr).toContain('warning: 1 node is cordoned, and is left out: p4-5\n');
    expect(stderr).toContain('warning: networkGbps is a proposal');
    expect(stderr).toMatch(
      /next: plan init model\.profile\.json --use-cluster nodes\/made\.yaml -o spec\.yaml\n$/,
    );
    expect(await run('validate', 'nodes/made.yaml')).toMatchObject({ code: 0 });
    const spec = await readFile(at('nodes/spec.yaml'), 'utf8');
    await writeFile(at('nodes/own.yaml'), spec.replace('cluster.yaml', 'made.yaml'));
    expect(await run('solve', 'nodes/own.yaml', '-o', 'plan.json')).toMatchObject({ code: 0 });
    expect(await run('validate', 'plan.json')).toMatchObject({ code: 0 });
    const { placement } = JSON.parse(await readFile(at('plan.json'), 'utf8'));
    expect(new Set(placement.map((one: { class: string }) => one.class))).toEqual(new Set(['L4', 'P4']));
  });

  inWholeRun('begins a cluster that specs of profiles name with --use-cluster', async () => {
    const begun = ['init', 'pooled/detector.profile.json', '--use-cluster', 'nodes/cluster.yaml'];
    const { code, stdout } = await run(...begun, '-o', 'spec.yaml');
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^P4 +8 +1\/1$/m)]);
    expect(await readFile(at('spec.yaml'), 'utf8')).toMatch(/^cluster: nodes\/cluster\.yaml$/m);
    expect(await run('solve', 'spec.yaml', '-o', 'plan.json')).toMatchObject({ code: 0 });
    const none = await run(...begun.slice(0, -1), 'nodes/none.yaml', '-o', 'other.yaml');
    expect([none.code, none.stderr]).toEqual([7, expect.stringContaining('there is no such file')]);
  });

  it('prints the same cluster with -o -, and as JSON with --json', async () => {
    await run('init', '--from-kubectl', 'nodes.json', '-o', 'c.yaml');
    const written = await readFile(at('c.yaml'), 'utf8');
    const printed = await run('init', '--from-kubectl', 'nodes.json', '-o', '-');
    expect([printed.code, printed.stdout]).toEqual([0, written]);
    expect(printed.stderr).not.toContain('next:');
    const json = await run('init', '--from-kubectl', 'nodes.json', '-o', 'again.yaml', '--json');
    expect(JSON.parse(json.stdout)).toMatchObject({
      $schema: expect.stringContaining('cluster'),
      kind: 'cluster',
      version: '1.0',
      networkGbps: 10,
      devices: { 'NVIDIA-L4': { count: 2, perServer: 2, virtual: [1], memoryGiB: 15 } },
    });
    await writeFile(at('c.json'), json.stdout);
    expect(await run('validate', 'c.json')).toMatchObject({ code: 0 });
  });

  it('replaces a file only with --force', async () => {
    await writeFile(at('mine.yaml'), 'mine');
    const args = ['init', '--from-kubectl', 'nodes.json', '-o', 'mine.yaml'];
    const refused = await run(...args);
    expect([refused.code, refused.stderr]).toEqual([
      2,
      expect.stringContaining('--output: mine.yaml exists already, and its contents would be lost; --force'),
    ]);
    expect(await readFile(at('mine.yaml'), 'utf8')).toBe('mine');
    expect(await run(...args, '--force')).toMatchObject({ code: 0 });
    expect(await readFile(at('mine.yaml'), 'utf8')).toContain('kind: cluster');
  });

  inWholeRun('reads stdin, JSON and YAML', async () => {
    const text = await readFile(at('nodes.json'), 'utf8');
    for (const input of [
      text,
      'kind: Node\nmetadata: { name: a }\nstatus: { capacity: { nvidia.com/gpu: 2 } }\n',
    ]) {
      await writeFile(at('input'), input);
      const { open } = await import('node:fs/promises');
      const file = await open(at('input'));
      const ran = await planProcess(['init', '--from-kubectl', '-', '-o', '-'], {
        cwd: folder,
        stdio: [file.fd, 'pipe', 'pipe'],
      });
      await file.close();
      expect([ran.code, ran.stdout]).toEqual([0, expect.stringContaining('count: 2')]);
    }
  });

  it('refuses what does not go together, all at once', async () => {
    const both = ['init', 'p.json', '--from-kubectl', 'nodes.json', '--from-ray', 'ray.json'];
    const { code, stderr } = await run(...both, '--slo', '5', '--cluster', 'c.yaml', '--kind', 'pooled');
    expect(code).toBe(2);
    for (const said of [
      'Cannot begin a cluster',
      '--from-ray: is given beside --from-kubectl',
      '--slo: is for specs',
      '--cluster: is for specs',
      '--kind: is for specs',
      'p.json: is a profile, and a cluster of nodes is begun without any',
      '--output: is needed: it names the cluster',
    ])
      expect(stderr).toContain(said);
    const example = await run('init', '--example', 'pooled', '--from-ray', 'ray.json', '-o', 'made');
    expect([example.code, example.stderr]).toEqual([2, expect.stringContaining('--from-ray: tells nodes')]);
    expect(await readdir(folder)).not.toContain('made');
  });

  it('names the file, the place and what to give instead, and ends with 7 where there is no file', async () => {
    await writeFile(at('pods.json'), '{"kind":"PodList","items":[]}');
    const pods = await run('init', '--from-kubectl', 'pods.json', '-o', 'p.yaml');
    expect([pods.code, pods.stderr]).toEqual([
      2,
      'error: Cannot read pods.json: /kind: is "PodList"; List, NodeList or Node is needed here\n' +
        'Give what `kubectl get nodes -o json` prints, or `-o yaml` in a file that ends in .yaml.\n',
    ]);
    expect(await readdir(folder)).not.toContain('p.yaml');
    expect(await run('init', '--from-kubectl', 'none.json', '-o', 'p.yaml')).toMatchObject({ code: 7 });
  });
});

describe('plan init --from-ray', () => {
  it('begins a cluster of what ray list nodes prints', async () => {
    const { code, stdout, stderr } = await run('init', '--from-ray', 'ray.json', '-o', 'ray.yaml');
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^L4 +2 +2 +– +1\/1$/m)]);
    expect(stderr).toContain('warning: the memory of L4 is not told');
    expect(await run('validate', 'ray.yaml')).toMatchObject({ code: 0 });
    const refused = await run('init', '--from-ray', 'nodes.json', '-o', 'other.yaml');
    expect([refused.code, refused.stderr]).toEqual([
      2,
      expect.stringContaining('Cannot read nodes.json: it holds no nodes of Ray\nGive what `ray list nodes'),
    ]);
  });
});
