import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { falseExplanations } from '../../../bench/refute/pooled/explained.js';
import { boundPassed, brokenPromises } from '../../../bench/refute/pooled/held.js';
import { misplaced } from '../../../bench/refute/pooled/placed.js';
import { type MadeSpec, problemOf, written } from '../../../bench/refute/pooled/random-spec.js';
import { falseRemedies } from '../../../bench/refute/pooled/remedies.js';
import { mistimed } from '../../../bench/refute/pooled/timed.js';
import { overvalued } from '../../../bench/refute/pooled/values.js';
import type { NoPlan, PooledPlan, Profile } from '../../../src/formats/index.js';
import type { PlanExplanation, PooledProblem } from '../../../src/milp/index.js';
import { solveSpec } from '../../../src/specs/index.js';
import { inWholeRun } from '../../cases.js';

/** One block of 10 ms, or 12 ms for two requests, on a GPU or on half of one. */
const PROFILE: Profile = {
  kind: 'profile',
  version: '1.0',
  model: { name: 'm' },
  blocks: [{ cutBytes: 0, nodes: ['a'] }],
  devices: {
    L4: { blockLatencyUs: { 1: { 1: [10_000], 2: [12_000] }, 2: { 1: [15_000], 2: [20_000] } } },
  },
};

function made(sloMs: number, rps: number, count = 2): MadeSpec {
  const cluster = {
    devices: { L4: { count, perServer: 2, virtual: [1, 2], hourlyCost: 1 } },
    networkGbps: 10,
  };
  const models = [{ profile: 'm.json', sloMs, rps }];
  const planner = { objective: 'cost', sloMargin: 0 } as const;
  return { spec: { kind: 'pooled', cluster, models, planner }, profiles: [PROFILE] };
}

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-pooled-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

interface Planned {
  readonly plan: PooledPlan;
  readonly explanation: PlanExplanation;
  readonly problem: PooledProblem;
}

async function planned(spec: MadeSpec): Promise<Planned> {
  const solved = await solveSpec(await written(spec, folder), { gap: 0, explain: true });
  if (solved.outcome !== 'plan' || solved.plan.kind !== 'pooled-plan') throw new Error(solved.outcome);
  return { plan: solved.plan, explanation: solved.explanation as PlanExplanation, problem: problemOf(spec) };
}

