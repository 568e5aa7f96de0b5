import type { Decisions } from '../decisions.js';
import type { Durations, OpenBatches } from '../state/index.js';
import type { Topology } from '../topology.js';
import type { Journeys } from './path.js';

/** ReservationState is the state of one reservation scheduler that its reservation tables work on. */
export interface ReservationState {
  readonly topology: Topology;
  readonly decisions: Decisions;
  readonly batches: OpenBatches;
  readonly journeys: Journeys;
  readonly durations: Durations;
  /**
   * `isWanted` removes the tasks that their clients no longer want from a batch, and returns whether any are
   * left.
   */
  readonly isWanted: (batch: number) => boolean;
}
