import { createRequire } from 'node:module';
import { Worker } from 'node:worker_threads';
import { countThread, refuseNarrow } from './address-space.js';

/** A caller that runs one command after another starts no new threads; one that is done soon has its memory back. */
const SPARE_MS = 2000;

interface Spare {
  readonly worker: Worker;
  /** takeOut ends the wait of the thread, and forgets it. */
  readonly takeOut: () => void;
}

/** The threads that no pool uses, by the file that they run. They do not keep the process alive. */
const spares = new Map<string, Spare[]>();

/**
 * takeThread gives a thread that runs a file: one that another pool has closed within the last two seconds, or a new
 * one, which takes some 0.1 s of CPU time to load its modules.
 * @param entry the built file, `#dist/src/…` or a path
 */
export function takeThread(entry: string): Worker {
  const spare = spares.get(entry)?.at(-1);
  if (spare === undefined) {
    refuseNarrow();
    // Only what a process begins with, and not what it has set since, holds for its threads too.
    const execArgv = process.sourceMapsEnabled ? ['--enable-source-maps'] : undefined;
    const file = createRequire(import.meta.url).resolve(entry);
    return countThread(new Worker(file, execArgv === undefined ? {} : { execArgv }));
  }
  spare.takeOut();
  spare.worker.ref();
  return spare.worker;
}

/** keepThread keeps a thread without a job for the next pool that runs its file, and ends it if there is none soon. */
export function keepThread(entry: string, worker: Worker): void {
  const kept = spares.get(entry) ?? [];
  spares.set(entry, kept);
  const takeOut = (): void => {
    clearTimeout(timer);
    worker.off('error', takeOut).off('exit', takeOut);
    kept.splice(kept.indexOf(spare), 1);
  };
  const timer = setTimeout(() => {
    takeOut();
    void worker.terminate();
  }, SPARE_MS).unref();
  const spare: Spare = { worker, takeOut };
  worker.on('error', takeOut).on('exit', takeOut).unref();
  kept.push(spare);
}
