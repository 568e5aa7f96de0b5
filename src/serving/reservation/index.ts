/**
 * The reservation scheduler (PPipe, section 5.4 and appendix A.3) for chains of pools.
 *
 * Devices and links are reserved for a batch over its whole way before it starts. Start with `reservation.ts` (the core), then
 * `dispatcher.ts` (which pipeline, how large a batch) and `gap-booking.ts` (where on devices and links there is room).
 */
export type { Booking } from './booking.js';
export type { Flow } from './flow.js';
export { Journeys, Leg, Path } from './path.js';
export {
  type FirstSightRule,
  type OfferRule,
  RESERVATION_POLICY,
  type ReservationPolicy,
  type ReviewRule,
  type TableRule,
} from './policy.js';
export { ReservationCore } from './reservation.js';
export { gapTables, type ReservationTables } from './tables.js';
