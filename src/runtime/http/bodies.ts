import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { CLASS_BYTES, freeMemory, MemoryPool, uncleared } from '../../execution/index.js';
import { type Encoding, encodingOf, inflater } from './content-encoding.js';
import { StatusError } from './status-error.js';

/** The most memory that is kept for later bodies. */
const MOST_KEPT_BYTES = 32 * 1024 * 1024;
/** A client that announces a larger body gets memory as its bytes come. */
const FIRST_BYTES = 1024 * 1024;
/** Binary tensors begin at a multiple of this in memory, so that they can be used in place. */
const ALIGNMENT = 8;

/** BodyLimits bounds the memory that request bodies take, in bytes. */
export interface BodyLimits {
  /** `oneBytes` is the largest body. */
  readonly oneBytes: number;
  /** `allBytes` is the most that all bodies take together, from their first byte until their answer is sent. */
  readonly allBytes: number;
}

/**
 * Bodies reads bodies into memory that is used again. A body gets memory of its whole announced size where such memory
 * is kept from an earlier one and all bodies together hold at most half of their limit. New memory follows the bytes
 * that have come, whatever was announced: there is at most 1 MiB at first, and then at most doubles, and bytes are
 * copied when it grows. It doubles as well where nothing was announced, up to the largest body. It always grows by a share of its
 * size, so that all copies of a body cost a few times its bytes.
 */
export class Bodies {
  private readonly pool = new MemoryPool({ bytes: MOST_KEPT_BYTES });
  private readonly held = new Map<IncomingMessage, number>();
  private heldBytes = 0;

  constructor(private readonly limits: BodyLimits) {}

  /**
   * read reads a request's body whole, and inflates it where its headers say that it is compressed. The limits are those
   * of what is inflated, which ends where they are passed. The body counts as held until `release`.
   * @param headerLength the length of its JSON part, when known, so that the bytes after it are aligned
   * @param done receives the body, or an error whose `statusCode` is 413 where it is too large, 415 where its encoding
   *   is not known, 503 where all bodies together are too large, and 400 where it breaks off or is not compressed data alone
   */
  read(raw: IncomingMessage, headerLength: number, done: (error: Error | null, body?: Buffer) => void): void {
    const told = raw.headers['content-length'];
    const sent = told === undefined ? undefined : Number(told);
    let source: BodySource;
    try {
      source = sourceOf(raw);
    } catch (error) {
      done(error as Error);
      return;
    }
    const { bytes: stream, encoding, leave, unread } = source;
    const announced = encoding === 'identity' ? sent : undefined;
    const refusal = this.refusal(sent ?? 0, announced ?? 0);
    if (refusal !== undefined) {
      leave();
      done(refusal);
      return;
    }
    const offset = bytesBefore(headerLength);
    let target: Buffer = Buffer.alloc(0);
    let end = offset;
    const onData = (chunk: Buffer) => {
      const needed = end + chunk.length;
      const expected =
        announced === undefined
          ? this.unannounced(target.length, needed, offset + this.limits.oneBytes)
          : offset + announced;
      const bytes = needed > target.length ? this.sizeFor(target.length, needed, expected) : target.length;
      const refusal = this.refusal(needed - offset, bytes - target.length);
      if (refusal !== undefined) {
        over(refusal);
        return;
      }
      if (bytes > target.length) {
        this.hold(raw, bytes - target.length);
        target = this.larger(target, end, bytes);
      }
      target.set(chunk, end);
      end = needed;
      // Inflated data comes in pieces of memory that zlib goes on to use.
      if (encoding === 'identity') freeMemory(chunk);
    };
    const onEnd = () => over(bytesAfter(unread(), encoding));
    const onError = (error: Error) => over(brokenBody(error, encoding));
    const over = (error: Error | null) => {
      for (const from of new Set([raw, stream])) from.off('error', onError);
      stream.off('data', onData).off('end', onEnd);
      leave();
      if (error === null) done(null, target.subarray(offset, end));
      else done(error);
    };
    for (const from of new Set([raw, stream])) from.on('error', onError);
    stream.on('data', onData).on('end', onEnd);
  }

  /**
   * charge counts memory that is made from a body for as long as the body itself is held.
   * @throws StatusError with 503 where all bodies together would take more than they may
   */
  charge(raw: IncomingMessage, bytes: number): void {
    const refusal = this.refusal(0, bytes);
    if (refusal !== undefined) throw refusal;
    if (this.held.has(raw)) this.hold(raw, bytes);
  }

  /**
   * release reports that the request is over, so that its body no longer counts as held. Calling it twice is harmless.
   */
  release(raw: IncomingMessage): void {
    this.heldBytes -= this.held.get(raw) ?? 0;
    this.held.delete(raw);
  }

