import type { Command, Option } from 'commander';
import type { Fault, InputError } from '../formats/index.js';
import { errorDocument } from './error-document.js';
import { EXIT, type ExitCode } from './exit.js';
import { STDOUT } from './output.js';
import { Progress } from './progress.js';
import { printReport, type Reporter } from './reporter.js';
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
 * `act` returns, and turns what `act` throws into a message and an exit code: 7 for a MissingError, 6 for a CheckFailedError, 2
 * for another InputError, 130 for an AbortError after Ctrl-C, and 1 otherwise. The action itself does not throw.
 */
export function action<Arguments extends unknown[], Options>(
  act: (context: Context, options: Options, ...args: Arguments) => Promise<ExitCode>,
): (this: Command, ...args: unknown[]) => Promise<void> {
  return async function run(this: Command, ...all: unknown[]) {
    const args = all.slice(0, -2) as Arguments;
    // optsWithGlobals() would let the defaults of `profile` win over what `profile import` was given.
    const options = this.opts() as Options & { json?: boolean; output?: string; reporter?: Reporter };
    const [json, artifact] = [options.json === true, options.output === STDOUT];
    const terminal = new Terminal(process.stdout, process.stderr, {
      json,
      artifact,
      verdicts: options.reporter !== undefined,
    });
    const interrupt = listenForInterrupt(terminal);
    const shown: Progress[] = [];
    const progress = async (): Promise<Progress> => {
      const started = new Progress(terminal);
      shown.push(started);
      return started.start();
    };
    let isReported = options.reporter === undefined || json || artifact;
    const report = async (exitCode: ExitCode, refusal?: InputError): Promise<void> => {
      if (isReported || options.reporter === undefined) return;
      isReported = true;
      const { commandText } = await import('../formats/index.js');
      const title = commandText([this.name(), ...args.flat().map(String)]);
      await printReport(options.reporter, terminal, { title, exitCode, error: refusal });
    };
    try {
      if (json && artifact) await refuseBoth('--json and -o -');
      if (options.reporter !== undefined && json) await refuseBoth('--reporter and --json');
      if (options.reporter !== undefined && artifact) await refuseBoth('--reporter and -o -');
      const flags = await flagsOf(this);
      const { asOneRun } = await import('../artifacts/index.js');
      process.exitCode = await asOneRun(
        () =>
          act(
            { terminal, signal: interrupt.signal, progress, inFlags: (text) => flags.inText(text) },
            options,
            ...args,
          ),
        interrupt.signal,
      );
      await report(process.exitCode as ExitCode);
    } catch (error) {
      for (const one of shown) one.stop();
      const told = await tell(error, { terminal, signal: interrupt.signal, command: this });
      process.exitCode = told.exitCode;
      await report(told.exitCode, told.refusal).catch(async (unwritten: unknown) => {
        const end = await tell(unwritten, { terminal, signal: interrupt.signal, command: this });
        process.exitCode = end.exitCode;
      });
    } finally {
      for (const one of shown) one.stop();
      interrupt.stop();
    }
  };
}

