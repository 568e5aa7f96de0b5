import { describe, expect, it } from 'vitest';
import { Judge, type JudgedBy } from '../../src/hold/judge.js';
import { attainmentOverRuns, highestLowerEnd, meanOverRuns } from '../../src/metrics/index.js';

const BY: JudgedBy = { attainment: [0.9, 0.5], seeds: [1, 2, 3, 4], judge: 'mean' };

/** A judge of two models whose first has the share of each seed in time; the second has all. Each has 10 requests in a run. */
function judgeOf(shares: readonly (number | undefined)[], by: Partial<JudgedBy> = {}) {
  const asked: string[] = [];
  const judge = new Judge(
    async (rps, seed) => {
      asked.push(`${rps.join()} by ${seed}`);
      return rps.map((_, m) => ({ attainment: m === 0 ? shares[seed - 1] : 1, arrived: 10 }));
    },
    { ...BY, ...by },
  );
  return { judge, asked };
}

const isFirstLost = (isLost: (m: number) => boolean) => isLost(0);

describe('A judge by the mean', () => {
  it('gives what models reach on average, and counts the requests', async () => {
    const { judge, asked } = judgeOf([0.9, 0.8, 1, undefined]);
    const judged = await judge.judged([5, 6]);
    expect(judged.reached[0]).toBeCloseTo(3.7 / 4, 12);
    expect(judged).toMatchObject({ held: [true, true], attainment: [undefined, undefined] });
    expect(judged.reached[1]).toBe(1);
    expect(asked).toEqual(['5,6 by 1', '5,6 by 2', '5,6 by 3', '5,6 by 4']);
    expect(judge.requests).toBe(80);
    // What is known is not simulated again.
    expect(await judge.judged([5, 6])).toBe(judged);
    expect([asked.length, judge.requests]).toEqual([4, 80]);
    expect((await judgeOf([0.8, 0.8, 1, 0.9]).judge.judged([5, 6])).held).toEqual([false, true]);
    expect((await judgeOf([0.9, 0.9, 0.9, 0.9]).judge.judged([5, 6])).held[0]).toBe(true);
  });

  it('simulates nothing of models that are not served', async () => {
    const { judge, asked } = judgeOf([0, 0, 0, 0]);
    expect(await judge.judged([0, 0])).toEqual({
      reached: [1, 1],
      held: [true, true],
      attainment: [undefined, undefined],
    });
    expect(asked).toEqual([]);
    expect(await judge.judged([0, 3])).toMatchObject({ reached: [1, 1] });
    expect(asked.length).toBe(4);
  });

  it('leaves seeds out once a model cannot reach its share any more, and only then', async () => {
    // With half of the first seed, all of the others give 0.875.
    const lost = judgeOf([0.5, 1, 1, 1]);
    expect(await lost.judge.judged([5, 6], isFirstLost)).toMatchObject({
      reached: [0.5, 1],
      held: [false, true],
    });
    expect([lost.asked.length, lost.judge.requests]).toEqual([1, 20]);
    // That is not the whole answer, so that it is simulated where it is asked for.
    expect((await lost.judge.judged([5, 6])).reached[0]).toBeCloseTo(0.875, 12);
    expect(lost.asked.length).toBe(5);
    // With three fifths of the first seed the share may be reached just so.
    const near = judgeOf([0.6, 1, 1, 1]);
    expect((await near.judge.judged([5, 6], isFirstLost)).held[0]).toBe(true);
    expect(near.asked.length).toBe(4);
    const later = judgeOf([0.8, 0.7, 1, 1]);
    await later.judge.judged([5, 6], isFirstLost);
    expect(later.asked.length).toBe(2);
    // A model without requests is never lost.
    const idle = judgeOf([0, 0, 0, 0]);
    await idle.judge.judged([0, 6], isFirstLost);
    expect(idle.asked.length).toBe(4);
  });
});

describe('A judge by the lower end', () => {
  const by = { judge: 'lower-end', seeds: [1, 2, 3, 4, 5, 6, 7, 8] } as const;

  it('gives the lower end over all runs, and what the runs say of each model', async () => {
    const shares = [0.99, 0.97, 1, 0.98, 0.99, 0.97, 1, 0.98];
    const { judge, asked } = judgeOf(shares, by);
    const judged = await judge.judged([5, 6]);
    const figure = attainmentOverRuns(shares, 80);
    expect(judged.attainment[0]).toEqual(figure);
    expect(judged.reached).toEqual([
      figure.low,
      attainmentOverRuns(
        shares.map(() => 1),
        80,
      ).low,
    ]);
    expect(asked.length).toBe(8);
    expect((await judgeOf(shares, by).judge.judged([5, 0])).attainment[1]).toBe(undefined);
  });

  it('looks at four seeds at a time, and expects the others to be like these', async () => {
    const shares = [0.5, 0.6, 0.5, 0.6, 1, 1, 1, 1];
    const { judge, asked } = judgeOf(shares, by);
    const judged = await judge.judged([5, 6], isFirstLost);
    expect(asked.length).toBe(4);
    const known = shares.slice(0, 4);
    const expected = Math.min(highestLowerEnd(known, 4), meanOverRuns([...known, ...known]).low);
    expect(judged.reached[0]).toBe(expected);
    expect(judged).toMatchObject({ held: [false, expect.any(Boolean)], attainment: [undefined, undefined] });
  });
});
