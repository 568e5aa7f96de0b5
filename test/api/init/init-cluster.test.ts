import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { type InitCluster, initCluster, initSpec } from '../../../src/api/index.js';
import { parseArtifact } from '../../../src/artifacts/index.js';
import { InputError, MissingError } from '../../../src/formats/index.js';
import { streamOf } from '../../../src/random/index.js';
import { fewOf, seeds } from '../../cases.js';
import { gpuNode, madeList, madeNode } from './nodes/index.js';

let folder: string;
const at = (file: string): string => join(folder, file);
const shipped = (path: string): URL => new URL(`../../../${path}`, import.meta.url);
const made = (file: string): string => shipped(`test/api/init/nodes/${file}`).pathname;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-init-cluster-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** begun begins a cluster from nodes that are written to a file. */
async function begun(value: unknown, file = 'nodes.json'): Promise<InitCluster> {
  await writeFile(at(file), file.endsWith('.json') ? JSON.stringify(value) : stringify(value));
  return initCluster({ fromKubectl: at(file) });
}

async function refused(value: unknown): Promise<InputError> {
  const error = await begun(value).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(InputError);
  return error as InputError;
}

const faultsOf = async (value: unknown): Promise<string[]> =>
  (await refused(value)).faults.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`));

/** OPTION matches a line that is commented out: a "#" with no space after it. */
const OPTION = /^( *)#(?! )(.*)$/;

describe('initCluster() from kubectl', () => {
  it.each([
    ['eks.json', 'eks.yaml'],
    ['gke.json', 'gke.yaml'],
    ['aks.yaml', 'aks-cluster.yaml'],
  ])('writes of %s what is checked in, with its notes', async (nodes, golden) => {
    const { text, notes } = await initCluster({ fromKubectl: made(nodes), output: at(golden) });
    expect(await readFile(at(golden), 'utf8')).toBe(text);
    const told = notes.map((note) => `# ${note}\n`).join('');
    await expect(`${text}${told}`).toMatchFileSnapshot(made(golden));
    await rm(at(golden));
  });

  it('writes an option for each field of a class that nodes do not report, each of which can be set', async () => {
    const { text } = await initCluster({ fromKubectl: made('gke.json') });
    const lines = text.split('\n');
    const options = lines.flatMap((line, i) => (OPTION.test(line) ? [i] : []));
    expect(options.length).toBeGreaterThan(20);
    for (const option of options) {
      const set = lines.map((line, i) => (i === option ? line.replace(OPTION, '$1$2') : line)).join('\n');
      expect(() => parseArtifact(set, 'cluster.yaml', ['cluster'])).not.toThrow();
    }
    const schema = JSON.parse(await readFile(shipped('schemas/cluster.schema.json'), 'utf8'));
    for (const field of Object.keys(schema.definitions.openDeviceClass.properties))
      expect(text).toMatch(new RegExp(`\\b${field}:`));
    for (const line of lines) expect(line.length).toBeLessThan(140);
  });

  it('takes a Node, a List, and a NodeList as the API answers it, in JSON and YAML alike', async () => {
    const node = gpuNode('a', 'NVIDIA-L4', { gpus: 2 }) as Record<string, unknown>;
    const { kind: _, apiVersion: __, ...bare } = node;
    const texts = await Promise.all([
      begun(node, 'node.json').then(({ text }) => text),
      begun(madeList(node), 'list.json').then(({ text }) => text),
      begun({ kind: 'NodeList', items: [bare] }, 'node-list.json').then(({ text }) => text),
      begun(madeList(node), 'list.yaml').then(({ text }) => text),
    ]);
    expect(new Set(texts).size).toBe(1);
  });

  it('counts what can be allocated, and leaves out nodes that are cordoned or not ready', async () => {
    const { cluster, notes } = await begun(
      madeList(
        gpuNode('a', 'L4', {
          gpus: 8,
          offers: { 'nvidia.com/gpu': '7' },
          capacity: { 'nvidia.com/gpu': '8' },
        }),
        gpuNode('b', 'L4', { gpus: 8, ready: 'Unknown' }),
        gpuNode('c', 'L4', { gpus: 8, spec: { unschedulable: true } }),
        gpuNode('d', 'L4', { gpus: 8, ready: 'False', spec: { unschedulable: true } }),
        gpuNode('e', 'L4', {
          gpus: 8,
          offers: { 'nvidia.com/gpu': '0' },
          capacity: { 'nvidia.com/gpu': '8' },
        }),
        madeNode({ name: 'f' }),
      ),
    );
    expect(cluster.devices).toEqual({ L4: { count: 7, perServer: 7, virtual: [1], memoryGiB: 15 } });
    for (const said of [
      '2 nodes are not ready, and are left out: b, d',
      '1 node is cordoned, and is left out: c',
      'GPUs that cannot be allocated are not counted: 1 of a, 8 of e',
      '2 nodes without GPUs are left out: e, f',
    ])
      expect(notes).toContain(said);
  });

  it('makes one class of nodes of which one is smaller, and several where more are', async () => {
    const of = async (...sizes: number[]) => {
      const nodes = sizes.map((gpus, i) => gpuNode(`n${i}`, 'L4', { gpus }));
      const { cluster } = await begun(madeList(...nodes));
      return Object.entries(cluster.devices).map(([name, one]) => [name, one.count, one.perServer, one.as]);
    };
    expect(await of(8, 8, 4)).toEqual([['L4', 20, 8, undefined]]);
    expect(await of(4)).toEqual([['L4', 4, 4, undefined]]);
    expect(await of(8, 4, 4)).toEqual([
      ['L4', 8, 8, undefined],
      ['L4-x4', 8, 4, 'L4'],
    ]);
    expect(await of(2, 1, 1, 1)).toEqual([
      ['L4', 3, 1, undefined],
      ['L4-x2', 2, 2, 'L4'],
    ]);
  });

  it('counts whole GPUs of shared ones, whether the resource is renamed or not', async () => {
    const sharing = { 'nvidia.com/gpu.replicas': '4', 'nvidia.com/gpu.sharing-strategy': 'mps' };
    const nodes = madeList(
      gpuNode('a', 'L4-SHARED', { gpus: 8, labels: sharing }),
      gpuNode('b', 'L4', {
        gpus: 0,
        labels: sharing,
        offers: { 'nvidia.com/gpu': '0', 'nvidia.com/gpu.shared': '8' },
      }),
    );
    const { cluster } = await begun(nodes);
    expect(cluster.devices).toEqual({ L4: { count: 4, perServer: 2, virtual: [4], memoryGiB: 15 } });
  });

  it('takes the label inferplan/class before all others, also of machines without GPUs', async () => {
    const own = { 'inferplan/class': 'mine' };
    const { cluster, notes } = await begun(
      madeList(
        gpuNode('a', 'L4', { gpus: 2, labels: own }),
        gpuNode('b', 'L4', { gpus: 1, labels: own }),
        gpuNode('c', 'L4', { gpus: 1, labels: own }),
        madeNode({ name: 'd', labels: { 'inferplan/class': 'host' } }),
      ),
    );
    expect(Object.keys(cluster.devices)).toEqual(['host', 'mine', 'mine-x1']);
    expect(cluster.devices.host).toMatchObject({ count: 1, perServer: 1, memoryGiB: 32 });
    expect(notes.join('\n')).toContain('label their nodes inferplan/class by these names');
  });

  it('counts MIG devices of each kind, and GPUs that only labels name', async () => {
    const mig = {
      'nvidia.com/mig-1g.5gb.product': 'A100-MIG-1g.5gb',
      'nvidia.com/mig-1g.5gb.memory': '4864',
    };
    const { cluster, notes } = await begun(
      madeList(
        gpuNode('a', 'A100', {
          gpus: 1,
          labels: mig,
          offers: { 'nvidia.com/gpu': '1', 'nvidia.com/mig-1g.5gb': '7', 'nvidia.com/mig-2g.10gb': '3' },
        }),
        gpuNode('b', 'L4', { gpus: 0, offers: {}, labels: { 'nvidia.com/gpu.count': '2' } }),
        madeNode({
          name: 'c',
          offers: { 'amd.com/gpu': '8' },
          labels: { 'amd.com/gpu.product-name': 'AMD_Instinct_MI300X_OAM' },
        }),
        madeNode({ name: 'd', offers: { 'nvidia.com/gpu': '1' } }),
      ),
    );
    const counts = Object.entries(cluster.devices).map(([name, { count, memoryGiB }]) => [
      name,
      count,
      memoryGiB,
    ]);
    expect(counts).toEqual([
      ['A100', 1, 15],
      ['A100-MIG-1g.5gb', 7, 4.75],
      ['A100-MIG-2g.10gb', 3, undefined],
      ['AMD_Instinct_MI300X_OAM', 8, undefined],
      ['L4', 2, 15],
      ['gpu', 1, undefined],
    ]);
    expect(notes.join('\n')).toContain('no resource has the GPUs of b');
    expect(notes.join('\n')).toContain('no label names the product of the GPUs of d');
  });

  it('makes classes of CPUs only where no node has GPUs', async () => {
    const control = [{ key: 'node-role.kubernetes.io/control-plane', effect: 'NoSchedule' }];
    const hosts = [
      madeNode({ name: 'a', offers: { cpu: '15890m' }, capacity: { cpu: '16' } }),
      madeNode({ name: 'b', offers: { cpu: '15890m' }, capacity: { cpu: '16' } }),
      madeNode({ name: 'c' }),
      madeNode({ name: 'd', spec: { taints: control } }),
    ];
    const { cluster, notes } = await begun(madeList(...hosts));
    expect(cluster.devices).toEqual({
      'cpu-16': { count: 2, perServer: 1, virtual: [1], memoryGiB: 32 },
      'cpu-8': { count: 1, perServer: 1, virtual: [1], memoryGiB: 32 },
    });
    expect(notes).toContain('no node has GPUs: each node is one device, which has all its cores');
    expect(notes).toContain('1 node is for the control plane, and is left out: d');
    const [fault] = await faultsOf(madeList(...hosts, gpuNode('e', 'L4', { gpus: 1, ready: 'False' })));
    expect(fault).toContain('no node has devices to plan with; 1 node is not ready, and is left out: e');
  });
});

