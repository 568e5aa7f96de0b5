import type { Decisions } from '../decisions.js';
import type { Batches, Durations } from '../state/index.js';
import type { Topology } from '../topology.js';
import type { Booking } from './booking.js';
import type { Flow } from './flow.js';
import { GapBooking } from './gap-booking.js';
import type { Journeys } from './path.js';
import { ReservedFlow } from './reserved-flow.js';

/** What reservation tables are made from: the parts of one core. */
export interface TableParts {
  readonly topology: Topology;
  readonly decisions: Decisions;
  readonly batches: Batches;
  readonly journeys: Journeys;
  readonly durations: Durations;
  /** Takes out of a batch what its clients no longer want. @returns whether anything is left */
  readonly isWanted: (batch: number) => boolean;
}

/** Makes what finds and keeps reservations, and what takes batches along them. */
export type ReservationTables = (parts: TableParts) => { booking: Booking; flow: Flow };

/** Tables that remember every reservation and the gaps between them (`tables: 'gaps'`). */
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
