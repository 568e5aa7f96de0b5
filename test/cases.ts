import { describe, it, type TestContext } from 'vitest';

/** LONG says whether this is the long run, `npm run test:long`, which tries every case of every storm. */
export const LONG = process.env.TEST_LONG === '1';

/** WHOLE says whether this is the whole run, `npm run test:whole` as CI has it, or the long one. */
export const WHOLE = LONG || process.env.TEST_WHOLE === '1';

/** cases gives the cases that a test tries: a few of them in `npm test` and in CI, and all in the long run. */
export function cases<T>(quick: T, long: T): T {
  return LONG ? long : quick;
}

/** whole gives what a test tries in `npm test`, which is small, and what it tries in CI and in the long run. */
export function whole<T>(small: T, all: T): T {
  return WHOLE ? all : small;
}

/** fewOf gives so many of a list in `npm test`, evenly taken with the first among them, and all in the whole run. */
export function fewOf<T>(list: readonly T[], few: number): T[] {
  const every = whole(Math.ceil(list.length / few), 1);
  return list.filter((_, i) => i % every === 0);
}

/** inWholeRunOnly gives a list of cases to CI and to the long run, and none to `npm test`. */
export function inWholeRunOnly<T>(list: readonly T[]): T[] {
  return WHOLE ? [...list] : [];
}

/** seeds gives the numbers from 1 on, as many as a test tries in this run. */
export function seeds(quick: number, long: number): number[] {
  return Array.from({ length: cases(quick, long) }, (_, i) => i + 1);
}

/**
 * inLongRun registers a test that only the long run has: it takes seconds, and `npm test` tests what it tests by parts.
 */
export function inLongRun(name: string, test: (context: TestContext) => Promise<void> | void): void {
  if (LONG) it(name, test);
}

/** inWholeRun registers a test that CI and the long run have: `npm test` tests what it tests by parts, or by smaller instances. */
export function inWholeRun(
  name: string,
  test: (context: TestContext) => Promise<void> | void,
  timeoutMs?: number,
): void {
  if (WHOLE) it(name, test, timeoutMs);
}

/** describeInWholeRun registers a suite that CI and the long run have, as `inWholeRun()` does a test. */
export function describeInWholeRun(name: string, suite: () => void): void {
  if (WHOLE) describe(name, suite);
}
