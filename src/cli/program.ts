import { createRequire } from 'node:module';
import { Command, CommanderError } from 'commander';
import type { InputError } from '../formats/index.js';
import { compareCommand } from './commands/compare.js';
import { COMPLETE, complete, completionCommand } from './commands/completion.js';
import { deployCommand } from './commands/deploy.js';
import { devicesCommand } from './commands/devices.js';
import { diffCommand } from './commands/diff.js';
import { initCommand } from './commands/init.js';
import { loadCommand } from './commands/load.js';
import { partitionCommand } from './commands/partition.js';
import { profileCommand } from './commands/profile.js';
import { schemaCommand } from './commands/schema.js';
import { serveCommand } from './commands/serve.js';
import { simulateCommand } from './commands/simulate.js';
import { solveCommand } from './commands/solve.js';
import { traceCommand } from './commands/trace.js';
import { validateCommand } from './commands/validate.js';
import { verifyCommand } from './commands/verify.js';
import { errorDocument } from './error-document.js';
import { addExamples } from './examples.js';
import { EXIT } from './exit.js';
import { harmless } from './harmless.js';
import { printReport, reporterIn } from './reporter.js';
import { columnsOf } from './screen.js';
import { Terminal } from './terminal.js';
import { everyCommand, hearUsage, UsageError, usageRefusal } from './usage.js';

/** The width of help that goes to a file or a pipe. */
const HELP_COLUMNS_OFF_TERMINAL = 80;

/**
 * buildProgram builds the whole command line. It builds only tables of options: each action loads what it needs
 * when it runs.
 */
export function buildProgram(): Command {
  const { version } = createRequire(import.meta.url)('#package') as { version: string };
  const program = new Command('plan')
    .description(
      'Plans how to serve ONNX models on unlike devices under latency objectives, and runs the plan.',
    )
    .version(version)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => process.stdout.write(harmless(text)),
      writeErr: (text) => process.stderr.write(harmless(text)),
      getOutHelpWidth: () => helpColumns(process.stdout),
      getErrHelpWidth: () => helpColumns(process.stderr),
    })
    .enablePositionalOptions();
  const commands = [
    devicesCommand,
    profileCommand,
    partitionCommand,
    initCommand,
    solveCommand,
    simulateCommand,
    compareCommand,
    diffCommand,
    deployCommand,
    serveCommand,
    loadCommand,
    verifyCommand,
    traceCommand,
    validateCommand,
    schemaCommand,
    completionCommand,
  ];
  for (const command of commands) program.addCommand(command());
  for (const command of everyCommand(program)) {
    command.exitOverride().copyInheritedSettings(program);
    addExamples(command, pathOf(command));
  }
  addExamples(program, program.name());
  return program;
}

/**
 * runProgram runs the command that these arguments name to its end, and leaves the exit code in `process.exitCode`: 2
 * where the arguments are not valid. With `--json` or `--reporter` it also prints that refusal on stdout, as these do.
 * @param args the arguments after the program's name
 */
export async function runProgram(args: readonly string[]): Promise<void> {
  const program = buildProgram();
  try {
    const [named, ...words] = args;
    if (named === COMPLETE && words[0] === '--') return await complete(program, words.slice(1));
    hearUsage(program);
    await program.parseAsync(heardArguments(program, args), { from: 'user' });
  } catch (error) {
    if (error instanceof UsageError) return refuse(await usageRefusal(error), program, args);
    if (!(error instanceof CommanderError)) throw error;
    process.exitCode = error.exitCode === 0 ? EXIT.done : EXIT.badInput;
  }
}

/** refuse reports that arguments are not valid, to other programs too in the form that these arguments ask for. */
async function refuse(refusal: InputError, program: Command, args: readonly string[]): Promise<void> {
  process.exitCode = EXIT.badInput;
  const json = args.includes('--json');
  const reporter = json ? undefined : reporterIn(args);
  const terminal = new Terminal(process.stdout, process.stderr, { json, verdicts: reporter !== undefined });
  const { message, faults } = refusal;
  terminal.document(await errorDocument(EXIT.badInput, message, { faults }));
  await terminal.error(message);
  if (reporter === undefined) return;
  const title = [program.name(), ...namedCommand(program, args)].join(' ');
  await printReport(reporter, terminal, { title, exitCode: EXIT.badInput, error: refusal });
}

/** namedCommand gives the words that name a command at the begin of arguments, such as `trace` and `convert`. */
function namedCommand(group: Command, [word, ...rest]: readonly string[]): string[] {
  const next = group.commands.find((command) => command.name() === word);
  return next === undefined ? [] : [next.name(), ...namedCommand(next, rest)];
}

/**
 * heardArguments gives the arguments that the program is to parse. Commander answers a request for help on a command
 * that does not exist with help on the whole program, as if all were well. Such a command is therefore passed without
 * the request for help, so that it is refused; and `help` hears only one name, so that `help trace convert` becomes
 * `trace convert --help`. Other arguments stay as they are.
 */
export function heardArguments(program: Command, args: readonly string[]): readonly string[] {
  const names = args.filter((arg) => !arg.startsWith('-'));
  const [named] = names;
  const asksForHelp = named === 'help' || args.some((arg) => arg === '--help' || arg === '-h');
  if (!asksForHelp) return args;
  const path: string[] = [];
  let group = program;
  for (const wanted of named === 'help' ? names.slice(1) : names) {
    const next = group.commands.find((command) => command.name() === wanted);
    if (next === undefined && (group.commands.length === 0 || group.registeredArguments.length > 0)) break;
    if (next === undefined) return [...path, wanted];
    path.push(wanted);
    group = next;
  }
  return named === 'help' && path.length > 0 ? [...path, '--help'] : args;
}

/** pathOf names a command with those that it is below, without the program: `trace convert`. */
function pathOf(command: Command): string {
  const above = command.parent === null || command.parent.parent === null ? '' : `${pathOf(command.parent)} `;
  return `${above}${command.name()}`;
}

function helpColumns(stream: NodeJS.WriteStream): number {
  return stream.isTTY ? columnsOf(stream) : HELP_COLUMNS_OFF_TERMINAL;
}
