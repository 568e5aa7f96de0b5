import { AsyncLocalStorage } from 'node:async_hooks';
import type { Stats } from 'node:fs';
import { realpath, stat } from 'node:fs/promises';
import { dirname, isAbsolute, relative, resolve, sep } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import type { Steps } from '../collections/index.js';
import { fault, InputError } from '../formats/index.js';

/** RunFiles are the files that a run has read, by what the system knows them by, and those that it has written. */
interface RunFiles {
  readonly read: Map<string, string>;
  readonly written: Set<string>;
  readonly signal: AbortSignal | undefined;
  /** The promise of work that is done once in the run. */
  once?: Promise<unknown>;
}

const runs = new AsyncLocalStorage<RunFiles>();

/**
 * asOneRun does work as one run: what it reads through this room, and the files that these name, it may not replace
 * through this room, whatever leads to it. A run within a run is a part of it. Without a run, nothing is known to have
 * been read.
 * @param signal ends what the run reads and writes in steps (`inSteps`)
 */
export function asOneRun<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  if (runs.getStore() !== undefined) return work();
  return runs.run({ read: new Map(), written: new Set(), signal }, work);
}

/** onceInRun does in this run what can be done once, such as reading stdin, and gives the same result again. */
export function onceInRun<T>(work: (signal: AbortSignal | undefined) => Promise<T>): Promise<T> {
  const run = runs.getStore();
  if (run === undefined) return work(undefined);
  run.once ??= work(run.signal);
  return run.once as Promise<T>;
}

/** Between two turns of the event loop, in which signals are heard, at most this many lines, values or requests are handled. */
const MOST_IN_A_STEP = 4096;

/**
 * inSteps handles entries one after another, and lets signals be heard between steps of at most 4,096.
 * @param most how many entries a step has at most, where each is long
 * @throws the reason of the run's signal once that is aborted
 */
export async function inSteps<T>(
  entries: Iterable<T>,
  handle: (entry: T, index: number) => void,
  most = MOST_IN_A_STEP,
): Promise<void> {
  let index = 0;
  for (const entry of entries) {
    handle(entry, index);
    index += 1;
    if (index % most === 0) await pause();
  }
}

/**
 * heard does work piece by piece, and lets signals be heard between its pieces.
 * @throws the reason of the run's signal once that is aborted
 */
export async function heard<Result>(steps: Steps<Result>): Promise<Result> {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
    await pause();
  }
}

/** pause lets signals be heard. @throws the reason of the run's signal once that is aborted */
export async function pause(): Promise<void> {
  await turn();
  runs.getStore()?.signal?.throwIfAborted();
}

/** beforeOutput looks at what stands where an output goes: what is read for that is no input of the run. */
export function beforeOutput<T>(look: () => Promise<T>): Promise<T> {
  return runs.exit(look);
}

/** noteRead says that a file is read in this run. A file is the same by whatever path, links of either kind included. */
export function noteRead(path: string, found: Pick<Stats, 'dev' | 'ino'>): void {
  runs.getStore()?.read.set(identityOf(found), resolve(path));
}

/** Naming is what files say of the inputs that they name. */
interface Naming {
  readonly cluster?: unknown;
  readonly models?: readonly { readonly profile?: string }[];
  readonly stages?: readonly { readonly profile?: string }[];
  readonly load?: { readonly trace?: string; readonly distribution?: string };
  readonly model?: { readonly file?: string };
}

/**
 * noteNamed says that a file which was read names others: they are inputs too, also where this run does not read them. The
 * records of a cascade are left out, as they are what profiling it makes.
 */
export async function noteNamed(path: string, value: object): Promise<void> {
  if (runs.getStore() === undefined) return;
  const { cluster, models = [], stages = [], load, model } = value as Naming;
  const profiles = [...models, ...stages].map(({ profile }) => profile);
  const named = [cluster, ...profiles, load?.trace, load?.distribution, model?.file];
  for (const one of new Set(named.filter((name) => typeof name === 'string'))) {
    const file = resolve(dirname(path), one);
    const found = await stat(file).catch(() => undefined);
    if (found?.isFile()) noteRead(file, found);
  }
}

/** noteWritten says that this run has made a file, which it may read and replace again. */
export function noteWritten(target: string): void {
  runs.getStore()?.written.add(resolve(target));
}

/**
 * refuseReplacingRead refuses to replace a file that was read in this run.
 * @param target where the path leads, behind links
 * @throws InputError with the path by which it was read
 */
export async function refuseReplacingRead(path: string, target: string): Promise<void> {
  const run = runs.getStore();
  if (run === undefined || run.written.has(resolve(target))) return;
  const found = await stat(target).catch(() => undefined);
  const read = found && run.read.get(identityOf(found));
  if (read !== undefined)
    throw new InputError(`write ${path}`, [
      fault(`it is ${told(read)}, an input that would be replaced; name another file`),
    ]);
}

/**
 * refuseReplacingAround refuses to replace a folder in which a file lies that was read in this run.
 * @throws InputError with the file
 */
export async function refuseReplacingAround(folder: string): Promise<void> {
  const run = runs.getStore();
  const whole = await realpath(folder).catch(() => undefined);
  if (run === undefined || whole === undefined) return;
  for (const path of run.read.values()) {
    const way = relative(whole, await realpath(path).catch(() => path));
    const isInside = way !== '' && way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
    if (isInside && !run.written.has(path))
      throw new InputError(`write ${folder}`, [
        fault(`it holds ${told(path)}, an input that would be gone; name another folder`),
      ]);
  }
}

function identityOf({ dev, ino }: Pick<Stats, 'dev' | 'ino'>): string {
  return `${dev}:${ino}`;
}

function told(path: string): string {
  const way = relative(process.cwd(), path);
  return way.startsWith('..') ? path : way || '.';
}
