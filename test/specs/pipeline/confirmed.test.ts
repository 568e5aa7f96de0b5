import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type RandomPipeline, randomPipeline } from '../../../bench/refute/pipelines/random-spec.js';
import { attainmentsOf } from '../../../bench/refute/pipelines/served.js';
import { Dice } from '../../../bench/seeded/dice.js';
import { validateFiles } from '../../../src/api/index.js';
import type { PipelinePlan, PlanServing } from '../../../src/formats/index.js';
import { solveSpec } from '../../../src/specs/index.js';
import { cases, inWholeRun, whole } from '../../cases.js';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-confirmed-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const at = (name: string): string => join(folder, name);
const IN_ORDER = { scheduler: 'inferline' };
const ROOM_FIRST = { scheduler: 'room-first' };
const STAGE_LOCAL = { scheduler: 'stage-local' };

/** drawnCase draws a small pipeline whose spec names no scheduler. */
function drawnCase(seed: number): RandomPipeline {
  const { spec, profiles } = randomPipeline(new Dice(seed, 'confirmed'));
  const { serving: _, ...unnamed } = spec;
  return { spec: unnamed, profiles };
}

async function solved({ spec, profiles }: RandomPipeline, serving?: PlanServing) {
  for (const [i, profile] of profiles.entries()) await writeFile(at(`m${i}.json`), JSON.stringify(profile));
  await writeFile(
    at('spec.json'),
    JSON.stringify({ ...spec, ...(serving === undefined ? {} : { serving }) }),
  );
  return solveSpec(at('spec.json'), { work: 1000, output: at('plan.json') });
}

async function planOf(drawn: RandomPipeline, serving?: PlanServing): Promise<PipelinePlan> {
  const outcome = await solved(drawn, serving);
  if (outcome.outcome !== 'pipeline-plan') throw new Error(`there is no plan: ${outcome.outcome}`);
  return outcome.plan;
}

/** leastOf serves every draw of the sample by a plan, under its scheduler or another. */
function leastOf(drawn: RandomPipeline, plan: PipelinePlan, serving = plan.serving): number {
  const draws = Array.from({ length: plan.sample?.draws ?? 0 }, (_, k) => k + 1);
  return Math.min(...draws.flatMap((seed) => attainmentsOf(drawn, { ...plan, serving }, seed)));
}

/** toldOf is what a plan says of its sample's worst draw, or of the application that it serves worst. */
function toldOf({ sample, applications = [] }: PipelinePlan): number | undefined {
  const [first, ...others] = applications.map((one) => one.sample?.leastAttainment as number);
  return first === undefined ? sample?.leastAttainment : Math.min(first, ...others);
}

