import { itemAt, NONE } from '../collections/index.js';
import type { DeviceRooms } from './rooms.js';

/**
 * placeByWork lets devices hold components by the work that the load brings: each somewhere, as far as memory allows,
 * those that are called first, then always one more of that whose devices have most to do for it, on the device that
 * has least to do, until nothing fits.
 * @param rooms devices that hold nothing
 * @param rowsPerNs by component, how many rows of it the load brings these devices in a nanosecond; only of ratios does it matter
 * @returns the components that found no room, by their places
 */
export function placeByWork(rooms: DeviceRooms, rowsPerNs: readonly number[]): number[] {
  const [called, uncalled] = [true, false].map((isCalled) =>
    [...rooms.components.keys()].filter((component) => itemAt(rowsPerNs, component) > 0 === isCalled),
  ) as [number[], number[]];
  const lacking = [...placeEach(rooms, called), ...placeEach(rooms, uncalled)];
  const loads = new Loads(rooms, rowsPerNs);
  const growing = new Set(rowsPerNs.flatMap((rows, component) => (rows > 0 ? [component] : [])));
  while (growing.size > 0) {
    const component = [...growing].reduce((a, b) => (loads.need(b) > loads.need(a) ? b : a));
    const device = leastLoaded(rooms, loads, component);
    if (device === NONE) growing.delete(component);
    else {
      rooms.take(device, component);
      loads.took(device, component);
    }
  }
  return lacking;
}

/**
 * placeEach lets devices hold each of the components once, the largest first, where most memory is free; if they do not all fit so,
 * where least memory is left. It is a heuristic: that these find no room does not prove that there is none.
 * @returns the components that found no room, by their places
 */
export function placeEach(rooms: DeviceRooms, wanted: readonly number[]): number[] {
  const bytes = (component: number): number => rooms.components[component]?.memoryBytes ?? 0;
  const ordered = wanted.toSorted((a, b) => bytes(b) - bytes(a) || a - b);
  const spread = placedBy(rooms, ordered, (device, best) => rooms.free(device) > rooms.free(best));
  if (spread.lacking.length === 0) return [];
  for (const [device, component] of spread.taken) rooms.drop(device, component);
  return placedBy(rooms, ordered, (device, best) => rooms.free(device) < rooms.free(best)).lacking;
}

function placedBy(
  rooms: DeviceRooms,
  wanted: readonly number[],
  isBetter: (device: number, best: number) => boolean,
) {
  const lacking: number[] = [];
  const taken: (readonly [device: number, component: number])[] = [];
  for (const component of wanted) {
    let best = NONE;
    for (const device of rooms.devices.keys())
      if (rooms.canTake(device, component) && (best === NONE || isBetter(device, best))) best = device;
    if (best === NONE) {
      lacking.push(component);
      continue;
    }
    rooms.take(best, component);
    taken.push([best, component]);
  }
  return { lacking, taken };
}

/**
 * Loads says for which share of the time devices are expected to be busy, if each component's work goes to its devices
 * by their speed.
 */
class Loads {
  private readonly needs: Float64Array;
  private readonly ofDevice: Float64Array;

  constructor(
    private readonly rooms: DeviceRooms,
    private readonly rowsPerNs: readonly number[],
  ) {
    this.needs = Float64Array.from(rowsPerNs.keys(), (component) => this.needNow(component));
    this.ofDevice = Float64Array.from(rooms.devices.keys(), (device) =>
      rooms.heldBy(device).reduce((sum, component) => sum + this.need(component), 0),
    );
  }

  /** need is the share of the time in which each device that holds a component is busy with it. */
  need(component: number): number {
    return itemAt(this.needs, component);
  }

  /** ofAll is the share of the time in which a device is busy. */
  ofAll(device: number): number {
    return itemAt(this.ofDevice, device);
  }

  /** took counts again after a device has taken a component. */
  took(device: number, component: number): void {
    const before = this.need(component);
    const need = this.needNow(component);
    for (const holder of this.rooms.holders(component))
      this.ofDevice[holder]! += need - (holder === device ? 0 : before);
    this.needs[component] = need;
  }

  private needNow(component: number): number {
    const { rooms, rowsPerNs } = this;
    const wanted = itemAt(rowsPerNs, component);
    const rows = rooms.holders(component).reduce((sum, d) => sum + rooms.rowsPerNs(d, component), 0);
    return wanted === 0 || rows === 0 ? 0 : wanted / rows;
  }
}

function leastLoaded(rooms: DeviceRooms, loads: Loads, component: number): number {
  let best = NONE;
  for (const device of rooms.devices.keys())
    if (rooms.canTake(device, component) && (best === NONE || loads.ofAll(device) < loads.ofAll(best)))
      best = device;
  return best;
}
