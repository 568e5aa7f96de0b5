import { type ParseArgsConfig, parseArgs } from 'node:util';

type Options = NonNullable<ParseArgsConfig['options']>;
type Parsed<O extends Options> = ReturnType<typeof parseArgs<{ options: O; allowPositionals: true }>>;

/**
 * benchArguments reads a benchmark's arguments. `--help` prints the usage and ends the process. An unknown
 * option prints a message with the usage and ends it with status 2.
 */
export function benchArguments<const O extends Options>(usage: string, options: O): Parsed<O> {
  if (process.argv.includes('--help')) {
    process.stdout.write(`usage: ${usage}\n`);
    process.exit(0);
  }
  return readOrEnd(usage, () => parseArgs({ options, allowPositionals: true }));
}

/** benchNumber reads the number of an option. */
export function benchNumber(usage: string, name: string, text: string): number {
  return readOrEnd(usage, () => {
    const number = Number(text);
    if (text.trim() === '' || !(number >= 0 && number < Number.POSITIVE_INFINITY))
      throw new TypeError(`${name} is ${JSON.stringify(text)}, no number from 0 on`);
    return number;
  });
}

function readOrEnd<T>(usage: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\nusage: ${usage}\n`);
    process.exit(2);
  }
}