describe('the scheduler of a planned pipeline', () => {
  inWholeRun(
    'is the first fallback that holds, with a note, where the default misses what is asked of the sample',
    async () => {
      for (const seed of whole([9], [9, 26, 28])) {
        const drawn = drawnCase(seed);
        const plan = await planOf(drawn);
        const dropsToo = leastOf(drawn, plan, STAGE_LOCAL) >= plan.attainment;
        expect(plan.serving).toEqual(dropsToo ? STAGE_LOCAL : IN_ORDER);
        const note = `served by ${plan.serving.scheduler}.* since room-first, the default, misses`;
        expect(plan.notes?.join()).toMatch(new RegExp(note));
        expect(leastOf(drawn, plan)).toBe(toldOf(plan));
        expect(leastOf(drawn, plan, ROOM_FIRST)).toBeLessThan(plan.attainment);
        expect(plan.hourlyCost).toBe((await planOf(drawn, IN_ORDER)).hourlyCost);
      }
    },
  );

  inWholeRun(
    'is stage-local where the default holds the sample and has over 0.2 points less of it in time than in order',
    async () => {
      for (const seed of whole([1, 12], [1, 12, 44, 100, 119])) {
        const drawn = drawnCase(seed);
        const plan = await planOf(drawn);
        // The default holds these samples with the same replicas, so that the plans differ in their scheduler alone.
        const byDefault = await planOf(drawn, ROOM_FIRST);
        expect(byDefault.hourlyCost).toBe(plan.hourlyCost);
        const inOrder = (await planOf(drawn, IN_ORDER)).sample?.attainment as number;
        const lost = inOrder - (byDefault.sample?.attainment as number);
        expect(plan.serving).toEqual(lost > 0.002 ? STAGE_LOCAL : ROOM_FIRST);
        expect(inOrder - (plan.sample?.attainment as number)).toBeLessThanOrEqual(0.002);
        expect(leastOf(drawn, plan)).toBe(toldOf(plan));
      }
    },
  );

  inWholeRun(
    'gets more replicas, and no more than it needs of any stage, where the spec names it',
    async () => {
      for (const seed of whole([26], [26, 28])) {
        const drawn = drawnCase(seed);
        const plain = await planOf(drawn, IN_ORDER);
        expect(leastOf(drawn, plain, ROOM_FIRST)).toBeLessThan(plain.attainment);
        const plan = await planOf(drawn, ROOM_FIRST);
        expect(plan.serving).toEqual(ROOM_FIRST);
        expect(plan.hourlyCost).toBeGreaterThan(plain.hourlyCost as number);
        expect(leastOf(drawn, plan)).toBeGreaterThanOrEqual(plan.attainment);
        expect(leastOf(drawn, plan)).toBe(toldOf(plan));
        expect(plan.objective?.bound).toBeLessThanOrEqual(plain.objective?.bound as number);
      }
    },
  );

  it('holds no plan where even more replicas do not help, which is reported as no proof', async () => {
    const outcome = await solved(drawnCase(9), ROOM_FIRST);
    expect(outcome.outcome).toBe('no-plan-in-time');
    if (outcome.outcome === 'no-plan-in-time')
      expect(outcome.advice).toMatch(/none that room-first holds, with more replicas/);
  });

  inWholeRun(
    'is said to have no plan only where that is counted, and a bound that holds for all schedulers',
    async () => {
      const unproved = await solved(drawnCase(18));
      expect(unproved.outcome).toBe('no-plan-in-time');
      if (unproved.outcome === 'no-plan-in-time')
        expect(unproved.reasons.join()).toMatch(/in order of arrival.* is proved; of plans that room-first/);
      expect((await solved(drawnCase(18), IN_ORDER)).outcome).toBe('infeasible');
      let lower = 0;
      for (let seed = 0; seed < cases(whole(6, 12), 60); seed++) {
        const drawn = drawnCase(seed);
        const [any, inOrder] = [await solved(drawn), await solved(drawn, IN_ORDER)];
        if (any.outcome !== 'pipeline-plan' || inOrder.outcome !== 'pipeline-plan') continue;
        const bounds = [any, inOrder].map(({ plan }) => plan.objective?.bound as number);
        expect(bounds[0]).toBeLessThanOrEqual(bounds[1] as number);
        if ((bounds[0] as number) < (bounds[1] as number)) lower++;
        expect(any.plan.status === 'optimal').toBe(any.plan.hourlyCost === bounds[0]);
      }
      expect(lower).toBeGreaterThan(whole(-1, 0));
    },
  );

  inWholeRun('may be that of an older version where the spec names none, and no other', async () => {
    const drawn = drawnCase(1);
    const earlier = await planOf(drawn, IN_ORDER);
    const { inputs, ...plan } = await planOf(drawn);
    const isValid = async (changed: object): Promise<boolean> => {
      await writeFile(at('plan.json'), JSON.stringify({ ...plan, inputs, ...changed }));
      return (await validateFiles([at('plan.json')]))[0]?.ok === true;
    };
    expect(await isValid({})).toBe(true);
    expect(await isValid({ ...earlier, inputs })).toBe(true);
    expect(await isValid({ ...earlier, inputs, serving: { scheduler: 'fifo' } })).toBe(false);
    expect(await isValid({ sample: { ...plan.sample, p99Ms: 2 * (plan.sample?.p99Ms ?? 1) } })).toBe(false);
  });
});