describe('initCluster() refuses', () => {
  it.each([
    [{ kind: 'PodList', items: [] }, ['/kind: is "PodList"; List, NodeList or Node is needed here']],
    [{ kind: 'List', items: [] }, ['/items: has no nodes']],
    [{ kind: 'List' }, ['/items: has no nodes']],
    [{ kind: 'List', items: 3 }, ['/items: is 3, not a list', '/items: has no nodes']],
    [[], ['it holds [], not nodes']],
    ['nodes', ['it holds "nodes", not nodes']],
    [{}, ['/kind: is absent; List, NodeList or Node is needed here']],
  ])('what is no list of nodes: %j', async (value, faults) => {
    if (typeof value === 'string') {
      await writeFile(at('text.json'), JSON.stringify(value));
      await expect(initCluster({ fromKubectl: at('text.json') })).rejects.toThrow(faults[0] as string);
    } else expect(await faultsOf(value)).toEqual(faults);
  });

  it('what is wrong in all nodes at once, with where it is', async () => {
    const gpu = (count: unknown, labels = {}) => madeNode({ offers: { 'nvidia.com/gpu': count }, labels });
    const nodes = madeList(
      ...['eight', '-1', '2500m', '20k', 1.5, null, true].map((count) => gpu(count)),
      gpu('8k', { 'nvidia.com/gpu.product': 'L4' }),
      gpu('1', { 'nvidia.com/gpu.memory': '15 GiB' }),
      gpu('1', { 'nvidia.com/gpu.product': 7 }),
      gpu('1', { 'inferplan/class': '__proto__' }),
      gpu('1', { 'inferplan/class': 'a\nb' }),
      gpu('1', { 'inferplan/class': 'x'.repeat(300) }),
      gpu('1', { 'nvidia.com/gpu.replicas': '5000' }),
      { kind: 'Pod', metadata: { name: 'p' } },
      { kind: 'Node', metadata: { name: 'q' } },
      { kind: 'Node', metadata: {}, status: { capacity: 4 } },
    );
    const faults = await faultsOf(nodes);
    const allocatable = (i: number) => `/items/${i}/status/allocatable/nvidia.com~1gpu`;
    for (const said of [
      `${allocatable(0)}: is "eight", not a quantity as Kubernetes writes them`,
      `${allocatable(1)}: is "-1", not a quantity as Kubernetes writes them`,
      `${allocatable(2)}: is "2500m", not a whole number of devices`,
      `${allocatable(3)}: is "20k"; of one server at most 10000 are read`,
      `${allocatable(4)}: is 1.5, not a whole number of devices`,
      `${allocatable(5)}: is null, not a quantity as Kubernetes writes them`,
    ])
      expect(faults).toContain(said);
    expect(faults.join('\n')).not.toContain('/items/7/');
    expect(faults.at(-1)).toMatch(/^… and \d+ more faults$/);
    const others = await faultsOf(madeList(...(nodes as { items: object[] }).items.slice(8)));
    for (const said of [
      '/items/0/metadata/labels/nvidia.com~1gpu.memory: is "15 GiB", not a whole number below 1,000,000,000',
      '/items/1/metadata/labels/nvidia.com~1gpu.product: is 7, not a text',
      '/items/2/metadata/labels/inferplan~1class: is __proto__, which no class may be called',
      '/items/3/metadata/labels/inferplan~1class: is "a\\nb", which no name or label holds',
      '/items/4/metadata/labels/inferplan~1class: has 300 letters; at most 200 are read',
      '/items/5/metadata/labels/nvidia.com~1gpu.replicas: is 5000; a GPU is divided into at most 1000',
      '/items/6/kind: is "Pod"; Node is needed here',
      '/items/7/status: has neither "allocatable" nor "capacity": only a running node tells them',
      '/items/8/metadata/name: is absent: a node has a name',
      '/items/8/status/capacity: is 4, not a map',
    ])
      expect(others).toContain(said);
  });

  it('files that are missing, are neither JSON nor YAML, or would be replaced', async () => {
    await expect(initCluster({ fromKubectl: at('none.json') })).rejects.toBeInstanceOf(MissingError);
    await writeFile(at('table.json'), 'NAME   STATUS   ROLES\nn1     Ready    <none>\n');
    await expect(initCluster({ fromKubectl: at('table.json') })).rejects.toThrow(
      /it is not JSON.*\nGive what `kubectl get nodes -o json` prints/,
    );
    await writeFile(at('n.yaml'), stringify(gpuNode('a', 'L4', { gpus: 1 })));
    const before = await readFile(at('n.yaml'), 'utf8');
    await expect(
      initCluster({ fromKubectl: at('n.yaml'), output: at('n.yaml'), force: true }),
    ).rejects.toThrow('an input that would be replaced');
    await expect(initCluster({ fromKubectl: at('n.yaml'), output: at('n.yaml') })).rejects.toThrow(
      'exists already',
    );
    await expect(initCluster({ fromKubectl: at('n.yaml'), output: at('c.json') })).rejects.toThrow(
      'would hold YAML',
    );
    expect(await readFile(at('n.yaml'), 'utf8')).toBe(before);
    expect(await readdir(folder)).not.toContain('c.json');
    await expect(initCluster({})).rejects.toThrow('give one of them');
    await expect(initCluster({ fromKubectl: at('n.yaml'), fromRay: at('n.yaml') })).rejects.toThrow(
      'give one of them',
    );
  });

  it('more classes than anybody reads', async () => {
    const nodes = Array.from({ length: 251 }, (_, i) => gpuNode(`n${i}`, `P${i}`, { gpus: 1 }));
    await expect(begun(madeList(...nodes))).rejects.toThrow(
      'devices of 251 classes; at most 250 are written',
    );
    const sizes = Array.from({ length: 251 }, (_, i) => gpuNode(`n${i}`, 'P', { gpus: i + 1 }));
    await expect(begun(madeList(...sizes))).rejects.toThrow(
      'devices of 251 classes; at most 250 are written',
    );
  });
});

