import { type Fault, fault } from '../formats/index.js';
import type { WrittenMix } from './mixes.js';

/**
 * CompareCases says what is varied. Mixes and sweep points are combined: every mix is tried at every SLO and margin.
 */
export interface CompareCases {
  /** Mixes such as `L4=25,T4=75`. */
  readonly mixes: readonly WrittenMix[];
  /** The budget per hour. The mixes that it buys are enumerated. */
  readonly budget?: number | undefined;
  /** Sweeps such as `slo=2x..10x:9`, `margin=0..0.6:7` or `accuracy=0.8..0.9`, each kind at most once. */
  readonly sweeps: readonly string[];
}

/** A comparison with more rows than this would be too long to read. */
const MOST_ROWS = 1000;

/** rowFaults refuses comparisons that would be too long. */
export function rowFaults(rows: number): Fault[] {
  return rows > MOST_ROWS ? [fault(`${rows} plans are asked for; at most ${MOST_ROWS} are compared`)] : [];
}
