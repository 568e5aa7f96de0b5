import type { ServingCore, Topology } from '../serving/index.js';

/** What became of a request, by number. */
export const OutcomeCode = { inTime: 0, late: 1, dropped: 2, failed: 3 } as const;
export type OutcomeCode = (typeof OutcomeCode)[keyof typeof OutcomeCode];

/** What a run lets its observers look up while they are told something; all plain columns, nothing is allocated. */
export interface SimulationView {
  readonly topology: Topology;
  /** To read batches: batchSize, batchTask. Not to be told anything. */
  readonly core: ServingCore;
  /** The request of a task of a batch; good until the batch's end has been told. */
  requestOf(task: number): number;
  /** When a request came; good until its end has been told and its last batch is back. */
  arrivedAt(request: number): number;
}

/**
 * What happens, as it happens: plain numbers, times in integer nanoseconds and never going back. Numbers of requests and batches
 * are used again after their end. All methods are optional; one that is absent costs nothing.
 */
export interface SimulationObserver {
  /** The run begins. */
  begun?(view: SimulationView): void;
  arrived?(atNs: number, model: number, request: number): void;
  /**
   * A request has its outcome. Told of each exactly once.
   * @param reason index into DROP_REASONS of a dropped one, else −1
   * @param pool where a dropped one stood, −1 at its model's entry; else −1
   */
  ended?(
    atNs: number,
    model: number,
    request: number,
    arrivedAtNs: number,
    outcome: OutcomeCode,
    reason: number,
    pool: number,
  ): void;
  /** A device begins a batch. */
  started?(
    batch: number,
    pool: number,
    device: number,
    size: number,
    handedNs: number,
    startNs: number,
  ): void;
  /** A device has ended a batch; the batch still holds its tasks. */
  executed?(
    batch: number,
    pool: number,
    device: number,
    size: number,
    handedNs: number,
    startNs: number,
    endNs: number,
  ): void;
  /** A batch is with the next pool; it still holds its tasks. toDevice is −1 where it had no receiver yet. */
  transferred?(
    batch: number,
    pool: number,
    fromDevice: number,
    toDevice: number,
    size: number,
    handedNs: number,
    startNs: number,
    endNs: number,
  ): void;
}
