import { placeEach } from './initial-placement.js';
import type { DeviceRooms } from './rooms.js';

/** HeldTimes says for how long a device held a component, both by their places. */
export type HeldTimes = (device: number, component: number) => number;

/** StaticPlacement is what devices hold for ever, or the components that found no room. */
export type StaticPlacement =
  | { readonly isPlaced: true }
  | { readonly isPlaced: false; readonly lacking: readonly number[] };

/**
 * placeLongestHeld lets devices hold for ever what they held longest in a run (DyOrc §8, the placement of
 * Triton): each takes what it held longest, as far as it fits. A component that is used and is then nowhere
 * takes the place of others that are elsewhere too, on the device that held it longest. Where that gives no
 * room, each used component is placed once, and then again what was held longest. Components that nothing
 * uses are placed last, where there is room, or else in place of components that are elsewhere too.
 * @param rooms devices that hold nothing
 * @param used the components that some request calls
 */
export function placeLongestHeld(
  rooms: DeviceRooms,
  heldNs: HeldTimes,
  used: readonly number[],
): StaticPlacement {
  const placed = placeUsed(rooms, heldNs, used);
  if (!placed.isPlaced) return placed;
  // A scheduler that never moves components serves none that is nowhere.
  for (const component of placeEach(rooms, homeless(rooms, [...rooms.components.keys()])))
    makeRoom(rooms, heldNs, { component, used });
  return placed;
}

function placeUsed(rooms: DeviceRooms, heldNs: HeldTimes, used: readonly number[]): StaticPlacement {
  takeLongestHeld(rooms, heldNs);
  if (homeless(rooms, used).every((component) => makeRoom(rooms, heldNs, { component, used })))
    return { isPlaced: true };
  for (const device of rooms.devices.keys())
    for (const component of rooms.heldBy(device)) rooms.drop(device, component);
  const lacking = placeEach(rooms, used);
  if (lacking.length > 0) return { isPlaced: false, lacking };
  takeLongestHeld(rooms, heldNs);
  return { isPlaced: true };
}

/** homeless lists those of some components that no device holds. */
function homeless(rooms: DeviceRooms, components: readonly number[]): number[] {
  return components.filter((component) => rooms.holders(component).length === 0);
}

/** takeLongestHeld lets each device take what it held, the longest held first, as far as it fits. */
function takeLongestHeld(rooms: DeviceRooms, heldNs: HeldTimes): void {
  for (const device of rooms.devices.keys())
    for (const component of byTime([...rooms.components.keys()], (one) => heldNs(device, one)))
      if (heldNs(device, component) > 0 && rooms.canTake(device, component)) rooms.take(device, component);
}

/** makeRoom lets the device that held a component longest hold it, if others can leave. It changes nothing where none can. */
function makeRoom(
  rooms: DeviceRooms,
  heldNs: HeldTimes,
  { component, used }: { readonly component: number; readonly used: readonly number[] },
): boolean {
  return byTime([...rooms.devices.keys()], (one) => heldNs(one, component)).some((one) =>
    hasTaken(rooms, one, {
      component,
      others: byTime(rooms.heldBy(one), (other) => -heldNs(one, other)),
      isNeeded: (other) => used.includes(other) && rooms.holders(other).length === 1,
    }),
  );
}

interface Taking {
  readonly component: number;
  /** The components that may leave for it, in this order. */
  readonly others: readonly number[];
  readonly isNeeded: (component: number) => boolean;
}

/** hasTaken lets others leave a device until a component fits, and takes it; if it does not fit then, they stay. */
function hasTaken(rooms: DeviceRooms, device: number, { component, others, isNeeded }: Taking): boolean {
  const left: number[] = [];
  for (const other of others) {
    if (rooms.canTake(device, component)) break;
    if (isNeeded(other)) continue;
    rooms.drop(device, other);
    left.push(other);
  }
  if (rooms.canTake(device, component)) {
    rooms.take(device, component);
    return true;
  }
  for (const other of left) rooms.take(device, other);
  return false;
}

/** byTime sorts places, the longest time first; of equal times, the first place. */
function byTime(places: readonly number[], timeOf: (place: number) => number): number[] {
  return places.toSorted((a, b) => timeOf(b) - timeOf(a) || a - b);
}
