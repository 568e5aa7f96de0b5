import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Grown } from './growers.js';

/** Tried is how a command ended, and what it took. */
export interface Tried {
  readonly code: number | null;
  readonly message: string;
  readonly cpuS: number;
  readonly peakBytes: number;
  /** From SIGINT to the end, where one was sent. */
  readonly stoppedMs: number | undefined;
  /** Whether it was still at work after a minute, and was killed. */
  readonly stopped: boolean;
}

const COST = fileURLToPath(new URL('./cost.js', import.meta.url));
const LONGEST_MS = 60_000;

/**
 * tried runs a command in a process of its own, in a folder with its files.
 * @param interruptMs when it is sent SIGINT, after its start
 */
export async function tried(
  { files, args }: Grown,
  {
    program,
    folder,
    interruptMs,
  }: { readonly program: string; readonly folder: string; readonly interruptMs?: number },
): Promise<Tried> {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
  const cost = join(folder, '.cost');
  const child = spawn(process.execPath, ['--import', COST, program, ...args], {
    cwd: folder,
    env: { ...process.env, NO_COLOR: '1', COST_FILE: cost },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let message = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (piece) => {
      if (message.length < 1e5) message += piece;
    });
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
  let stopped = false;
  const killing = setTimeout(() => {
    stopped = child.kill('SIGKILL');
  }, LONGEST_MS);
  let sentAt: number | undefined;
  if (interruptMs !== undefined) {
    await Promise.race([ended, sleep(interruptMs)]);
    if (child.exitCode === null && child.kill('SIGINT')) sentAt = performance.now();
  }
  const code = await ended;
  clearTimeout(killing);
  const stoppedMs = sentAt === undefined ? undefined : performance.now() - sentAt;
  return { code, message, ...costIn(cost), stoppedMs, stopped };
}

function costIn(file: string): Pick<Tried, 'cpuS' | 'peakBytes'> {
  try {
    const { userCPUTime, systemCPUTime, maxRSS } = JSON.parse(
      readFileSync(file, 'utf8'),
    ) as NodeJS.ResourceUsage;
    return { cpuS: (userCPUTime + systemCPUTime) / 1e6, peakBytes: maxRSS * 1024 };
  } catch {
    // A process that was killed has written nothing.
    return { cpuS: Number.NaN, peakBytes: Number.NaN };
  }
}

/** A refusal names the limit: how many are at most taken. */
export const NAMES_LIMIT = /at most|more than|the most|labels|may have \d|<= \d|\d to [\d,]+|to [\d,]+\.$/m;
