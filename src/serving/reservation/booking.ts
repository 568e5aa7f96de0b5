import type { Path } from './path.js';

/**
 * Booking finds and keeps the devices and links that a batch will use: PPipe's `probe()` and `reserve()`
 * (A.3).
 */
export interface Booking {
  /**
   * probe finds the path that a batch would take from a stage on. It chooses greedily, stage by stage.
   * @param entry the first pool of the pipeline
   * @param from the stage; where it is not the first, the path holds the device of the stage before
   * @param at when the batch is ready for the stage: now, or at the end of the stage before
   * @returns whether every stage has a device
   */
  probe(path: Path, entry: number, size: number, from: number, at: number): boolean;
  /**
   * reserve keeps the path that the last probe found, from its stage on. The batch's steps own it, numbered
   * from `firstStep` (Journeys).
   */
  reserve(path: Path, entry: number, size: number, from: number, firstStep: number): void;
  /**
   * freeFrom estimates when a batch could begin its path, from its stages' devices alone and without their
   * gaps. As a rule it is no later than what `probe` finds. It is Infinity where a stage has no device that
   * is up, and a booking that cannot know gives 0. O(stages).
   */
  freeFrom(entry: number, size: number): number;
  /** kept counts the reservations there are now. O(resources). */
  readonly kept: number;
  deviceUp(device: number): void;
  deviceDown(device: number): void;
}
