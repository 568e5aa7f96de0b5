import { type Command, InvalidArgumentError, Option } from 'commander';
import type { Tolerance } from '../api/index.js';
import type { DimValues } from '../formats/index.js';

/**
 * wholeNumbers parses a list of whole numbers ≥ 1, such as `1,2,4`, into ascending order, each once.
 * @throws InvalidArgumentError (as all parsers here do) where one is not such a number
 */
export function wholeNumbers(text: string): number[] {
  const numbers = text.split(',').map((part) => wholeNumber(part.trim()));
  return [...new Set(numbers)].sort((a, b) => a - b);
}

/** Whole numbers have at most nine digits. */
const MOST_WHOLE = '999,999,999';

/** wholeNumber parses a whole number from 1 to 999,999,999. @throws InvalidArgumentError for other text */
export function wholeNumber(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text))
    throw new InvalidArgumentError(`"${text}" is not a whole number from 1 to ${MOST_WHOLE}.`);
  return Number(text);
}

/** countingNumber parses a whole number from 0 to 999,999,999. @throws InvalidArgumentError for other text */
export function countingNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text))
    throw new InvalidArgumentError(`"${text}" is not a whole number from 0 to ${MOST_WHOLE}.`);
  return Number(text);
}

/**
 * toldApart gives the number of a text; NaN where it is none. @throws InvalidArgumentError for a whole number that a
 * double may not hold
 */
function toldApart(text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && !Number.isSafeInteger(value) && !/[.e]/i.test(text))
    throw new InvalidArgumentError(
      `"${text}" is a whole number beyond ${Number.MAX_SAFE_INTEGER} (2^53 - 1), where they are not told apart; give a smaller one.`,
    );
  return value;
}

/** positiveNumber parses a finite number > 0. @throws InvalidArgumentError for other text */
export function positiveNumber(text: string): number {
  const value = toldApart(text);
  if (text.trim() === '' || !Number.isFinite(value) || value <= 0) {
    throw new InvalidArgumentError(`"${text}" is not a number above 0.`);
  }
  return value;
}

/** notNegative parses a finite number ≥ 0. @throws InvalidArgumentError for other text */
export function notNegative(text: string): number {
  const value = toldApart(text);
  if (text.trim() === '' || !Number.isFinite(value) || value < 0) {
    throw new InvalidArgumentError(`"${text}" is not a number of 0 or more.`);
  }
  return value;
}

/** portion reads a number of 0 or more, or the same as a percentage: 0.05 or 5%. It is undefined for other text. */
function portion(text: string): number | undefined {
  const percent = /^(\d+\.?\d*|\.\d+) ?%$/.exec(text.trim())?.[1];
  // Dividing by 100 would round another time: 99.9 / 100 is not 0.999.
  const value = percent === undefined ? Number(text) : Number(`${percent}e-2`);
  return text.trim() === '' || !Number.isFinite(value) || value < 0 ? undefined : value;
}

/** gap parses a share of 0 or more: 0.01 or 1%. @throws InvalidArgumentError for other text */
export function gap(text: string): number {
  const value = portion(text);
  if (value === undefined)
    throw new InvalidArgumentError(`"${text}" is not a number of 0 or more, such as 0.01 or 1%.`);
  return value;
}

/** share parses a share from 0 to 1: 0.99 or 99%. @throws InvalidArgumentError for other text */
export function share(text: string): number {
  const value = portion(text);
  if (value === undefined || value > 1)
    throw new InvalidArgumentError(`"${text}" is not a share from 0 to 1, such as 0.99 or 99%.`);
  return value;
}

/** openShare parses a share between 0 and 1, both excluded: 0.99 or 99%. @throws InvalidArgumentError for other text */
export function openShare(text: string): number {
  const value = portion(text);
  if (value === undefined || value === 0 || value >= 1)
    throw new InvalidArgumentError(
      `"${text}" is not a share between 0 and 1, both excluded, such as 0.99 or 99%.`,
    );
  return value;
}

/**
 * timeOf reads a time as files have it too, in seconds; NaN for other text. Loading the room that reads files takes too
 * long here.
 */
function timeOf(text: string): number {
  const [, digits, unit = 's'] = /^(\d+(?:\.\d+)?)(ms|s|m|min|h)?$/.exec(text.trim()) ?? [];
  const value = Number(digits) * { ms: 0.001, s: 1, m: 60, min: 60, h: 3600 }[unit]!;
  return Number.isFinite(value) ? value : Number.NaN;
}

