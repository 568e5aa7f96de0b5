import { InputError } from '../artifacts/index.js';
import type { Tensors } from './protocol.js';
import { isStrings, numericDtype, type TensorData } from './tensor.js';

/**
 * Messages as bytes: [u32 header bytes][f64 payload bytes][header: JSON][payload: the tensors' data, each at a multiple
 * of 8]. Half the round trip of Node's own 'advanced' serialization at 600 KB, since no tensor is copied to be sent and
 * each is copied once to be received.
 */
const PREFIX_BYTES = 12;
const ALIGNMENT = 8;

/** Where a tensor lies in the payload; strings travel in the header. */
type Place =
  | { name: string; dtype: string; dims: readonly number[]; at: number; bytes: number }
  | { name: string; dtype: string; dims: readonly number[]; strings: readonly string[] };

/** A message as received: the tensors still in the payload, so that it can be handed to a thread without a copy. */
export interface RawMessage<Head> {
  readonly head: Head;
  readonly places: readonly Place[];
  readonly payload: ArrayBuffer;
}

/**
 * The chunks to write, in order. Tensors' memory is not copied: leave it alone until the chunks are written.
 * Throws InputError where a tensor's array is not of its dtype: over there its bytes would be taken for others.
 */
export function encodeMessage(head: unknown, tensors: Tensors): Uint8Array[] {
  const places: Place[] = [];
  const chunks: Uint8Array[] = [];
  let at = 0;
  for (const [name, { dtype, dims, data }] of Object.entries(tensors)) {
    if (isStrings(data)) {
      places.push({ name, dtype, dims, strings: data });
      continue;
    }
    const { array } = numericDtype(dtype);
    if (!(data instanceof array)) {
      const message = `is ${dtype} and held in ${data.constructor.name}, not ${array.name}`;
      throw new InputError('send a tensor', [{ path: name, message }]);
    }
    const bytes = data.byteLength;
    places.push({ name, dtype, dims, at, bytes });
    const padding = (ALIGNMENT - (bytes % ALIGNMENT)) % ALIGNMENT;
    if (bytes > 0) chunks.push(new Uint8Array(data.buffer, data.byteOffset, bytes));
    if (padding > 0) chunks.push(new Uint8Array(padding));
    at += bytes + padding;
  }
  const header = Buffer.from(JSON.stringify({ head, places }));
  const prefix = Buffer.allocUnsafe(PREFIX_BYTES);
  prefix.writeUInt32LE(header.length, 0);
  prefix.writeDoubleLE(at, 4);
  return [Buffer.concat([prefix, header]), ...chunks];
}

/** The tensors of a message, as views of its payload. */
export function tensorsOf(message: RawMessage<unknown>): Tensors {
  const tensors: Record<string, TensorData> = {};
  for (const place of message.places) {
    const { name, dtype, dims } = place;
    if ('strings' in place) {
      tensors[name] = { dtype, dims, data: place.strings };
    } else {
      const { array, bytes } = numericDtype(dtype);
      tensors[name] = { dtype, dims, data: new array(message.payload, place.at, place.bytes / bytes) };
    }
  }
  return tensors;
}

/** The tensors of several models as one message's: the model's place in the list goes before each name. */
export function joinTensors(parts: readonly Tensors[]): Tensors {
  return Object.fromEntries(
    parts.flatMap((tensors, part) =>
      Object.entries(tensors).map(([name, tensor]) => [`${part}/${name}`, tensor] as const),
    ),
  );
}

/** What `joinTensors` joined, of `count` models. */
export function splitTensors(joined: Tensors, count: number): Tensors[] {
  const parts = Array.from({ length: count }, (): Tensors => ({}));
  for (const [key, tensor] of Object.entries(joined)) {
    const slash = key.indexOf('/');
    parts[Number(key.slice(0, slash))]![key.slice(slash + 1)] = tensor;
  }
  return parts;
}

/** Puts chunks together into messages. Memory for payloads comes from `allocate`, which may give more than is asked. */
export class MessageReader<Head> {
  #prefix = Buffer.alloc(PREFIX_BYTES);
  #header: Buffer | undefined;
  #payload: Uint8Array | undefined;
  #payloadBytes = 0;
  #filled = 0;

  constructor(
    private readonly deliver: (message: RawMessage<Head>) => void,
    private readonly allocate: (bytes: number) => ArrayBuffer,
  ) {}

  push(chunk: Uint8Array): void {
    let offset = 0;
    while (offset < chunk.length) {
      const target = this.#target();
      const length = Math.min(target.length - this.#filled, chunk.length - offset);
      target.set(chunk.subarray(offset, offset + length), this.#filled);
      this.#filled += length;
      offset += length;
      if (this.#filled === target.length) this.#full();
    }
  }

  /** What is being filled: the prefix, then the header, then the payload. */
  #target(): Uint8Array {
    return this.#payload ?? this.#header ?? this.#prefix;
  }

  #full(): void {
    this.#filled = 0;
    if (this.#header === undefined) {
      this.#header = Buffer.allocUnsafe(this.#prefix.readUInt32LE(0));
      this.#payloadBytes = this.#prefix.readDoubleLE(4);
    } else if (this.#payload === undefined && this.#payloadBytes > 0) {
      this.#payload = new Uint8Array(this.allocate(this.#payloadBytes), 0, this.#payloadBytes);
    } else {
      const { head, places } = JSON.parse(this.#header.toString()) as { head: Head; places: Place[] };
      const payload = (this.#payload?.buffer as ArrayBuffer | undefined) ?? new ArrayBuffer(0);
      this.#header = undefined;
      this.#payload = undefined;
      this.deliver({ head, places, payload });
    }
  }
}

/** Memory that is not cleared first; of its own, so that it can be transferred between threads. */
export function uncleared(bytes: number): ArrayBuffer {
  return Buffer.allocUnsafeSlow(bytes).buffer as ArrayBuffer;
}

const CLASS_BYTES = 64 * 1024;
const MOST_KEPT = 4;

/** Payload memory used again: sizes rounded up, so that batches of nearly the same size share, and a few kept. */
export class BufferPool {
  #kept: ArrayBuffer[] = [];

  take(bytes: number): ArrayBuffer {
    const size = Math.ceil(bytes / CLASS_BYTES) * CLASS_BYTES;
    const i = this.#kept.findIndex((buffer) => buffer.byteLength === size);
    return i === -1 ? uncleared(size) : this.#kept.splice(i, 1)[0]!;
  }

  give(buffer: ArrayBuffer): void {
    this.#kept.push(buffer);
    if (this.#kept.length > MOST_KEPT) this.#kept.shift();
  }
}
