import { EXIT } from './exit.js';
import { runProgram } from './program.js';
import { systemMessage } from './run.js';

// A reader may stop early, as in `plan … | head`. That is not a fault, and the command still ends with its own exit code, which
// a gate of CI asks for: what is written from then on is lost.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') return;
  process.stderr.write(`error: Cannot write to stdout: ${error.message}\n`);
  process.exit(EXIT.fault);
});
// A message that cannot be written is lost. The exit code still says how the command ended.
process.stderr.on('error', () => {});

// An error between two turns of the event loop, such as one of Node's HTTP parser, is reported like any other
// failure.
process.on('uncaughtException', (error: Error) => {
  const message = systemMessage(error) ?? `a bug in this program: ${error.message}`;
  process.stderr.write(`error: ${message}\n`);
  if (process.env.PLAN_DEBUG) process.stderr.write(`${error.stack}\n`);
  process.exit(EXIT.fault);
});

await runProgram(process.argv.slice(2));
