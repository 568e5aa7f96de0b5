/**
 * This program says how long short commands take from their start to their end, beside a Node program that does nothing:
 *
 *     node dist/bench/startup.js [--program file] [--times 15] [--only '--version'] [--json file]
 *
 * The commands and the bare program run in turn, so that what else the machine does falls on all of them alike. CPU time
 * is that of all threads; on a machine that others use it says more than the time on the clock. `--program` takes
 * another `main.js`, such as that of an installed package. docs/limits.md has what it has measured.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { medianSorted } from 'simple-statistics';
import { benchArguments, benchNumber } from './arguments.js';
import { inputsAt, saveResult } from './results/result.js';
import { tableText } from './results/table.js';

const USAGE = 'node dist/bench/startup.js [--program file] [--times 15] [--only name] [--json file]';
const PROGRAM = fileURLToPath(new URL('../bundle/cli/main.js', import.meta.url));
const POOLED = fileURLToPath(new URL('../../examples/pooled/spec.yaml', import.meta.url));
const BARE = 'node -e 0';
const COMMANDS = {
  '--version': ['--version'],
  'simulate, 300 requests': ['simulate', 'plan.json', '--duration', '1s'],
  'solve, pooled': ['solve', POOLED],
  'validate, a plan': ['validate', 'plan.json'],
};

interface Took {
  readonly wallMs: number;
  readonly cpuMs: number;
}

function main(): void {
  const { values } = benchArguments(USAGE, {
    program: { type: 'string', default: PROGRAM },
    times: { type: 'string', default: '15' },
    only: { type: 'string', default: '' },
    json: { type: 'string' },
  });
  const times = benchNumber(USAGE, 'times', values.times);
  const folder = mkdtempSync(join(tmpdir(), 'inferplan-startup-'));
  try {
    took([values.program, 'solve', POOLED, '-o', 'plan.json'], folder);
    const chosen = Object.entries(COMMANDS).filter(([name]) => name.startsWith(values.only));
    const runs: [string, string[]][] = [
      [BARE, ['-e', '0']],
      ...chosen.map(([name, args]): [string, string[]] => [name, [values.program, ...args]]),
    ];
    const all = new Map<string, Took[]>(runs.map(([name]) => [name, []]));
    for (let i = 0; i < times; i++) for (const [name, args] of runs) all.get(name)?.push(took(args, folder));
    if (values.json !== '-') report(all);
    save(values.json, { times, only: values.only }, all);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function save(json: string | undefined, options: object, all: ReadonlyMap<string, readonly Took[]>): void {
  const measures = [...all].flatMap(([name, runs]) => [
    { name: `${name}: wall ms`, values: runs.map(({ wallMs }) => wallMs) },
    { name: `${name}: CPU ms`, values: runs.map(({ cpuMs }) => cpuMs) },
  ]);
  saveResult(json, {
    bench: 'startup',
    options: { ...options },
    inputs: inputsAt(POOLED),
    measures,
    rows: Object.fromEntries(all),
  });
}

function took(args: readonly string[], cwd: string): Took {
  const [from, before] = [performance.now(), childrenMs()];
  const { status, stderr } = spawnSync(process.execPath, args, {
    cwd,
    encoding: 'utf8',
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const wallMs = performance.now() - from;
  if (status !== 0) throw new Error(`${args.join(' ')} ended with ${status}\n${stderr}`);
  return { wallMs, cpuMs: childrenMs() - before };
}

/** childrenMs gives the CPU time of all processes that this one has waited for; not a number where the system does not tell. */
function childrenMs(): number {
  try {
    const text = readFileSync('/proc/self/stat', 'utf8');
    // The name, in brackets, may hold blanks. The kernel counts in hundredths of a second.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[13]) + Number(fields[14])) * 10;
  } catch {
    return Number.NaN;
  }
}

function report(all: ReadonlyMap<string, readonly Took[]>): void {
  const rows = [...all].map(([name, runs]) => {
    const wall = runs.map(({ wallMs }) => wallMs).sort((a, b) => a - b);
    const cpu = runs.map(({ cpuMs }) => cpuMs).sort((a, b) => a - b);
    const shown = [wall[0] as number, medianSorted(wall), wall.at(-1) as number, medianSorted(cpu)];
    return [name, ...shown.map((ms) => ms.toFixed(0))];
  });
  process.stdout.write(
    tableText([['command', 'least, ms', 'median, ms', 'most, ms', 'median CPU ms'], ...rows]),
  );
}

main();
