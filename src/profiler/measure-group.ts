import type { Tensors } from '../execution/index.js';
import type { LoadedCopies, Stand } from './stand.js';
import { type Figure, figureOf } from './statistics.js';
import type { Limits } from './types.js';

/** The whole model is measured together with blocks in so many rounds, so that drift hits all alike. */
export const ROUNDS = 3;

/** One thing to time: a file and what it is fed. */
export interface Part {
  readonly id: number | 'whole';
  readonly path: string;
  feeds(): Tensors;
}

export interface Timed {
  readonly id: number | 'whole';
  readonly figure: Figure;
  readonly loadMs: number;
}

/**
 * Times parts in rounds, each part for a third of its limits in every round, and joins each part's runs. All parts stay loaded
 * meanwhile. Aborts between two parts.
 * @param onSlice called before each part of each round
 */
export async function measureGroup(
  stand: Stand,
  parts: readonly Part[],
  { limits, signal, onSlice }: { limits: Limits; signal?: AbortSignal; onSlice: (part: Part) => void },
): Promise<Timed[]> {
  const loaded: LoadedCopies[] = [];
  const runs = parts.map((): number[] => []);
  try {
    for (const part of parts) {
      signal?.throwIfAborted();
      loaded.push(await stand.load(part.path));
    }
    for (let round = 0; round < ROUNDS; round++) {
      for (const [i, part] of parts.entries()) {
        signal?.throwIfAborted();
        onSlice(part);
        runs[i]!.push(...(await loaded[i]!.measure(part.feeds(), sliceOf(limits, round))));
      }
    }
  } finally {
    await Promise.allSettled(loaded.map((copies) => copies.release()));
  }
  return parts.map(({ id }, i) => ({ id, figure: figureOf(runs[i]!), loadMs: loaded[i]!.loadMs }));
}

/** A round's part of the limits; later rounds need less warming. */
function sliceOf({ warmupRuns, minRuns, minMs, maxMs }: Limits, round: number): Limits {
  return {
    warmupRuns: round === 0 ? warmupRuns : Math.min(1, warmupRuns),
    minRuns: Math.ceil(minRuns / ROUNDS),
    minMs: minMs / ROUNDS,
    maxMs: maxMs / ROUNDS,
  };
}
