/**
 * The folder `reservation` holds the reservation scheduler (PPipe, section 5.4 and appendix A.3) for
 * pipelines that are chains of pools.
 *
 * In go the events of a driver, out come its decisions, as of every core. Before a batch starts, devices and
 * links are reserved for it over its whole path. Batches are not formed anew between stages, and no request
 * is turned away unread.
 *
 * Start with `policy.ts` for the choices and `reservation.ts` for the core, then read `dispatcher.ts` (which
 * pipeline, how large a batch) and `gap-booking.ts` (where devices and links have room).
 */
export type { Booking } from './booking.js';
export type { Forwarding } from './forwarding.js';
export { Journeys, Leg, Path } from './path.js';
export {
  type FirstSightRule,
  RESERVATION_POLICY,
  type ReservationPolicy,
  type ReservationTableRule,
  type ReviewRule,
} from './policy.js';
export { ReservationCore, type ReservationOptions } from './reservation.js';
export type { ReservationState } from './reservation-state.js';
export { gapTables, type ReservationTables } from './tables.js';
