import { type ChildProcessByStdio, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const PROGRAM = fileURLToPath(new URL('../../bundle/cli/main.js', import.meta.url));
const MOST_PRINTED_BYTES = 2 ** 26;

/**
 * planCommand runs `plan` in a folder, as a user does, and tells the command and its time. @throws Error where it does
 * not end well
 */
export async function planCommand(folder: string, ...words: readonly string[]): Promise<void> {
  const startedMs = performance.now();
  await promisify(execFile)(process.execPath, [PROGRAM, ...words], {
    cwd: folder,
    maxBuffer: MOST_PRINTED_BYTES,
  });
  const tookS = (performance.now() - startedMs) / 1e3;
  process.stderr.write(`plan ${words.join(' ')}: ${tookS.toFixed(1)} s\n`);
}

/** ServedProcess is a `plan serve` in a process of its own. */
export interface ServedProcess {
  readonly url: string;
  readonly pid: number;
  /** executorPids lists its executors that are up, on systems with `/proc`; none elsewhere. */
  executorPids(): readonly number[];
  /** total adds up a counter of its metrics. */
  total(counter: string): Promise<number>;
  /** totals adds up a counter of its metrics for each value of a label. */
  totals(counter: string, label: string): Promise<Readonly<Record<string, number>>>;
  /** close ends it as Ctrl-C does, and gives what it said. */
  close(): Promise<string>;
}

/** servedProcess starts `plan serve` in a folder, and waits until it is ready. @throws Error where it ends before that */
export async function servedProcess(folder: string, bundle: string): Promise<ServedProcess> {
  const child = spawn(process.execPath, [PROGRAM, 'serve', bundle, '--port', '0', '--json'], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const said: string[] = [];
  child.stderr.on('data', (text: Buffer) => said.push(text.toString()));
  const url = await readyUrl(child, said);
  const linesOf = async (counter: string) =>
    countedLines(await (await fetch(`${url}/metrics`)).text(), counter);
  return {
    url,
    pid: child.pid!,
    executorPids: () => childrenOf(child.pid!).filter(isExecutor),
    total: async (counter) => sumOf(await linesOf(counter)),
    totals: async (counter, label) => {
      const totals: Record<string, number> = {};
      for (const line of await linesOf(counter)) {
        const value = labelIn(line, label);
        totals[value] = (totals[value] ?? 0) + sumOf([line]);
      }
      return totals;
    },
    close: async () => {
      const ended = once(child, 'exit');
      child.kill('SIGINT');
      await ended;
      return said.join('');
    },
  };
}

/** readyUrl reads the document that the server prints once it is ready. */
async function readyUrl(
  child: ChildProcessByStdio<null, Readable, Readable>,
  said: readonly string[],
): Promise<string> {
  let printed = '';
  for await (const text of child.stdout) {
    printed += text;
    if (printed.trimEnd().endsWith('}')) {
      child.stdout.resume();
      return (JSON.parse(printed) as { url: string }).url;
    }
  }
  throw new Error(`plan serve ended before it was ready:\n${said.join('')}`);
}

/** countedLines gives the lines of a counter in the text of Prometheus. */
function countedLines(text: string, counter: string): string[] {
  return text.split('\n').filter((line) => line.startsWith(`${counter}{`) || line.startsWith(`${counter} `));
}

function sumOf(lines: readonly string[]): number {
  return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
}

function labelIn(line: string, label: string): string {
  return new RegExp(`[{,]${label}="([^"]*)"`).exec(line)?.[1] ?? '';
}

function childrenOf(pid: number): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
      readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
    );
  } catch {
    return [];
  }
}

function isExecutor(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('component-child');
  } catch {
    return false;
  }
}
