import { benchArguments, benchNumber } from '../arguments.js';

/** SeededRun says which cases of a subject are tried. */
export interface SeededRun<Name extends string = string> {
  readonly subject: Name;
  readonly seed: number;
  readonly seconds: number;
  readonly cases: number;
  readonly only: number | undefined;
  /** The folder that the input of broken cases is kept in. */
  readonly keep: string | undefined;
}

/** seededRun reads the arguments of a program that tries seeded cases. A wrong one ends it with status 2. */
export function seededRun<Name extends string>(program: string, subjects: readonly Name[]): SeededRun<Name> {
  const usage = `node ${program} ${subjects.join('|')} [--seed 1] [--seconds 10 | --cases n | --only case] [--keep folder]`;
  const { values, positionals } = benchArguments(usage, {
    seed: { type: 'string', default: '1' },
    seconds: { type: 'string' },
    cases: { type: 'string' },
    only: { type: 'string' },
    keep: { type: 'string' },
  });
  const subject = subjects.find((name) => name === positionals[0]);
  if (subject === undefined || positionals.length !== 1) {
    process.stderr.write(`usage: ${usage}\n`);
    process.exit(2);
  }
  const number = (name: 'seed' | 'seconds' | 'cases' | 'only') =>
    values[name] === undefined ? undefined : benchNumber(usage, `--${name}`, values[name]);
  return {
    subject,
    seed: number('seed') ?? 1,
    cases: number('cases') ?? Number.POSITIVE_INFINITY,
    seconds: number('seconds') ?? (values.cases === undefined ? 10 : Number.POSITIVE_INFINITY),
    only: number('only'),
    keep: values.keep,
  };
}
