import { itemAt, NONE } from '../../collections/index.js';
import type { Tensors } from '../../execution/index.js';
import { toldOf } from '../live/told-of.js';
import type { DrivenDevice } from './driven-device.js';
import { type KeptOutput, keptBytes, missingAtFront } from './kept-output.js';

/** KeptCounts counts what devices keep: outputs by their places. */
export interface KeptCounts {
  readonly outputs: number;
  readonly bytes: number;
}

/** SentTensors says which tensors of an output go from a place to another: a device, or NONE for the front. */
export interface SentTensors {
  readonly from: number;
  readonly to: number;
  readonly names: readonly string[];
}

/** Move is an output on its way from one place to another, or being read at the front. */
interface Move extends SentTensors {
  readonly output: KeptOutput;
  /** A promise that ends when nothing uses the memory of its tensors any more, or its device is lost. */
  over: Promise<void> | undefined;
}

/** LiveOutputsOptions says what hears of moves. */
export interface LiveOutputsOptions {
  readonly devices: readonly DrivenDevice[];
  /** moved reports that a fetch is over. */
  readonly moved: (fetch: number, output: KeptOutput, to: number) => void;
  /** came reports that tensors have come to the front that `bring` was asked for. */
  readonly came: (output: KeptOutput) => void;
  /**
   * lost reports that tensors of an output were needed at the front, which is to have it, and that they are gone with
   * their device.
   */
  readonly lost: (output: KeptOutput) => void;
  /** sent reports that bytes of an output are sent. */
  readonly sent: (from: number, to: number, bytes: number) => void;
}

/**
 * LiveOutputs carries out where outputs go. Devices keep them whole, under ids that are used once. To the front come
 * those tensors that are read, and the others where the front alone is to have the output. An id is given back when
 * nobody can ask for its output any more, or its device is lost; what comes too late is dropped where it comes.
 */
export class LiveOutputs {
  private readonly moves = new Map<number, Move>();
  /** By device, what it keeps by its ids, and the ids that it is told to drop once this turn is over. */
  private readonly kept: Map<number, KeptOutput>[];
  private readonly leaving: number[][];
  private nextId = 0;

  constructor(private readonly options: LiveOutputsOptions) {
    this.kept = options.devices.map(() => new Map());
    this.leaving = options.devices.map(() => []);
  }

