import { describe, expect, it } from 'vitest';
import { failuresOf, type RunResults, skippedOf, stillFailing } from '../../scripts/ci/results.js';

const test = (fullName: string, status: string, ...failureMessages: string[]) => ({
  fullName,
  status,
  failureMessages,
});
const run = (assertionResults: ReturnType<typeof test>[], status = 'passed', message = ''): RunResults => ({
  numPassedTests: 1,
  testResults: [{ name: 'a.test.ts', status, message, assertionResults }],
});

describe('failuresOf()', () => {
  it('names tests that failed with the first line of why, and files that could not be run', () => {
    expect(
      failuresOf(run([test('one', 'passed'), test('two', 'failed', 'Error: x\n  at y')], 'failed')),
    ).toEqual([{ file: 'a.test.ts', test: 'two', why: 'Error: x' }]);
    expect(failuresOf(run([], 'failed', 'no such module\nmore'))).toEqual([
      { file: 'a.test.ts', test: 'a.test.ts', why: 'no such module' },
    ]);
  });
});

describe('skippedOf()', () => {
  it('tells the tests that name what they need from those that were skipped for other reasons', () => {
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
});
