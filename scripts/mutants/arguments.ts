import { parseArgs } from 'node:util';
import { ROOMS } from './rooms.js';

/** The arguments of a run. */
export interface Asked {
  readonly room: string;
  /** Sources to mutate instead of all of the room: a file, or a range of lines of it such as `src/milp/solve.ts:10-40`. */
  readonly files: readonly string[];
  /** The number of mutants to try among those that tests reach; all where it is absent. */
  readonly sample?: number;
  readonly seed: number;
  readonly concurrency: number;
}

export const USAGE = `npm run mutants -- <room> [file[:from-to] …] [--sample n] [--seed n] [--concurrency n]
rooms: ${Object.keys(ROOMS).join(', ')}`;

/** Reads the command line. @throws Error with the fault and the usage */
export function askedFor(argv: readonly string[]): Asked {
  const { values, positionals } = parseArgs({
    args: [...argv],
    allowPositionals: true,
    options: {
      sample: { type: 'string' },
      seed: { type: 'string', default: '1' },
      concurrency: { type: 'string', default: '2' },
    },
  });
  const [room, ...files] = positionals;
  if (room === undefined || !(room in ROOMS)) {
    throw new Error(`Cannot make mutants of ${room ?? 'no room'}: there is no such room.\n${USAGE}`);
  }
  return {
    room,
    files,
    seed: wholeNumber('seed', values.seed),
    concurrency: wholeNumber('concurrency', values.concurrency),
    ...(values.sample !== undefined && { sample: wholeNumber('sample', values.sample) }),
  };
}

function wholeNumber(option: string, text: string): number {
  const number = Number(text);
  if (Number.isSafeInteger(number) && number >= 1) return number;
  throw new Error(`Cannot use --${option} ${text}: it is no whole number of at least 1.\n${USAGE}`);
}
