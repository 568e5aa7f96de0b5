import { describe, expect, it } from 'vitest';
import { foundClasses } from '../../../../src/api/init/found/classes.js';
import { rayServers } from '../../../../src/api/init/found/ray.js';
import { FieldReader } from '../../../../src/api/init/found/servers.js';
import { atOnce } from '../../../../src/collections/index.js';
import { rayNode } from '../nodes/index.js';

/** read gives the classes that Ray's answer makes, with the notes, or what is wrong with it. */
function read(value: unknown): { classes: unknown[]; notes: readonly string[]; faults: string[] } {
  const reader = new FieldReader();
  const { servers, notes } = atOnce(rayServers(value, reader));
  const classes = foundClasses(servers).classes.map((one) => [one.name, one.count, one.perServer]);
  const faults = reader.faults().map(({ path, message }) => (path === '' ? message : `${path}: ${message}`));
  return { classes, notes, faults };
}

const L4 = { CPU: 8, GPU: 2, 'accelerator_type:L4': 1 };
const head = rayNode('10.0.0.1', { CPU: 4, 'node:__internal_head__': 1 });

/** What Ray 2.60 answers of one node, by each of its interfaces. */
const ANSWERS: readonly (readonly [string, unknown])[] = [
  ['ray list nodes --format json', [rayNode('10.0.0.2', L4)]],
  [
    'ray.nodes()',
    [
      {
        NodeID: 'cdc0',
        Alive: true,
        NodeManagerAddress: '10.0.0.2',
        NodeManagerHostname: 'vm',
        NodeName: '10.0.0.2',
        DeathReason: 0,
        DeathReasonMessage: '',
        alive: true,
        Resources: { ...L4, memory: 17361804903, object_store_memory: 7440773529, 'node:10.0.0.2': 1 },
        Labels: { 'ray.io/node-id': 'cdc0' },
      },
    ],
  ],
  [
    '/api/v0/nodes',
    {
      result: true,
      msg: '',
      data: {
        result: {
          total: 1,
          num_after_truncation: 1,
          num_filtered: 1,
          result: [rayNode('10.0.0.2', L4)],
          partial_failure_warning: '',
          warnings: null,
        },
      },
    },
  ],
  [
    '/nodes?view=summary',
    {
      result: true,
      msg: 'Node summary fetched.',
      data: {
        summary: [
          {
            now: 1795884752.79,
            hostname: 'vm',
            ip: '10.0.0.2',
            cpus: [8, 8],
            cgroupMem: [1, 2 ** 63],
            gpus: [
              { index: 0, name: 'NVIDIA L4', memoryTotal: 23034, memoryUsed: 1 },
              { index: 1, name: 'NVIDIA L4', memoryTotal: 23034, memoryUsed: 1 },
            ],
            raylet: {
              nodeId: 'cdc0',
              nodeName: '10.0.0.2',
              state: 'ALIVE',
              instanceTypeName: 'g2-standard-24',
              resourcesTotal: {
                GPU: 2,
                CPU: 8,
                'acceleratorType:L4': 1,
                'node:10.0.0.2': 1,
                memory: 17361804903,
              },
              labels: { 'ray.io/node-id': 'cdc0' },
            },
          },
        ],
      },
    },
  ],
  ['ray.cluster_resources()', { ...L4, memory: 1, 'node:10.0.0.2': 1, 'node:__internal_head__': 1 }],
];