  /** counts says what the devices keep now. */
  get counts(): KeptCounts {
    const outputs = this.kept.flatMap((ofDevice) => [...ofDevice.values()]);
    return { outputs: outputs.length, bytes: outputs.reduce((sum, output) => sum + keptBytes(output), 0) };
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

  /** made reports that a device has kept what a task gave. */
  made(output: KeptOutput, device: number, id: number): void {
    itemAt(this.kept, device).set(id, output);
    output.places.set(device, id);
    if (output.isOver) this.leave(output, device);
  }

  /** fetch moves an output to a device, whole, or tensors of it to the front, and then calls `moved`. */
  fetch(fetch: number, output: KeptOutput, way: SentTensors): void {
    const { from, to, names } = way;
    if (from !== to) this.options.sent(from, to, keptBytes(output, names));
    const move: Move = { output, ...way, over: undefined };
    this.moves.set(fetch, move);
    move.over = this.carry(fetch, move);
  }

  /** bring has tensors come to the front of an output that is to be there already, and then calls `came`. */
  bring(output: KeptOutput, names: readonly string[]): void {
    void this.atFront(output, names).then((tensors) => {
      if (output.isOver) return;
      if (tensors === undefined) this.lose(output);
      else this.options.came(output);
    });
  }

  /** spill lets an output leave a device. Where no other device keeps it, what is not at the front of it comes there. */
  spill(output: KeptOutput, device: number): void {
    const missing = missingAtFront(output);
    if (output.places.size === 1 && missing.length > 0) {
      const coming = this.toFront(output, device, missing).then(() => {
        if (output.coming === coming) output.coming = undefined;
      });
      output.coming = coming;
    }
    this.leave(output, device);
  }

  /**
   * forget lets go of an output whose run is over. Tensors of the output that are on their way still arrive.
   */
  forget(output: KeptOutput): void {
    output.isOver = true;
    output.front = {};
    for (const device of [...output.places.keys()]) this.leave(output, device);
  }

  /** giveUp lets go of an output for which nobody can ask any more, also of what is on its way. */
  giveUp(output: KeptOutput): void {
    for (const [fetch, move] of this.moves) if (move.output === output) this.moves.delete(fetch);
    this.forget(output);
  }

  /** deviceDown forgets what a device kept, and what was on its way from it or to it. */
  deviceDown(device: number): void {
    for (const [fetch, { from, to }] of this.moves)
      if (from === device || to === device) this.moves.delete(fetch);
    for (const output of itemAt(this.kept, device).values()) output.places.delete(device);
    itemAt(this.kept, device).clear();
    itemAt(this.leaving, device).length = 0;
  }

  private async carry(fetch: number, move: Move): Promise<void> {
    const { output, from, to, names } = move;
    const isOfFront = from === NONE;
    const tensors = await (isOfFront ? this.atFront(output, names) : this.ofDevice(output, from, names));
    if (this.moves.get(fetch) !== move) return;
    if (tensors !== undefined) {
      if (to !== NONE && !(await this.putOn(fetch, move, tensors))) return;
      this.arrived(fetch, move, tensors);
    } else if (isOfFront && output.isOver) this.arrived(fetch, move, {});
    else if (isOfFront) this.lose(output);
    // The end of a device covers what was to come from it.
  }

  /** putOn has a device keep what comes to it. It is false where nothing is to be reported of it any more. */
  private async putOn(fetch: number, move: Move, tensors: Tensors): Promise<boolean> {
    const { output, to } = move;
    const device = itemAt(this.options.devices, to);
    const { generation } = device;
    const id = this.unusedId();
    const done = await this.answered(
      to,
      device.put(id, tensors).then(() => true),
    );
    if (done === undefined || device.generation !== generation) return false;
    if (this.moves.get(fetch) !== move) {
      device.drop([id]);
      return false;
    }
    this.made(output, to, id);
    return true;
  }

  private arrived(fetch: number, move: Move, tensors: Tensors): void {
    if (this.moves.get(fetch) !== move) return;
    this.moves.delete(fetch);
    const { output, to } = move;
    if (to === NONE) lay(output, tensors);
    this.options.moved(fetch, output, to);
  }

  /** atFront gives tensors at the front, where they come from a device that still keeps them; undefined where they are lost. */
  private async atFront(output: KeptOutput, names: readonly string[]): Promise<Tensors | undefined> {
    for (;;) {
      const missing = missingAtFront(output, names);
      if (missing.length === 0) return Object.fromEntries(names.map((name) => [name, output.front[name]!]));
      const [device] = output.places.keys();
      if (output.coming !== undefined) await output.coming;
      else if (device === undefined || output.isOver) return undefined;
      else {
        this.options.sent(device, NONE, keptBytes(output, missing));
        await this.toFront(output, device, missing);
      }
    }
  }

  private async toFront(output: KeptOutput, device: number, names: readonly string[]): Promise<void> {
    const id = output.places.get(device);
    const tensors = await this.ofDevice(output, device, names);
    if (tensors !== undefined) lay(output, tensors);
    // The device is ended where it has not ended by itself.
    else if (output.places.get(device) === id) output.places.delete(device);
  }

  private async ofDevice(
    output: KeptOutput,
    device: number,
    names: readonly string[],
  ): Promise<Tensors | undefined> {
    return await this.answered(
      device,
      itemAt(this.options.devices, device).fetch(output.places.get(device)!, names),
    );
  }

  /**
   * answered waits for what a device was asked; undefined where it does not do it. It waits until this turn
   * of the event loop is over: if the executor ended, the end of the device has been told by then. A device
   * that is well and cannot do it is ended.
   */
  private async answered<T>(device: number, asked: Promise<T>): Promise<T | undefined> {
    const asking = itemAt(this.options.devices, device);
    const { generation } = asking;
    try {
      return await asked;
    } catch (error) {
      await new Promise((resolve) => setImmediate(resolve));
      if (asking.generation === generation) asking.end(toldOf(error));
      return undefined;
    }
  }

  /** lose reports that an output is not at the front; what was on its way from there or to it is over. */
  private lose(output: KeptOutput): void {
    for (const [fetch, move] of this.moves)
      if (move.output === output && (move.from === NONE || move.to === NONE)) this.moves.delete(fetch);
    this.options.lost(output);
  }

  /** leave drops an output on a device, after all that the device was asked before. */
  private leave(output: KeptOutput, device: number): void {
    const id = output.places.get(device);
    output.places.delete(device);
    if (id === undefined || !itemAt(this.kept, device).delete(id)) return;
    const leaving = itemAt(this.leaving, device);
    if (leaving.push(id) > 1) return;
    queueMicrotask(() => {
      const ids = leaving.splice(0);
      if (ids.length > 0) itemAt(this.options.devices, device).drop(ids);
    });
  }
}

/** lay puts tensors of an output to those that lie at the front. */
function lay(output: KeptOutput, tensors: Tensors): void {
  if (!output.isOver) output.front = { ...output.front, ...tensors };
}
