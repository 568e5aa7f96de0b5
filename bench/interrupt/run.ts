/**
 * This program sends Ctrl-C to every command that works for longer than a second, at seeded moments, and says how long each
 * then takes to end:
 *
 *     node dist/bench/interrupt/run.js [--only 'solve, pooled'] [--seed 39] [--times 8] [--json file]
 *
 * On a machine that others use too, a command waits for a core: that time of its main thread is taken off. A bare program that
 * does nothing is interrupted beside it. It ends with status 1 where a command took longer than a second, ended with another status
 * than 130, or left a process, a file that is not whole, or a change of what it had read. docs/limits.md has the table.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { benchArguments, benchNumber } from '../arguments.js';
import { Dice } from '../seeded/dice.js';
import { CASES, type Interrupted } from './cases.js';

const USAGE = "node dist/bench/interrupt/run.js [--only 'solve, pooled'] [--seed 39] [--times 8]";
const PROGRAM = fileURLToPath(new URL('../../bundle/cli/main.js', import.meta.url));
const MOST_MS = 1000;
/** A command is interrupted within its first so many seconds, also where it works for longer. */
const LONGEST_MS = 6_000;
const INTERRUPTED = 130;
const BARE = "process.on('SIGINT', () => process.exit(130)); setInterval(() => {}, 1000)";

interface Ended {
  readonly code: number | null;
  /** Whether it had ended before. */
  readonly wasEarly: boolean;
  /** From SIGINT to the end, less the time in which the main thread waited for a core. */
  readonly afterMs: number;
  readonly wallMs: number;
  readonly bareMs: number;
  readonly atMs: number;
  readonly left: readonly string[];
  readonly told: string;
}

async function main(): Promise<void> {
  const { values } = benchArguments(USAGE, {
    only: { type: 'string' },
    seed: { type: 'string', default: '39' },
    times: { type: 'string', default: '8' },
  });
  const [seed, times] = [benchNumber(USAGE, 'seed', values.seed), benchNumber(USAGE, 'times', values.times)];
  process.stdout.write(
    '| command | works for, s | median, ms | most, ms | at, ms | most with waits, ms | bare program, most, ms | ended before |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n',
  );
  for (const [name, one] of Object.entries(CASES))
    if (values.only === undefined || name.startsWith(values.only)) await tryCase(name, one, { seed, times });
}

