import { type Fault, fault, option, type PlanServing } from '../artifacts/index.js';
import { weightOfPriority } from '../plans/index.js';
import { uniformAt } from '../random/index.js';

/** Shares are rounded by those who write them. */
const ROUNDING = 1e-6;
const MOST_PRIORITIES = 16;
const PART = /^(\d{1,9})=(0?\.\d+|[01]|1\.0+)$/;

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

/**
 * priorityMix reads which priorities requests have, such as `1=0.1,2=0.9`, with the weights that a plan gives them.
 * @returns the levels, or what is wrong with them
 */
export function priorityMix(
  text: string,
  priorities: PlanServing['priorities'],
): { readonly mix: readonly SimulatedPriority[] } | { readonly faults: Fault[] } {
  const at = option('priorities');
  const parts = text.split(',').map((part) => PART.exec(part.trim()));
  if (parts.some((part) => part === null))
    return {
      faults: [fault(`is "${text}", and not priority=share with commas between, such as 1=0.1,2=0.9`, at)],
    };
  const mix = parts.map((part) => {
    const priority = Number(part?.[1]);
    return { priority, share: Number(part?.[2]), weight: weightOfPriority(priorities, priority) };
  });
  const sum = mix.reduce((all, { share }) => all + share, 0);
  const faults: Fault[] = [];
  if (new Set(mix.map(({ priority }) => priority)).size < mix.length)
    faults.push(fault(`is "${text}", which names a priority twice`, at));
  if (Math.abs(sum - 1) > ROUNDING)
    faults.push(fault(`is "${text}", whose shares add up to ${sum}, and must to 1`, at));
  if (mix.length > MOST_PRIORITIES)
    faults.push(fault(`has ${mix.length} priorities, and may have ${MOST_PRIORITIES}`, at));
  return faults.length > 0 ? { faults } : { mix };
}
