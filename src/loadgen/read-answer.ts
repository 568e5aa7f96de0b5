import type { Readable } from 'node:stream';
import { itemAt } from '../collections/index.js';

/** MIB is how many bytes a MiB has. */
export const MIB = 1024 * 1024;
/** Of an answer that tells an error, no more than this is read. */
const MOST_ERROR_BYTES = 64 * 1024;

/** AnswerLimits bounds what a client reads and keeps of what a server sends. */
export interface AnswerLimits {
  /** The most bytes of one answer. */
  readonly oneBytes: number;
  /** The most bytes of all answers that are being read. */
  readonly allBytes: number;
  /** How long an answer may take to be whole from its headers on, in milliseconds. */
  readonly wholeMs: number;
}

/** TooMuch says why an answer is not read to its end. */
export class TooMuch extends Error {}

/** AnswerReader reads the bodies of answers within limits, whatever a server sends. A connection whose answer is left is ended. */
export class AnswerReader {
  private heldBytes = 0;

  constructor(private readonly limits: AnswerLimits) {}

  /** read gives the whole body. @throws TooMuch where a limit ends it */
  async read(body: Readable, announced: unknown): Promise<Uint8Array> {
    const { oneBytes } = this.limits;
    if (Number(announced) > oneBytes) {
      body.on('error', () => {}).destroy();
      throw tooLarge(oneBytes);
    }
    const { bytes, isWhole } = await this.upTo(body, oneBytes);
    if (!isWhole) throw tooLarge(oneBytes);
    return bytes;
  }

  /** start gives the beginning of a body that tells an error. */
  async start(body: Readable): Promise<Uint8Array> {
    return (await this.upTo(body, Math.min(MOST_ERROR_BYTES, this.limits.oneBytes))).bytes;
  }

  private async upTo(body: Readable, mostBytes: number): Promise<{ bytes: Uint8Array; isWhole: boolean }> {
    const { wholeMs, allBytes } = this.limits;
    const late = setTimeout(
      () => body.destroy(new TooMuch(`the answer was not whole within ${wholeMs / 1000} s`)),
      wholeMs,
    );
    const pieces: Uint8Array[] = [];
    let bytes = 0;
    try {
      for await (const piece of body as AsyncIterable<Uint8Array>) {
        if (bytes + piece.byteLength > mostBytes) {
          pieces.push(piece.subarray(0, mostBytes - bytes));
          return { bytes: Buffer.concat(pieces), isWhole: false };
        }
        bytes += piece.byteLength;
        this.heldBytes += piece.byteLength;
        pieces.push(piece);
        if (this.heldBytes > allBytes)
          throw new TooMuch(`the answers being read take more than ${inMib(allBytes)} MiB together`);
      }
      return {
        bytes: pieces.length === 1 ? itemAt(pieces, 0) : Buffer.concat(pieces),
        isWhole: true,
      };
    } finally {
      this.heldBytes -= bytes;
      clearTimeout(late);
    }
  }
}

function tooLarge(oneBytes: number): TooMuch {
  return new TooMuch(`the answer is larger than ${inMib(oneBytes)} MiB`);
}

/** inMib writes a number of bytes in MiB. */
export function inMib(bytes: number): string {
  return `${Number((bytes / MIB).toPrecision(4))}`;
}