/**
 * seconds parses a time above 0 with its unit (`500ms`, `10s`, `2min` or `2m`, `1h`), or a bare number of seconds, into
 * seconds.
 * @throws InvalidArgumentError for other text
 */
export function seconds(text: string): number {
  const value = timeOf(text);
  if (!(value > 0))
    throw new InvalidArgumentError(`"${text}" is not a time above 0, such as 10s, 500ms or 2min.`);
  return value;
}

/**
 * instant parses a time from a start on, as `seconds` does, or 0.
 * @throws InvalidArgumentError for other text
 */
export function instant(text: string): number {
  return timeOf(text) === 0 ? 0 : seconds(text);
}

/** Timers have whole milliseconds, as many as 31 bits hold. */
const MOST_WAIT_S = 2_000_000;

/**
 * waitSeconds parses a time, as `seconds` does, that something is waited for: from 1 ms to 2,000,000 s (23 days).
 * @throws InvalidArgumentError for other text
 */
export function waitSeconds(text: string): number {
  const value = seconds(text);
  if (value < 0.001 || value > MOST_WAIT_S)
    throw new InvalidArgumentError(`"${text}" is not a time from 1ms to ${MOST_WAIT_S}s, such as 10s.`);
  return value;
}

const BYTES_OF = { MiB: 2 ** 20, GiB: 2 ** 30, MB: 1e6, GB: 1e9 };

/**
 * memoryBytes parses an amount of memory with its unit (MiB, GiB, MB or GB, as in `1.5GiB`) into whole bytes.
 * @throws InvalidArgumentError for other text, and for less than a byte
 */
export function memoryBytes(text: string): number {
  const match = /^(\d+(?:\.\d+)?)\s*(MiB|GiB|MB|GB)$/.exec(text.trim());
  const value = Math.floor(Number(match?.[1]) * BYTES_OF[(match?.[2] ?? 'MiB') as keyof typeof BYTES_OF]);
  if (!(value > 0))
    throw new InvalidArgumentError(`"${text}" is not an amount of memory, such as 800MiB or 1.5GiB.`);
  return value;
}

/** portNumber parses a port, 0 to 65535; 0 stands for any free one. @throws InvalidArgumentError for other text */
export function portNumber(text: string): number {
  const value = countingNumber(text);
  if (value > 65535) throw new InvalidArgumentError(`"${text}" is not a port (0 to 65535).`);
  return value;
}

/**
 * dimension collects `name=size` pairs given one at a time, as in `--dim seq=128 --dim x.0=batch`. The name ends at the
 * last `=`, and the size is a whole number ≥ 1 or `batch`. `before` is not changed.
 * @throws InvalidArgumentError for other text, and for a name that is given again
 */
export function dimension(text: string, before: DimValues = {}): DimValues {
  const at = text.lastIndexOf('=');
  if (at < 1) throw new InvalidArgumentError(`"${text}" is not name=size, such as seq=128.`);
  const size = text.slice(at + 1);
  if (/^0+$/.test(size))
    throw new InvalidArgumentError(
      `"${text}" is not name=size: the size 0 is none; a dimension has 1 or more, or is "batch".`,
    );
  return withNamed(before, text.slice(0, at), size === 'batch' ? size : wholeNumber(size));
}

/**
 * namedNumber collects `name=number` pairs given one at a time. The name ends at the last `=`.
 * @throws InvalidArgumentError where it is no such pair, or the name was given before
 */
export function namedNumber(text: string, before: Record<string, number> = {}): Record<string, number> {
  const at = text.lastIndexOf('=');
  const number = text.slice(at + 1);
  if (at < 1 || number.trim() === '' || !Number.isFinite(Number(number)))
    throw new InvalidArgumentError(`"${text}" is not name=number, such as sr=16000.`);
  return withNamed(before, text.slice(0, at), toldApart(number));
}

/**
 * namedText collects `name=text` pairs given one at a time. The name ends at the first `=`.
 * @throws InvalidArgumentError where it is no such pair, or the name was given before
 */
export function namedText(text: string, before: Record<string, string> = {}): Record<string, string> {
  const at = text.indexOf('=');
  if (at < 1 || at === text.length - 1) throw new InvalidArgumentError(`"${text}" is not name=value.`);
  return withNamed(before, text.slice(0, at), text.slice(at + 1));
}

