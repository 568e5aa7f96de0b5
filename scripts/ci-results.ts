/**
 * This script reads what the test runs of `.ci/run` wrote. With `again FILE` it prints what of a run that failed is worth a
 * second run: the test files that failed, one a line, where at most ten tests or files failed. It prints `all` where the run
 * ended outside of its tests: none failed, something was thrown that no test has, or there are no results. With
 * `verdict FOLDER STATUS [STEP…]` it names each test that failed and each step, which are those that failed outside of the
 * tests. It ends with the line "N passed, N failed", and the exit status is 1 where anything failed.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
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
} from './ci/results.js';

const [command, ...rest] = process.argv.slice(2);

/** read gives the results in a file. `.ci/run` leaves an empty file for a run that wrote none. */
function read(file: string): RunResults | undefined {
  const text = existsSync(file) ? readFileSync(file, 'utf8') : '';
  const results = resultsOf(text);
  if (results === undefined && text !== '')
    process.stderr.write(`${file} was cut off, and counts as no results\n`);
  return results;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

function again(file: string): void {
  for (const name of [againOf(read(file))].flat()) say(name);
}

/** tellFirst tells what is known of a run that ended outside of its tests, and so was run again as a whole. */
function tellFirst(folder: string, run: string): void {
  const file = join(folder, `${run}-first.json`);
  if (!existsSync(file)) return;
  const results = read(file);
  const errors = results?.unhandledErrors.join('; ') || 'no error was told';
  const known = results === undefined ? 'it left no results that can be read' : errors;
  say(`the run ${run} ended outside of its tests and was run again: ${known}`);
  for (const { file, test, why } of results === undefined ? [] : failuresOf(results))
    say(`${run}, before it was run again: ${test} (${file}) failed: ${why}`);
}

/** counted tells what a run says, and gives its counts. */
function counted(folder: string, run: string): { passed: number; failed: number } {
  tellFirst(folder, run);
  const results = read(join(folder, `${run}.json`));
  if (results === undefined) {
    say(`the run ${run} has no results: that counts as failed`);
    return { passed: 0, failed: 1 };
  }
  const second = read(join(folder, `${run}-again.json`));
  const settled = settledOf(results, second);
  const failures = failuresOf(results);
  const still = stillFailing(failures, second);
  const fresh = newlyFailing(failures, second);
  for (const failure of failures) {
    const end = still.includes(failure) ? 'failed' : 'failed beside others, and passed by itself';
    say(`${run}: ${failure.test} (${failure.file}) ${end}: ${failure.why}`);
  }
  for (const { file, test, why } of fresh) say(`${run}: ${test} (${file}) failed by itself: ${why}`);
  for (const error of settled.unhandledErrors) say(`${run}: an error that no test has: ${error}`);
  const { lacking, others } = skippedOf(settled);
  for (const name of lacking) say(`not tried, for want of what it needs: ${name}`);
  const refused = run === 'alone' || !existsSync('../shared') ? 0 : others.length;
  if (refused > 0) say(`${refused} tests skipped although ../shared is there: that counts as failed`);
  const failed = still.length + fresh.length + settled.unhandledErrors.length + refused;
  return { passed: passedOf(settled), failed };
}

function verdict(folder: string, status: string, steps: readonly string[]): number {
  const runs = ['all', 'alone', 'node24'].map((run) => counted(folder, run));
  const passed = runs.reduce((sum, run) => sum + run.passed, 0);
  let lost = runs.reduce((sum, run) => sum + run.failed, steps.length);
  if (status !== '0' && lost === 0) {
    say('a run failed outside of its tests, see above: that counts as failed');
    lost = 1;
  }
  for (const step of steps) say(`failed outside of the tests, see above: ${step}`);
  say(`${passed} passed, ${lost} failed`);
  return lost === 0 ? 0 : 1;
}

if (command === 'again') again(rest[0] as string);
else {
  const [folder, status, ...steps] = rest as [string, string, ...string[]];
  process.exitCode = verdict(folder, status, steps);
}
