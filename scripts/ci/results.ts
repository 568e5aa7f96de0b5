/** RunResults is what is read of a file that vitest's JSON reporter wrote. */
export interface RunResults {
  readonly numPassedTests: number;
  readonly testResults: readonly FileResults[];
}

interface FileResults {
  readonly name: string;
  readonly status: string;
  readonly message?: string;
  readonly assertionResults: readonly {
    readonly fullName: string;
    readonly status: string;
    readonly failureMessages?: readonly string[];
  }[];
}

/** Failure is a test that failed, or a file that could not be run; then its test is the file itself. */
export interface Failure {
  readonly file: string;
  readonly test: string;
  /** The first line of what was told. */
  readonly why: string;
}

/** failuresOf gives the tests of a run that failed, and the files of it that could not be run. */
export function failuresOf(results: RunResults): Failure[] {
  return results.testResults.flatMap(({ name, status, message, assertionResults }) => {
    if (status === 'failed' && assertionResults.length === 0)
      return [{ file: name, test: name, why: firstLine(message) }];
    return assertionResults
      .filter((test) => test.status === 'failed')
      .map((test) => ({ file: name, test: test.fullName, why: firstLine(test.failureMessages?.[0]) }));
  });
}

const firstLine = (text = 'nothing was told'): string => text.split('\n', 1)[0] as string;

/** skippedOf gives the tests of a run that were skipped: those that say in their name what they need, and the others. */
export function skippedOf(results: RunResults): { lacking: string[]; others: string[] } {
  const skipped = results.testResults
    .flatMap((file) => file.assertionResults)
    .filter(({ status }) => status !== 'passed' && status !== 'failed')
    .map(({ fullName }) => fullName);
  const lacks = (name: string): boolean => /\(where \w+ is installed\)/.test(name);
  return { lacking: skipped.filter(lacks), others: skipped.filter((name) => !lacks(name)) };
}

/** stillFailing gives the failures of a run that its second run, of the same files, did not see pass. */
export function stillFailing(failures: readonly Failure[], second: RunResults | undefined): Failure[] {
  const passed = new Set(
    (second?.testResults ?? []).flatMap((file) =>
      file.assertionResults
        .filter(({ status }) => status === 'passed')
        .map(({ fullName }) => key(file.name, fullName)),
    ),
  );
  return failures.filter(({ file, test }) => !passed.has(key(file, test)));
}

const key = (file: string, test: string): string => `${file}\n${test}`;
