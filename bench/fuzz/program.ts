import { runProgram } from '../../src/cli/index.js';
import { leakedValues } from './leaked-values.js';

/** Ran is the output of a command and how it ended. */
export interface Ran {
  readonly args: readonly string[];
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  /** The error that the command threw, which should never happen. */
  readonly thrown?: unknown;
}

/** plan runs a command in this process, in a folder, with outputs that are no terminal. */
export async function plan(args: readonly string[], folder: string): Promise<Ran> {
  const printed = { stdout: '', stderr: '' };
  const [before, writes] = [process.cwd(), { stdout: process.stdout.write, stderr: process.stderr.write }];
  for (const stream of ['stdout', 'stderr'] as const) {
    process[stream].write = (text: string | Uint8Array) => {
      printed[stream] += typeof text === 'string' ? text : Buffer.from(text).toString();
      return true;
    };
  }
  process.chdir(folder);
  try {
    await runProgram(args);
    return { args, code: Number(process.exitCode ?? 0), ...printed };
  } catch (thrown) {
    return { args, code: 1, ...printed, thrown };
  } finally {
    process.exitCode = undefined;
    process.chdir(before);
    Object.assign(process.stdout, { write: writes.stdout });
    Object.assign(process.stderr, { write: writes.stderr });
  }
}

/** The longest message that a person is shown. */
const MOST_TOLD = 64 * 1024;
const STACK = /^\s+at .+:\d+:\d+\)?$/m;
// biome-ignore lint/suspicious/noControlCharactersInRegex: terminals obey these, so that none may be printed
const OBEYED = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/;

/**
 * faultsOf names the rules that a command broke. These rules hold for any input.
 * @param given the text of what it was given, which it may quote
 */
export function faultsOf({ args, code, stdout, stderr, thrown }: Ran, given: string): string[] {
  const told = `plan ${args.join(' ')}`;
  const faults: string[] = [];
  const broke = (what: string) => faults.push(`${told} ${what}`);
  const said = stderr.slice(0, 2000);
  if (thrown !== undefined) broke(`threw ${(thrown as Error).stack ?? String(thrown)}`);
  else if (code === 1 || /a bug in this program/.test(stderr)) broke(`ended with ${code}: ${said}`);
  if (STACK.test(stderr)) broke(`printed a stack trace: ${said}`);
  if (OBEYED.test(stderr)) broke(`printed what a terminal obeys: ${JSON.stringify(said)}`);
  for (const word of leakedValues(stderr, given)) broke(`told of ${word}: ${said}`);
  if (stderr.length > MOST_TOLD) broke(`told ${stderr.length} characters, such as ${said}`);
  if (code !== 0 && stderr.trim() === '' && !args.includes('--json') && !args.includes('validate'))
    broke(`ended with ${code} and said nothing`);
  if (args.includes('--json') && !isJson(stdout))
    broke(`printed no JSON: ${JSON.stringify(stdout.slice(0, 500))}`);
  return faults;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
