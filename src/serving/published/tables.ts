import type { ReservationTables } from '../reservation/index.js';
import { BusyUntilBooking } from './busy-until-booking.js';
import { ImmediateForwarding } from './immediate-forwarding.js';

/**
 * busyUntilTables makes tables that remember only the end of the last reservation of every resource (`tables:
 * 'busy-until'`).
 */
export const busyUntilTables: ReservationTables = (state) => ({
  booking: new BusyUntilBooking(state.topology, state.durations),
  forwarding: new ImmediateForwarding(state, state.topology.devices.length),
});
