import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { diffPlanFiles } from '../../src/api/index.js';
import type { GearPlan, PipelinePlan, PooledPlan } from '../../src/formats/index.js';
import { solveSpec } from '../../src/specs/index.js';
import { writeFamily } from '../cascade-specs.js';
import { fewOf, whole } from '../cases.js';
import { leavesOf, otherThan, withLeaf } from '../leaves.js';
import { example, planned } from '../pipeline/example.js';

const POOLED = new URL('../../examples/pooled/expected-plan.json', import.meta.url);
const PIPELINE = new URL('../../examples/pipeline/expected-plan.json', import.meta.url);

type AnyPlan = PooledPlan | PipelinePlan | GearPlan;

/**
 * What is deliberately not compared: the kind, which all plans to be compared have in common, the format, where the plan
 * came from, and remarks.
 */
const NOT_COMPARED = /^\/(\$schema|kind|version|tool|inputs|notes)\b/;

let folder: string;
const plans: Record<string, AnyPlan> = {};

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-diff-'));
  const pooled = JSON.parse(await readFile(POOLED, 'utf8')) as PooledPlan;
  plans['a pooled plan'] = pooled;
  plans['a pooled plan that holds its rates'] = {
    ...pooled,
    ...({ reproducible: false, baseline: 'dart-r', formulation: 'literal' } as const),
    models: pooled.models.map((model) => ({
      ...model,
      heldRps: 7,
      batchTolerance: 0.1,
      boundary: 'exact' as const,
    })),
    hold: {
      value: 7,
      bound: 8,
      trials: 3,
      variants: 2,
      moved: 1,
      runs: { seeds: [201, 202], arrivals: 'gamma' as const, cv: 2, durationS: 60, confidence: 0.95 },
      models: pooled.models.map(({ name }) => ({
        name,
        attainment: 0.99,
        sloMargin: 0.2,
        batchFormation: 'none' as const,
        headroom: 1,
        mostBatch: 4,
        simulated: { mean: 0.995, low: 0.991, high: 0.999, least: 0.99, most: 1 },
      })),
    },
  };
  plans['a pipeline that was searched'] = JSON.parse(await readFile(PIPELINE, 'utf8')) as PipelinePlan;
  const given = planned(example());
  plans['a pipeline that is given'] = {
    ...given,
    serving: { scheduler: 'stage-local', tuner: { kind: 'inferline' } },
    share: { with: ['other'] },
    ...({ status: 'feasible', objective: { kind: 'cost', value: 5, bound: 4, gap: 0.25 } } as const),
    objectives: [{ sloMs: 7, attainment: 0.5, sampleAttainment: 0.75 }],
    exclusive: [[given.stages[0]!.name, given.stages[1]!.name]],
    shared: [{ stages: [given.stages[0]!.name], maxProvisioningRatio: 0.5 }],
    load: { arrivals: 'gamma' as const, rps: 5, cv: 2, duration: '60s' },
    envelope: [{ windowUs: 5, requests: 3 }],
    stages: given.stages.map((stage) => ({
      ...stage,
      standby: 1,
      weightBytes: 5,
      maxProvisioningRatio: 0.5,
    })),
  };
  const path = join(folder, 'gears.json');
  await solveSpec(await writeFamily(folder), { output: path, work: 1000 });
  plans['a gear plan'] = JSON.parse(await readFile(path, 'utf8')) as GearPlan;
}, 60_000);
afterAll(() => rm(folder, { recursive: true, force: true }));

const at = (file: string): string => join(folder, file);

async function written(file: string, plan: AnyPlan): Promise<string> {
  await writeFile(at(file), JSON.stringify(plan));
  return at(file);
}

describe('diffPlanFiles() of a plan that contradicts itself', () => {
  it('notes it, as every other command refuses such a plan', async () => {
    const [before, after] = [join(folder, 'sound.json'), join(folder, 'contradictory.json')];
    const plan = JSON.parse(await readFile(POOLED, 'utf8')) as PooledPlan;
    await writeFile(before, JSON.stringify(plan));
    await writeFile(after, JSON.stringify(withLeaf(plan, '/objective/value', plan.objective.value * 2)));
    expect((await diffPlanFiles(before, before)).notes).toBeUndefined();
    const { notes = [] } = await diffPlanFiles(before, after);
    expect(notes).toHaveLength(1);
    expect(notes[0]).toMatch(/contradictory\.json contradicts itself.*\/objective\/bound/);
    for (const [one, other] of [
      [before, after],
      [after, before],
    ] as const)
      for (const tolerance of [undefined, { gpus: { most: 0, isShare: false } }])
        await expect(diffPlanFiles(one, other, { check: true, tolerance })).rejects.toThrow(
          /^Cannot judge the changes from .*contradictory\.json#\/objective\/bound: .*plan solve\.$/s,
        );
  });
});

