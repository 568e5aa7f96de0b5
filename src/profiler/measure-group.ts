import type { MeasureStop, Tensors } from '../execution/index.js';
import type { LoadedCopies, Stand } from './stand.js';
import type { Limits } from './types.js';

/** How long rotations go on between two looks at the signal, but for the last one's end. */
const ROUND_MS = 1000;

/** One thing to time: a file and what it is fed. */
export interface Part {
  readonly id: number | 'whole';
  readonly path: string;
  feeds(): Tensors;
}

/** What came of a part: the durations of its runs. */
export interface Timed {
  readonly id: Part['id'];
  readonly durationsUs: readonly number[];
  readonly loadMs: number;
}

export interface GroupOptions {
  readonly limits: Limits;
  readonly signal?: AbortSignal;
  /** Called before each round of rotations with the part of the work that is done. */
  readonly onRound: (fraction: number) => void;
}

/**
 * Times parts in rotation: every part once, and again from the first, so that drift hits all alike and none finds its weights
 * in the cache because nothing else has run. (A block alone in a loop may take half of what it takes between the others.)
 * All parts stay loaded meanwhile. The limits' times hold for each part on average. On abort the signal's reason is thrown at
 * once, with the stand still busy.
 */
export async function measureGroup(
  stand: Stand,
  parts: readonly Part[],
  options: GroupOptions,
): Promise<Timed[]> {
  const { signal } = options;
  const loaded: LoadedCopies[] = [];
  try {
    for (const { path, feeds } of parts) {
      signal?.throwIfAborted();
      const copies = await stand.load(path);
      loaded.push(copies);
      // One part's at a time: each is handed over before the next is made.
      await copies.hold(feeds());
    }
    const rotate = (stop: MeasureStop) => unlessAborted(stand.rotate(loaded, stop), signal);
    const runs = await inRounds(rotate, parts.length, options);
    return parts.map(({ id }, i) => ({ id, durationsUs: runs[i]!, loadMs: loaded[i]!.loadMs }));
  } finally {
    // An aborted stand is busy: its models go with it.
    if (!signal?.aborted) await Promise.allSettled(loaded.map((copies) => copies.release()));
  }
}

/** Durations in µs of every part's runs. */
async function inRounds(
  rotate: (stop: MeasureStop) => ReturnType<Stand['rotate']>,
  parts: number,
  { limits, signal, onRound }: GroupOptions,
): Promise<number[][]> {
  const { warmupRuns, minRuns } = limits;
  const [minMs, maxMs] = [limits.minMs * parts, limits.maxMs * parts];
  const runs = Array.from({ length: parts }, (): number[] => []);
  let rotations = 0;
  let elapsedMs = 0;
  const round = async (stop: MeasureStop) => {
    const byRuns = rotations / minRuns;
    onRound(Math.min(1, Math.max(elapsedMs / maxMs, Math.min(byRuns, minMs === 0 ? 1 : elapsedMs / minMs))));
    signal?.throwIfAborted();
    return await rotate(stop);
  };
  // The runs of the call that warms up are dropped: copies do not end their warming together.
  if (warmupRuns > 0) await round({ warmupRuns: warmupRuns - 1, minRuns: 1, minMs: 0, maxMs: 0 });
  while (elapsedMs < maxMs && (rotations < minRuns || elapsedMs < minMs)) {
    const done = await round({
      warmupRuns: 0,
      minRuns: minRuns - rotations,
      minMs: minMs - elapsedMs,
      maxMs: Math.min(ROUND_MS, maxMs - elapsedMs),
    });
    done.durationsUs.forEach((durations, part) => {
      for (const us of durations) runs[part]!.push(us);
    });
    rotations += done.rotations;
    elapsedMs += done.elapsedMs;
  }
  return runs;
}

/** What a promise gives, or the signal's reason as soon as it is aborted. */
async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return await promise;
  let abort = () => {};
  const aborted = new Promise<never>((_, reject) => {
    abort = () => reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
