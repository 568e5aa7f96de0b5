import type { IncomingMessage } from 'node:http';

const CLASS_BYTES = 64 * 1024;
/** The most memory that is kept for later bodies. */
const MOST_KEPT_BYTES = 32 * 1024 * 1024;
/** A client that announces a larger body gets memory as its bytes come. */
const FIRST_BYTES = 1024 * 1024;
/** Binary tensors begin at a multiple of this in memory, so that they can be used in place. */
const ALIGNMENT = 8;

/** BodyError says that a body could not be read, with the status to answer with. */
class BodyError extends Error {
  constructor(
    readonly statusCode: number,
    message: string,
  ) {
    super(message);
  }
}

/** Bodies reads bodies into memory that is used again. Each byte is copied once. */
export class Bodies {
  private readonly kept: ArrayBuffer[] = [];
  private keptBytes = 0;

  constructor(private readonly mostBytes: number) {}

  /**
   * read reads a request's body whole.
   * @param headerLength the length of its JSON part, when known, so that the bytes after it are aligned
   * @param done receives the body, or a BodyError where it is too large or breaks off
   */
  read(raw: IncomingMessage, headerLength: number, done: (error: Error | null, body?: Buffer) => void): void {
    const told = raw.headers['content-length'];
    const announced = told === undefined ? undefined : Number(told);
    if (announced !== undefined && announced > this.mostBytes) {
      done(this.tooLarge());
      return;
    }
    const offset = headerLength > 0 ? (ALIGNMENT - (headerLength % ALIGNMENT)) % ALIGNMENT : 0;
    let target: Buffer = Buffer.alloc(0);
    let end = offset;
    const onData = (chunk: Buffer) => {
      const needed = end + chunk.length;
      if (needed - offset > this.mostBytes) {
        leave();
        done(this.tooLarge());
        return;
      }
      if (needed > target.length) target = this.larger(target, end, needed, offset + (announced ?? needed));
      target.set(chunk, end);
      end = needed;
    };
    const onEnd = () => {
      leave();
      done(null, target.subarray(offset, end));
    };
    const onError = () => {
      leave();
      done(new BodyError(400, 'The body breaks off'));
    };
    const leave = () => {
      raw.off('data', onData).off('end', onEnd).off('error', onError);
    };
    raw.on('data', onData).on('end', onEnd).on('error', onError);
  }

  /** giveBack returns the memory of a body that nothing uses any more. */
  giveBack(body: Buffer): void {
    const memory = body.buffer as ArrayBuffer;
    if (memory.byteLength < CLASS_BYTES || memory.byteLength % CLASS_BYTES !== 0) return;
    if (this.keptBytes + memory.byteLength > MOST_KEPT_BYTES) return;
    this.keptBytes += memory.byteLength;
    this.kept.push(memory);
  }

  private larger(target: Buffer, used: number, needed: number, expected: number): Buffer {
    const wanted = Math.max(needed, Math.min(expected, Math.max(FIRST_BYTES, 2 * target.length)));
    const larger = this.take(wanted);
    larger.set(target.subarray(0, used));
    return larger;
  }

  private take(bytes: number): Buffer {
    // Small buffers must not come from the pool that Node shares between them.
    if (bytes < CLASS_BYTES / 2) return Buffer.allocUnsafeSlow(bytes);
    const size = Math.ceil(bytes / CLASS_BYTES) * CLASS_BYTES;
    const i = this.kept.findLastIndex(({ byteLength }) => byteLength === size);
    if (i < 0) return Buffer.allocUnsafeSlow(size);
    this.keptBytes -= size;
    return Buffer.from(this.kept.splice(i, 1)[0]!);
  }

  private tooLarge(): BodyError {
    return new BodyError(413, `The body is too large; at most ${this.mostBytes} bytes are taken`);
  }
}
