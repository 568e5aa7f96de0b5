import { createRequire } from 'node:module';
import { Command, CommanderError } from 'commander';
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
import { isRepeatable } from './options.js';
import { printReport, reporterIn } from './reporter.js';
import { columnsOf } from './screen.js';
import { Terminal } from './terminal.js';

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
    .showHelpAfterError('(plan --help lists the commands, plan <command> --help its options)')
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
    refuseTwice(command);
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
    await program.parseAsync(heardArguments(program, args), { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    process.exitCode = error.exitCode === 0 ? EXIT.done : EXIT.badInput;
    if (error.exitCode !== 0) await printRefusal(error.message.replace(/^error: /, ''), program, args);
  }
}

/** printRefusal prints, for other programs, that arguments are not valid, in the form that these arguments ask for. */
async function printRefusal(message: string, program: Command, args: readonly string[]): Promise<void> {
  if (args.includes('--json')) {
    const document = await errorDocument(EXIT.badInput, message);
    process.stdout.write(`${JSON.stringify(document, undefined, 2)}\n`);
    return;
  }
  const reporter = reporterIn(args);
  if (reporter === undefined) return;
  const title = [program.name(), ...namedCommand(program, args)].join(' ');
  await printReport(reporter, new Terminal(process.stdout, process.stderr), {
    title,
    exitCode: EXIT.badInput,
    message,
  });
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

/** refuseTwice refuses an option that is given twice and takes one value: commander would take the last of them. */
function refuseTwice(command: Command): void {
  for (const option of command.options) {
    if (!(option.required || option.optional) || option.variadic || isRepeatable(option)) continue;
    const given: unknown[] = [];
    command.on(`option:${option.name()}`, (value: unknown) => {
      given.push(value);
      if (given.length > 1)
        command.error(
          `error: option '${option.flags}' is given twice, as ${given.map((one) => JSON.stringify(one)).join(' and ')}: give it once`,
        );
    });
  }
}

function everyCommand(command: Command): Command[] {
  return command.commands.flatMap((sub) => [sub, ...everyCommand(sub)]);
}

function helpColumns(stream: NodeJS.WriteStream): number {
  return stream.isTTY ? columnsOf(stream) : HELP_COLUMNS_OFF_TERMINAL;
}
