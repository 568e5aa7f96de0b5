import { itemAt } from '../collections/index.js';
import type { MeasurePace, Tensors } from '../execution/index.js';
import type { FedCopies, Stand } from './stand.js';
import type { TimedRun } from './statistics.js';
import type { Limits } from './types.js';

/** Rotations run this long between two looks at the signal; the last one is finished. */
const ROUND_MS = 1000;

/** TimedPart is one thing to time: a file and its feeds. A number is the index of a block's or pair's file. */
export interface TimedPart {
  readonly id: number | 'whole';
  readonly path: string;
  feeds(): Tensors;
}

/** Timed holds a part's runs. */
export interface Timed {
  readonly id: TimedPart['id'];
  readonly runs: readonly TimedRun[];
  readonly loadMs: number;
}

export interface GroupOptions {
  readonly limits: Limits;
  readonly signal?: AbortSignal;
  /** Called before each round of rotations, with the share of the work that is done. */
  readonly onRound: (fraction: number) => void;
}

/**
 * measureGroup times parts in rotation: every part once, and again from the first. So drift hits all of them alike,
 * and none finds its weights in the cache because nothing else has run. (A block alone in a loop may take half the
 * time that it takes between the others.) All parts stay loaded meanwhile. The limits' times hold for each part on
 * average. On abort, the signal's reason is thrown at once, with the stand still busy.
 */
export async function measureGroup(
  stand: Stand,
  parts: readonly TimedPart[],
  options: GroupOptions,
): Promise<Timed[]> {
  const { signal } = options;
  const loaded: FedCopies[] = [];
  try {
    for (const { path, feeds } of parts) {
      signal?.throwIfAborted();
      loaded.push({ copies: await unlessAborted(stand.load(path), signal), feeds: feeds() });
    }
    const rotate = (stop: MeasurePace) => unlessAborted(stand.rotate(loaded, stop), signal);
    const runs = await inRounds(rotate, parts.length, options);
    return parts.map(({ id }, i) => ({ id, runs: itemAt(runs, i), loadMs: itemAt(loaded, i).copies.loadMs }));
  } finally {
    // After an abort the stand is busy; its models end with it.
    if (!signal?.aborted) await Promise.allSettled(loaded.map(({ copies }) => copies.release()));
  }
}

/** inRounds gives the runs of every part. */
async function inRounds(
  rotate: (stop: MeasurePace) => ReturnType<Stand['rotate']>,
  parts: number,
  { limits, signal, onRound }: GroupOptions,
): Promise<TimedRun[][]> {
  const { warmupRuns, minRuns, pauseMs } = limits;
  const [minMs, maxMs] = [limits.minMs * parts, limits.maxMs * parts];
  const runs = Array.from({ length: parts }, (): TimedRun[] => []);
  let rotations = 0;
  let elapsedMs = 0;
  const round = async (stop: MeasurePace) => {
    const byRuns = rotations / minRuns;
    onRound(Math.min(1, Math.max(elapsedMs / maxMs, Math.min(byRuns, minMs === 0 ? 1 : elapsedMs / minMs))));
    signal?.throwIfAborted();
    return await rotate(stop);
  };
  // The runs of the warm-up call are dropped, because copies do not end their warm-up together.
  if (warmupRuns > 0) await round({ warmupRuns: warmupRuns - 1, minRuns: 1, minMs: 0, maxMs: 0, pauseMs });
  while (elapsedMs < maxMs && (rotations < minRuns || elapsedMs < minMs)) {
    const done = await round({
      warmupRuns: 0,
      minRuns: minRuns - rotations,
      minMs: minMs - elapsedMs,
      maxMs: Math.min(ROUND_MS, maxMs - elapsedMs),
      pauseMs,
    });
    done.runs.forEach((more, part) => {
      for (const run of more) itemAt(runs, part).push(run);
    });
    rotations += done.rotations;
    elapsedMs += done.elapsedMs;
  }
  return runs;
}

/** unlessAborted gives a promise's value, or throws the signal's reason as soon as it is aborted. */
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
