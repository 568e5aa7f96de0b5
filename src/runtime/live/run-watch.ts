/** An executor whose batch takes longer than this is ended and started again. */
const HANG_MS = 60_000;
/** An answer that is here already, and that a busy event loop has not read, is read within this time. */
const UNREAD_MS = 50;

/** RunWatcher hears that an execution hangs and that it has ended after all, and ends its executor in the end. */
export interface RunWatcher {
  hangs(ms: number): void;
  hangsNoMore(isRun: boolean): void;
  kill(): void;
}

/**
 * watchRun reports an execution that hangs, once it takes longer than a limit, and ends its executor in the
 * end.
 * @returns what is to be called when it has ended, by a result (true) or an error
 */
export function watchRun(limitMs: number, watcher: RunWatcher): { end: (isRun: boolean) => void } {
  let isTold = false;
  const tell = () => {
    isTold = true;
    watcher.hangs(limitMs);
    timer = setTimeout(() => watcher.kill(), Math.max(0, HANG_MS - limitMs));
  };
  let timer = setTimeout(() => {
    timer = setTimeout(tell, UNREAD_MS);
  }, limitMs);
  const end = (isRun: boolean) => {
    clearTimeout(timer);
    if (isTold) watcher.hangsNoMore(isRun);
  };
  return { end };
}
