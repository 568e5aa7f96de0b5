import type { Command } from 'commander';
import { EXIT, type ExitCode } from './exit.js';
import { STDOUT } from './output.js';
import { Progress } from './progress.js';
import { Terminal } from './terminal.js';

/** What a command's action is handed besides its arguments and options. */
export interface Context {
  readonly terminal: Terminal;
  /** Aborted by the first Ctrl-C; the second ends the process at once. */
  readonly signal: AbortSignal;
  /** Starts progress; it is stopped when the action ends. */
  progress(): Promise<Progress>;
  /** A text of the library with options named as flags. */
  inFlags(text: string): string;
}

/**
 * Makes a commander action of ours: gives it a terminal and a signal, sets the exit code it returns, and turns what it
 * throws into a message and a code.
 */
export function action<Arguments extends unknown[], Options>(
  act: (context: Context, options: Options, ...args: Arguments) => Promise<ExitCode>,
): (this: Command, ...args: unknown[]) => Promise<void> {
  return async function run(this: Command, ...all: unknown[]) {
    const args = all.slice(0, -2) as Arguments;
    // Not optsWithGlobals(): there the defaults of `profile` would win over what `profile import` was given.
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
    [fault('--json and -o - each print a document')],
    'Give one of them.',
  );
}

function listenForInterrupt(terminal: Terminal): { signal: AbortSignal; stop: () => void } {
  const controller = new AbortController();
  const onSignal = (): void => {
    if (controller.signal.aborted) process.exit(EXIT.interrupted);
    controller.abort();
    terminal.note('\nstopping: finishing with what there is (Ctrl-C once more to stop at once)');
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  const stop = (): void => {
    process.off('SIGINT', onSignal);
    process.off('SIGTERM', onSignal);
  };
  return { signal: controller.signal, stop };
}

/** Says what went wrong, without a stack trace where it is the user's to mend, and gives the exit code. */
async function tell(
  error: unknown,
  { terminal, signal, command }: { terminal: Terminal; signal: AbortSignal; command: Command },
): Promise<ExitCode> {
  const errors = await import('../artifacts/index.js');
  if (signal.aborted && (error as Error).name === 'AbortError') {
    terminal.document({ error: { message: 'interrupted', faults: [] } });
    terminal.note('interrupted before there was anything to keep');
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
    terminal.document({ error: { message, faults } });
    await terminal.error(message);
    return error instanceof errors.MissingError ? EXIT.missing : EXIT.badInput;
  }
  const message =
    systemMessage(error) ?? `a fault of this program: ${(error as Error).message ?? String(error)}`;
  terminal.document({ error: { message, faults: [] } });
  await terminal.error(message);
  if (process.env.PLAN_DEBUG) terminal.note((error as Error).stack ?? '');
  else if (!systemMessage(error)) terminal.note('PLAN_DEBUG=1 shows where. Please report it.');
  return EXIT.fault;
}

/** The text with options named as they are given here: `--output` where the library says `output` in backticks. */
function inFlags(text: string, command: Command): string {
  return text.replace(/`([a-z][A-Za-z]*)`/g, (quoted, name: string) => flagOf(name, command) ?? quoted);
}

/** The flag of an option of the library; one that takes several values is named in the plural there. */
export function flagOf(name: string, { options }: Pick<Command, 'options'>): string | undefined {
  const isFor = (attribute: string): boolean =>
    name.startsWith(attribute) && /^(e?s)?$/.test(name.slice(attribute.length));
  return options.find((one) => isFor(one.attributeName()))?.long ?? undefined;
}

/** What the system refused, in words; undefined for anything else. */
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
