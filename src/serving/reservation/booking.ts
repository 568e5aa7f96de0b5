import type { Path } from './path.js';

/** Finds and keeps what a batch will use: PPipe's `probe()` and `reserve()` (A.3). */
export interface Booking {
  /**
   * The path a batch would take from a stage on, chosen greedily, stage by stage.
   * @param entry first pool of the pipeline
   * @param from the stage; where it is not the first, the path holds the device of the stage before
   * @param at when the batch is ready for it: now, or the end of the stage before
   * @returns whether every stage has a device
   */
  probe(path: Path, entry: number, size: number, from: number, at: number): boolean;
  /** Keeps what the last probe found, from its stage on, under the number of the batch's first step (Journeys) and those after it. */
  reserve(path: Path, entry: number, size: number, from: number, firstStep: number): void;
  /**
   * When a batch could begin its way, seen from its stages' devices alone and without their gaps: an estimate, as a rule no later
   * than `probe` finds. O(stages).
   */
  freeFrom(entry: number, size: number): number;
  /** Reservations that are kept now. O(resources). */
  readonly kept: number;
  deviceUp(device: number): void;
  deviceDown(device: number): void;
}
