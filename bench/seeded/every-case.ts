import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { SeededRun } from './arguments.js';
import { Dice } from './dice.js';

/** CaseResult holds what a case was, its end, and what was found wrong. */
export interface CaseResult {
  /** The case, in words. */
  readonly what: string;
  /** The program's answer, such as `accepted` or `refused`, to be counted. */
  readonly outcome: string;
  readonly faults: readonly string[];
}

/** TryCase makes one case in an empty folder and tries it. Equal draws make equal cases. */
export type TryCase = (dice: Dice, folder: string) => Promise<CaseResult>;

/** At most this many broken cases are reported in full. */
const MOST_TOLD = 20;

/**
 * inWatchedFolder runs something in a folder that is removed afterwards. A watchdog kills the process where no case ends
 * for so many seconds.
 */
export async function inWatchedFolder(
  { subject, seed, hangsAfterS }: SeededRun & { readonly hangsAfterS: number },
  inside: (root: string, heart: Int32Array) => Promise<void>,
): Promise<void> {
  const root = mkdtempSync(join(tmpdir(), 'inferplan-seeded-'));
  const heart = new Int32Array(new SharedArrayBuffer(4));
  const watchdog = new Worker(new URL('./watchdog-worker.js', import.meta.url), {
    workerData: { heart, what: `${subject}, seed ${seed}`, limitS: hangsAfterS },
  });
  watchdog.unref();
  process.env.TMPDIR = join(root, 'tmp');
  mkdirSync(process.env.TMPDIR);
  try {
    await inside(root, heart);
  } finally {
    await watchdog.terminate();
    rmSync(root, { recursive: true, force: true });
  }
}

/** Tally counts the cases of a run. */
export interface Tally {
  readonly done: number;
  /** The cases in which something was found wrong, */
  readonly broken: number;
  /** and how much was found wrong in them. */
  readonly faults: number;
  /** The case that took most time of the processor. */
  readonly longest: { readonly number: number; readonly cpuS: number };
}

/** everyCase tries the cases of a run, prints those that are broken, and at last how many ended in which way. */
export async function everyCase(
  run: SeededRun,
  { root, heart, broke }: { root: string; heart: Int32Array; broke: string },
  tryCase: TryCase,
): Promise<Tally> {
  const { subject, seed, only } = run;
  process.stdout.write(`${subject}: seed ${seed}\n`);
  const began = performance.now();
  const outcomes = new Map<string, number>();
  let [done, broken, faults] = [0, 0, 0];
  let longest = { number: 0, cpuS: 0 };
  const goesOn = () =>
    only === undefined ? done < run.cases && performance.now() - began < 1e3 * run.seconds : done === 0;
  while (goesOn()) {
    const number = only ?? done;
    heart[0] = number;
    const before = process.cpuUsage();
    const result = await oneCase(run, { root, number }, tryCase);
    const { user, system } = process.cpuUsage(before);
    if ((user + system) / 1e6 > longest.cpuS) longest = { number, cpuS: (user + system) / 1e6 };
    done += 1;
    outcomes.set(result.outcome, (outcomes.get(result.outcome) ?? 0) + 1);
    if (only !== undefined) process.stdout.write(`case ${number}: ${result.what}: ${result.outcome}\n`);
    if (result.faults.length === 0) continue;
    broken += 1;
    faults += result.faults.length;
    if (broken <= MOST_TOLD)
      process.stdout.write(`case ${number} ${broke} (${result.what.slice(0, 500)})\n${listed(result)}`);
  }
  const seconds = (performance.now() - began) / 1e3;
  const counts = [...outcomes]
    .sort()
    .map(([outcome, count]) => `${count} ${outcome}`)
    .join(', ');
  process.stdout.write(
    `${subject}: seed ${seed}, ${done} cases in ${seconds.toFixed(1)} s (${((60 * done) / seconds).toFixed(0)} per minute): ${counts}\n`,
  );
  return { done, broken, faults, longest };
}

function listed({ faults }: CaseResult): string {
  return faults.map((fault) => `  ${fault}\n`).join('');
}

async function oneCase(
  { subject, seed, keep }: SeededRun,
  { root, number }: { root: string; number: number },
  tryCase: TryCase,
): Promise<CaseResult> {
  const folder = join(root, 'case');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  const result = await tryCase(new Dice(seed, `${subject}/${number}`), folder);
  if (result.faults.length > 0 && keep !== undefined)
    cpSync(folder, join(keep, `${subject}-${seed}-${number}`), { recursive: true });
  return result;
}
