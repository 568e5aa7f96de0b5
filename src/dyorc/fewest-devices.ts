import type { SampleFigures } from './problem.js';
import { meanAttainment } from './reasons.js';
import type { ResolvedWorkflows } from './resolve.js';

/** Means of shares are no more exact than this. */
const ROUNDING = 1e-9;

/** CountTrial says whether a given number of devices hold what is asked. */
export type CountTrial = (devices: number) => boolean;

/**
 * fewestDevices finds the fewest devices that hold, from those that a bound allows on: in steps that double until some
 * hold, then by halves between the last two. Where fewer devices hold than some that do not, it may find more than the
 * fewest.
 * @returns undefined where not even the most hold
 */
export function fewestDevices(least: number, most: number, holds: CountTrial): number | undefined {
  let [low, count] = [least, least];
  for (let step = 1; !holds(count); step *= 2) {
    if (count >= most) return undefined;
    low = count + 1;
    count = Math.min(most, count + step);
  }
  while (low < count) {
    const middle = Math.floor((low + count) / 2);
    if (holds(middle)) count = middle;
    else low = middle + 1;
  }
  return count;
}

/** holdsAttainment returns whether every workflow with an SLO has the share in time that is asked for, in the mean over samples. */
export function holdsAttainment(
  { workflows, attainment }: Pick<ResolvedWorkflows, 'workflows' | 'attainment'>,
  figures: readonly SampleFigures[],
): boolean {
  return workflows.every(
    ({ sloMs }, w) => sloMs === undefined || meanAttainment(figures, w) >= attainment - ROUNDING,
  );
}
