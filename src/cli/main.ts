#!/usr/bin/env node
import { CommanderError } from 'commander';
import { EXIT } from './exit.js';
import { buildProgram, heardArguments } from './program.js';

// A reader may stop early, as in `plan … | head`. That is not a fault.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(EXIT.done);
  process.stderr.write(`error: Cannot write to stdout: ${error.message}\n`);
  process.exit(EXIT.fault);
});
// A message that cannot be written is lost. The exit code still says how the command ended.
process.stderr.on('error', () => {});

try {
  const program = buildProgram();
  await program.parseAsync(heardArguments(program, process.argv.slice(2)), { from: 'user' });
} catch (error) {
  if (!(error instanceof CommanderError)) throw error;
  process.exitCode = error.exitCode === 0 ? EXIT.done : EXIT.badInput;
  if (error.exitCode !== 0 && process.argv.includes('--json')) {
    process.stdout.write(
      `${JSON.stringify({ error: { message: error.message.replace(/^error: /, ''), faults: [] } }, undefined, 2)}\n`,
    );
  }
}