  /**
   * giveBack returns the memory of a body that nothing uses any more. Up to 32 MiB are kept for later bodies, in pieces
   * of whole 64 KiB; what was given back first makes room for what is given back last.
   */
  giveBack(body: Buffer): void {
    this.pool.give(body.buffer as ArrayBuffer);
  }

  private hold(raw: IncomingMessage, bytes: number): void {
    this.held.set(raw, (this.held.get(raw) ?? 0) + bytes);
    this.heldBytes += bytes;
  }

  /**
   * refusal says why a body of `bytes`, for which `more` memory is needed now, is refused; it is undefined if the body
   * is accepted.
   */
  private refusal(bytes: number, more: number): StatusError | undefined {
    const { oneBytes, allBytes } = this.limits;
    if (bytes > oneBytes)
      return new StatusError(413, `The body is too large; at most ${oneBytes} bytes are taken`);
    if (this.heldBytes + more > allBytes)
      return new StatusError(
        503,
        `The bodies of all open requests take more than ${allBytes} bytes together`,
      );
    return undefined;
  }

  /** sizeFor is the memory for a body that has grown to `needed` bytes and is expected to grow to `expected`. */
  private sizeFor(now: number, needed: number, expected: number): number {
    const whole = rounded(Math.max(needed, expected));
    // Memory that bodies hold before their bytes come must leave room for others.
    const roomy = this.heldBytes + whole - now <= this.limits.allBytes / 2;
    if (roomy && this.pool.has(whole)) return whole;
    return rounded(Math.max(needed, Math.min(expected, Math.max(FIRST_BYTES, 2 * now))));
  }

  /**
   * unannounced is the size to expect of a body that announced none: twice its memory, up to that of the largest body,
   * as long as all bodies together then hold at most half of what they may. Else it is an eighth more, or all that is left: if
   * memory grew by what has come alone, each piece of a body would cost a copy of all of it.
   */
  private unannounced(now: number, needed: number, most: number): number {
    const { allBytes } = this.limits;
    const twice = Math.min(2 * now, most);
    if (this.heldBytes + rounded(twice) - now <= allBytes / 2) return twice;
    const larger = now + Math.min(now / 8, allBytes - this.heldBytes);
    return Math.max(needed, Math.min(most, CLASS_BYTES * Math.floor(larger / CLASS_BYTES)));
  }

  private larger(target: Buffer, used: number, bytes: number): Buffer {
    const larger = Buffer.from(bytes % CLASS_BYTES === 0 ? this.pool.take(bytes) : uncleared(bytes));
    larger.set(target.subarray(0, used));
    if (target.buffer.byteLength > MOST_KEPT_BYTES) freeMemory(new Uint8Array(target.buffer));
    else this.giveBack(target);
    return larger;
  }
}

/** BodySource is the stream of a body's bytes, inflated where they are compressed. */
interface BodySource {
  readonly bytes: Readable;
  readonly encoding: Encoding;
  /** unread says how many bytes have come, by its end, that are behind the compressed data. */
  readonly unread: () => number;
  /** leave ends the inflating. The rest of the request's bytes is thrown away. */
  readonly leave: () => void;
}

/** @throws StatusError where the encoding is not known */
function sourceOf(raw: IncomingMessage): BodySource {
  const encoding = encodingOf(raw);
  if (encoding === 'identity') return { bytes: raw, encoding, unread: () => 0, leave: () => {} };
  const bytes = inflater(encoding);
  let came = 0;
  raw.on('data', (chunk: Buffer) => {
    came += chunk.length;
  });
  raw.pipe(bytes);
  const leave = () => {
    raw.unpipe(bytes);
    raw.resume();
    // The stream may fail once more as it ends.
    bytes.on('error', () => {}).destroy();
  };
  return { bytes, encoding, unread: () => came - bytes.bytesWritten, leave };
}

function brokenBody(error: NodeJS.ErrnoException, encoding: Encoding): StatusError {
  if (!error.code?.startsWith('Z_')) return new StatusError(400, 'The body breaks off');
  return new StatusError(400, `The body is not whole data of ${encoding}: ${error.message}`);
}

function bytesAfter(count: number, encoding: Encoding): StatusError | null {
  if (count === 0) return null;
  return new StatusError(400, `The body has ${count} bytes after the end of its data of ${encoding}`);
}

/**
 * bytesBefore gives the bytes to leave before a body so that what follows its JSON part is aligned. A client
 * may send any number as the length, such as Infinity: a number that is no length is refused once the body
 * has been read.
 */
function bytesBefore(headerLength: number): number {
  const isLength = Number.isSafeInteger(headerLength) && headerLength > 0;
  return isLength ? (ALIGNMENT - (headerLength % ALIGNMENT)) % ALIGNMENT : 0;
}

/** rounded gives sizes that many bodies share; small ones are left as they are. */
function rounded(bytes: number): number {
  return bytes < CLASS_BYTES / 2 ? bytes : Math.ceil(bytes / CLASS_BYTES) * CLASS_BYTES;
}
