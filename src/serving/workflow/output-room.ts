import type { Outputs } from './outputs.js';
import type { Residency } from './residency.js';
import { isAtRest, isTakenNow, isThere, type OutputPlace, placeOn, type Task } from './work.js';

/** MayGo returns whether an output may leave a device for something else. */
type MayGo = (output: Task) => boolean;

/**
 * OutputRoom makes room on devices by letting outputs leave, the oldest first, and has inputs fetched there.
 * Outputs on their way to a device or from it, and the inputs of tasks that it executes, never leave.
 */
export class OutputRoom {
  /** Devices where something has found no room. */
  private readonly full = new Set<number>();

  constructor(
    private readonly outputs: Outputs,
    private readonly residency: Residency,
  ) {}

  /**
   * make lets outputs leave a device until there are so many bytes of room.
   * @returns whether there are. Where all that may leave is too little, nothing leaves.
   */
  make(device: number, bytes: number, mayGo: MayGo): boolean {
    if (this.couldBe(device, mayGo) < bytes) {
      this.full.add(device);
      return false;
    }
    this.leave(device, bytes, mayGo);
    return true;
  }

  /** isOverfull returns whether more has come to a device than it has room for. */
  isOverfull(device: number): boolean {
    return this.residency.free(device) < 0;
  }

  /** relieve lets outputs leave a device until it holds no more than its memory: first those that no task takes any more. */
  relieve(device: number, mayGo: MayGo): void {
    this.leave(device, 0, (output) => output.readers.size === 0 && mayGo(output));
    this.leave(device, 0, mayGo);
  }

  /**
   * fetch sends the inputs of a task to a device that are neither there nor on their way to it.
   * @returns whether there was room for all of them
   */
  fetch(device: number, { inputs }: Task, mayGo: MayGo): boolean {
    for (const input of inputs) {
      if (placeOn(input, device) !== undefined) continue;
      if (!this.make(device, input.bytes, mayGo)) return false;
      this.outputs.bring(input, device);
    }
    return true;
  }

  /** takeFull gives the devices where something has found no room since it was last asked. */
  takeFull(): readonly number[] {
    const devices = [...this.full];
    this.full.clear();
    return devices;
  }

  private couldBe(device: number, mayGo: MayGo): number {
    let free = this.residency.free(device);
    this.outputs.some(device, (output, place) => {
      if (isUnused(device, output, place) && mayGo(output)) free += output.bytes;
      return false;
    });
    return free;
  }

  private leave(device: number, bytes: number, mayGo: MayGo): void {
    while (this.residency.free(device) < bytes) {
      const output = this.outputs.some(device, (one, place) => isUnused(device, one, place) && mayGo(one));
      if (output === undefined) return;
      this.outputs.spill(device, output);
    }
  }
}

/** areInputsThere returns whether all inputs of a task lie on a device. */
export function areInputsThere({ inputs }: Task, device: number): boolean {
  return inputs.every((input) => isThere(input, device));
}

/** bytesOfInputs is the room that the inputs of some tasks take together. */
export function bytesOfInputs(tasks: Iterable<Task>): number {
  const inputs = new Set<Task>();
  for (const task of tasks) for (const input of task.inputs) inputs.add(input);
  let bytes = 0;
  for (const input of inputs) bytes += input.bytes;
  return bytes;
}

function isUnused(device: number, output: Task, place: OutputPlace): boolean {
  return output.bytes > 0 && isAtRest(place) && !isTakenNow(output, device);
}
