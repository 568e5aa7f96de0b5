import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { TestModule, Vitest } from 'vitest/node';
import {
  againOf,
  failuresOf,
  newlyFailing,
  passedOf,
  type RunResults,
  resultsOf,
  settledOf,
  skippedOf,
  stillFailing,
} from '../../scripts/ci/results.js';
import { fewOf } from '../cases.js';
import { ResultsReporter } from '../results-reporter.js';
import { ciOf } from './scratch-ci.js';

const test = (fullName: string, status: string, ...failureMessages: string[]) => ({
  fullName,
  status,
  failureMessages,
});
const run = (assertionResults: ReturnType<typeof test>[], status = 'passed', message = ''): RunResults => ({
  testResults: [{ name: 'a.test.ts', status, message, assertionResults }],
  unhandledErrors: [],
});

const passes = run([test('one', 'passed'), test('two', 'passed')]);
const fails = run([test('one', 'passed'), test('two', 'failed', 'Error: x\n  at y')], 'failed');
const afterAllFails = run([test('one', 'passed'), test('two', 'passed')], 'failed', 'after\nmore');
const beforeAllFails = run([test('one', 'skipped'), test('two', 'skipped')], 'failed');
const throws: RunResults = { ...passes, unhandledErrors: ['TypeError: loose (while b.test.ts ran)'] };
const throwsTwice: RunResults = { ...passes, unhandledErrors: [...throws.unhandledErrors, 'Error: other'] };
const failsAndThrows: RunResults = { ...fails, unhandledErrors: throws.unhandledErrors };
const two = { file: 'a.test.ts', test: 'two', nth: 0, why: 'Error: x' };

describe('failuresOf()', () => {
  it('names tests that failed with the first line of why, and files that could not be run', () => {
    expect(failuresOf(fails)).toEqual([two]);
    expect(failuresOf(run([], 'failed', 'no such module\nmore'))).toEqual([
      { file: 'a.test.ts', test: 'a.test.ts', nth: 0, why: 'no such module' },
    ]);
  });

  it('names files that failed although none of their tests did, as where a hook fails', () => {
    expect(failuresOf(afterAllFails)).toEqual([
      { file: 'a.test.ts', test: 'a.test.ts', nth: 0, why: 'after' },
    ]);
    expect(failuresOf(beforeAllFails)).toEqual([
      { file: 'a.test.ts', test: 'a.test.ts', nth: 0, why: 'it failed outside of its tests' },
    ]);
  });
});

describe('resultsOf()', () => {
  it('gives no results where they were cut off', () => {
    const text = JSON.stringify(passes);
    expect(resultsOf(text)).toEqual(passes);
    expect(resultsOf(text.slice(0, -9))).toBeUndefined();
    expect(resultsOf('')).toBeUndefined();
  });
});

describe('againOf()', () => {
  const failing = (count: number): RunResults =>
    run(Array.from({ length: count }, (_, index) => test(`${index}`, 'failed', 'x')));

  it('names the files of up to ten failures, and none where more failed', () => {
    expect(againOf(failing(10))).toEqual(['a.test.ts']);
    expect(againOf(afterAllFails)).toEqual(['a.test.ts']);
    expect(againOf(failing(11))).toEqual([]);
  });

  it('wants all run again where no test failed, nothing is known, or something was thrown that no test has', () => {
    expect(againOf(passes)).toBe('all');
    expect(againOf(undefined)).toBe('all');
    expect(againOf(failsAndThrows)).toBe('all');
  });
});

describe('skippedOf()', () => {
  it('distinguishes the tests that name what they need from those that were skipped for other reasons', () => {
    const results = run([
      test('x (where zsh is installed)', 'skipped'),
      test('y', 'todo'),
      test('z', 'passed'),
    ]);
    expect(skippedOf(results)).toEqual({ lacking: ['x (where zsh is installed)'], others: ['y'] });
  });
});

