import { it, type TestContext } from 'vitest';

/** LONG says whether this is the long run, `npm run test:long`, which tries every case of every storm. */
export const LONG = process.env.TEST_LONG === '1';

/** cases gives the cases that a test tries: a few of them in `npm test`, and all in the long run. */
export function cases<T>(quick: T, long: T): T {
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
