import type { Fault, PlanServing } from '../formats/index.js';
import { weightOfPriority } from '../plans/index.js';
import { type PriorityShare, priorityShares } from '../workload/index.js';

/** SimulatedPriority is one level of the requests of a simulation. */
export interface SimulatedPriority extends PriorityShare {
  /** How much it counts that a request is in time. */
  readonly weight: number;
}

/**
 * priorityMix reads which priorities requests have, such as `1=0.1,2=0.9`, with the weights that a plan gives them.
 * @returns the levels, or what is wrong with them
 */
export function priorityMix(
  text: string,
  priorities: PlanServing['priorities'],
): { readonly mix: readonly SimulatedPriority[] } | { readonly faults: Fault[] } {
  const read = priorityShares(text);
  if ('faults' in read) return read;
  return {
    mix: read.shares.map((one) => ({ ...one, weight: weightOfPriority(priorities, one.priority) })),
  };
}
