#!/usr/bin/env node
import { EXIT } from './exit.js';
import { runProgram } from './program.js';

// A reader that has seen enough (`plan … | head`) is no fault.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(EXIT.done);
  process.stderr.write(`error: Cannot write to stdout: ${error.message}\n`);
  process.exit(EXIT.fault);
});
// What cannot be told is not told; the exit code still says how it ended.
process.stderr.on('error', () => {});

await runProgram(process.argv.slice(2));
