import { type EvaluatedFrom, proportionalArrivals } from '../../gearplan/index.js';
import { streamOf } from '../../random/index.js';

/** The seed of all that is drawn when gears are planned. */
export const GEARS_SEED = 1;

/** gearArrivals draws the arrivals that gears are tried with: always the same. */
export function gearArrivals(): EvaluatedFrom['arrivalsOf'] {
  return proportionalArrivals(streamOf(GEARS_SEED, 'gears/arrivals').exponential);
}
