import { type Fault, fault, option } from '../formats/index.js';

/** Shares are rounded by those who write them. */
const ROUNDING = 1e-6;
const MOST_PRIORITIES = 16;
const PART = /^(\d{1,9})=((?:\d+\.?\d*|\.\d+)(?:e-?\d+)?)$/;

/** PriorityShare says which share of the requests of a load sends a priority. */
export interface PriorityShare {
  /** The `priority` that requests send; 0 is the default level, and 1 the most urgent. */
  readonly priority: number;
  /** The share of requests; those of all levels are 1 together. */
  readonly share: number;
}

/** priorityShares reads which priorities requests send, such as `1=0.1,2=0.9`: at most 16, whose shares are 1 together. */
export function priorityShares(
  text: string,
): { readonly shares: readonly PriorityShare[] } | { readonly faults: Fault[] } {
  const at = option('priorities');
  const parts = text.split(',').map((part) => PART.exec(part.trim()));
  if (parts.some((part) => part === null))
    return {
      faults: [fault(`is "${text}", and not priority=share with commas between, such as 1=0.1,2=0.9`, at)],
    };
  const shares = parts.map((part) => ({ priority: Number(part?.[1]), share: Number(part?.[2]) }));
  const sum = shares.reduce((all, { share }) => all + share, 0);
  const faults: Fault[] = [];
  if (new Set(shares.map(({ priority }) => priority)).size < shares.length)
    faults.push(fault(`is "${text}", which names a priority twice`, at));
  if (!(Math.abs(sum - 1) <= ROUNDING))
    faults.push(fault(`is "${text}", whose shares add up to ${sum}; they must add up to 1`, at));
  if (shares.length > MOST_PRIORITIES)
    faults.push(fault(`has ${shares.length} priorities, and may have ${MOST_PRIORITIES}`, at));
  return faults.length > 0 ? { faults } : { shares };
}

/** prioritySharesText writes shares as `priorityShares` reads them. */
export function prioritySharesText(shares: readonly PriorityShare[]): string {
  return shares.map(({ priority, share }) => `${priority}=${share}`).join(',');
}

/**
 * drawnLevels draws the level of each request: an index into `shares`, by the number of requests before it. The draws have
 * a purpose of their own, so that shares change neither arrivals nor fates, and a load on a server that has the seed of a
 * simulation gives its requests the same priorities.
 * @param draw gives, for a purpose, the number of [0, 1) at a place and a column
 */
export function drawnLevels(
  shares: readonly Pick<PriorityShare, 'share'>[],
  draw: (purpose: string) => (place: number, column: number) => number,
): (order: number) => number {
  const drawn = draw('priorities');
  const ends: number[] = [];
  for (const { share } of shares) ends.push((ends.at(-1) ?? 0) + share);
  return (order) => {
    const uniform = drawn(order, 0);
    for (let level = 0; level < ends.length - 1; level++) if (uniform < (ends[level] as number)) return level;
    return ends.length - 1;
  };
}