describe('a cluster that was begun from nodes', () => {
  it('is the same in whatever order its nodes come, and has all their GPUs', async () => {
    for (const seed of seeds(40, 400)) {
      const stream = streamOf(seed, 'nodes');
      const below = (most: number) => stream.integer(most);
      const nodes = Array.from({ length: 1 + below(12) }, (_, i) => {
        const replicas = [1, 1, 2, 4][below(4)] as number;
        const gpus = 1 + below(3);
        const spec = stream.uniform() < 0.2 ? { spec: { unschedulable: true } } : {};
        const ready = stream.uniform() < 0.2 ? 'Unknown' : 'True';
        const labels = {
          'nvidia.com/gpu.replicas': String(replicas),
          'nvidia.com/gpu.sharing-strategy': replicas === 1 ? 'none' : 'mps',
          ...(stream.uniform() < 0.2 ? { 'inferplan/class': ['own', 'P0-x2'][below(2)] } : {}),
        };
        const node = gpuNode(`n${i}`, `P${below(2)}`, { gpus: gpus * replicas, labels, ready, ...spec });
        return { node, gpus: ready === 'True' && !('spec' in spec) ? gpus : 0 };
      });
      const total = nodes.reduce((sum, { gpus }) => sum + gpus, 0);
      if (total === 0) continue;
      const one = await begun(madeList(...nodes.map(({ node }) => node)));
      const devices = Object.values(one.cluster.devices);
      expect([seed, devices.reduce((sum, { count = 0 }) => sum + count, 0)]).toEqual([seed, total]);
      const servers = devices.reduce(
        (sum, { count = 0, perServer = 1 }) => sum + Math.ceil(count / perServer),
        0,
      );
      expect([seed, servers]).toEqual([seed, nodes.filter(({ gpus }) => gpus > 0).length]);
      const other = await begun(madeList(...nodes.map(({ node }) => node).reverse()));
      expect([seed, other.text]).toEqual([seed, one.text]);
      expect(new Set(other.notes)).toEqual(new Set(one.notes));
    }
  });

  it('is refused or begun, and nothing else, whatever is put into a node', async () => {
    const whole = JSON.parse(await readFile(made('eks.json'), 'utf8')) as { items: object[] };
    const odd = [null, 0, -1, 1e308, '', 'x', '\u0000', [], {}, true, [[[]]], { a: 1 }, '9'.repeat(70)];
    for (const seed of fewOf(seeds(150, 3000), 40)) {
      const stream = streamOf(seed, 'odd');
      const value = structuredClone(whole);
      const places: [Record<string, unknown>, string][] = [];
      const walk = (one: unknown): void => {
        if (typeof one !== 'object' || one === null) return;
        for (const key of Object.keys(one)) {
          places.push([one as Record<string, unknown>, key]);
          walk((one as Record<string, unknown>)[key]);
        }
      };
      walk(value);
      for (let i = 0; i < 3; i++) {
        const [holder, key] = places[stream.integer(places.length)] as (typeof places)[number];
        holder[key] = odd[stream.integer(odd.length)];
      }
      const outcome = await begun(value).catch((error: unknown) => error);
      if (outcome instanceof Error) expect(outcome).toBeInstanceOf(InputError);
      else expect(parseArtifact((outcome as InitCluster).text, 'c.yaml', ['cluster']).kind).toBe('cluster');
    }
  });

  it('is named by a spec that is begun with it, which leaves it as it is', async () => {
    const path = shipped('examples/nodes/cluster.yaml').pathname;
    const before = await readFile(path, 'utf8');
    const profile = shipped('examples/pooled/detector.profile.json').pathname;
    const options = { kind: 'pooled', useCluster: path, output: at('spec.yaml') } as const;
    const { spec, cluster } = await initSpec([profile], options);
    expect(String((spec as { cluster: unknown }).cluster)).toMatch(/examples\/nodes\/cluster\.yaml$/);
    expect(cluster.devices.P4).toMatchObject({ count: 8 });
    expect(await readFile(path, 'utf8')).toBe(before);
    const cascade = await initSpec([profile], { kind: 'cascade', useCluster: path });
    expect(cascade.cluster.devices.L4?.count).toBe(4);
    // Pipelines are planned by what devices cost, which no node tells.
    await expect(initSpec([profile], { kind: 'pipeline', useCluster: path })).rejects.toThrow('hourlyCost');
    await writeFile(at('priced.yaml'), before.replaceAll('#hourlyCost', 'hourlyCost'));
    await initSpec([profile], { kind: 'pipeline', useCluster: at('priced.yaml') });
    await writeFile(at('other.yaml'), 'kind: cluster\ndevices: { T4: { count: 1 } }\n');
    await expect(initSpec([profile], { kind: 'pooled', useCluster: at('other.yaml') })).rejects.toThrow('T4');
    const both = { ...options, cluster: at('written.yaml'), force: true };
    await expect(initSpec([profile], both)).rejects.toThrow('is given beside');
    const onto = { ...options, output: path, force: true };
    await expect(initSpec([profile], onto)).rejects.toThrow('an input that would be replaced');
  });
});

describe('examples/nodes', () => {
  it('has the cluster that is begun from its nodes, and that from Ray has as many devices', async () => {
    const of = (file: string) => shipped(`examples/nodes/${file}`).pathname;
    const { text, cluster } = await initCluster({ fromKubectl: of('nodes.json') });
    const without = (yaml: string) => yaml.replace(/^# yaml-language-server.*\n/, '');
    expect(without(await readFile(of('cluster.yaml'), 'utf8'))).toBe(without(text));
    const ray = await initCluster({ fromRay: of('ray-nodes.json') });
    const counts = ({ devices }: InitCluster['cluster']) =>
      Object.entries(devices).map(([name, { count, perServer }]) => [name, count, perServer]);
    expect(counts(ray.cluster)).toEqual(counts(cluster));
  });
});
