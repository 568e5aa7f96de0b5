import { readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

/** Where what takes a path's place is made, beside it: the process is in the name, so that the next can tell whose it was. */
export function temporaryBeside(path: string): string {
  return beside(path, 'tmp');
}

/** Where a folder waits for a moment while another takes its place. */
export function replacedBeside(path: string): string {
  return beside(path, 'old');
}

function beside(path: string, what: 'tmp' | 'old'): string {
  return join(dirname(path), `.${basename(path)}.${process.pid}.${what}`);
}

/**
 * Removes what processes that are gone left beside a path when they were killed while they wrote it. A folder that was
 * moved aside is moved back where nothing has taken its place. What living processes write is left alone.
 */
export async function removeLeftovers(path: string): Promise<void> {
  const folder = dirname(path);
  const names = await readdir(folder).catch(() => []);
  for (const name of names) {
    const what = leftoverOf(name, basename(path));
    if (what === undefined || isRunning(what.pid)) continue;
    if (what.kind === 'old' && !(await exists(path))) await rename(join(folder, name), path);
    else await rm(join(folder, name), { recursive: true, force: true });
  }
}

function leftoverOf(name: string, target: string): { pid: number; kind: string } | undefined {
  const prefix = `.${target}.`;
  if (!name.startsWith(prefix)) return undefined;
  const match = /^(\d{1,10})\.(tmp|old)$/.exec(name.slice(prefix.length));
  return match === null ? undefined : { pid: Number(match[1]), kind: match[2] as string };
}

/** Whether a process is there; one that may not be signalled is there all the same. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

/** Whether there is anything at a path. */
export async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
