import { expect, test } from 'vitest';
import { buildProgram } from '../../src/cli/program.js';
import { DEFAULT_LIMITS } from '../../src/profiler/types.js';

test('the command line has the same default limits as the library', () => {
  const profile = buildProgram().commands.find((command) => command.name() === 'profile');
  const { warmup, minRuns, minMs, maxMs } = profile?.opts() ?? {};
  expect({ warmupRuns: warmup, minRuns, minMs, maxMs }).toEqual(DEFAULT_LIMITS);
});
