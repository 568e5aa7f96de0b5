import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { validateFiles } from '../../../src/api/index.js';
import type { PooledPlan, PooledSpec } from '../../../src/formats/index.js';
import { confirmPlan } from '../../../src/specs/confirm-plan.js';
import { solveSpec } from '../../../src/specs/index.js';
import { inWholeRun, whole } from '../../cases.js';
import { writeRandomSpec } from '../specs.js';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-promise-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** A search on fewer GPUs takes less time. */
const SHAPE = whole({ mostGpus: 4, blocks: 3 }, {});

interface Asked {
  readonly planner?: PooledSpec['planner'];
  readonly work?: number;
}

async function held({ planner = {}, ...limits }: Asked = {}): Promise<PooledPlan> {
  const { path } = await writeRandomSpec(folder, 4, SHAPE, planner);
  const answer = await solveSpec(path, { hold: 0.95, output: join(folder, 'held.json'), ...limits });
  if (answer.outcome !== 'plan') throw new Error(answer.outcome);
  return answer.plan;
}

let once: Promise<PooledPlan> | undefined;
/** heldOnce gives the plan of the spec as it stands, searched once for all tests, from the same files. */
async function heldOnce(): Promise<PooledPlan> {
  once ??= held(whole({ work: 1 }, {}));
  const plan = await once;
  await writeRandomSpec(folder, 4, SHAPE, {});
  return plan;
}

/** told gives what `plan validate` says of a plan; nothing where it is confirmed. */
async function told(plan: PooledPlan): Promise<string[]> {
  const path = join(folder, 'edited.json');
  await writeFile(path, JSON.stringify(plan));
  const [validated] = await validateFiles([path]);
  if (validated?.ok !== false) return [];
  return validated.faults.map((one) => `${one.path} ${one.message}`);
}

/** lowered promises less at every model, so that nothing contradicts itself. */
function lowered(plan: PooledPlan, factor: number): PooledPlan {
  const models = plan.models.map(({ heldRps = 0, ...model }) => ({ ...model, heldRps: heldRps * factor }));
  return { ...plan, models, hold: { ...plan.hold!, value: plan.hold!.value * factor } };
}

describe('repeatedPromiseFaults()', { timeout: 120_000 }, () => {
  inWholeRun(
    'confirms promises as they were made, with other arrivals and with limited work too',
    async () => {
      const gamma = { hold: { attainment: 0.9, arrivals: 'gamma', cv: 2 } } as const;
      expect(await told(await heldOnce())).toEqual([]);
      for (const asked of whole([], [{ planner: gamma }, { work: 1 }, {}]))
        expect(await told(await held(asked))).toEqual([]);
    },
  );

  inWholeRun(
    'finds promised rates that are a little lower, and shares in time that the runs do not have',
    async () => {
      const plan = await heldOnce();
      const [first] = await told(lowered(plan, 0.999));
      const said = `/models/0/heldRps is ${plan.models[0]!.heldRps! * 0.999}; at that rate the runs of hold have `;
      expect(first?.startsWith(said), first).toBe(true);
      for (const figure of whole(['low'] as const, ['mean', 'least', 'most', 'low', 'high'] as const)) {
        const edited = structuredClone(plan);
        edited.hold!.models[0]!.simulated![figure] += 1e-6;
        expect(await told(edited), figure).toHaveLength(1);
      }
      const silent = structuredClone(plan);
      delete silent.hold!.models[0]!.simulated;
      expect((await told(silent))[0]).toContain('and the plan says nothing');
    },
  );

  inWholeRun('finds bounds that are tighter than the LPs, and takes looser ones', async () => {
    const plan = await heldOnce();
    const { bound, value } = plan.hold!;
    const tight = { ...plan, hold: { ...plan.hold!, bound: (bound + value) / 2 } };
    expect(await told(tight)).toEqual([
      `/hold/bound is ${(bound + value) / 2}; the LP with no margin proves ${bound}`,
    ]);
    expect(await told({ ...plan, hold: { ...plan.hold!, bound: 2 * bound } })).toEqual([]);
    const { objective } = plan;
    const tighter = { ...objective, bound: objective.bound * (1 - 1e-4) };
    tighter.gap = tighter.bound / objective.value - 1;
    expect((await told({ ...plan, objective: tighter }))[0]).toMatch(
      /^\/objective\/bound is .* the LP with no margin proves/,
    );
  });

  inWholeRun(
    'is left out where nothing that takes seconds is to be repeated, or the search alone',
    async () => {
      const plan = lowered(await heldOnce(), 0.999);
      const path = join(folder, 'edited.json');
      await writeFile(path, JSON.stringify(plan));
      for (const repeats of [[], ['search']] as const)
        expect(await confirmPlan(plan, { path, repeats })).toMatchObject({ how: 'recomputed' });
      for (const place of [{ path }, { path, repeats: ['promise'] as const }])
        await expect(confirmPlan(plan, place)).rejects.toThrow('/models/0/heldRps');
    },
  );

  it('finds arrivals that its spec does not give', async () => {
    const plan = await heldOnce();
    const edited = structuredClone(plan);
    edited.hold!.runs.arrivals = 'uniform';
    expect(await told(edited)).toEqual(['/hold/runs/arrivals is "uniform"; its spec gives "poisson"']);
  });
});