describe('a plan', () => {
  let one: Planned;
  beforeAll(async () => {
    // Two half GPUs serve 200/s within 30 ms.
    one = await planned(made(30, 190));
  });

  it('that is true is not refuted', () => {
    const { plan, problem, explanation } = one;
    expect(plan.objective.value).toBe(1);
    expect(overvalued(plan, problem)).toEqual([]);
    expect(misplaced(plan, problem)).toEqual([]);
    expect(mistimed(plan, problem)).toEqual([]);
    expect(falseExplanations(made(30, 190), plan, explanation)).toEqual([]);
  });

  it('whose value, bound or status is better than any plan has is refuted', () => {
    const { plan, problem } = one;
    const withObjective = (change: object) => ({ ...plan, objective: { ...plan.objective, ...change } });
    expect(overvalued(withObjective({ value: 0.9 }), problem)).toHaveLength(1);
    expect(overvalued(withObjective({ bound: 1.1 }), problem)).toHaveLength(1);
    expect(overvalued(withObjective({ value: 2 }), problem)).toHaveLength(1);
  });

  it('that places its virtual GPUs on too few GPUs, or nowhere, is refuted', () => {
    const { plan, problem } = one;
    const [first] = plan.placement;
    expect(misplaced({ ...plan, placement: plan.placement.slice(1) }, problem)).not.toEqual([]);
    const crowded = plan.placement.map((entry) => ({ ...entry, gpu: 0, virtual: 1 }));
    expect(misplaced({ ...plan, placement: [...crowded, ...crowded] }, problem)).not.toEqual([]);
    expect(misplaced({ ...plan, placement: [{ ...first!, gpu: 7 }] }, problem)).not.toEqual([]);
  });

  it('that counts on more than its pools serve, or on an SLO that they miss, is refuted', () => {
    const { plan, problem } = one;
    const models = plan.models.map((model) => ({ ...model, throughputRps: 1.01 * model.throughputRps }));
    expect(mistimed({ ...plan, models }, problem)).toHaveLength(1);
    const tight = problemOf(made(9, 190));
    expect(mistimed(plan, tight)).toHaveLength(1);
  });

  it('whose explanation is false is refuted', () => {
    const { plan, explanation } = one;
    const told = (change: object) => ({
      ...explanation,
      models: explanation.models.map((model) => ({ ...model, ...change })),
    });
    const faults = (change: object) => falseExplanations(made(30, 190), plan, told(change));
    expect(faults({ tighterSloMs: 11 })).not.toEqual([]);
    expect(faults({ looserSloMs: 40, looserValue: 0.5 })).not.toEqual([]);
    const classes = explanation.classes.map((one) => ({ ...one, oneMore: -0.5 }));
    expect(falseExplanations(made(30, 190), plan, { ...explanation, classes })).not.toEqual([]);
  });

  inWholeRun(
    'that promises to hold more than it does, or has a bound that a plan passes, is refuted',
    async () => {
      const spec = made(60, 100);
      const solved = await solveSpec(await written(spec, folder), { hold: 0.95, threads: 1 });
      if (solved.outcome !== 'plan' || solved.plan.kind !== 'pooled-plan') throw new Error(solved.outcome);
      const { plan } = solved;
      const problem = problemOf(spec);
      const faults = async (models: PooledPlan['models']) => {
        const path = join(folder, 'promise.json');
        // Beside its spec a plan of another rate would be refused before it is simulated.
        await writeFile(path, JSON.stringify({ ...plan, models, inputs: [] }));
        return brokenPromises({ ...plan, models }, path, problem);
      };
      expect(await faults(plan.models)).toEqual([]);
      expect(boundPassed({ ...plan, hold: { ...plan.hold!, bound: 1.5 } }, problem)).not.toEqual([]);
      // In other runs fewer are in time at a rate that the pools hardly serve.
      const held = plan.models.map((model) => ({ ...model, heldRps: 0.99 * model.throughputRps }));
      const broken = await faults(held.map((model) => ({ ...model, rps: model.heldRps })));
      expect(broken.map(({ claim }) => claim).join()).toContain('0.95 of m are in time');
    },
  );
});

describe('an answer without a plan', () => {
  const told = async (spec: MadeSpec): Promise<NoPlan> => {
    const solved = await solveSpec(await written(spec, folder), { explain: true });
    if (solved.outcome !== 'infeasible') throw new Error(solved.outcome);
    return solved.document as NoPlan;
  };

  it('is not refuted where it is true, and is where there is a plan', async () => {
    const spec = made(9, 190);
    expect(falseRemedies(spec, problemOf(spec), await told(spec))).toEqual([]);
    const feasible = made(30, 190);
    expect(falseRemedies(feasible, problemOf(feasible), await told(spec))).not.toEqual([]);
  });

  it('is refuted where an SLO that is reported has no plan, or a shorter one has', async () => {
    const spec = made(9, 190);
    const document = await told(spec);
    const faults = (change: object) => {
      const models = document.models.map((model) => ({ ...model, ...change }));
      return falseRemedies(spec, problemOf(spec), { ...document, models });
    };
    expect(faults({ feasibleSloMs: 9.9 })).toHaveLength(1);
    expect(faults({ smallestFeasibleSloMs: 13 })).toHaveLength(1);
  });

  it('is refuted where more of the rates can be served than it says, or fewer GPUs are missing', async () => {
    const spec = made(30, 500, 1);
    const document = await told(spec);
    expect(falseRemedies(spec, problemOf(spec), document)).toEqual([]);
    const faults = (change: object) => {
      const reasons = document.reasons.map((reason) => ({ ...reason, ...change }));
      return falseRemedies(spec, problemOf(spec), { ...document, reasons });
    };
    expect(document.reasons[0]).toMatchObject({ missing: { L4: 2 } });
    expect(faults({ servedShare: 0.2 })).toHaveLength(1);
    expect(faults({ missing: { L4: 3 } }).length + faults({ missing: { L4: 4 } }).length).toBe(0);
  });
});
