import type { Command } from 'commander';
import { errorDocument } from './error-document.js';
import { EXIT, type ExitCode } from './exit.js';
import { STDOUT } from './output.js';
import { Progress } from './progress.js';
import { Terminal } from './terminal.js';

/** Context holds the arguments of a command's action besides its own arguments and options. */
export interface Context {
  readonly terminal: Terminal;
  /** The first Ctrl-C aborts it. The second one ends the process at once. */
  readonly signal: AbortSignal;
  /** progress starts to show progress, until the action ends at the latest. */
  progress(): Promise<Progress>;
  /** inFlags gives a text of the library with options named as flags. */
  inFlags(text: string): string;
}

/**
 * action makes an action for commander. It gives `act` a terminal and a signal, sets the exit code of the process that
 * `act` returns, and turns what `act` throws into a message and an exit code: 7 for a MissingError, 2 for another
 * InputError, 130 for an AbortError after Ctrl-C, and 1 otherwise. The action itself does not throw.
 */
export function action<Arguments extends unknown[], Options>(
  act: (context: Context, options: Options, ...args: Arguments) => Promise<ExitCode>,
): (this: Command, ...args: unknown[]) => Promise<void> {
  return async function run(this: Command, ...all: unknown[]) {
    const args = all.slice(0, -2) as Arguments;
    // optsWithGlobals() would let the defaults of `profile` win over what `profile import` was given.
    const options = this.opts() as Options & { json?: boolean; output?: string };
    const [json, artifact] = [options.json === true, options.output === STDOUT];
    const terminal = new Terminal(process.stdout, process.stderr, { json, artifact });
    const interrupt = listenForInterrupt(terminal);
    const shown: Progress[] = [];
    const progress = async (): Promise<Progress> => {
      const started = new Progress(terminal);
      shown.push(started);
      return started.start();
    };
    try {
      if (json && artifact) await refuseBoth();
      process.exitCode = await act(
        { terminal, signal: interrupt.signal, progress, inFlags: (text) => inFlags(text, this) },
        options,
        ...args,
      );
    } catch (error) {
      for (const one of shown) one.stop();
      process.exitCode = await tell(error, { terminal, signal: interrupt.signal, command: this });
    } finally {
      for (const one of shown) one.stop();
      interrupt.stop();
    }
  };
}

async function refuseBoth(): Promise<never> {
  const { fault, InputError } = await import('../artifacts/index.js');
  throw new InputError(
    'print to stdout',
    [fault('--json and -o - would each print a document there')],
    'Give only one of them.',
  );
}

function listenForInterrupt(terminal: Terminal): { signal: AbortSignal; stop: () => void } {
  const controller = new AbortController();
  const onSignal = (): void => {
    if (controller.signal.aborted) process.exit(EXIT.interrupted);
    controller.abort();
    terminal.note('\nstopping: finishing with what is done so far (press Ctrl-C again to stop at once)');
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  const stop = (): void => {
    process.off('SIGINT', onSignal);
    process.off('SIGTERM', onSignal);
  };
  return { signal: controller.signal, stop };
}

/** tell prints the error and gives the exit code. It prints no stack trace for faults that the user can mend. */
async function tell(
  error: unknown,
  { terminal, signal, command }: { terminal: Terminal; signal: AbortSignal; command: Command },
): Promise<ExitCode> {
  const errors = await import('../artifacts/index.js');
  if (signal.aborted && (error as Error).name === 'AbortError') {
    terminal.document(await errorDocument(EXIT.interrupted, 'interrupted'));
    terminal.note(
      error instanceof errors.InterruptedError
        ? inFlags(error.message, command)
        : 'interrupted before there was anything to keep',
    );
    return EXIT.interrupted;
  }
  if (error instanceof errors.InputError) {
    const { message, faults } = new errors.InputError(
      inFlags(error.task, command),
      error.faults.map((one) => ({
        path: inFlags(one.path, command),
        message: inFlags(one.message, command),
      })),
      error.advice === undefined ? undefined : inFlags(error.advice, command),
    );
    const exitCode = error instanceof errors.MissingError ? EXIT.missing : EXIT.badInput;
    terminal.document(await errorDocument(exitCode, message, faults));
    await terminal.error(message);
    return exitCode;
  }
  const message =
    systemMessage(error) ?? `a bug in this program: ${(error as Error).message ?? String(error)}`;
  terminal.document(await errorDocument(EXIT.fault, message));
  await terminal.error(message);
  if (process.env.PLAN_DEBUG) terminal.note((error as Error).stack ?? '');
  else if (!systemMessage(error)) terminal.note('Set PLAN_DEBUG=1 to see where. Please report it.');
  return EXIT.fault;
}

/** inFlags names options as they are given here: `--output` where the library says `output` in backticks. */
function inFlags(text: string, command: Command): string {
  return text.replace(/`([a-z][A-Za-z]*)`/g, (quoted, name: string) => flagOf(name, command) ?? quoted);
}

/**
 * flagOf gives the flag, such as `--trace`, of an option of the library, which names an option that takes several
 * values in the plural: `traces`. It is undefined where the command has no such option.
 */
export function flagOf(name: string, { options }: Pick<Command, 'options'>): string | undefined {
  const isFor = (attribute: string): boolean =>
    name.startsWith(attribute) && /^(e?s)?$/.test(name.slice(attribute.length));
  return options.find((one) => isFor(one.attributeName()))?.long ?? undefined;
}

/** systemMessage explains a refusal of the system in words. It is undefined for other errors. */
function systemMessage(error: unknown): string | undefined {
  const { code, path, syscall, message } = error as NodeJS.ErrnoException;
  if (code === undefined || syscall === undefined) return undefined;
  const where = path === undefined ? '' : ` (${path})`;
  if (code === 'ENOSPC') return `Cannot write${where}: the disk is full`;
  if (code === 'EDQUOT') return `Cannot write${where}: the disk quota is used up`;
  if (code === 'EMFILE')
    return `Cannot open another file${where}: too many are open; raise the limit with ulimit -n`;
  return `Cannot ${syscall}${where}: ${message}`;
}
