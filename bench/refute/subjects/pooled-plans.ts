import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { solveSpec } from '../../../src/api/index.js';
import type { PooledSpec } from '../../../src/artifacts/index.js';
import type { PooledProblem } from '../../../src/milp/index.js';
import type { Dice } from '../../seeded/dice.js';
import { BruteForce } from '../pooled/brute-force.js';
import { randomProblem, type Shape } from '../pooled/random-problem.js';
import type { Refutation, Refuted } from '../refuter.js';

const ROUNDING = 1e-9;

/** refuter answers random small pooled specs, and compares each answer with the best of all plans that there are. */
export async function refuter(dice: Dice, folder: string): Promise<Refuted> {
  const shape: Shape = {
    classes: 1 + dice.below(2),
    blocks: 2 + dice.below(2),
    batches: 2,
    virtual: [1, 2],
    models: 1 + dice.below(2),
    mostGpus: 2,
  };
  const planner: PooledSpec['planner'] = {
    maxPartitions: 2,
    objective: dice.pick(['throughput', 'cost', 'power']),
    wholeGpusPer: dice.pick(['pool', 'position', 'class']),
  };
  const problem = randomProblem(dice.below(2 ** 31), shape, planner);
  const path = await written(problem, planner, folder);
  const solved = await solveSpec(path, { gap: 0, work: 1e6 });
  const best = new BruteForce(problem).best(problem.planner.objective);
  const what = `${JSON.stringify(shape)}, ${JSON.stringify(planner)}`;
  if (solved.outcome === 'infeasible') return { what, outcome: 'infeasible', refutations: planOfNone(best) };
  if (solved.outcome !== 'plan' || solved.plan.kind !== 'pooled-plan')
    return { what, outcome: solved.outcome, refutations: [] };
  const { value, bound } = solved.plan.objective;
  const isMost = problem.planner.objective === 'throughput';
  return { what, outcome: solved.plan.status, refutations: beyond({ value, bound, best, isMost }) };
}

function planOfNone(best: number | undefined): Refutation[] {
  if (best === undefined) return [];
  return [{ claim: 'the spec is infeasible', found: `brute force has a plan of ${best}` }];
}

interface Values {
  readonly value: number;
  readonly bound: number;
  readonly best: number | undefined;
  readonly isMost: boolean;
}

function beyond({ value, bound, best, isMost }: Values): Refutation[] {
  if (best === undefined) return [{ claim: `a plan of ${value}`, found: 'brute force has no plan' }];
  const isBetter = (a: number, b: number) => (isMost ? a > b * (1 + ROUNDING) : a < b * (1 - ROUNDING));
  const found = `the best of all plans has ${best}`;
  return [
    ...(isBetter(value, best) ? [{ claim: `the plan has ${value}`, found }] : []),
    ...(isBetter(best, bound) ? [{ claim: `no plan is better than ${bound}`, found }] : []),
  ];
}

/** written writes the problem's files. It gives the path of its spec. */
async function written(
  { cluster, models }: PooledProblem,
  planner: PooledSpec['planner'],
  folder: string,
): Promise<string> {
  for (const { name, profile } of models)
    await writeFile(join(folder, `${name}.json`), JSON.stringify(profile));
  const spec: PooledSpec = {
    kind: 'pooled',
    cluster,
    models: models.map(({ spec, name }) => ({ ...spec, profile: `${name}.json` })),
    planner: { sloMargin: 0.1, ...planner },
  };
  const path = join(folder, 'spec.json');
  await writeFile(path, JSON.stringify(spec));
  return path;
}
