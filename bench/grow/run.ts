/**
 * This program makes every list and number of files and options ten times as large, again and again, until the program
 * names a limit, and says what each size took:
 *
 *     node dist/bench/grow/run.js [--only 'gears of a gear plan'] [--keep folder]
 *
 * It ends with status 1 where a process ended in any other way than well or with a refusal (2, 3, 4, 5), where a size took more
 * than 512 MB, where a refusal took more than 5 s of CPU, or where a process did not end within a second of Ctrl-C. A search
 * may take longer, and is stopped after a minute. docs/limits.md has the table.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { benchArguments } from '../arguments.js';
import { GROWERS, type Grower } from './growers.js';
import { NAMES_LIMIT, type Tried, tried } from './tried.js';

const MOST_BYTES = 512 * 1024 * 1024;
const MOST_CPU_S = 5;
const MOST_STOPPED_MS = 1000;
const INTERRUPT_MS = 700;
const LARGEST = 1e11;
/** V8 makes no longer text. */
const MOST_LIST = 2e7;
const PROGRAM = fileURLToPath(new URL('../../bundle/cli/main.js', import.meta.url));

interface Step extends Tried {
  readonly size: number;
}

async function main(): Promise<void> {
  const { values } = benchArguments('node dist/bench/grow/run.js [--only name]', {
    only: { type: 'string' },
  });
  const root = mkdtempSync(join(tmpdir(), 'inferplan-grow-'));
  process.stdout.write(
    '| what grows | refused at | CPU s | peak MB | ends after Ctrl-C, ms | the refusal |\n| --- | --- | --- | --- | --- | --- |\n',
  );
  try {
    for (const [name, grower] of Object.entries(GROWERS))
      if (values.only === undefined || values.only === name) await grow(name, grower, root);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

async function grow(name: string, grower: Grower, root: string): Promise<void> {
  const steps: Step[] = [];
  for (let size = grower.from; size <= LARGEST; size *= 10) {
    const grown = madeAt(grower, size);
    if (grown === undefined) break;
    const folder = join(root, 'case');
    const first = await tried(grown, { program: PROGRAM, folder });
    const again =
      first.stopped || first.cpuS > 1
        ? await tried(grown, { program: PROGRAM, folder, interruptMs: INTERRUPT_MS })
        : undefined;
    steps.push({ ...first, size, stoppedMs: again?.stoppedMs });
    if (first.code === null || first.code === 1 || (first.code === 2 && NAMES_LIMIT.test(first.message)))
      break;
  }
  process.stdout.write(`${row(name, steps)}\n`);
  for (const fault of steps.flatMap((step) => [...faultsOf(step)])) {
    process.stderr.write(`${name}: ${fault}\n`);
    process.exitCode = 1;
  }
}

/** madeAt makes files of a size; undefined where they would be larger than any that is read. */
function madeAt(grower: Grower, size: number): ReturnType<Grower['of']> | undefined {
  try {
    const grown = grower.of(Math.min(size, LARGEST));
    const bytes = Object.values(grown.files).reduce((sum, { length }) => sum + length, 0);
    return bytes > MOST_BYTES ? undefined : grown;
  } catch (error) {
    if (error instanceof RangeError && size > MOST_LIST) return undefined;
    throw error;
  }
}

function row(name: string, steps: readonly Step[]): string {
  const most = (of: (step: Step) => number | undefined) => Math.max(...steps.map((step) => of(step) ?? 0));
  const last = steps.at(-1) as Step;
  const said =
    last.message.split('\n').find((line) => NAMES_LIMIT.test(line)) ?? last.message.split('\n')[0] ?? '';
  return `| ${[
    name,
    last.code === 2 ? last.size.toLocaleString('en') : `at work at ${last.size.toLocaleString('en')}`,
    most(({ cpuS }) => cpuS).toFixed(1),
    Math.round(most(({ peakBytes }) => peakBytes / 1e6)),
    Math.round(most(({ stoppedMs }) => stoppedMs)) || '—',
    said.trim().slice(0, 110).replaceAll('|', '/'),
  ].join(' | ')} |`;
}

function* faultsOf({
  size,
  code,
  message,
  cpuS,
  peakBytes,
  stoppedMs = 0,
  stopped,
}: Step): Generator<string> {
  if (!stopped && (code === null || code === 1)) yield `${size} ended with ${code}: ${message.slice(0, 300)}`;
  if (!stopped && peakBytes > MOST_BYTES) yield `${size} took ${Math.round(peakBytes / 1e6)} MB`;
  if (code === 2 && cpuS > MOST_CPU_S) yield `${size} took ${cpuS.toFixed(1)} s of CPU`;
  if (stoppedMs > MOST_STOPPED_MS) yield `${size} ended ${Math.round(stoppedMs)} ms after Ctrl-C`;
}

await main();
