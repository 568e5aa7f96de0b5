#!/usr/bin/env node
import { EXIT } from './exit.js';
import { runProgram } from './program.js';

// A reader may stop early, as in `plan … | head`. That is not a fault.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(EXIT.done);
  process.stderr.write(`error: Cannot write to stdout: ${error.message}\n`);
  process.exit(EXIT.fault);
});
// A message that cannot be written is lost. The exit code still says how the command ended.
process.stderr.on('error', () => {});

await runProgram(process.argv.slice(2));
