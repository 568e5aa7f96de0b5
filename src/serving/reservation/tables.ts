import type { Decisions } from '../decisions.js';
import type { Batches, Durations } from '../state/index.js';
import type { Topology } from '../topology.js';
import type { Booking } from './booking.js';
import type { Flow } from './flow.js';
import { GapBooking } from './gap-booking.js';
import type { Journeys } from './path.js';
import { ReservedFlow } from './reserved-flow.js';

/** TableParts holds the parts of one core that reservation tables are made from. */
export interface TableParts {
  readonly topology: Topology;
  readonly decisions: Decisions;
  readonly batches: Batches;
  readonly journeys: Journeys;
  readonly durations: Durations;
  /**
   * `isWanted` removes the tasks that their clients no longer want from a batch, and tells whether any are
   * left.
   */
  readonly isWanted: (batch: number) => boolean;
}

/**
 * ReservationTables makes the Booking that finds and keeps reservations, and the Flow that takes batches
 * along them.
 */
export type ReservationTables = (parts: TableParts) => { booking: Booking; flow: Flow };

/** gapTables makes tables that remember every reservation and the gaps between them (`tables: 'gaps'`). */
export const gapTables: ReservationTables = ({
  topology,
  decisions,
  batches,
  journeys,
  durations,
  isWanted,
}) => {
  const booking = new GapBooking(topology, durations);
  return {
    booking,
    flow: new ReservedFlow(topology, decisions, batches, journeys, durations, booking, isWanted),
  };
};
