import { NONE } from '../../collections/index.js';
import type { Tensors } from '../../execution/index.js';
import { toldOf } from '../told-of.js';
import type { DrivenDevice } from './driven-device.js';

/** KeptOutput is the output of a task, or what a client sent, with the places where it lies. */
export interface KeptOutput {
  /** The id under which each device keeps it that does. */
  readonly places: Map<number, number>;
  /** Its tensors, where it lies at the front. */
  front: Tensors | undefined;
  /** Its tensors as they come to the front, from a device that had no room for them. */
  coming: Promise<Tensors> | undefined;
  /** How large it is, once it exists. */
  bytes: number;
  /** Whether nobody can ask for it any more. */
  isOver: boolean;
}

/** KeptCounts counts what devices keep: outputs by their places. */
export interface KeptCounts {
  readonly outputs: number;
  readonly bytes: number;
}

/** Move is an output on its way from one place to another, or being read at the front. */
interface Move {
  readonly output: KeptOutput;
  readonly from: number;
  readonly to: number;
  /** It is over when nothing uses the memory of its tensors any more, or its device is lost. */
  over: Promise<void> | undefined;
}

/** Answered is what a device gave that was asked for it. */
interface Answered<T> {
  readonly value: T;
}

/** LiveOutputsOptions says what hears of moves. */
export interface LiveOutputsOptions {
  readonly devices: readonly DrivenDevice[];
  /** moved tells that a fetch is over. */
  readonly moved: (fetch: number, output: KeptOutput, to: number) => void;
  /** lost tells that an output which was to move to the front is gone with its device: nobody may ask for it any more. */
  readonly lost: (output: KeptOutput) => void;
}

/**
 * LiveOutputs carries out where outputs go: devices keep them under ids that are used once, the front in its own memory. An id is given
 * back when its request has its outcome, or its device is lost; what comes too late is dropped where it comes.
 */
export class LiveOutputs {
  private readonly moves = new Map<number, Move>();
  /** By device, the bytes of what it keeps by their ids. */
  private readonly kept: Map<number, number>[];
  /** By device, the ids that are dropped once its batch has ended, which may be fed with them. */
  private readonly leaving: number[][];
  private readonly isRunning: boolean[];
  private nextId = 0;

  constructor(private readonly options: LiveOutputsOptions) {
    this.kept = options.devices.map(() => new Map());
    this.leaving = options.devices.map(() => []);
    this.isRunning = options.devices.map(() => false);
  }

  /** counts says what the devices keep now. */
  get counts(): KeptCounts {
    const sizes = this.kept.flatMap((ofDevice) => [...ofDevice.values()]);
    return { outputs: sizes.length, bytes: sizes.reduce((sum, bytes) => sum + bytes, 0) };
  }

  /** sentFromFront waits until outputs are sent from the front that are on their way from there; undefined where none is. */
  sentFromFront(outputs: readonly KeptOutput[]): Promise<unknown> | undefined {
    const going = [...this.moves.values()].flatMap(({ output, from, over }) =>
      from === NONE && over !== undefined && outputs.includes(output) ? [over] : [],
    );
    return going.length === 0 ? undefined : Promise.all(going);
  }

  /** moving counts the outputs that are on their way. */
  get moving(): number {
    return this.moves.size;
  }

  /** unusedId gives an id for an output that a device is to keep. */
  unusedId(): number {
    return this.nextId++;
  }

  /** begins tells that a device executes a batch, and `ends` that it does no more. */
  begins(device: number): void {
    this.isRunning[device] = true;
  }

  ends(device: number): void {
    this.isRunning[device] = false;
    this.dropLeaving(device);
  }

  /** made tells that a device has kept what a task gave. */
  made(output: KeptOutput, device: number, id: number): void {
    this.kept[device]!.set(id, output.bytes);
    output.places.set(device, id);
    if (output.isOver) this.leave(output, device);
  }

  /** fetch moves an output to a device or the front, and tells `moved`. */
  fetch(
    fetch: number,
    output: KeptOutput,
    { from, to }: { readonly from: number; readonly to: number },
  ): void {
    const move: Move = { output, from, to, over: undefined };
    this.moves.set(fetch, move);
    const { front } = output;
    if (from === NONE && to === NONE && front !== undefined)
      setImmediate(() => this.arrived(fetch, move, front));
    else move.over = this.carry(fetch, move);
  }

