import { Answer, type ServingCore, type Topology } from '../serving/index.js';

/** OutcomeCode numbers the outcomes of a request. */
export const OutcomeCode = { inTime: 0, late: 1, dropped: 2, failed: 3 } as const;
export type OutcomeCode = (typeof OutcomeCode)[keyof typeof OutcomeCode];

/** outcomeOf gives the outcome of a request that is answered so. */
export function outcomeOf(answer: Answer): OutcomeCode {
  switch (answer) {
    case Answer.inTime:
      return OutcomeCode.inTime;
    case Answer.late:
      return OutcomeCode.late;
    case Answer.failed:
      return OutcomeCode.failed;
  }
}

/** DeviceState numbers the states of devices that come and go. They are in use unless they are on standby. */
export const DeviceState = { standby: 0, comesUp: 1, up: 2 } as const;
export type DeviceState = (typeof DeviceState)[keyof typeof DeviceState];

/**
 * SimulationView is what observers may look up while they hear an event. It reads plain columns, so nothing
 * is allocated.
 */
export interface SimulationView {
  readonly topology: Topology;
  /** `core` is for reading batches (batchSize, batchTask). Observers must not change it. */
  readonly core: ServingCore;
  /** requestOf is the request of a task of a batch; it is valid until the batch's end has been reported. */
  requestOf(task: number): number;
  /**
   * arrivedAt is when a request came; it is valid until its end has been reported and its last batch is back.
   */
  arrivedAt(request: number): number;
}

/**
 * SimulationObserver is told every event when it happens: plain numbers, and times in integer nanoseconds that never go
 * back, but that of an engine a request came before it arrived at the core, and its end is told when it is decided, before
 * the answer is back. Numbers of requests and batches are used again after their end. All methods are optional, and an
 * absent one costs nothing.
 */
export interface SimulationObserver {
  /** begun reports that the run begins. */
  begun?(view: SimulationView): void;
  arrived?(atNs: number, model: number, request: number): void;
  /**
   * ended reports that a request has its outcome. It is called exactly once for each request.
   * @param reason the index into DROP_REASONS of a dropped request, else −1
   * @param pool where a dropped request stood, −1 at its model's entry; −1 for other outcomes
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
  /**
   * scaled reports that a device was activated, came up, or is on standby again. The states at the beginning are the
   * topology's.
   */
  scaled?(atNs: number, device: number, state: DeviceState): void;
  /** shifted reports that another gear of the plan is active; at the beginning it is the first. */
  shifted?(atNs: number, gear: number): void;
  /** loadBegun reports that a device begins to load the component of a pool, and `loaded` that it is there. */
  loadBegun?(atNs: number, device: number, pool: number): void;
  loaded?(atNs: number, device: number, pool: number): void;
  /** evicted reports that a device has forgotten the component of a pool. */
  evicted?(atNs: number, device: number, pool: number): void;
  /** started reports that a device begins a batch. */
  started?(
    batch: number,
    pool: number,
    device: number,
    size: number,
    handedNs: number,
    startNs: number,
  ): void;
  /** executed reports that a device has ended a batch. The batch still holds its tasks. */
  executed?(
    batch: number,
    pool: number,
    device: number,
    size: number,
    handedNs: number,
    startNs: number,
    endNs: number,
  ): void;
  /**
   * transferred reports that a batch is with the next pool. It still holds its tasks. `toDevice` is −1 where it
   * had no receiver yet.
   */
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