describe('stillFailing()', () => {
  const failures = failuresOf(run([test('two', 'failed', 'x'), test('three', 'failed', 'y')]));

  it('keeps what failed again, or was not run again', () => {
    expect(stillFailing(failures, run([test('two', 'passed'), test('three', 'failed', 'y')]))).toEqual([
      failures[1],
    ]);
    expect(stillFailing(failures, run([test('two', 'passed')]))).toEqual([failures[1]]);
    expect(stillFailing(failures, undefined)).toEqual(failures);
  });

  it('drops a file that failed outside of its tests where it passed then, and keeps it where it did not', () => {
    const file = failuresOf(afterAllFails);
    expect(stillFailing(file, passes)).toEqual([]);
    expect(stillFailing(file, afterAllFails)).toEqual(file);
    expect(stillFailing(file, fails)).toEqual(file);
  });

  it('distinguishes two tests of one name', () => {
    const twins = run([test('two', 'passed'), test('two', 'failed', 'x')], 'failed');
    expect(stillFailing(failuresOf(twins), twins)).toEqual([{ ...two, nth: 1, why: 'x' }]);
    expect(stillFailing(failuresOf(twins), passes)).toEqual([{ ...two, nth: 1, why: 'x' }]);
    expect(stillFailing(failuresOf(twins), run([test('two', 'failed', 'x'), test('two', 'passed')]))).toEqual(
      [],
    );
  });
});

describe('newlyFailing()', () => {
  it('gives what failed in the second run only', () => {
    expect(newlyFailing([], fails)).toEqual([two]);
    expect(newlyFailing([two], fails)).toEqual([]);
    expect(newlyFailing([two], undefined)).toEqual([]);
  });
});

describe('settledOf()', () => {
  it('counts what a second run says of a file, so that tests that a hook kept back are not skipped', () => {
    expect(passedOf(settledOf(beforeAllFails, undefined))).toBe(0);
    const settled = settledOf(beforeAllFails, passes);
    expect(passedOf(settled)).toBe(2);
    expect(skippedOf(settled).others).toEqual([]);
  });
});

describe('ResultsReporter', () => {
  it('writes a line for each error that no test has', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'results-'));
    const outputFile = join(folder, 'x.json');
    const reporter = new ResultsReporter({ outputFile });
    reporter.onInit({
      config: { root: folder },
      snapshot: {},
      logger: { log() {} },
    } as unknown as Vitest);
    await reporter.onTestRunEnd([] as TestModule[], [
      { name: 'TypeError', message: 'a\n b', VITEST_TEST_PATH: resolve('test/b.test.ts') },
      { type: 'Unhandled Error', message: 'lost', cause: { message: 'exit' } },
    ]);
    const results = resultsOf(await readFile(outputFile, 'utf8'));
    await rm(folder, { recursive: true });
    expect(results).toMatchObject({
      testResults: [],
      unhandledErrors: ['TypeError: a b (while test/b.test.ts ran)', 'Unhandled Error: lost (from exit)'],
    });
  });
});

