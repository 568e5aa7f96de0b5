import type { ReservationTables } from '../reservation/index.js';
import { BusyUntilBooking } from './busy-until-booking.js';
import { HandedOnFlow } from './handed-on-flow.js';

/** Tables that remember of every resource only the end of its last reservation (`tables: 'busy-until'`). */
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
