import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { inWholeRun, WHOLE } from '../cases.js';
import { plan } from './plan.js';

const EXAMPLE = new URL('../../examples/pooled/spec.yaml', import.meta.url).pathname;

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-cli-solve-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe('plan solve', () => {
  inWholeRun(
    'shows with --explain what binds, what GPUs are worth and which SLOs change the plan, in JSON too',
    async () => {
      const { code, stdout } = await plan(['solve', EXAMPLE, '--explain']);
      expect(code).toBe(0);
      expect(stdout).toMatch(
        /binding: the devices of L4, the devices of P4, the SLO of detector \(better from [\d.]+ ms on\)/,
      );
      expect(stdout).toMatch(/^L4 +4 of 4 +\+20\.3 +\+14\.2 +-27\.6$/m);
      expect(stdout).toMatch(/^detector +120 +69\.8 +72\.0 +116\.286 ms/m);
      if (!WHOLE) return;
      const json = await plan(['solve', EXAMPLE, '--explain', '--json']);
      expect(JSON.parse(json.stdout)).toMatchObject({
        kind: 'pooled-plan',
        explanation: { complete: true, classes: [{ name: 'L4', binds: true }, { name: 'P4' }] },
      });
    },
  );

  it('gives without --explain the answer that is checked in, byte for byte', async () => {
    const output = join(folder, 'plan.json');
    expect((await plan(['solve', EXAMPLE, '-o', output])).code).toBe(0);
    const bodies = await Promise.all(
      [output, EXAMPLE.replace('spec.yaml', 'expected-plan.json')].map(async (path) => {
        const { inputs, tool, ...body } = JSON.parse(await readFile(path, 'utf8')) as Record<string, unknown>;
        return JSON.stringify(body);
      }),
    );
    expect(bodies[0]).toBe(bodies[1]);
  });

  it('names the baseline or formulation in the plan, and refuses combinations that make no sense', async () => {
    const output = join(folder, 'dart.json');
    const { code, stdout } = await plan(['solve', EXAMPLE, '--baseline', 'dart-r', '-o', output]);
    expect(code).toBe(0);
    expect(stdout).toContain('by the baseline dart-r');
    expect((await plan(['validate', output])).stdout).toContain('plan of the baseline dart-r');
    const literal = await plan(['solve', EXAMPLE, '--formulation', 'literal']);
    expect([literal.code, literal.stdout]).toEqual([2, '']);
    expect(literal.stderr).toContain('at most 4000 are solved');
    const both = await plan(['solve', EXAMPLE, '--baseline', 'dart-r', '--explain']);
    expect([both.code, both.stderr.includes('--explain')]).toEqual([2, true]);
  });
});

describe('plan solve --formulation literal', () => {
  it('ends with 5 and says why, where a plan needs three pipelines of one sequence of classes', async () => {
    const profile = {
      kind: 'profile',
      version: '1.0',
      model: { name: 'm' },
      blocks: [1, 1, 1, 1].map((GiB) => ({ cutBytes: 0, weightBytes: GiB * 2 ** 30 })),
      devices: { A: { blockLatencyUs: { 1: { 1: [9000, 5000, 8000, 7000] } } } },
    };
    const spec = {
      kind: 'pooled',
      // No GPU has room for all four blocks.
      cluster: { devices: { A: { count: 9, memoryGiB: 3.5, hourlyCost: 1 } }, networkGbps: 10 },
      models: [{ profile: 'three.profile.json', sloMs: 1000, rps: 302 }],
      planner: { objective: 'cost', maxPartitions: 2 },
    };
    await writeFile(join(folder, 'three.profile.json'), JSON.stringify(profile));
    await writeFile(join(folder, 'three.json'), JSON.stringify(spec));
    const solve = (...options: string[]) => plan(['solve', join(folder, 'three.json'), ...options]);

    const literal = await solve('--formulation', 'literal');
    expect([literal.code, literal.stdout]).toEqual([5, '']);
    expect(literal.stderr).toContain('the literal formulation found no plan with as many pipelines');
    expect(literal.stderr).toContain('more of them may do; leave out --formulation literal');
    if (!WHOLE) return;
    const json = await solve('--formulation', 'literal', '--json');
    expect(json.code).toBe(5);
    expect(JSON.parse(json.stdout)).toMatchObject({
      kind: 'no-plan',
      status: 'no-plan-in-time',
      limit: 'copies',
      reasons: [],
    });

    const columns = await solve('--json');
    expect(columns.code).toBe(0);
    expect(JSON.parse(columns.stdout)).toMatchObject({ status: 'optimal', objective: { value: 9 } });
  });
});

interface Parts {
  cluster: { devices: Record<string, object>; networkGbps: number };
  models: Record<string, unknown>[];
  profile: { devices: { A: { blockLatencyUs: object }; B: { blockLatencyUs: object } } };
}

