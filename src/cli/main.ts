#!/usr/bin/env node
import { CommanderError } from 'commander';
import { EXIT } from './exit.js';
import { buildProgram } from './program.js';

// A reader that has seen enough (`plan … | head`) is no fault.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(EXIT.done);
  throw error;
});

try {
  await buildProgram().parseAsync(process.argv);
} catch (error) {
  if (!(error instanceof CommanderError)) throw error;
  process.exitCode = error.exitCode === 0 ? EXIT.done : EXIT.badInput;
  if (error.exitCode !== 0 && process.argv.includes('--json')) {
    process.stdout.write(
      `${JSON.stringify({ error: { message: error.message, faults: [] } }, undefined, 2)}\n`,
    );
  }
}
