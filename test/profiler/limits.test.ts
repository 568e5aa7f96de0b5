import { expect, test } from 'vitest';
import { buildProgram } from '../../src/cli/program.js';
import { DEFAULT_LIMITS } from '../../src/profiler/types.js';

test('the command line measures by default within the limits that the library does', () => {
  const profile = buildProgram().commands.find((command) => command.name() === 'profile');
  const { warmup, minRuns, minMs, maxMs } = profile?.opts() ?? {};
  expect({ warmupRuns: warmup, minRuns, minMs, maxMs }).toEqual(DEFAULT_LIMITS);
});
