import { itemAt } from '../collections/index.js';
import type { GivenDevices, OpenCluster, PlannedComponent, WorkflowDevice } from '../formats/index.js';
import { type BareDevice, byGroup } from './devices.js';
import { placeByWork } from './initial-placement.js';
import { type HeldTimes, placeLongestHeld } from './longest-held.js';
import { DeviceRooms } from './rooms.js';

/** PlacingProblem is what is to be placed, and where. */
export interface PlacingProblem {
  readonly components: readonly PlannedComponent[];
  readonly cluster: OpenCluster;
  readonly devices: readonly BareDevice[];
  /** By component, how many rows of it the load brings in a nanosecond. */
  readonly rowsPerNs: readonly number[];
  /** By component, the most bytes that a task of it takes, and that a full batch of such tasks takes. */
  readonly taskInputBytes: readonly number[];
  readonly batchInputBytes: readonly number[];
}

/** Placed is devices with what they hold, or the names of the components that some group has no room for. */
export interface Placed {
  readonly placement: readonly WorkflowDevice[];
  readonly lacking: readonly string[];
}

/**
 * placedByWork says what devices hold at the start, by the work that the load brings. Groups get equal parts of it.
 * Devices keep room for the inputs of a batch, unless components have no room then: they can leave.
 */
export function placedByWork(problem: PlacingProblem): Placed {
  const { rowsPerNs, batchInputBytes } = problem;
  const none = batchInputBytes.map(() => 0);
  return firstPlaced([batchInputBytes, none], (inputBytes) =>
    placedInGroups(problem, inputBytes, (rooms) => placeByWork(rooms, rowsPerNs)),
  );
}

/**
 * placedByTime says what devices hold for ever, by how long they held it in a run: all that the load calls, and the
 * rest as far as each group has room for it, since a group could not serve a request that calls what only others hold.
 * Devices keep room for the inputs of a batch, or else of a task, without which it could not be executed.
 */
export function placedByTime(problem: PlacingProblem, heldNs: HeldTimes): Placed {
  const { rowsPerNs, batchInputBytes, taskInputBytes } = problem;
  const used = rowsPerNs.flatMap((rows, component) => (rows > 0 ? [component] : []));
  const placed = firstPlaced([batchInputBytes, taskInputBytes], (inputBytes) =>
    placedInGroups(problem, inputBytes, (rooms, places) => {
      const heldHere: HeldTimes = (device, component) => heldNs(itemAt(places, device), component);
      const found = placeLongestHeld(rooms, heldHere, used);
      return found.isPlaced ? [] : found.lacking;
    }),
  );
  return { ...placed, placement: withoutStrays(placed.placement) };
}

/** withoutStrays takes from devices what some group of them does not hold. */
function withoutStrays(placement: readonly WorkflowDevice[]): WorkflowDevice[] {
  const heldByGroup = byGroup(placement).map(
    (places) => new Set(places.flatMap((d) => (placement[d] as WorkflowDevice).holds)),
  );
  return placement.map((device) => ({
    ...device,
    holds: device.holds.filter((name) => heldByGroup.every((held) => held.has(name))),
  }));
}

/** firstPlaced places with the first room for inputs that leaves room for all components, or else with the last. */
function firstPlaced(
  rooms: readonly [readonly number[], readonly number[]],
  place: (inputBytes: readonly number[]) => Placed,
): Placed {
  const first = place(rooms[0]);
  return first.lacking.length === 0 ? first : place(rooms[1]);
}

/** placedInGroups lets each group of devices hold components by itself. */
function placedInGroups(
  { components, cluster, devices }: PlacingProblem,
  inputBytes: readonly number[],
  place: (rooms: DeviceRooms, places: readonly number[]) => readonly number[],
): Placed {
  const holds = new Map<number, string[]>();
  const lacking = new Set<string>();
  const nameOf = (component: number): string => itemAt(components, component).name;
  for (const places of byGroup(devices)) {
    const own = places.map((d) => itemAt(devices, d));
    const rooms = new DeviceRooms({ components, cluster, devices: own }, inputBytes);
    for (const component of place(rooms, places)) lacking.add(nameOf(component));
    for (const [i, d] of places.entries()) holds.set(d, rooms.heldBy(i).map(nameOf));
  }
  return {
    placement: devices.map((device, d) => ({ ...device, holds: holds.get(d) ?? [] })),
    lacking: [...lacking],
  };
}

/** placedAsGiven says what devices hold where the spec says so: those of a class in the order of its entries. */
export function placedAsGiven(
  devices: readonly BareDevice[],
  given: readonly GivenDevices[],
): WorkflowDevice[] {
  const left = given.flatMap(({ device, count, holds }) =>
    Array.from({ length: count }, () => ({ device, holds })),
  );
  return devices.map((device) => {
    const next = left.findIndex((one) => one.device === device.class);
    const [{ holds } = { holds: [] }] = left.splice(next, 1);
    return { ...device, holds: [...holds] };
  });
}
