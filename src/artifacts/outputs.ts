import { readlink, stat } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, parse, relative, resolve, sep } from 'node:path';
import { type Fault, fault, InputError, option } from '../formats/index.js';

/** OutputPath is a file that a command is to write, or a folder that it is to write as a whole. */
export interface OutputPath {
  /** The option that names it, as the library spells it: `output`. */
  readonly field: string;
  readonly path: string;
  readonly isFolder?: boolean;
}

/** InputPath is a file that a command reads, or that a file it reads names. */
export interface InputPath {
  /** The file's role in the command: `the spec`. */
  readonly what: string;
  readonly path: string;
}

/**
 * outputFiles lists the files that are to be written, by the options that name them, without options that are absent.
 */
export function outputFiles(paths: Readonly<Record<string, string | undefined>>): OutputPath[] {
  return Object.entries(paths).flatMap(([field, path]) => (path === undefined ? [] : [{ field, path }]));
}

/**
 * refuseReplacing refuses to begin where an output would replace an input or another output. It is called before long
 * work.
 * @param task what could not be done: completes "Cannot …"
 * @throws InputError with a fault for each such output
 */
export async function refuseReplacing(
  task: string,
  outputs: readonly OutputPath[],
  inputs: readonly InputPath[],
): Promise<void> {
  const faults = await replacingFaults(outputs, inputs);
  if (faults.length > 0) throw new InputError(task, faults);
}

/**
 * replacingFaults gives a fault for each output that would replace an input or an earlier output, or that has no
 * name. A file is the same by whatever path: through links of either kind, and through linked folders. A folder
 * replaces all that lies in it. An input that does not exist cannot be replaced.
 */
export async function replacingFaults(
  outputs: readonly OutputPath[],
  inputs: readonly InputPath[],
): Promise<Fault[]> {
  const read = await Promise.all(inputs.map(locatedInput));
  const written: LocatedOutput[] = [];
  const faults: Fault[] = [];
  for (const output of outputs) {
    const { field, path } = output;
    const located = await locatedOutput(output);
    const none = located.isFolder ? 'names no folder' : 'names no file';
    const said = path === '' ? none : (onInput(located, read) ?? onOutput(located, written));
    if (said !== undefined) faults.push(fault(said, option(field)));
    written.push(located);
  }
  return faults;
}

function onInput(output: LocatedOutput, inputs: readonly LocatedInput[]): string | undefined {
  const { path, isFolder, identity } = output;
  const another = isFolder ? 'name another folder' : 'name another file';
  const same = inputs.find((input) => input.exists && input.identity === identity);
  if (same !== undefined) {
    const alias = same.path === path ? '' : `, the same file as ${same.path},`;
    return `${path}${alias} is ${same.what}, an input that would be replaced; ${another}`;
  }
  const inside = inputs.find((input) => input.exists && wouldTake(output, input));
  if (inside === undefined) return undefined;
  return `the folder ${path} holds ${inside.path}: ${inside.what}, an input that would be replaced; ${another}`;
}

function onOutput(output: LocatedOutput, others: readonly LocatedOutput[]): string | undefined {
  const { path, identity } = output;
  if (others.some((other) => other.identity === identity))
    return `${path} is named for two outputs; name another file for one of them`;
  const around = others.find((other) => wouldTake(other, output));
  if (around !== undefined)
    return `${path} lies in ${around.path}, a folder that is written as a whole; name another file`;
  const inside = others.find((other) => wouldTake(output, other));
  if (inside === undefined) return undefined;
  return `the folder ${path} is written as a whole, and ${inside.path} would lie in it; name another folder`;
}

/** wouldTake says whether a folder that is written as a whole removes an entry that a path leads through. */
function wouldTake({ taken }: LocatedOutput, { entries }: Located): boolean {
  return taken !== undefined && entries.some(taken);
}

interface Located {
  readonly path: string;
  /** A text that is equal for two paths of one file or folder, whether it exists yet or not. */
  readonly identity: string;
  readonly exists: boolean;
  readonly entries: readonly string[];
}

interface LocatedInput extends Located {
  readonly what: string;
}

interface LocatedOutput extends Located {
  readonly isFolder: boolean;
  /** taken says whether an entry is gone once the folder is written; undefined for a file. */
  readonly taken: ((entry: string) => boolean) | undefined;
}

async function locatedInput({ what, path }: InputPath): Promise<LocatedInput> {
  return { what, ...(await located(path)) };
}

async function locatedOutput({ path, isFolder = false }: OutputPath): Promise<LocatedOutput> {
  if (!isFolder) return { ...(await located(path)), isFolder, taken: undefined };
  // A folder is written where its path leads when it is read as text, whatever links are in it.
  return { ...(await located(resolve(path))), path, isFolder, taken: await takenBy(resolve(path)) };
}

async function located(path: string): Promise<Located> {
  const { end, entries } = await wayOf(path);
  const found = await stat(path, { bigint: true }).catch(() => undefined);
  if (found === undefined) return { path, identity: end, exists: false, entries };
  return { path, identity: `${found.dev} ${found.ino}`, exists: true, entries };
}

/** takenBy says which entries go with a replaced folder: all entries in it, and the link if the path is one. */
async function takenBy(folder: string): Promise<(entry: string) => boolean> {
  const place = join((await wayOf(dirname(folder))).end, basename(folder));
  const { end } = await wayOf(folder);
  return (entry) => isInside(entry, end) || (place !== end && entry === place);
}

function isInside(entry: string, folder: string): boolean {
  const way = relative(folder, entry);
  return way !== '' && way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

/** A path may lead through at most this many links, as in the system. */
const MOST_LINKS = 40;

const SEPARATOR = sep === '/' ? /\/+/ : /[\\/]+/;

/**
 * wayOf finds where a path leads, whether anything is there or not, and every folder entry that it leads through, links
 * included: without one of them it would lead elsewhere.
 */
async function wayOf(path: string): Promise<{ end: string; entries: string[] }> {
  const entries: string[] = [];
  let end = process.cwd();
  let links = 0;
  let left: string[] = [];
  const follow = (way: string): void => {
    const { root } = parse(way);
    if (root !== '') end = resolve(root);
    left = [...way.slice(root.length).split(SEPARATOR), ...left];
  };
  follow(path);
  for (let name = left.shift(); name !== undefined; name = left.shift()) {
    if (name === '..') end = dirname(end);
    if (name === '' || name === '.' || name === '..') continue;
    const entry = join(end, name);
    entries.push(entry);
    const link = links < MOST_LINKS ? await readlink(entry).catch(() => undefined) : undefined;
    if (link === undefined) {
      end = entry;
      continue;
    }
    links++;
    follow(link);
  }
  return { end, entries };
}
