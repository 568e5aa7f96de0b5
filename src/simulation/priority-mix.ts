import { uniformAt } from '../random/index.js';

/** SimulatedPriority is one level of the requests of a simulation. */
export interface SimulatedPriority {
  /** What requests send as `priority`; 0 is the default level, and 1 the most urgent. */
  readonly priority: number;
  /** The share of requests; those of all levels are 1 together. */
  readonly share: number;
  /** How much it counts that a request is in time. */
  readonly weight: number;
}

/**
 * drawnLevels draws the level of each request: an index into `mix`, by the number of requests before it. The draws have a stream of
 * their own, so that a mix changes neither arrivals nor fates, and one with the same shares gives the same requests their levels.
 */
export function drawnLevels(mix: readonly SimulatedPriority[], seed: number): (order: number) => number {
  const drawn = uniformAt(seed, 'priorities');
  const ends: number[] = [];
  for (const { share } of mix) ends.push((ends.at(-1) ?? 0) + share);
  return (order) => {
    const uniform = drawn(order, 0);
    for (let level = 0; level < ends.length - 1; level++) if (uniform < (ends[level] as number)) return level;
    return ends.length - 1;
  };
}
