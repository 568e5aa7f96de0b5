/**
 * This script reads what the test runs of `.ci/run` wrote. With `failed FILE` it prints the test files that failed, one a
 * line, where at most ten tests failed: those are worth a second run by themselves. Where none failed, or there are no
 * results, it prints `none`. With `verdict FOLDER STATUS COUNT` it names each test that failed and ends with the line
 * "N passed, N failed"; the count is of what failed outside of the tests, and the exit status is 1 where anything failed.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { failuresOf, type RunResults, skippedOf, stillFailing } from './ci/results.js';

const MOST_AGAIN = 10;
const [command, ...rest] = process.argv.slice(2);

function read(file: string): RunResults | undefined {
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as RunResults) : undefined;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

function failed(file: string): void {
  const results = read(file);
  const failures = results === undefined ? [] : failuresOf(results);
  if (failures.length === 0) say('none');
  if (failures.length > MOST_AGAIN) return;
  for (const name of new Set(failures.map((failure) => failure.file))) say(name);
}

/** counted tells what a run says, and gives its counts. */
function counted(folder: string, run: string): { passed: number; failed: number } {
  const results = read(join(folder, `${run}.json`));
  if (results === undefined) {
    say(`the run ${run} has no results: that counts as failed`);
    return { passed: 0, failed: 1 };
  }
  const failures = failuresOf(results);
  const still = stillFailing(failures, read(join(folder, `${run}-again.json`)));
  for (const failure of failures) {
    const end = still.includes(failure) ? 'failed' : 'failed beside others, and passed by itself';
    say(`${run}: ${failure.test} (${failure.file}) ${end}: ${failure.why}`);
  }
  const { lacking, others } = skippedOf(results);
  for (const name of lacking) say(`not tried, for want of what it needs: ${name}`);
  const refused = run === 'alone' || !existsSync('../shared') ? 0 : others.length;
  if (refused > 0) say(`${refused} tests skipped although ../shared is there: that counts as failed`);
  return { passed: results.numPassedTests + failures.length - still.length, failed: still.length + refused };
}

function verdict(folder: string, status: string, failedOutside: number): number {
  const runs = ['all', 'alone', 'node24'].map((run) => counted(folder, run));
  const passed = runs.reduce((sum, run) => sum + run.passed, 0);
  let lost = runs.reduce((sum, run) => sum + run.failed, failedOutside);
  if (status !== '0' && lost === 0) {
    say('a run failed outside of its tests, see above: that counts as failed');
    lost = 1;
  }
  say(`${passed} passed, ${lost} failed`);
  return lost === 0 ? 0 : 1;
}

if (command === 'failed') failed(rest[0] as string);
else {
  const [folder, status, count] = rest as [string, string, string];
  process.exitCode = verdict(folder, status, Number(count));
}
