import type { ReservationTables } from '../reservation/index.js';
import { BusyUntilBooking } from './busy-until-booking.js';
import { HandedOnFlow } from './handed-on-flow.js';

/**
 * busyUntilTables makes tables that remember only the end of the last reservation of every resource (`tables:
 * 'busy-until'`).
 */
export const busyUntilTables: ReservationTables = ({
  topology,
  decisions,
  batches,
  journeys,
  durations,
  isWanted,
}) => ({
  booking: new BusyUntilBooking(topology, durations),
  flow: new HandedOnFlow(decisions, batches, journeys, topology.devices.length, isWanted),
});
