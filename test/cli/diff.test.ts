import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { PooledPlan } from '../../src/formats/index.js';
import { plan } from './plan.js';

const EXAMPLE = new URL('../../examples/pooled/expected-plan.json', import.meta.url).pathname;

describe('plan diff --check', () => {
  it('has the verdict in its JSON, and none where none was asked for', async () => {
    const same = await plan(['diff', EXAMPLE, EXAMPLE, '--check', '--json']);
    expect(same.code).toBe(0);
    expect(JSON.parse(same.stdout).checks).toEqual([{ what: 'same', held: true }]);
    expect(JSON.parse((await plan(['diff', EXAMPLE, EXAMPLE, '--json'])).stdout)).not.toHaveProperty(
      'checks',
    );
  });

  describe('with --tolerance', () => {
    let folder: string;
    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'inferplan-tolerance-'));
      const dearer = JSON.parse(await readFile(EXAMPLE, 'utf8')) as PooledPlan;
      for (const device of Object.values(dearer.cluster.devices)) (device.hourlyCost as number) *= 1.03;
      await writeFile(join(folder, 'dearer.json'), JSON.stringify(dearer));
      const unpriced = structuredClone(dearer);
      for (const device of Object.values(unpriced.cluster.devices)) delete device.hourlyCost;
      await writeFile(join(folder, 'unpriced.json'), JSON.stringify(unpriced));
    });
    afterAll(() => rm(folder, { recursive: true, force: true }));
    const diff = (...args: string[]) => plan(['diff', EXAMPLE, ...args], { cwd: folder });

    it('judges named figures alone, as shares or amounts, of each model that has them', async () => {
      for (const [tolerance, code] of [
        ['cost=2%', 6],
        ['cost=3.1%', 0],
        ['cost=0.01', 6],
        ['cost=1', 0],
        ['gpus=0', 0],
      ] as const)
        expect([tolerance, (await diff('dearer.json', '--check', '--tolerance', tolerance)).code]).toEqual([
          tolerance,
          code,
        ]);
      expect((await diff('dearer.json', '--check')).code).toBe(6);
      expect((await diff('dearer.json')).stdout).toMatch(/^plan +cost per hour +[\d.]+ +[\d.]+ +\+3\.0 %$/m);
      const both = ['--tolerance', 'cost=2%', '--tolerance', 'throughput=0'];
      const { code, stdout } = await diff('dearer.json', '--check', ...both, '--json');
      expect([code, JSON.parse(stdout).checks]).toEqual([
        6,
        [
          {
            what: 'difference',
            figure: 'cost',
            threshold: 0.02,
            relative: true,
            value: expect.closeTo(0.03, 9),
            held: false,
          },
          ...['detector', 'segmenter'].map((model) => ({
            what: 'difference',
            figure: 'throughput',
            model,
            threshold: 0,
            relative: false,
            value: 0,
            held: true,
          })),
        ],
      ]);
      const told = await diff('dearer.json', '--check', '--tolerance', 'cost=2%', '--reporter', 'junit');
      expect(told.stdout).toContain('The cost differs by 3.00 %, more than the 2.00 % that are allowed');
    });

    it('refuses a figure that there is not, one that a plan does not have, and a tolerance without --check', async () => {
      const unknown = await diff('dearer.json', '--check', '--tolerance', 'costs=2%');
      expect([unknown.code, unknown.stderr]).toEqual([
        2,
        expect.stringContaining('there are cost, gpus, objective, throughput, held, slo, accuracy, p95'),
      ]);
      const unpriced = await diff('unpriced.json', '--check', '--tolerance', 'cost=2%');
      expect([unpriced.code, unpriced.stderr]).toEqual([
        2,
        expect.stringContaining('--tolerance: names cost, which is not known in both plans'),
      ]);
      const alone = await diff('dearer.json', '--tolerance', 'cost=2%');
      expect([alone.code, alone.stderr]).toEqual([2, expect.stringContaining('--check judges: give both')]);
      expect((await diff('dearer.json', '--check', '--tolerance', 'cost=soon')).code).toBe(2);
    });
  });
});
