/**
 * This room is the command line: arguments, printing, progress and exit codes, with one file per command.
 *
 * Arguments go in. Text on stdout and stderr comes out, and an exit code in `process.exitCode`. Everything else is
 * done by `api`. Start reading at `program.ts`, then `run.ts`.
 */
export { runProgram } from './program.js';
