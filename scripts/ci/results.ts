/** RunResults is what is read of a file that the reporter of our tests wrote (`test/results-reporter.ts`). */
export interface RunResults {
  readonly testResults: readonly FileResults[];
  /** What was thrown or rejected outside of tests and hooks, a line each. */
  readonly unhandledErrors: readonly string[];
}

interface FileResults {
  readonly name: string;
  readonly status: string;
  readonly message?: string;
  readonly assertionResults: readonly TestResult[];
}

interface TestResult {
  readonly fullName: string;
  readonly status: string;
  readonly failureMessages?: readonly string[];
}

/** Failure is a test that failed, or a file that failed outside of its tests; then its test is the file itself. */
export interface Failure {
  readonly file: string;
  readonly test: string;
  /** Which of the tests with this name in its file it is, from 0. */
  readonly nth: number;
  /** The first line of what was told. */
  readonly why: string;
}

interface Outcome extends Failure {
  readonly status: string;
}

const MOST_AGAIN = 10;

/** resultsOf gives the results in a file's text, and undefined where it was cut off. */
export function resultsOf(text: string): RunResults | undefined {
  try {
    return JSON.parse(text) as RunResults;
  } catch {
    return undefined;
  }
}

/** failuresOf gives the tests of a run that failed, and the files that failed although none of their tests did. */
export function failuresOf(results: RunResults): Failure[] {
  return outcomesOf(results)
    .filter(({ status }) => status === 'failed')
    .map(({ file, test, nth, why }) => ({ file, test, nth, why }));
}

/** outcomesOf gives how each file and each test of a run ended. A file is only blamed where none of its tests is. */
function outcomesOf({ testResults }: RunResults): Outcome[] {
  return testResults.flatMap(({ name: file, status, message, assertionResults }) => {
    const seen = new Map<string, number>();
    const tests = assertionResults.map(({ fullName: test, status, failureMessages }) => {
      const nth = seen.get(test) ?? 0;
      seen.set(test, nth + 1);
      return { file, test, nth, why: firstLine(failureMessages?.[0]), status };
    });
    const blamed = tests.some((test) => test.status === 'failed');
    const why = firstLine(message || 'it failed outside of its tests');
    return [{ file, test: file, nth: 0, why, status: blamed ? 'blamed' : status }, ...tests];
  });
}

const firstLine = (text = 'nothing was told'): string => text.split('\n', 1)[0] as string;

/**
 * againOf gives what of a run that failed is worth a second run: the files with failures, where these are few, and no file
 * where they are many. It is `all` where the run ended outside of its tests, since no file can be blamed for that.
 */
export function againOf(results: RunResults | undefined): string[] | 'all' {
  const failures = results === undefined ? [] : failuresOf(results);
  if (failures.length === 0 || (results?.unhandledErrors.length ?? 0) > 0) return 'all';
  return failures.length > MOST_AGAIN ? [] : [...new Set(failures.map(({ file }) => file))];
}

/** skippedOf gives the tests of a run that were skipped: those that say in their name what they need, and the others. */
export function skippedOf(results: RunResults): { lacking: string[]; others: string[] } {
  const skipped = testsOf(results)
    .filter(({ status }) => status !== 'passed' && status !== 'failed')
    .map(({ fullName }) => fullName);
  const lacks = (name: string): boolean => /\(where \w+ is installed\)/.test(name);
  return { lacking: skipped.filter(lacks), others: skipped.filter((name) => !lacks(name)) };
}

/** passedOf counts the tests of a run that passed. */
export function passedOf(results: RunResults): number {
  return testsOf(results).filter(({ status }) => status === 'passed').length;
}

const testsOf = (results: RunResults): TestResult[] =>
  results.testResults.flatMap((file) => file.assertionResults);

/** stillFailing gives the failures of a run that its second run, of the same files, did not see pass. */
export function stillFailing(failures: readonly Failure[], second: RunResults | undefined): Failure[] {
  const outcomes = second === undefined ? [] : outcomesOf(second);
  const passed = new Set(outcomes.filter(({ status }) => status === 'passed').map(key));
  return failures.filter((failure) => !passed.has(key(failure)));
}

/** newlyFailing gives the failures of a second run that the first did not have. */
export function newlyFailing(failures: readonly Failure[], second: RunResults | undefined): Failure[] {
  const known = new Set(failures.map(key));
  return second === undefined ? [] : failuresOf(second).filter((failure) => !known.has(key(failure)));
}

const key = ({ file, test, nth }: Failure): string => `${file}\n${test}\n${nth}`;

/** settledOf gives the results of a run with those of its second run in place of the same files. */
export function settledOf(results: RunResults, second: RunResults | undefined): RunResults {
  if (second === undefined) return results;
  const again = new Set(second.testResults.map(({ name }) => name));
  return {
    testResults: [...results.testResults.filter(({ name }) => !again.has(name)), ...second.testResults],
    unhandledErrors: [...results.unhandledErrors, ...second.unhandledErrors],
  };
}
