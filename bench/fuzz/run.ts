/**
 * This program tries made-up hostile input of one kind on the program and checks the rules that hold for any input:
 *
 *     node dist/bench/fuzz/run.js onnx|artifacts|pipelines|bundle|traces|http [--seed 1] [--seconds 10 | --cases n | --only case]
 *         [--keep folder]
 *
 * The seed and a case's number make the case again: `--seed 7 --only 123` tries it alone, and `--keep` keeps the input
 * of failed cases. CONTRIBUTING.md lists the rules.
 */
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { benchArguments, benchNumber } from '../arguments.js';
import { Dice } from './dice.js';
import { writeMaterial } from './material.js';
import type { CaseResult, Subject } from './subject.js';
import { artifacts } from './subjects/artifacts.js';
import { bundles } from './subjects/bundle.js';
import { http } from './subjects/http.js';
import { onnx } from './subjects/onnx.js';
import { pipelines } from './subjects/pipelines.js';
import { traces } from './subjects/traces.js';

const SUBJECTS = { onnx, artifacts, pipelines, bundle: bundles, traces, http } as const;
type SubjectName = keyof typeof SUBJECTS;
const USAGE = `node dist/bench/fuzz/run.js ${Object.keys(SUBJECTS).join('|')} [--seed 1] [--seconds 10 | --cases n | --only case] [--keep folder]`;
const HANGS_AFTER_S = 60;
/** At most this many failures are reported in full. */
const MOST_TOLD = 20;

interface Asked {
  readonly subject: SubjectName;
  readonly seed: number;
  readonly seconds: number;
  readonly cases: number;
  readonly only: number | undefined;
  readonly keep: string | undefined;
}

function asked(): Asked {
  const { values, positionals } = benchArguments(USAGE, {
    seed: { type: 'string', default: '1' },
    seconds: { type: 'string' },
    cases: { type: 'string' },
    only: { type: 'string' },
    keep: { type: 'string' },
  });
  const subject = positionals[0] as SubjectName;
  if (!Object.hasOwn(SUBJECTS, subject ?? '') || positionals.length !== 1) {
    process.stderr.write(`usage: ${USAGE}\n`);
    process.exit(2);
  }
  const number = (name: 'seed' | 'seconds' | 'cases' | 'only') =>
    values[name] === undefined ? undefined : benchNumber(USAGE, `--${name}`, values[name]);
  return {
    subject,
    seed: number('seed') ?? 1,
    cases: number('cases') ?? Number.POSITIVE_INFINITY,
    seconds: number('seconds') ?? (values.cases === undefined ? 10 : Number.POSITIVE_INFINITY),
    only: number('only'),
    keep: values.keep,
  };
}

async function main(): Promise<void> {
  const run = asked();
  process.env.NO_COLOR = '1';
  const root = mkdtempSync(join(tmpdir(), 'inferplan-fuzz-'));
  const heart = new Int32Array(new SharedArrayBuffer(4));
  const watchdog = new Worker(new URL('./watchdog-worker.js', import.meta.url), {
    workerData: { heart, what: `${run.subject}, seed ${run.seed}`, limitS: HANGS_AFTER_S },
  });
  watchdog.unref();
  try {
    await inFolder(run, root, heart);
  } finally {
    await watchdog.terminate();
    rmSync(root, { recursive: true, force: true });
  }
}

async function inFolder(run: Asked, root: string, heart: Int32Array): Promise<void> {
  process.env.TMPDIR = join(root, 'tmp');
  mkdirSync(process.env.TMPDIR);
  const material = await writeMaterial(join(root, 'material'));
  const subject = await SUBJECTS[run.subject](material);
  try {
    await everyCase(run, subject, { root, heart });
  } finally {
    await subject.close();
  }
}

interface Bench {
  readonly root: string;
  readonly heart: Int32Array;
}

async function everyCase(run: Asked, subject: Subject, bench: Bench): Promise<void> {
  const { subject: name, seed, only } = run;
  process.stdout.write(`${name}: seed ${seed}\n`);
  const began = performance.now();
  const outcomes = new Map<string, number>();
  let [done, failed] = [0, 0];
  const goesOn = () =>
    only === undefined ? done < run.cases && performance.now() - began < 1e3 * run.seconds : done === 0;
  while (goesOn()) {
    const number = only ?? done;
    bench.heart[0] = number;
    const result = await oneCase(run, subject, bench, number);
    done += 1;
    outcomes.set(result.outcome, (outcomes.get(result.outcome) ?? 0) + 1);
    if (only !== undefined) process.stdout.write(`case ${number}: ${result.what}: ${result.outcome}\n`);
    if (result.faults.length === 0) continue;
    failed += 1;
    if (failed <= MOST_TOLD) process.stdout.write(toldOf(number, result));
  }
  const seconds = (performance.now() - began) / 1e3;
  const counts = [...outcomes]
    .sort()
    .map(([outcome, count]) => `${count} ${outcome}`)
    .join(', ');
  process.stdout.write(
    `${name}: seed ${seed}, ${done} cases in ${seconds.toFixed(1)} s (${((60 * done) / seconds).toFixed(0)} per minute): ${counts}\n`,
  );
  process.stdout.write(`${done - failed} cases held, ${failed} failed\n`);
  if (failed > 0) process.exitCode = 1;
}

function toldOf(number: number, { what, faults }: CaseResult): string {
  return `case ${number} FAILS (${what.slice(0, 500)})\n${faults.map((fault) => `  ${fault}\n`).join('')}`;
}

async function oneCase(
  { subject: name, seed, keep }: Asked,
  subject: Subject,
  { root }: Bench,
  number: number,
): Promise<CaseResult> {
  const folder = join(root, 'case');
  const tried = async () => {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder);
    return subject.run(new Dice(seed, `${name}/${number}`), folder);
  };
  const first = await tried();
  // The first run includes what is compiled once, and garbage of earlier cases. A second run shows the cost of the case
  // itself.
  const costsOnly = first.faults.length > 0 && first.faults.every((fault) => fault.startsWith('took '));
  const result = costsOnly ? await tried() : first;
  const left = readdirSync(process.env.TMPDIR as string).map(
    (file) => `left ${file} in the temporary folder`,
  );
  if (left.length > 0) {
    rmSync(process.env.TMPDIR as string, { recursive: true, force: true });
    mkdirSync(process.env.TMPDIR as string);
  }
  const faults = [...result.faults, ...left];
  if (faults.length > 0 && keep !== undefined)
    cpSync(folder, join(keep, `${name}-${seed}-${number}`), { recursive: true });
  return { ...result, faults };
}

await main();