describe('.ci/run', () => {
  const cut = JSON.stringify(passes).slice(0, -9);
  const again = 'the run all ended outside of its tests and was run again';
  const loose = 'TypeError: loose (while b.test.ts ran)';
  const flaky = 'two (a.test.ts) failed beside others, and passed by itself: Error: x';
  const ran = (lines: string[]): string[] => lines.filter((line) => line.startsWith('ran all'));

  it('ends well where all is green', async () => {
    const { status, lines } = await ciOf(passes, {});
    expect([status, lines.at(-1)]).toEqual([0, '6 passed, 0 failed']);
    expect(lines.filter((line) => line.startsWith('ran '))).toEqual([
      'ran all: test',
      'ran alone: test -- test/shared.test.ts',
      'ran node24: run test:quick',
    ]);
  });

  it.each(
    fewOf(
      [
        ['a test', fails, flaky],
        [
          'an afterAll',
          afterAllFails,
          'a.test.ts (a.test.ts) failed beside others, and passed by itself: after',
        ],
        [
          'a beforeAll',
          beforeAllFails,
          'a.test.ts (a.test.ts) failed beside others, and passed by itself: it failed outside of its tests',
        ],
      ] as const,
      1,
    ),
  )('forgives %s that failed once, by name', async (_, first, told) => {
    const { status, lines } = await ciOf(passes, { 'all-1': first });
    expect(ran(lines)).toEqual(['ran all: test', 'ran all-again: test -- a.test.ts']);
    expect(lines).toContain(`all: ${told}`);
    expect([status, lines.at(-1)]).toEqual([0, '6 passed, 0 failed']);
  });

  it.each(
    fewOf(
      [
        ['a test', fails, fails, 'two (a.test.ts) failed: Error: x', '5 passed, 1 failed'],
        [
          'an afterAll',
          afterAllFails,
          afterAllFails,
          'a.test.ts (a.test.ts) failed: after',
          '6 passed, 1 failed',
        ],
        ['a file', afterAllFails, fails, 'two (a.test.ts) failed by itself: Error: x', '5 passed, 2 failed'],
        ['a run by itself', fails, throws, `an error that no test has: ${loose}`, '6 passed, 1 failed'],
        [
          'a test whose second run is cut off',
          fails,
          cut,
          'two (a.test.ts) failed: Error: x',
          '5 passed, 1 failed',
        ],
      ] as const,
      1,
    ),
  )('fails for %s that failed twice', async (_, first, second, told, end) => {
    const { status, lines } = await ciOf(passes, { 'all-1': first, 'all-again-1': second });
    expect(lines).toContain(`all: ${told}`);
    expect([status, lines.at(-1)]).toEqual([1, end]);
  });

  it.each(
    fewOf(
      [
        ['threw what no test has', throws, loose],
        ['threw so beside a test that failed', failsAndThrows, loose],
        ['was lost', '', 'it left no results that can be read'],
        ['has results that were cut off', cut, 'it left no results that can be read'],
        ['failed without a word', passes, 'no error was told'],
      ] as const,
      1,
    ),
  )('runs all again where a run %s, and says so', async (_, first, known) => {
    const { status, lines, stderr } = await ciOf(passes, { 'all-1': first });
    expect(ran(lines)).toEqual(['ran all: test', 'ran all: test']);
    expect(stderr.includes('was cut off, and counts as no results')).toBe(first === cut);
    expect(lines).toContain('ended outside of its tests, and is run once more: the run all');
    expect(lines).toContain(`${again}: ${known}`);
    expect([status, lines.at(-1)]).toEqual([0, '6 passed, 0 failed']);
    const failed = 'all, before it was run again: two (a.test.ts) failed: Error: x';
    expect(lines.includes(failed)).toBe(first === failsAndThrows);
  });

  it.each(
    fewOf(
      [
        ['threw again', throwsTwice, `all: an error that no test has: ${loose}`, '6 passed, 2 failed'],
        ['has a test that failed', fails, 'all: two (a.test.ts) failed: Error: x', '5 passed, 1 failed'],
        ['was lost', '', 'the run all has no results: that counts as failed', '4 passed, 1 failed'],
        ['was cut off', cut, 'the run all has no results: that counts as failed', '4 passed, 1 failed'],
        [
          'failed without a word',
          passes,
          'a run failed outside of its tests, see above: that counts as failed',
          '6 passed, 1 failed',
        ],
      ] as const,
      1,
    ),
  )('fails where the second whole run %s', async (_, second, told, end) => {
    const { status, lines } = await ciOf(passes, { 'all-1': throws, 'all-2': second });
    expect(lines).toContain('failed twice: the run all');
    expect(lines).toContain(`${again}: ${loose}`);
    expect(lines).toContain(told);
    expect([status, lines.at(-1)]).toEqual([1, end]);
  });

  it('names the checks that failed twice, and what they said of errors, just before its last line', async () => {
    const { status, lines } = await ciOf(passes, {
      'check-ray.js': 'it holds: a\nit fails: b\n',
      'check-package.js': '',
    });
    expect([status, ...lines.slice(-3)]).toEqual([
      1,
      expect.stringMatching(
        /^failed outside of the tests, see above: node dist\/scripts\/check-ray.js: it fails: b ?$/,
      ),
      'failed outside of the tests, see above: node dist/scripts/check-package.js',
      '6 passed, 2 failed',
    ]);
  });

  it.each(
    fewOf(
      [
        ['fails', { 'folder.test.ts/x': '' }],
        ['names none', { 'other.test.ts': '' }],
      ] as const,
      1,
    ),
  )(
    'fails, and does not run every test alone, where the script that names those tests %s',
    async (_, tests) => {
      const { status, lines } = await ciOf(passes, {}, tests);
      expect(lines.some((line) => line.startsWith('ran alone'))).toBe(false);
      expect(lines).toContain('the run alone has no results: that counts as failed');
      expect([status, lines.at(-1)]).toEqual([1, '4 passed, 1 failed']);
    },
  );
});
