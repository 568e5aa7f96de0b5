import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { simulatePlan, validateFiles } from '../../../src/api/index.js';
import { InputError } from '../../../src/formats/index.js';
import { planOf } from '../../../src/plans/index.js';
import { solveSpec } from '../../../src/specs/index.js';
import type { Dice } from '../../seeded/dice.js';
import { EVERY_KIND } from '../made/every-kind.js';
import type { Refutation, Refuted } from '../refuter.js';

/**
 * refuter plans random specs of every kind, and has every check look at each plan as the planner wrote it: beside all that it
 * was made from, by itself, and beside its profiles and records but without its spec. A check that refuses a plan that nobody
 * edited is wrong, whatever it says.
 */
export async function refuter(dice: Dice, folder: string): Promise<Refuted> {
  const kind = dice.pick(Object.keys(EVERY_KIND));
  const { path, options } = await (EVERY_KIND[kind] as (typeof EVERY_KIND)[string])(dice, folder);
  const output = join(folder, 'plan.json');
  const solved = await solveSpec(path, { ...options, output });
  const what = kind;
  if (!('plan' in solved)) return { what, outcome: `${kind}: ${solved.outcome}`, refutations: [] };
  const plan: unknown = JSON.parse(await readFile(output, 'utf8'));
  const alone = planOf(plan as typeof solved.plan).contradictions(plan as typeof solved.plan);
  const [validated] = await validateFiles([output]);
  await rm(path);
  return {
    what,
    outcome: `${kind}: planned`,
    refutations: [
      ...alone.map(({ path: at, message }) => refused('by itself', `${at} ${message}`)),
      ...(validated?.ok === false
        ? [refused('beside its inputs', `${validated.message} ${validated.faults}`)]
        : []),
      ...(await refusedWithoutSpec(output)),
    ],
  };
}

function refused(where: string, found: string): Refutation {
  return { claim: `a plan that nobody edited is accepted ${where}`, found };
}

async function refusedWithoutSpec(path: string): Promise<Refutation[]> {
  try {
    const { checked = [] } = (await simulatePlan(path, { duration: 0.01 })).report;
    return checked.includes('profiles')
      ? []
      : [refused('beside its profiles', `it was compared with ${checked.join(', ')} only`)];
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    return [refused('without its spec', `${error.message} ${JSON.stringify(error.faults)}`)];
  }
}
