import { relative } from 'node:path';
import type { SerializedError } from 'vitest';
import { JsonReporter, type TestModule } from 'vitest/node';

/** ResultsReporter writes what vitest's JSON reporter does, and the errors that no test has, which that one leaves out. */
export class ResultsReporter extends JsonReporter {
  private errors: readonly SerializedError[] = [];

  override async onTestRunEnd(
    modules: readonly TestModule[],
    errors: readonly SerializedError[] = [],
  ): Promise<void> {
    this.errors = errors;
    await super.onTestRunEnd(modules);
  }

  override async writeReport(report: string): Promise<void> {
    const unhandledErrors = this.errors.map(lineOf);
    await super.writeReport(JSON.stringify({ ...JSON.parse(report), unhandledErrors }));
  }
}

/** lineOf tells an error in a line: what it is, what it came from, and the test file that ran when it came. */
function lineOf({ name, type, message, cause, VITEST_TEST_PATH: path }: SerializedError): string {
  const why = cause?.message === undefined ? '' : ` (from ${cause.message})`;
  const where = typeof path === 'string' ? ` (while ${relative('.', path)} ran)` : '';
  return `${name ?? type}: ${message}${why}`.replaceAll(/\s*\n\s*/g, ' ') + where;
}