/**
 * tolerances collects `figure=most` pairs given one at a time, where `2%` is a share and a number is an amount.
 * @throws InvalidArgumentError where it is no such pair, or the name was given before
 */
export function tolerances(text: string, before: Record<string, Tolerance> = {}): Record<string, Tolerance> {
  const at = text.indexOf('=');
  const given = text.slice(at + 1);
  const most = portion(given);
  if (at < 1 || most === undefined)
    throw new InvalidArgumentError(`"${text}" is not figure=most, such as cost=2% or gpus=1.`);
  return withNamed(before, text.slice(0, at), { most, isShare: given.trim().endsWith('%') });
}

function withNamed<T>(before: Record<string, T>, name: string, value: T): Record<string, T> {
  if (Object.hasOwn(before, name)) throw new InvalidArgumentError(`"${name}" is given twice.`);
  return { ...before, [name]: value };
}

/** each collects the values of an option that may be given more than once, in their order. `before` is not changed. */
export function each(text: string, before: string[] = []): string[] {
  return [...before, text];
}

/** COLLECTING lists the parsers that take a value more. */
const COLLECTING: readonly unknown[] = [dimension, namedNumber, namedText, each, tolerances];

/** isRepeatable returns whether an option may be given more than once. */
export function isRepeatable({ parseArg }: Option): boolean {
  return COLLECTING.includes(parseArg);
}

/** dimensionOption makes the option `--dim` of the commands that read a model. */
export function dimensionOption(): Option {
  const says = 'x.2=128 if axis 2 of input x has no name; x.0=batch declares the batch (repeatable)';
  return new Option('--dim <name=size>', `size of a free dimension, such as seq=128, or ${says}`).argParser(
    dimension,
  );
}

/** batchToleranceOption makes the option `--batch-tolerance` of the commands that read a model. */
export function batchToleranceOption(): Option {
  const says = "how far the rows of a batch may be from a request's alone, as a share of the largest value";
  return new Option('--batch-tolerance <share>', `${says} (rounding only)`).argParser(openShare);
}

/** trustBatchOption makes the option `--trust-batch` of the commands that read a model. */
export function trustBatchOption(): Option {
  const says = 'take batches although nothing shows that the rows of requests keep apart in them';
  return new Option('--trust-batch', `${says}; noted in profile and plans`);
}

/** arrivalsOption makes the option `--arrivals` of every command that draws arrivals, which says what is drawn. */
export function arrivalsOption(says: string): Option {
  return new Option('--arrivals <process>', says).choices(['poisson', 'uniform', 'gamma']);
}

/** cvOption makes the option `--cv` beside `--arrivals`. */
export function cvOption(more = ''): Option {
  return new Option('--cv <c>', `how bursty gamma arrivals are${more}`).argParser(notNegative);
}

/** traceFormatOption makes the option `--trace-format` of every command that reads a trace. */
export function traceFormatOption(): Option {
  return new Option(
    '--trace-format <format>',
    'format of a trace that does not name its own; this one holds gaps in µs',
  ).choices(['perf-analyzer-intervals']);
}

/** withWindow adds the options of every command that reads a trace and may take a window of it. */
export function withWindow(command: Command): Command {
  return command
    .option('--from <time>', 'begin the trace there, such as 18h or 90min from its start', instant)
    .option('--to <time>', 'end the trace there, such as 19h from its start', seconds);
}

/** withJson adds to a command the option `--json`, which every command has, and gives the same command. */
export function withJson(command: Command): Command {
  return command.option('--json', 'print one JSON document on stdout, and nothing else there');
}

/** withStrict adds `--strict` to a command that uses a plan. */
export function withStrict(command: Command): Command {
  return command.option(
    '--strict',
    'refuse a plan that is not checked against all that it was made from, as that is gone, has changed or is not named',
  );
}

/** OTHER_SCHEDULERS is the help of `--scheduler`, in each command that has it. */
export const OTHER_SCHEDULERS =
  "another scheduler than the plan's: stage-local, fifo, inferline, reactive, reservation, or gears for gear plans; room-first, pard, nexus, clipper++, naive; what another engine does: ray-serve, ray-serve-batch, triton; for workflow plans dyorc, greedy, round-robin, static or ray-like; or PARD with one part replaced: pard-back, pard-sf, pard-oc, pard-split, pard-wcl, pard-lower, pard-upper, pard-fcfs, pard-hbf, pard-lbf, pard-instant";