describe('diffPlanFiles()', () => {
  for (const name of [
    'a pooled plan',
    'a pooled plan that holds its rates',
    'a pipeline that was searched',
    'a pipeline that is given',
    'a gear plan',
  ])
    it(`reports any field of ${name} that is changed, and nothing where none is`, async () => {
      const plan = plans[name] as AnyPlan;
      const before = await written('before.json', plan);
      expect(await diffPlanFiles(before, await written('after.json', plan))).toMatchObject({ same: true });
      const compared = leavesOf(plan).filter(({ path }) => !NOT_COMPARED.test(path));
      let told = 0;
      for (const { path, value } of fewOf(compared, 40)) {
        const changed = withLeaf(plan, path, otherThan(value));
        const after = await written('after.json', changed);
        // A value that the schema does not allow is refused, and not compared.
        const diff = await diffPlanFiles(before, after).catch(() => undefined);
        if (diff === undefined) continue;
        expect(diff.same, `${path}: ${value}`).toBe(false);
        told += 1;
      }
      expect(told).toBeGreaterThan(whole(15, 60));
    }, 60_000);

  it('does not compare where plans came from, and remarks', async () => {
    const plan = plans['a gear plan'] as GearPlan;
    const other = { ...plan, notes: ['another'], inputs: [], tool: { name: 'other', version: '9' } };
    const diff = await diffPlanFiles(await written('before.json', plan), await written('after.json', other));
    expect(diff).toMatchObject({ same: true });
  });

  describe('of prices in two currencies', () => {
    const REFUSED = [
      'names cost, whose prices have EUR in one plan and USD in the other: they do not compare',
      'names objective, whose prices have EUR in one plan and USD in the other: they do not compare',
    ];

    /** pricedIn writes a pipeline's plan, which is the cheapest one, with prices in a currency. */
    async function pricedIn(currency: string | undefined, file: string): Promise<string> {
      const plan = plans['a pipeline that was searched'] as PipelinePlan;
      const cluster = { ...plan.cluster, ...(currency === undefined ? {} : { currency }) };
      return await written(file, { ...plan, cluster } as AnyPlan);
    }

    const judged = async (a: string | undefined, b: string | undefined) => {
      const [before, after] = [await pricedIn(a, 'before.json'), await pricedIn(b, 'after.json')];
      const most = { most: 0, isShare: true };
      return await diffPlanFiles(before, after, { check: true, tolerance: { cost: most, objective: most } });
    };

    it('judges no cost, and reports the currencies', async () => {
      const told = await judged('EUR', 'USD').catch((error) => error.faults);
      expect(told.map(({ message }: { message: string }) => message)).toEqual(REFUSED);
      await expect(judged(undefined, 'USD')).rejects.toThrow(/have no currency in one plan and USD/);
      const plain = await diffPlanFiles(at('before.json'), at('after.json'));
      expect(plain.currency).toEqual({ after: 'USD' });
      expect(plain.hourlyCost?.after).toBe(plain.hourlyCost?.before);
    });

    it('says that a cost is not known where a plan has no prices, whatever its currency', async () => {
      const plan = plans['a pipeline that was searched'] as PipelinePlan;
      const devices = Object.fromEntries(Object.keys(plan.cluster.devices).map((name) => [name, {}]));
      const { hourlyCost: _, ...free } = plan;
      const before = await written('before.json', {
        ...free,
        cluster: { ...plan.cluster, devices },
      } as AnyPlan);
      const after = await pricedIn('USD', 'after.json');
      const { hourlyCost, currency } = await diffPlanFiles(before, after);
      expect({ hourlyCost, currency }).toEqual({});
    });

    it('judges costs that differ by rounding alone as the same, as it does without a tolerance', async () => {
      const plan = plans['a pipeline that was searched'] as PipelinePlan;
      const dearer = structuredClone(plan);
      for (const device of Object.values(dearer.cluster.devices))
        if (device.hourlyCost !== undefined) device.hourlyCost *= 1 + Number.EPSILON;
      const paths = [await written('before.json', plan), await written('after.json', dearer)] as const;
      const tolerance = { cost: { most: 0, isShare: true } };
      const { checks = [] } = await diffPlanFiles(...paths, { check: true, tolerance });
      expect(checks).toMatchObject([{ figure: 'cost', value: 0, held: true }]);
    });

    it('judges costs in one currency, or in none that is named', async () => {
      for (const currency of ['EUR', undefined]) {
        const { checks = [], ...diff } = await judged(currency, currency);
        expect(checks.map(({ figure, held }) => [figure, held])).toEqual([
          ['cost', true],
          ['objective', true],
        ]);
        expect(diff).not.toHaveProperty('currency');
      }
    });
  });
});
