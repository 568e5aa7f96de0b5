import { it, type TestContext } from 'vitest';

/** IN_CI says whether this is CI's run, `npm run test:ci`: the long run with fewer of its random cases. */
const IN_CI = process.env.TEST_LONG === 'ci';

/** LONG says whether this is the long run, `npm run test:long`, which tries every case of every storm, or CI's run. */
export const LONG = process.env.TEST_LONG === '1' || IN_CI;

/** The share of the long run's random cases that CI tries, in so many minutes as it has. */
const CI_SHARE = 0.4;

/**
 * cases gives the cases that a test tries: a few of them in `npm test`, and all in the long run. Where they are counted,
 * CI tries a share of all.
 */
export function cases<T>(quick: T, long: T): T {
  if (IN_CI && typeof quick === 'number' && typeof long === 'number' && long >= 10)
    return Math.max(quick, Math.round(CI_SHARE * long)) as T;
  return LONG ? long : quick;
}

/** seeds gives the numbers from 1 on, as many as a test tries in this run. */
export function seeds(quick: number, long: number): number[] {
  return Array.from({ length: cases(quick, long) }, (_, i) => i + 1);
}

/**
 * inLongRun registers a test that only the long run has: it takes seconds, and `npm test` tests what it tests by parts.
 */
export function inLongRun(name: string, test: (context: TestContext) => Promise<void>): void {
  if (LONG) it(name, test);
}
