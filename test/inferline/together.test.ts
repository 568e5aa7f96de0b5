import { describe, expect, it } from 'vitest';
import { type PartAnswer, planTogether, type TogetherInput } from '../../src/inferline/together.js';
import { type Stream, streamOf } from '../../src/random/index.js';
import { cases } from '../cases.js';

const CASES = cases(600, 5000);
const CLASSES = ['cpu', 'k80'];

/** Choice is a way to serve a pipeline: what it costs, and the devices that it uses. */
interface Choice {
  readonly hourlyCost: number;
  readonly used: Record<string, number>;
}

function randomChoices(stream: Stream): Choice[] {
  return Array.from({ length: 1 + stream.integer(6) }, () => ({
    hourlyCost: 1 + stream.integer(20),
    used: Object.fromEntries(CLASSES.map((name) => [name, stream.integer(5)])),
  }));
}

const within = ({ used }: Choice, counts: Readonly<Record<string, number>>): boolean =>
  Object.entries(used).every(([name, n]) => n <= (counts[name] ?? Number.POSITIVE_INFINITY));

/** solverOf plans a pipeline by looking at all of its choices; `loose` is how far its bound is below the least cost. */
function solverOf(choices: readonly Choice[][], loose: number) {
  return (pipeline: number, counts: Readonly<Record<string, number>>): Promise<PartAnswer<Choice>> => {
    const allowed = (choices[pipeline] as Choice[]).filter((choice) => within(choice, counts));
    const plan = allowed.toSorted((a, b) => a.hourlyCost - b.hourlyCost)[0];
    if (plan === undefined) return Promise.resolve({ status: 'infeasible' });
    const part = {
      plan,
      used: plan.used,
      hourlyCost: plan.hourlyCost,
      lowerBound: plan.hourlyCost * (1 - loose),
    };
    return Promise.resolve({ status: 'feasible', part });
  };
}

/** leastCost tries every combination of choices. */
function leastCost(choices: readonly Choice[][], counts: Readonly<Record<string, number>>): number {
  const [own, ...others] = choices;
  if (own === undefined) return 0;
  const costs = own
    .filter((choice) => within(choice, counts))
    .map(({ hourlyCost, used }) => {
      const left = Object.entries(counts).map(([name, n]) => [name, n - (used[name] as number)]);
      return hourlyCost + leastCost(others, Object.fromEntries(left) as Record<string, number>);
    });
  return Math.min(Number.POSITIVE_INFINITY, ...costs);
}

function drawn(seed: number) {
  const stream = streamOf(seed, 'together');
  const choices = Array.from({ length: 1 + stream.integer(4) }, () => randomChoices(stream));
  const counts: Record<string, number> = { cpu: stream.integer(9) };
  if (stream.uniform() < 0.6) counts.k80 = stream.integer(9);
  return { choices, counts };
}

describe('planTogether()', () => {
  it('finds the least cost within the devices of the cluster and proves it, or that there are too few', async () => {
    const found = { feasible: 0, infeasible: 0, undecided: 0 };
    let scarce = 0;
    for (let seed = 0; seed < CASES; seed++) {
      const { choices, counts } = drawn(seed);
      const input = { pipelines: choices.length, counts, solve: solverOf(choices, 0), mostSolves: 5000 };
      const outcome = await planTogether({ ...input, prove: true });
      const least = leastCost(choices, counts);
      found[outcome.status]++;
      if (outcome.status === 'feasible') {
        expect([outcome.hourlyCost, outcome.finished], `seed ${seed}`).toEqual([least, true]);
        expect(outcome.lowerBound).toBeCloseTo(least, 9);
        for (const [name, count] of Object.entries(counts))
          expect(
            outcome.parts.reduce((sum, { used }) => sum + (used[name] as number), 0),
          ).toBeLessThanOrEqual(count);
        continue;
      }
      expect([outcome.status, least], `seed ${seed}`).toEqual(['infeasible', Number.POSITIVE_INFINITY]);
      for (const [name, more] of Object.entries(outcome.status === 'infeasible' ? outcome.missing : {})) {
        const leastWith = (n: number) => leastCost(choices, { ...counts, [name]: counts[name]! + n });
        expect(leastWith(more), `seed ${seed}`).toBeLessThan(Number.POSITIVE_INFINITY);
        expect(leastWith(more - 1), `seed ${seed}`).toBe(Number.POSITIVE_INFINITY);
        scarce++;
      }
    }
    expect(scarce).toBeGreaterThan(10);
    expect(Math.min(found.feasible, found.infeasible)).toBeGreaterThan(CASES / 10);
  });

  it('never promises more than is so, where it need not prove or is stopped, or where bounds are loose', async () => {
    let [feasible, dearer] = [0, 0];
    for (let seed = 0; seed < CASES; seed++) {
      const { choices, counts } = drawn(seed);
      const prove = seed % 3 === 0;
      const mostSolves = seed % 2 === 0 ? 5 : 5000;
      const solve = solverOf(choices, seed % 5 === 0 ? 0 : 0.2);
      const outcome = await planTogether({ pipelines: choices.length, counts, solve, prove, mostSolves });
      const least = leastCost(choices, counts);
      if (outcome.status === 'infeasible') expect(least, `seed ${seed}`).toBe(Number.POSITIVE_INFINITY);
      if (outcome.status !== 'feasible') continue;
      feasible++;
      if (outcome.hourlyCost > least) dearer++;
      expect(outcome.hourlyCost, `seed ${seed}`).toBeGreaterThanOrEqual(least - 1e-9);
      expect(outcome.lowerBound, `seed ${seed}`).toBeLessThanOrEqual(least + 1e-9);
    }
    expect(feasible).toBeGreaterThan(CASES / 4);
    expect(dearer).toBeLessThan(feasible / 10);
  });

  it('says which pipelines have no plan alone, and else how many devices more of a class would be enough', async () => {
    const one = [{ hourlyCost: 1, used: { cpu: 3 } }];
    const input = (counts: Record<string, number>): TogetherInput<Choice> => ({
      pipelines: 2,
      counts,
      solve: solverOf([one, one], 0),
      prove: true,
      mostSolves: 500,
    });
    expect(await planTogether(input({ cpu: 2 }))).toEqual({
      status: 'infeasible',
      isProved: true,
      alone: [0, 1],
      missing: {},
    });
    expect(await planTogether(input({ cpu: 4 }))).toEqual({
      status: 'infeasible',
      isProved: true,
      alone: [],
      missing: { cpu: 2 },
    });
    expect(await planTogether(input({ cpu: 6 }))).toMatchObject({ status: 'feasible', hourlyCost: 2 });
  });
});
