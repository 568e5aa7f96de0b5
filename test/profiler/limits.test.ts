import { expect, test } from 'vitest';
import { buildProgram } from '../../src/cli/program.js';
import { DEFAULT_LIMITS } from '../../src/profiler/types.js';

test('the help of plan profile reports the default limits of the library', () => {
  const { options = [] } = buildProgram().commands.find((command) => command.name() === 'profile') ?? {};
  const told = (long: string) => {
    const { description = '', defaultValue } = options.find((option) => option.long === long) ?? {};
    // A default of the option itself would take the place of what a profile that is resumed was begun with.
    expect(defaultValue).toBeUndefined();
    return Number(/\((\d+)\)$/.exec(description)?.[1]);
  };
  expect({
    warmupRuns: told('--warmup'),
    minRuns: told('--min-runs'),
    minMs: told('--min-ms'),
    maxMs: told('--max-ms'),
    pauseMs: told('--pause-ms'),
  }).toEqual(DEFAULT_LIMITS);
});