async function refuseBoth(named: string): Promise<never> {
  const { fault, InputError } = await import('../formats/index.js');
  throw new InputError(
    'print to stdout',
    [fault(`${named} would each print a document there`)],
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

/**
 * Told is how an error was reported: the exit code, and the refusal as it was printed, with options named as
 * flags.
 */
interface Told {
  readonly exitCode: ExitCode;
  readonly refusal?: InputError;
}

/** tell prints the error and gives what it told. It prints no stack trace for faults that the user can mend. */
async function tell(
  error: unknown,
  { terminal, signal, command }: { terminal: Terminal; signal: AbortSignal; command: Command },
): Promise<Told> {
  const errors = await import('../formats/index.js');
  const flags = await flagsOf(command);
  if (signal.aborted && (error as Error).name === 'AbortError') {
    terminal.document(await errorDocument(EXIT.interrupted, 'interrupted'));
    terminal.note(
      error instanceof errors.InterruptedError
        ? flags.inText(error.message)
        : 'interrupted before there was anything to keep',
    );
    return { exitCode: EXIT.interrupted };
  }
  if (error instanceof errors.InputError) {
    const refusal = new errors.InputError(
      flags.inText(error.task),
      error.faults.map((one) =>
        errors.faultAt({ ...one, message: flags.inText(one.message) }, flags.place(one)),
      ),
      error.advice === undefined ? undefined : flags.inText(error.advice),
    );
    const { message, faults } = refusal;
    const isCheck = error instanceof errors.CheckFailedError;
    const exitCode = exitOf({ isCheck, isMissing: error instanceof errors.MissingError });
    terminal.document(
      await errorDocument(exitCode, message, { faults, ...(isCheck ? { checks: error.checks } : {}) }),
    );
    await terminal.error(message);
    return { exitCode, refusal };
  }
  const message =
    systemMessage(error) ?? `a bug in this program: ${(error as Error).message ?? String(error)}`;
  terminal.document(await errorDocument(EXIT.fault, message));
  await terminal.error(message);
  if (process.env.PLAN_DEBUG) terminal.note((error as Error).stack ?? '');
  else if (!systemMessage(error)) terminal.note('Set PLAN_DEBUG=1 to see where. Please report it.');
  return { exitCode: EXIT.fault };
}

function exitOf({ isCheck, isMissing }: { isCheck: boolean; isMissing: boolean }): ExitCode {
  if (isCheck) return EXIT.checkFailed;
  return isMissing ? EXIT.missing : EXIT.badInput;
}

/** Flags names options as they are given to a command: `--output` for the option `output` of the library. */
interface Flags {
  /** `inText` puts flags in place of the marks of options. */
  inText(text: string): string;
  /** `place` gives the path of a fault; where that is an option, what was given for it stays as it is. */
  place(fault: Fault): string;
}

async function flagsOf(command: Pick<Command, 'options'>): Promise<Flags> {
  const { optionMark } = await import('../formats/index.js');
  const marks = namedOptions(command).map(({ name, one }) => ({
    mark: optionMark(name),
    flag: one.long ?? optionMark(name),
  }));
  const inText = (text: string): string =>
    marks.reduce((told, { mark, flag }) => told.replaceAll(mark, () => flag), text);
  const place = ({ path, option }: Fault): string => {
    if (option === undefined) return inText(path);
    return `${flagOf(option, command) ?? optionMark(option)}${path.slice(optionMark(option).length)}`;
  };
  return { inText, place };
}

/**
 * flagOf gives the flag, such as `--trace`, of an option of the library. It is undefined where the command has no such
 * option.
 */
export function flagOf(name: string, command: Pick<Command, 'options'>): string | undefined {
  return namedOptions(command).find((named) => named.name === name)?.one.long ?? undefined;
}

/**
 * namedOptions lists the options by their names in the library, which names one that takes several values in the plural:
 * `traces`. An option whose own name this is comes before.
 */
function namedOptions({ options }: Pick<Command, 'options'>): { name: string; one: Option }[] {
  return ['', 's', 'es'].flatMap((plural) =>
    options.map((one) => ({ name: `${one.attributeName()}${plural}`, one })),
  );
}

/** V8 reserves more address space for a WebAssembly memory, or a thread, than it uses. */
const NARROW = /WebAssembly[^\n]*[Oo]ut of memory|Wasm memory|Cannot start a thread: out of memory/;

/** systemMessage explains a refusal of the system in words. It is undefined for other errors. */
export function systemMessage(error: unknown): string | undefined {
  const { code, path, syscall, message } = error as NodeJS.ErrnoException;
  if (NARROW.test(message))
    return 'Cannot reserve the address space that WebAssembly and threads need: it is limited for this process (ulimit -v). Raise that limit to 32 GB or lift it; to bound memory, use a cgroup, such as systemd-run -p MemoryMax=4G';
  if (code === undefined || syscall === undefined) return undefined;
  const where = path === undefined ? '' : ` (${path})`;
  if (code === 'ENOSPC') return `Cannot write${where}: the disk is full`;
  if (code === 'EDQUOT') return `Cannot write${where}: the disk quota is used up`;
  if (code === 'EMFILE')
    return `Cannot open another file${where}: too many are open; raise the limit with ulimit -n`;
  return `Cannot ${syscall}${where}: ${message}`;
}
