import { freeMemory } from './free-memory.js';
import { copiedTensor, tensorMaker } from './joining.js';
import { uncleared } from './memory-pool.js';
import type { Tensors } from './protocol.js';
import { isStrings, type TensorData, tensorBytes } from './tensor-data.js';

/** KeptTensor is an output that is kept. A *taken* one is in a run that is its last use, and may come back from it. */
export interface KeptTensor {
  readonly bytes: number;
  tensor: TensorData;
  state: 'kept' | 'taken' | 'gone';
  /** How many messages with it are being written: its memory must stay where it is. */
  sends: number;
}

/** Lent are kept tensors on their way to the parent, until `done` is called. */
export interface Lent {
  readonly tensors: Tensors;
  done(): void;
}

/**
 * KeptOutputs keeps the outputs of tasks by the tasks' numbers, each in memory of its own, so that dropping one frees
 * just that. Everything given out is a view of what is kept.
 */
export class KeptOutputs {
  private readonly kept = new Map<number, Map<string, KeptTensor>>();
  private bytes = 0;

  /** The totals kept: tasks, outputs, and bytes of memory. */
  get totals(): { readonly kept: number; readonly outputs: number; readonly bytes: number } {
    let outputs = 0;
    for (const of of this.kept.values())
      for (const { state } of of.values()) if (state !== 'gone') outputs += 1;
    return { kept: this.kept.size, outputs, bytes: this.bytes };
  }

  has(id: number): boolean {
    return this.kept.has(id);
  }

  /**
   * keep keeps a task's outputs. Their memory belongs to it from now on, except for buffers that others have a part in, of
   * which it keeps copies.
   * @param owned the buffers of this batch that an output owns already; those of these outputs are added
   * @throws Error where the number is in use
   * @returns the bytes of each
   */
  keep(id: number, tensors: Tensors, owned = new Set<ArrayBufferLike>()): Record<string, number> {
    if (this.has(id)) throw new Error(idInUse(id));
    const all = Object.entries(tensors).map(([name, tensor]): [string, KeptTensor] => {
      const own = ofItsOwn(tensor, owned);
      return [name, { bytes: tensorBytes(own), tensor: own, state: 'kept', sends: 0 }];
    });
    this.kept.set(id, new Map(all));
    for (const [, { bytes }] of all) this.bytes += bytes;
    return Object.fromEntries(all.map(([name, { bytes }]) => [name, bytes]));
  }

  /** find gives an output. @throws Error where it is not there, or no more */
  find(id: number, name: string): KeptTensor {
    const of = this.kept.get(id);
    if (of === undefined) throw new Error(`nothing is kept of ${id}`);
    const found = of.get(name);
    if (found === undefined)
      throw new Error(`${id} has no output ${name}, only ${[...of.keys()].join(', ')}`);
    if (found.state !== 'kept')
      throw new Error(`output ${name} of ${id} has moved into the run that was its last use`);
    return found;
  }

  /** lend gives outputs to be sent. @throws Error as `find` does */
  lend(id: number, names: readonly string[]): Lent {
    const found = names.map((name) => ({ name, kept: this.find(id, name) }));
    for (const { kept } of found) kept.sends += 1;
    return {
      tensors: Object.fromEntries(found.map(({ name, kept }) => [name, kept.tensor])),
      done: () => {
        for (const { kept } of found) kept.sends -= 1;
      },
    };
  }

  /** consumed ends the last use of an output. @param isMoved whether its memory is elsewhere already */
  consumed(kept: KeptTensor, isMoved: boolean): void {
    this.bytes -= kept.bytes;
    kept.state = 'gone';
    if (!isMoved) free(kept);
    kept.tensor = EMPTY;
  }

  /** drop frees all outputs of a task; where there are none, it does nothing. No run may have taken one. */
  drop(id: number): void {
    for (const kept of this.kept.get(id)?.values() ?? []) {
      if (kept.state === 'taken') throw new Error(`a run has taken an output of ${id}`);
      if (kept.state === 'kept') this.consumed(kept, false);
    }
    this.kept.delete(id);
  }
}

const newTensor = tensorMaker(uncleared);
const EMPTY: TensorData = { dtype: 'uint8', dims: [0], data: new Uint8Array(0) };

/** idInUse says why nothing more can be kept under a number. */
export function idInUse(id: number): string {
  return `outputs are kept or awaited under ${id} already: drop them first, or give another number`;
}

function ofItsOwn(tensor: TensorData, owned: Set<ArrayBufferLike>): TensorData {
  const { data } = tensor;
  if (isStrings(data)) return tensor;
  const own =
    owned.has(data.buffer) || data.byteLength < data.buffer.byteLength
      ? copiedTensor(tensor, newTensor)
      : tensor;
  owned.add((own.data as Uint8Array).buffer);
  return own;
}

/** Memory that is being written is left to the garbage collector, which waits for that. */
function free({ tensor: { data }, sends }: KeptTensor): void {
  if (sends === 0 && !isStrings(data)) freeMemory(new Uint8Array(data.buffer as ArrayBuffer));
}