describe('rayServers()', () => {
  it.each(ANSWERS)('reads what %s gives', (_, answer) => {
    expect(read(answer)).toMatchObject({ classes: [['L4', 2, 2]], faults: [] });
  });

  it('reads the memory of GPUs and the type of the machine where the dashboard reports them', () => {
    const summary = ANSWERS.find(([name]) => name.startsWith('/nodes'))?.[1];
    const [server] = atOnce(rayServers(summary, new FieldReader())).servers;
    expect(server).toMatchObject({ memoryGiB: 22.49, machine: 'g2-standard-24' });
  });

  it('leaves out nodes that are dead, and those without GPUs where there are others', () => {
    const dead = rayNode('10.0.0.9', {}, { state: 'DEAD', resources_total: {} });
    const { classes, notes } = read([head, rayNode('10.0.0.2', L4), dead]);
    expect(classes).toEqual([['L4', 2, 2]]);
    expect(notes).toEqual([
      '1 node is not alive, and is left out: 10.0.0.9',
      '1 node without GPUs is left out: 10.0.0.1',
    ]);
  });

  it('makes devices of CPUs where there are no GPUs, without nodes that give out no cores', () => {
    const { classes, notes } = read([
      rayNode('a', { CPU: 16 }),
      rayNode('b', { CPU: 16.5 }),
      rayNode('h', {}),
    ]);
    expect(classes).toEqual([['cpu-16', 2, 1]]);
    expect(notes.join()).toContain('no node has GPUs');
  });

  it('takes labels of the class and the type before resources, and says where nothing names the type', () => {
    const { classes, notes } = read([
      rayNode('a', L4, { labels: { 'inferplan/class': 'mine' } }),
      rayNode('b', L4, { labels: { 'ray.io/accelerator-type': 'A100-80G' } }),
      rayNode('c', { GPU: 1, TPU: 4 }),
    ]);
    expect(classes).toEqual([
      ['A100-80G', 2, 2],
      ['gpu', 1, 1],
      ['mine', 2, 2],
    ]);
    expect(notes.join('\n')).toContain('Ray does not know the type of the GPUs of c');
    expect(notes.join('\n')).toContain('no devices that are planned with: TPU');
  });

  it('takes the class that a resource of a bundle names, and refuses a node that names several', () => {
    const named = { 'inferplan/mine': 2, 'inferplan-ingress': 1 };
    expect(read([rayNode('10.0.0.2', { ...L4, ...named })]).classes).toEqual([['mine', 2, 2]]);
    expect(read([rayNode('10.0.0.2', { CPU: 4, ...named })])).toMatchObject({
      classes: [['mine', 1, 1]],
    });
    expect(read([rayNode('10.0.0.2', { ...L4, ...named, 'inferplan/other': 1 })]).faults.join()).toContain(
      '2 classes, mine, other',
    );
  });

  it('warns where a list has as many nodes as are listed by default', () => {
    const nodes = Array.from({ length: 100 }, (_, i) => rayNode(`n${i}`, L4));
    expect(read(nodes).notes.join()).toContain('without --limit');
    expect(read(nodes.slice(1)).notes).toEqual([]);
  });

  it('shares sums out among nodes that are alike, and refuses others', () => {
    const hosts = { 'node:10.0.0.2': 1, 'node:10.0.0.3': 1 };
    const sums = { ...hosts, CPU: 8, GPU: 4, 'accelerator_type:L4': 2 };
    expect(read(sums)).toMatchObject({ classes: [['L4', 4, 2]], faults: [] });
    expect(read(sums).notes.join()).toContain('4 GPUs are shared out among 2 nodes');
    expect(read({ ...sums, 'accelerator_type:T4': 1 }).faults[0]).toMatch(
      /4 GPUs of L4, T4, and not how many/,
    );
    expect(read({ ...sums, GPU: 3 }).faults[0]).toMatch(/3 GPUs on 2 nodes, which are not alike/);
    expect(read({ ...hosts, CPU: 8 }).faults[0]).toMatch(/these sums have no GPUs/);
    expect(read({ GPU: 3 }).faults[0]).toMatch(/3 GPUs on 0 nodes/);
  });

  it.each([
    [[], 'has no nodes'],
    [{ result: false, msg: 'GCS is down' }, 'Ray answered that it failed: "GCS is down"'],
    [{ kind: 'List', items: [] }, 'it holds no nodes of Ray'],
    [7, 'it holds no nodes of Ray'],
    [[{ state: 'ALIVE', node_name: 'a' }], '/0: has no resources: it is no node of Ray'],
    [[rayNode('a', { GPU: 1.5 })], '/0/resources_total/GPU: is 1.5, not a whole number of devices'],
    [[rayNode('a', { GPU: '2' })], '/0/resources_total/GPU: is "2", not a whole number of devices'],
    [[rayNode('a', { GPU: 1e9 })], '/0/resources_total/GPU: is 1000000000; of one server at most 10000'],
    [[rayNode('a', { CPU: 'x' })], '/0/resources_total/CPU: is "x", not a number of cores'],
    [
      [rayNode('a', { GPU: 1, 'accelerator_type:A': 1, 'accelerator_type:B': 1 })],
      '/0/resources_total: names 2 types of accelerators: A, B',
    ],
    [
      { data: { result: { total: 150, num_after_truncation: 100, result: [rayNode('a', L4)] } } },
      '/data/result: has 100 of 150 nodes',
    ],
  ])('refuses %j', (value, said) => {
    expect(read(value).faults.join('\n')).toContain(said);
  });
});
