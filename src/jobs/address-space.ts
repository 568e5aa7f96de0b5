import { readFileSync } from 'node:fs';
import type { Worker } from 'node:worker_threads';

/**
 * The address space that V8 reserves for a thread before it runs anything. Where it cannot, it ends the whole
 * process.
 */
const THREAD_BYTES = 2 ** 30;

/**
 * The threads that run, and what the process had reserved before the first of them: a thread reserves its part only as
 * it begins.
 */
let running = 0;
let before: number | undefined;

/** countThread counts a thread until it ends. */
export function countThread(worker: Worker): Worker {
  running += 1;
  return worker.once('exit', () => {
    running -= 1;
  });
}

/**
 * refuseNarrow refuses to start a thread that the limit of the process's address space (`ulimit -v`) has no room for. It does
 * nothing on systems that do not tell.
 * @throws Error that says so
 */
export function refuseNarrow(): void {
  const now = addressSpaceLeft(read('/proc/self/limits'), read('/proc/self/statm'));
  if (now === undefined) return;
  before ??= now;
  const left = Math.min(now, before - running * THREAD_BYTES);
  if (left >= THREAD_BYTES) return;
  throw new Error(
    `Cannot start a thread: out of memory: ${Math.floor(left / 2 ** 20)} MiB of address space are left, and a thread reserves ${THREAD_BYTES / 2 ** 20} MiB`,
  );
}

/**
 * addressSpaceLeft reads how many bytes a process may still reserve; undefined where that has no limit, or is
 * not known.
 */
export function addressSpaceLeft(limits: string, statm: string): number | undefined {
  const [, most] = /^Max address space +(\d+) /m.exec(limits) ?? [];
  const pages = Number(statm.split(' ')[0]);
  if (most === undefined || !Number.isFinite(pages)) return undefined;
  return Number(most) - pages * PAGE_BYTES;
}

const PAGE_BYTES = 4096;

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
