import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { simulatePlan, validateFiles } from '../../../src/api/index.js';
import { InputError } from '../../../src/formats/index.js';
import { compareSpec, solveSpec } from '../../../src/specs/index.js';
import type { Dice } from '../../seeded/dice.js';
import { madeTwins, type Twins } from '../aliases/twins.js';
import { EVERY_KIND } from '../made/every-kind.js';
import type { Refutation, Refuted } from '../refuter.js';

/** Everything is done twice. */
const MOST_WORK = 1000;

/**
 * refuter adds classes to a random spec of every kind, once as aliases of classes that profiles have, and once with copies of
 * their figures in the profiles. What is made of both must be the same, but for digests and the aliases' names of their
 * classes: plans, comparisons of mixes, simulations and checks. An alias that is edited in the plan must be refused.
 */
export async function refuter(dice: Dice, folder: string): Promise<Refuted> {
  const kind = dice.pick(Object.keys(EVERY_KIND));
  const { path, options } = await (EVERY_KIND[kind] as (typeof EVERY_KIND)[string])(dice, folder);
  const twins = await madeTwins(dice.other('aliases'), path, folder);
  const [aliased, copied] = await both(twins, async (spec) => {
    const solved = await solveSpec(spec, { work: MOST_WORK, ...options, output: join(spec, '../plan.json') });
    return 'plan' in solved ? solved.plan : solved.document;
  });
  const refutations = [...differing('what solve answers', [aliased, copied])];
  if (dice.chance(0.3)) refutations.push(...(await comparedRefutations(dice, twins)));
  const plan = join(twins.aliased, '../plan.json');
  const isPlanned = !(aliased instanceof InputError) && aliased.kind !== 'no-plan';
  if (isPlanned) {
    const seed = dice.below(100);
    const reports = await both(twins, async (spec) => {
      const from = join(spec, '../plan.json');
      return (await simulatePlan(from, { duration: 0.2, seed, jitter: 'profile' })).report;
    });
    refutations.push(...differing('its simulation', reports), ...(await editRefutations(dice, plan, twins)));
  }
  return { what: kind, outcome: `${kind}: ${isPlanned ? 'planned' : 'no plan'}`, refutations };
}

async function both<T>(
  { aliased, copied }: Twins,
  made: (spec: string) => Promise<T>,
): Promise<[T | InputError, T | InputError]> {
  return [await refusedOr(made(aliased)), await refusedOr(made(copied))];
}

async function refusedOr<T>(value: Promise<T>): Promise<T | InputError> {
  return value.catch((error: unknown) => {
    if (error instanceof InputError) return error;
    throw error;
  });
}

/** differing compares what was made of both, without what must differ: digests, the folders in messages, times, and `as`. */
function differing(what: string, [aliased, copied]: readonly [unknown, unknown]): Refutation[] {
  const [is, should] = [comparable(aliased), comparable(copied)];
  if (is === should) return [];
  const at = [...is].findIndex((letter, i) => letter !== should[i]);
  const part = (text: string) => text.slice(Math.max(0, at - 60), at + 100);
  return [{ claim: `${what} is that of copied figures: …${part(is)}`, found: `it is …${part(should)}` }];
}

/** These notes name the class that was measured, once for all its aliases. */
const OF_MEASURED_CLASS = /its (profile calls )?figures|a larger batch takes less time/;

function comparable(made: unknown): string {
  if (made instanceof InputError) {
    // A fault of a profile names the class that it has, once for all its aliases.
    const faults = made.faults.map(({ path, message }) =>
      `${path.replace(/(#\/devices\/\w+)-spot/, '$1')} ${message}`.replaceAll(/\/(aliased|copied)\//g, '/'),
    );
    return JSON.stringify([...new Set(faults)]);
  }
  const { inputs: _, ...rest } = made as { inputs?: unknown };
  return JSON.stringify(rest, (key, value) => {
    if (key === 'notes') return (value as string[]).filter((note) => !OF_MEASURED_CLASS.test(note));
    return ['as', 'solver'].includes(key) ? undefined : value;
  })
    .replaceAll(/\/(aliased|copied)\//g, '/')
    .replaceAll(/ \(as \w+\)/g, '');
}

/** comparedRefutations compares mixes of classes and their aliases. */
async function comparedRefutations(dice: Dice, twins: Twins): Promise<Refutation[]> {
  const names = Object.keys(twins.cluster.devices);
  const mixes = Array.from({ length: 2 }, () =>
    names.map((name) => `${name}=${1 + dice.below(2)}`).join(','),
  );
  const rows = await both(
    twins,
    async (spec) => (await compareSpec(spec, { mixes, work: MOST_WORK })).document,
  );
  return differing('a comparison', rows);
}

/** editRefutations edits an alias of a plan, which nothing may accept. */
async function editRefutations(dice: Dice, path: string, { aliases }: Twins): Promise<Refutation[]> {
  const name = dice.pick(Object.keys(aliases));
  const others = Object.values(aliases).filter((one) => one !== aliases[name]);
  const as = dice.pick([undefined, 'none', ...others]);
  const plan = JSON.parse(await readFile(path, 'utf8')) as {
    cluster: { devices: Record<string, { as?: string }> };
  };
  const device = plan.cluster.devices[name] as { as?: string };
  if (as === undefined) delete device.as;
  else device.as = as;
  const edited = path.replace('plan.json', 'edited.json');
  await writeFile(edited, JSON.stringify(plan));
  const [validated] = await validateFiles([edited]);
  if (validated?.ok === false) return [];
  return [{ claim: `a plan whose ${name} is made ${as} is refused`, found: 'it is accepted' }];
}
