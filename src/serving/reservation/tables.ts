import type { Booking } from './booking.js';
import type { Forwarding } from './forwarding.js';
import { GapBooking } from './gap-booking.js';
import type { ReservationState } from './reservation-state.js';
import { ReservedForwarding } from './reserved-forwarding.js';

/**
 * ReservationTables makes the Booking that finds and keeps reservations, and the Forwarding that takes
 * batches along them.
 */
export type ReservationTables = (state: ReservationState) => { booking: Booking; forwarding: Forwarding };

/** gapTables makes tables that remember every reservation and the gaps between them (`tables: 'gaps'`). */
export const gapTables: ReservationTables = (state) => {
  const booking = new GapBooking(state.topology, state.durations);
  return { booking, forwarding: new ReservedForwarding(state, booking) };
};