  private async carry(fetch: number, move: Move): Promise<void> {
    const { output, from, to } = move;
    const sent = await this.sent(output, from);
    if (sent === undefined || this.moves.get(fetch) !== move) return;
    const id = to === NONE ? undefined : this.unusedId();
    if (id !== undefined) {
      const device = this.options.devices[to]!;
      const { generation } = device;
      const done = await this.answered(to, device.put(id, sent.value));
      if (done === undefined || device.generation !== generation) return;
      if (this.moves.get(fetch) !== move) {
        device.drop([id]);
        return;
      }
      this.made(output, to, id);
    }
    this.arrived(fetch, move, sent.value);
  }

  private arrived(fetch: number, move: Move, tensors: Tensors): void {
    if (this.moves.get(fetch) !== move) return;
    this.moves.delete(fetch);
    const { output, to } = move;
    if (to === NONE && !output.isOver) output.front = tensors;
    this.options.moved(fetch, output, to);
  }

  /** sent gives the tensors of an output from a place; undefined where that is lost. */
  private async sent(output: KeptOutput, from: number): Promise<Answered<Tensors> | undefined> {
    if (from !== NONE)
      return await this.answered(from, this.options.devices[from]!.fetch(output.places.get(from)!));
    const value = output.front ?? (await output.coming?.catch(() => undefined));
    return value && { value };
  }

  /**
   * answered waits for what a device was asked; undefined where it does not do it. It waits until this turn of the event loop is over: if
   * the executor ended, the end of the device has been told by then. One that is well and cannot do it is ended.
   */
  private async answered<T>(device: number, asked: Promise<T>): Promise<Answered<T> | undefined> {
    const asking = this.options.devices[device]!;
    const { generation } = asking;
    try {
      return { value: await asked };
    } catch (error) {
      await new Promise((resolve) => setImmediate(resolve));
      if (asking.generation === generation) asking.end(toldOf(error));
      return undefined;
    }
  }

  /** spill lets an output leave a device; where it lies nowhere else it moves to the front, which counts as done at once. */
  spill(output: KeptOutput, device: number, isLast: boolean): void {
    if (isLast) {
      const coming = this.options.devices[device]!.fetch(output.places.get(device)!);
      output.coming = coming;
      coming.then(
        (tensors) => {
          if (!output.isOver) output.front = tensors;
          output.coming = undefined;
        },
        () => setImmediate(() => this.lostOnWay(output)),
      );
    }
    this.leave(output, device);
  }

  private lostOnWay(output: KeptOutput): void {
    output.coming = undefined;
    if (!output.isOver) this.options.lost(output);
    for (const [fetch, move] of this.moves) {
      if (move.output !== output || move.from !== NONE) continue;
      this.moves.delete(fetch);
      this.options.moved(fetch, output, move.to);
    }
  }

  /** forget lets go of an output for which nobody can ask any more. */
  forget(output: KeptOutput): void {
    output.isOver = true;
    output.front = undefined;
    for (const device of [...output.places.keys()]) this.leave(output, device);
  }

  /** deviceDown forgets what a device kept, and what was on its way from it or to it. */
  deviceDown(device: number): void {
    for (const [fetch, { from, to }] of this.moves)
      if (from === device || to === device) this.moves.delete(fetch);
    this.kept[device]!.clear();
    this.leaving[device]!.length = 0;
    this.isRunning[device] = false;
  }

  /** leave drops an output on a device, once the device executes nothing that may be fed with it. */
  private leave(output: KeptOutput, device: number): void {
    const id = output.places.get(device);
    output.places.delete(device);
    if (id === undefined || !this.kept[device]!.delete(id)) return;
    this.leaving[device]!.push(id);
    if (!this.isRunning[device]) this.dropLeaving(device);
  }

  private dropLeaving(device: number): void {
    const ids = this.leaving[device]!.splice(0);
    if (ids.length > 0) this.options.devices[device]!.drop(ids);
  }
}
