import { type Command, InvalidArgumentError, Option } from 'commander';

/** wholeNumbers parses a list of whole numbers ≥ 1, such as `1,2,4`, into ascending order. */
export function wholeNumbers(text: string): number[] {
  const numbers = text.split(',').map((part) => wholeNumber(part.trim()));
  return [...new Set(numbers)].sort((a, b) => a - b);
}

/** wholeNumber parses a whole number ≥ 1. */
export function wholeNumber(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text))
    throw new InvalidArgumentError(`"${text}" is not a whole number of 1 or more.`);
  return Number(text);
}

/** countingNumber parses a whole number ≥ 0. */
export function countingNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text))
    throw new InvalidArgumentError(`"${text}" is not a whole number of 0 or more.`);
  return Number(text);
}

/** positiveNumber parses a number > 0. */
export function positiveNumber(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value) || value <= 0) {
    throw new InvalidArgumentError(`"${text}" is not a number above 0.`);
  }
  return value;
}

/** notNegative parses a number ≥ 0. */
export function notNegative(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value) || value < 0) {
    throw new InvalidArgumentError(`"${text}" is not a number of 0 or more.`);
  }
  return value;
}

/** share parses a share from 0 to 1, such as 0.99. It is not a percentage. */
export function share(text: string): number {
  const value = notNegative(text);
  if (value > 1) throw new InvalidArgumentError(`"${text}" is not a share from 0 to 1, such as 0.99.`);
  return value;
}

/** seconds parses a time with its unit (`10s`, `500ms`, `2min`) or a bare number of seconds, into seconds. */
export function seconds(text: string): number {
  const match = /^(\d+(?:\.\d+)?)(ms|s|min|h)?$/.exec(text.trim());
  const value = Number(match?.[1]) * { ms: 0.001, s: 1, min: 60, h: 3600 }[match?.[2] ?? 's']!;
  if (!Number.isFinite(value) || value <= 0) {
    throw new InvalidArgumentError(`"${text}" is not a time above 0, such as 10s, 500ms or 2min.`);
  }
  return value;
}

const BYTES_OF = { MiB: 2 ** 20, GiB: 2 ** 30, MB: 1e6, GB: 1e9 };

/** memoryBytes parses an amount of memory with its unit (`800MiB`, `1.5GiB`) into bytes. */
export function memoryBytes(text: string): number {
  const match = /^(\d+(?:\.\d+)?)\s*(MiB|GiB|MB|GB)$/.exec(text.trim());
  const value = Math.floor(Number(match?.[1]) * BYTES_OF[(match?.[2] ?? 'MiB') as keyof typeof BYTES_OF]);
  if (!(value > 0))
    throw new InvalidArgumentError(`"${text}" is not an amount of memory, such as 800MiB or 1.5GiB.`);
  return value;
}

/** portNumber parses a port. Port 0 stands for any free one. */
export function portNumber(text: string): number {
  const value = countingNumber(text);
  if (value > 65535) throw new InvalidArgumentError(`"${text}" is not a port (0 to 65535).`);
  return value;
}

/**
 * dimension collects `name=size` pairs given one at a time, as in `--dim seq=128 --dim h=32`. The name ends at
 * the last `=`.
 */
export function dimension(text: string, before: Record<string, number> = {}): Record<string, number> {
  const at = text.lastIndexOf('=');
  if (at < 1) throw new InvalidArgumentError(`"${text}" is not name=size, such as seq=128.`);
  return withNamed(before, text.slice(0, at), wholeNumber(text.slice(at + 1)));
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
  return withNamed(before, text.slice(0, at), Number(number));
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

function withNamed<T>(before: Record<string, T>, name: string, value: T): Record<string, T> {
  if (Object.hasOwn(before, name)) throw new InvalidArgumentError(`"${name}" is given twice.`);
  return { ...before, [name]: value };
}

/** each collects the values of an option that may be given more than once. */
export function each(text: string, before: string[] = []): string[] {
  return [...before, text];
}

/** traceFormatOption makes the option of every command that reads a trace. */
export function traceFormatOption(): Option {
  return new Option(
    '--trace-format <format>',
    'format of a trace that does not name its own; this one holds gaps in µs',
  ).choices(['perf-analyzer-intervals']);
}

/** withJson adds the option that every command has. */
export function withJson(command: Command): Command {
  return command.option('--json', 'print one JSON document on stdout, and nothing else there');
}
