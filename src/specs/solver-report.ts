import type { NoPlan } from '../formats/index.js';

/** searchedSince reports a search that began at a time, by `performance.now()`, and tried a given number of configurations. */
export function searchedSince(startedMs: number, nodes: number): NoPlan['solver'] {
  return { ms: performance.now() - startedMs, phases: {}, columns: 0, rounds: 0, nodes };
}
