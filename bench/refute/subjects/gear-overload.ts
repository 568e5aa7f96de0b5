import { solveSpec } from '../../../src/specs/index.js';
import type { Dice } from '../../seeded/dice.js';
import { overloadRefutations } from '../gears/overloaded.js';
import { randomCascade, writeCascade } from '../gears/random-cascade.js';
import type { Refuted } from '../refuter.js';

/** refuter plans a random family, and serves its plan beyond its promise, and within it beside the same gears that never drop. */
export async function refuter(dice: Dice, folder: string): Promise<Refuted> {
  const { models, spec } = randomCascade(dice);
  const solved = await solveSpec(await writeCascade({ models, spec }, folder), {});
  const what = JSON.stringify({ slo: spec.slo, load: spec.load });
  if (solved.outcome !== 'gear-plan' || solved.plan.promise === undefined)
    return { what, outcome: 'no promise', refutations: [] };
  return { what, outcome: 'served', refutations: overloadRefutations(solved.plan, models) };
}
