import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { writeMaterial } from '../../bench/fuzz/material.js';
import { validateFiles } from '../../src/api/index.js';
import { type GearPlan, InputError, type PipelinePlan, type PooledPlan } from '../../src/formats/index.js';
import { planOf } from '../../src/plans/index.js';
import { prepareSimulation } from '../../src/simulation/index.js';
import { writeFamily } from '../cascade-specs.js';
import { fewOf, whole } from '../cases.js';
import { plan } from '../cli/plan.js';
import { leavesOf, otherThan, withLeaf } from '../leaves.js';
import { example, planned } from '../pipeline/example.js';

type AnyPlan = PooledPlan | PipelinePlan | GearPlan;

let folder: string;
const plans: Record<string, AnyPlan> = {};

/** alone gives a plan without what it was made from, so that nothing can be recomputed. */
function alone<T extends AnyPlan>({ inputs: _, ...made }: T): T {
  return made as T;
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-contradictions-'));
  await writeMaterial(join(folder, 'pooled'));
  plans.pooled = alone(JSON.parse(await readFile(join(folder, 'pooled', 'plan.json'), 'utf8')) as PooledPlan);
  const gears = join(folder, 'gears.json');
  expect(await plan(['solve', await writeFamily(folder), '-o', gears])).toMatchObject({ code: 0 });
  plans.gears = alone(JSON.parse(await readFile(gears, 'utf8')) as GearPlan);
  plans.pipeline = { ...planned(example()), serving: { scheduler: 'stage-local' } };
}, 120_000);
afterAll(() => rm(folder, { recursive: true, force: true }));

const contradictionsOf = (of: AnyPlan) => planOf(of).contradictions(of);

/** refusals says whether `plan validate` and `plan simulate` refuse a plan that stands alone. */
async function refusals(changed: AnyPlan): Promise<{ validated: boolean; simulated: boolean }> {
  const path = join(folder, 'changed.json');
  await writeFile(path, JSON.stringify(changed));
  const records = changed.kind === 'gear-plan' ? { records: join(folder, 'records.csv') } : {};
  const simulated = await prepareSimulation(path, { rps: ['1'], duration: 1, ...records } as never).then(
    () => false,
    (error: unknown) => {
      if (error instanceof InputError) return true;
      throw error;
    },
  );
  const [validated] = await validateFiles([path]);
  return { validated: validated?.ok === false, simulated };
}

describe('contradictions()', () => {
  for (const kind of fewOf(['pipeline', 'pooled', 'gears'], 1))
    it(`plan validate refuses a ${kind} plan without inputs if and only if plan simulate does, whatever is changed`, async () => {
      const made = plans[kind] as AnyPlan;
      expect(await refusals(made)).toEqual({ validated: false, simulated: false });
      let refused = 0;
      for (const { path, value } of fewOf(leavesOf(made), 40)) {
        const { validated, simulated } = await refusals(withLeaf(made, path, otherThan(value)));
        expect(simulated, `${path}: ${value}`).toBe(validated);
        refused += validated ? 1 : 0;
      }
      expect(refused).toBeGreaterThan(whole(5, 20));
    }, 120_000);

  it('finds figures of a pipeline that do not follow from its stages, and no others', () => {
    const made = plans.pipeline as PipelinePlan;
    expect(contradictionsOf(made)).toEqual([]);
    const wrong = withLeaf(made, '/stages/1/scaleFactor', 0.5);
    expect(contradictionsOf(wrong).some(({ path }) => path.startsWith('/stages/1'))).toBe(true);
    // What devices are counted to is looked at where nothing else is wrong.
    const [name] = Object.keys(made.classes);
    const used = withLeaf(made, `/classes/${name}/used`, 9);
    expect(contradictionsOf(used).some(({ path }) => path.startsWith('/classes'))).toBe(true);
  });

  it('finds a GPU that holds more than one, and a partition whose GPUs are not those of its virtual GPUs', async () => {
    const made = plans.pooled as PooledPlan;
    const half = withLeaf(made, '/models/0/pipelines/0/partitions/0/gpus', 1.5);
    expect(contradictionsOf(half).map(({ path }) => path)).toEqual([
      '/models/0/pipelines/0/partitions/0/gpus',
    ]);
    const [first] = made.placement;
    const crowded = {
      ...made,
      placement: made.placement.map((one) => ({
        ...one,
        server: first!.server,
        gpu: 0,
        class: first!.class,
      })),
    };
    expect(contradictionsOf(crowded)).not.toEqual([]);
    expect(await refusals(crowded)).toEqual({ validated: true, simulated: true });
  });

  it('finds a feasible plan with a gap of 0, of any kind', async () => {
    for (const made of [plans.pooled, plans.gears] as (PooledPlan | GearPlan)[]) {
      const objective = { ...made.objective, bound: made.objective.value, gap: 0 };
      expect(contradictionsOf({ ...made, objective, status: 'optimal' } as AnyPlan)).toEqual([]);
      expect(contradictionsOf({ ...made, objective, status: 'feasible' } as AnyPlan)).toEqual([
        { path: '/status', message: 'is feasible, and the gap of 0 says that it is optimal' },
      ]);
    }
    const { hourlyCost: value = 0 } = plans.pipeline as PipelinePlan;
    const objective = { kind: 'cost' as const, value, bound: value, gap: 0 };
    const pipeline = { ...(plans.pipeline as PipelinePlan), objective };
    expect(contradictionsOf({ ...pipeline, status: 'feasible' })).toHaveLength(1);
    expect(contradictionsOf({ ...pipeline, status: 'optimal' })).toEqual([]);
  });
});