/** solveSpoilt runs `plan solve` on a good spec and profile after `spoil` has changed them. */
async function solveSpoilt(spoil: (parts: Parts) => void): Promise<{ code: number | null; stderr: string }> {
  const latencies = () => ({ 1: { 1: [1000, 2000], 2: [1500, 3000] } });
  const parts: Parts = {
    cluster: { devices: { A: { count: 1 }, B: { count: 2 } }, networkGbps: 10 },
    models: [{ profile: 'p.json', sloMs: 50 }],
    profile: { devices: { A: { blockLatencyUs: latencies() }, B: { blockLatencyUs: latencies() } } },
  };
  spoil(parts);
  const { cluster, models, profile } = parts;
  const head = { kind: 'profile', version: '1.0', model: { name: 'm' } };
  const blocks = [{ cutBytes: 1000 }, { cutBytes: 0 }];
  await writeFile(join(folder, 'p.json'), JSON.stringify({ ...head, blocks, ...profile }));
  await writeFile(join(folder, 'spec.json'), JSON.stringify({ kind: 'pooled', cluster, models }));
  return plan(['solve', join(folder, 'spec.json'), '--explain']);
}

describe('plan solve says what is wrong with its input, and where:', () => {
  const CASES: [string, (parts: Parts) => void, number, string[]][] = [
    ['nothing', () => {}, 0, []],
    [
      'a virtual size the profile lacks',
      (p) => {
        p.cluster.devices.A = { count: 1, virtual: [1, 3] };
      },
      2,
      ['p.json#/devices/A/blockLatencyUs: lacks virtual size 3, which the cluster names for A; it has 1'],
    ],
    [
      'a virtual size without any batch',
      (p) => {
        p.profile.devices.B.blockLatencyUs = { 1: {} };
      },
      2,
      ['p.json#/devices/B/blockLatencyUs: lacks virtual size 1'],
    ],
    [
      'blocks of different number',
      (p) => {
        p.profile.devices.B.blockLatencyUs = { 1: { 1: [1, 2, 3], 2: [1] } };
      },
      2,
      ['/B/blockLatencyUs/1/1: has 3 blocks; the model has 2', '/B/blockLatencyUs/1/2: has 1 blocks'],
    ],
    [
      'latencies that are null',
      (p) => {
        p.profile.devices.A.blockLatencyUs = { 1: { 1: [1000, null] } };
      },
      2,
      ['/A/blockLatencyUs/1/1/1: was not measured (null)'],
    ],
    [
      'negative latencies',
      (p) => {
        p.profile.devices.A.blockLatencyUs = { 1: { 1: [1000, -5], 2: [-1, 2] } };
      },
      2,
      [
        '/devices/A/blockLatencyUs/1/1/1: is -5; it must be at least 0',
        '/1/2/0: is -1; it must be at least 0',
      ],
    ],
    [
      'no devices',
      (p) => {
        p.cluster.devices = { A: { count: 0 }, B: { count: 2, taken: 2 } };
      },
      2,
      ['/cluster/devices: it has no free device: A has 0, B has 2, 2 of them taken'],
    ],
    [
      'weights that sum to nothing',
      (p) => {
        p.models = [0, 0].map((weight) => ({ profile: 'p.json', sloMs: 50, weight }));
      },
      2,
      ['/models: the weights sum to 0: m 0, m 0'],
    ],
    [
      'an SLO below any latency',
      (p) => {
        p.models = [{ profile: 'p.json', sloMs: 0.5 }];
      },
      3,
      [
        'm has 0.300 ms of its SLO of 0.5 ms left after the margin',
        'on A it takes 3.000 ms, 2.700 ms too long',
      ],
    ],
  ];
  it.each(CASES)('%s', async (_, spoil, wanted, said) => {
    const { code, stderr } = await solveSpoilt(spoil);
    expect({ code, stderr }).toEqual({ code: wanted, stderr });
    for (const text of said) expect(stderr).toContain(text);
    expect(stderr).not.toMatch(/^\s+at /m);
  });

  it('NaN latencies, which YAML can hold and JSON cannot', async () => {
    const text =
      'kind: profile\nversion: "1.0"\nmodel: { name: m }\nblocks: [{ cutBytes: 0 }]\n' +
      'devices: { A: { blockLatencyUs: { "1": { "1": [.nan] } } } }\n';
    await writeFile(join(folder, 'nan.yaml'), text);
    const { code, stderr } = await solveSpoilt((p) => {
      p.models = [{ profile: 'nan.yaml', sloMs: 50 }];
    });
    expect(code).toBe(2);
    expect(stderr).toContain('/devices/A/blockLatencyUs/1/1/0');
    await writeFile(join(folder, 'nan.json'), '{ "devices": NaN }');
    const json = await solveSpoilt((p) => {
      p.models = [{ profile: 'nan.json', sloMs: 50 }];
    });
    expect(json.stderr).toContain('it is not JSON');
  });

  it('an SLO that no plan can meet, with the SLO that would do', async () => {
    await solveSpoilt((p) => {
      p.models = [{ profile: 'p.json', sloMs: 0.5 }];
    });
    const { code, stdout } = await plan(['solve', join(folder, 'spec.json'), '--explain', '--json']);
    expect(code).toBe(3);
    expect(JSON.parse(stdout)).toMatchObject({
      status: 'infeasible',
      explained: true,
      models: [{ smallestFeasibleSloMs: expect.closeTo(5, 6), feasibleSloMs: expect.closeTo(5, 6) }],
    });
  });
});