async function tryCase(
  name: string,
  one: Interrupted,
  { seed, times }: { readonly seed: number; readonly times: number },
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'inferplan-interrupt-'));
  try {
    for (const [file, content] of Object.entries(one.files())) writeFileSync(join(folder, file), content);
    for (const command of one.before ?? []) await prepare(command, folder);
    const server = one.served === undefined ? undefined : await serve(one.served, folder);
    const args = one.command.replace('PORT', `${server?.port}`).split(' ');
    const kept = contentOf(folder);
    const whole = await wholeRun(args, folder, kept);
    const { worksMs } = whole;
    const ended: Ended[] = [];
    const dice = new Dice(seed, name);
    for (let i = 0; i < times; i++) {
      const share = (i + dice.below(1000) / 1000) / times;
      ended.push(
        await interrupted(args, {
          folder,
          kept,
          whole,
          atMs: 100 + share * (Math.min(worksMs, LONGEST_MS) - 100),
        }),
      );
    }
    if (server !== undefined) await stop(server.child);
    report(name, { ...whole, code: one.stoppedCode ?? whole.code }, ended);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function report(name: string, whole: WholeRun, ended: readonly Ended[]): void {
  const { worksMs } = whole;
  const heard = ended.filter(({ wasEarly }) => !wasEarly);
  const sorted = heard.map(({ afterMs }) => afterMs).sort((a, b) => a - b);
  const most = heard.find(({ afterMs }) => afterMs === sorted.at(-1));
  const row = [
    name,
    worksMs >= LONGEST_MS ? `> ${LONGEST_MS / 1000}` : (worksMs / 1000).toFixed(1),
    Math.round(sorted[Math.floor(sorted.length / 2)] ?? Number.NaN),
    Math.round(sorted.at(-1) ?? Number.NaN),
    Math.round(most?.atMs ?? Number.NaN),
    Math.round(Math.max(...ended.map(({ wallMs }) => wallMs))),
    Math.round(Math.max(...ended.map(({ bareMs }) => bareMs))),
    ended.length - heard.length,
  ];
  process.stdout.write(`| ${row.join(' | ')} |\n`);
  for (const { code, afterMs, atMs, left, told } of heard) {
    const at = `${name}, interrupted after ${Math.round(atMs)} ms,`;
    if (afterMs > MOST_MS) fail(`${at} ended ${Math.round(afterMs)} ms later`);
    // What was nearly done may end as it would have.
    if (code !== INTERRUPTED && code !== whole.code) fail(`${at} ended with ${code}: ${told.slice(-300)}`);
    for (const what of left) fail(`${at} left ${what}`);
  }
}

function fail(what: string): void {
  process.stderr.write(`${what}\n`);
  process.exitCode = 1;
}

/** started runs the program in a group of its own, so that what it leaves running can be found. */
function started(
  args: readonly string[],
  folder: string,
): { child: ChildProcess; told: () => string; ended: Promise<number | null> } {
  const child = spawn(process.execPath, args, {
    cwd: folder,
    detached: true,
    env: { ...process.env, NO_COLOR: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let told = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (piece) => {
      if (told.length < 1e5) told += piece;
    });
  // Before a program listens, the system ends it, which shells tell as 130 too.
  const ended = new Promise<number | null>((resolve) =>
    child.on('exit', (code, signal) => resolve(signal === 'SIGINT' ? INTERRUPTED : code)),
  );
  return { child, told: () => told, ended };
}

/** WholeRun is a run that nobody interrupted, but for its time. */
interface WholeRun {
  readonly worksMs: number;
  readonly code: number | null;
  /** What it wrote. */
  readonly written: Content;
}

async function wholeRun(args: readonly string[], folder: string, kept: Content): Promise<WholeRun> {
  const from = performance.now();
  const { child, ended, told } = started([PROGRAM, ...args], folder);
  const killing = setTimeout(() => process.kill(-(child.pid as number), 'SIGKILL'), LONGEST_MS + 1000);
  const code = await ended;
  clearTimeout(killing);
  const worksMs = performance.now() - from;
  if (code === 1 || code === 2) fail(`plan ${args.join(' ')} ended with ${code}: ${told().slice(-500)}`);
  const written = contentOf(folder);
  clean(folder, kept);
  return { worksMs, code, written };
}

async function interrupted(
  args: readonly string[],
  {
    folder,
    kept,
    whole,
    atMs,
  }: { readonly folder: string; readonly kept: Content; readonly whole: WholeRun; readonly atMs: number },
): Promise<Ended> {
  const bare = started(['-e', BARE], folder);
  const { child, ended, told } = started([PROGRAM, ...args], folder);
  const early = await Promise.race([ended.then(() => true), sleep(atMs, false)]);
  const from = performance.now();
  const bareMs = bare.ended.then(() => performance.now() - from);
  bare.child.kill('SIGINT');
  const waited = waitsOf(child.pid as number);
  if (!early) child.kill('SIGINT');
  const killing = setTimeout(() => process.kill(-(child.pid as number), 'SIGKILL'), 60_000);
  const code = await ended;
  clearTimeout(killing);
  const wallMs = early ? 0 : performance.now() - from;
  const afterMs = Math.max(0, wallMs - waited());
  const left = early ? [] : leftIn(child, folder, { kept, whole });
  clean(folder, kept);
  return { code, wasEarly: early, afterMs, wallMs, atMs, left, told: told(), bareMs: await bareMs };
}

/** waitsOf gives how long the main thread of a process has waited for a core since then, in milliseconds. */
function waitsOf(pid: number): () => number {
  const read = (): number | undefined => {
    try {
      return Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[1]) / 1e6;
    } catch {
      return undefined;
    }
  };
  const from = read() ?? 0;
  let last = from;
  const watch = setInterval(() => {
    last = read() || last;
  }, 5);
  return () => {
    clearInterval(watch);
    return last - from;
  };
}

/** Content is what a folder holds. */
type Content = ReadonlyMap<
  string,
  { readonly size: number; readonly at: number; readonly isFolder: boolean }
>;

function contentOf(folder: string): Content {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return new Map(
    files.map((file) => {
      const found = statSync(join(folder, file));
      return [file, { size: found.size, at: found.mtimeMs, isFolder: found.isDirectory() }];
    }),
  );
}

/** leftIn says what a command left that it should not have. What it writes is whole, and named by an option. */
function leftIn(
  { pid }: ChildProcess,
  folder: string,
  { kept, whole }: { readonly kept: Content; readonly whole: WholeRun },
): string[] {
  const left: string[] = [];
  try {
    process.kill(-(pid as number), 0);
    process.kill(-(pid as number), 'SIGKILL');
    left.push('a process');
  } catch {
    // The group is gone.
  }
  const now = contentOf(folder);
  for (const [file, { size, at }] of kept) {
    const found = now.get(file);
    if (found === undefined || (!found.isFolder && (found.size !== size || found.at !== at)))
      left.push(`${file} changed`);
  }
  for (const [file, { size, isFolder }] of now)
    if (!kept.has(file) && !isFolder && !(isWhole(folder, file) || size === whole.written.get(file)?.size))
      left.push(file);
  return left;
}

/** isWhole says whether a file is a document, which was not written to its end otherwise. */
function isWhole(folder: string, file: string): boolean {
  try {
    return file.endsWith('.json') && JSON.parse(readFileSync(join(folder, file), 'utf8')) !== undefined;
  } catch {
    return false;
  }
}

function clean(folder: string, kept: Content): void {
  for (const file of readdirSync(folder, { recursive: true, encoding: 'utf8' }))
    if (!kept.has(file)) rmSync(join(folder, file), { recursive: true, force: true });
}

async function prepare(command: string, folder: string): Promise<void> {
  if (command.startsWith('LOAD ')) {
    const server = await serve('bundle', folder);
    await prepare(`load${command.slice(4).replace('PORT', `${server.port}`)}`, folder);
    await stop(server.child);
    return;
  }
  const { ended, told } = started([PROGRAM, ...command.split(' ')], folder);
  const code = await ended;
  if (code !== 0 && code !== 4) throw new Error(`plan ${command} ended with ${code}: ${told().slice(-1000)}`);
}

async function serve(bundle: string, folder: string): Promise<{ child: ChildProcess; port: number }> {
  const { child, told, ended } = started([PROGRAM, 'serve', bundle, '--port', '0'], folder);
  void ended.then((code) => {
    if (code !== 0 && code !== INTERRUPTED && code !== null) process.stderr.write(told());
  });
  for (let i = 0; i < 600; i++) {
    const port = /http:\/\/127\.0\.0\.1:(\d+)/.exec(told())?.[1];
    if (port !== undefined) return { child, port: Number(port) };
    await sleep(100);
  }
  throw new Error(`no server: ${told()}`);
}

async function stop(child: ChildProcess): Promise<void> {
  child.kill('SIGTERM');
  await new Promise((resolve) => child.on('exit', resolve));
}

await main();
