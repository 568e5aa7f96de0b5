import { mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { itemAt } from '../collections/index.js';
import { errorFields } from '../formats/index.js';

/** temporaryBeside names the place beside a path where its successor is made. The name tells which process made it. */
export function temporaryBeside(path: string): string {
  return beside(path, 'tmp');
}

/** replacedBeside names the place where a folder waits for a moment while another takes its place. */
export function replacedBeside(path: string): string {
  return beside(path, 'old');
}

function beside(path: string, what: 'tmp' | 'old'): string {
  return join(dirname(path), `.${basename(path)}.${process.pid}.${what}`);
}

/**
 * removeLeftovers removes the files that killed processes left beside a path while they wrote it. It moves a folder
 * back that was moved aside, where no other has taken its place. It leaves alone what living processes write.
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
  return match === null ? undefined : { pid: Number(match[1]), kind: itemAt(match, 2) };
}

/** Our folders in the system's temporary folder have these names, which tell which process made them. */
const TEMPORARY_FOLDER = /^inferplan-(?:profile|samples|timings|model)-(\d{1,10})-\w{6}$/;

/**
 * withTemporaryFolder gives `use` a temporary folder, which is removed afterwards, also on failure and abort. First it
 * removes the leftovers of killed processes of this program.
 */
export async function withTemporaryFolder<T>(
  purpose: 'profile' | 'samples' | 'timings' | 'model',
  use: (folder: string) => Promise<T>,
): Promise<T> {
  await removeAbandoned();
  const folder = await mkdtemp(join(tmpdir(), `inferplan-${purpose}-${process.pid}-`));
  try {
    return await use(folder);
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** removeAbandoned removes the leftovers of killed processes of this program, as far as this user may. */
async function removeAbandoned(): Promise<void> {
  const names = await readdir(tmpdir()).catch(() => []);
  const abandoned = names.filter((name) => {
    const pid = TEMPORARY_FOLDER.exec(name)?.[1];
    return pid !== undefined && !isRunning(Number(pid));
  });
  const gone = abandoned.map((name) => rm(join(tmpdir(), name), { recursive: true, force: true }));
  await Promise.allSettled(gone);
}

/** isRunning says whether a process exists; one that may not be signalled exists all the same. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errorFields(error).code !== 'ESRCH';
  }
}

/** exists says whether there is anything at a path. */
export async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
