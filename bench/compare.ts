/**
 * This program compares two runs of one benchmark, which wrote their results with `--json`:
 *
 *     node dist/bench/compare.js old.json new.json
 *
 * It prints the median and the spread of every measure, and the ratio of the medians. It refuses runs that are not
 * comparable (another bench, machine, Node major, option or input), names each difference, and ends with status 2. The
 * commits may differ.
 */
import { InputError } from '../src/formats/index.js';
import { benchArguments } from './arguments.js';
import { compared } from './results/comparison.js';
import { readResult } from './results/read-result.js';

const USAGE = 'node dist/bench/compare.js old.json new.json';

const { positionals } = benchArguments(USAGE, {});
process.exitCode = compare(positionals);

function compare([old, fresh, ...more]: readonly string[]): number {
  if (old === undefined || fresh === undefined || more.length > 0) return refuse(`usage: ${USAGE}`);
  try {
    const result = compared(readResult(old), readResult(fresh));
    if (!result.alike)
      return refuse(
        `Cannot compare ${old} with ${fresh}: the runs are not alike.\n  ${result.differences.join('\n  ')}`,
      );
    process.stdout.write(result.table);
    return 0;
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    return refuse(error.message);
  }
}

function refuse(message: string): number {
  process.stderr.write(`${message}\n`);
  return 2;
}
