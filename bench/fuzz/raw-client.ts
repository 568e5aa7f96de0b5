import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** Answer is one answer of HTTP, read byte by byte. */
export interface Answer {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Buffer;
}

const PAUSE_MS = 8;

/** RawClient is a connection that sends any bytes and reads the answers to them. */
export class RawClient {
  private received = Buffer.alloc(0);
  private waiting: (() => void) | undefined;
  private readonly socket: Socket;
  closed = false;

  constructor(port: number) {
    this.socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    this.socket.setNoDelay(true);
    this.socket.on('data', (chunk: Buffer) => {
      this.received = Buffer.concat([this.received, chunk]);
      this.waiting?.();
    });
    const gone = () => {
      this.closed = true;
      this.waiting?.();
    };
    this.socket.on('end', gone).on('close', gone).on('error', gone);
  }

  async send(pieces: readonly Buffer[], isSlow: boolean): Promise<void> {
    for (const piece of pieces) {
      if (this.socket.destroyed) return;
      this.socket.write(piece);
      if (isSlow) await sleep(PAUSE_MS);
    }
  }

  /** end closes the sending side. */
  end(): void {
    this.socket.end();
  }

  destroy(): void {
    this.socket.destroy();
  }

  /** unread counts the bytes that came after the last answer that was read. */
  get unread(): number {
    return this.received.length;
  }

  /**
   * answer waits for the next final answer.
   * @returns 'closed' where the connection ends before one, and 'silent' where nothing comes in time
   */
  async answer(timeoutMs: number, toHead = false): Promise<Answer | 'closed' | 'silent'> {
    const endsAt = performance.now() + timeoutMs;
    for (;;) {
      const found = this.take(toHead);
      if (found !== undefined && found.status >= 200) return found;
      if (found !== undefined) continue;
      if (this.closed) return 'closed';
      const left = endsAt - performance.now();
      if (left <= 0) return 'silent';
      await this.more(left);
    }
  }

  private async more(timeoutMs: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, timeoutMs);
      this.waiting = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.waiting = undefined;
  }

  /** take reads one answer from the received bytes, if it is complete. */
  private take(toHead: boolean): Answer | undefined {
    const headEnd = this.received.indexOf('\r\n\r\n');
    if (headEnd < 0) return undefined;
    const [first = '', ...lines] = this.received.subarray(0, headEnd).toString('latin1').split('\r\n');
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(first)?.[1]);
    if (!(status >= 100))
      throw new Error(`the server sent bytes that are no answer: ${JSON.stringify(first.slice(0, 200))}`);
    const headers = new Map(
      lines.map((line) => [
        line.slice(0, line.indexOf(':')).toLowerCase(),
        line.slice(line.indexOf(':') + 1).trim(),
      ]),
    );
    const length =
      toHead || status < 200 || status === 204 ? 0 : Number(headers.get('content-length') ?? Number.NaN);
    if (Number.isNaN(length)) throw new Error(`the server gave no length: ${first} ${lines.join(', ')}`);
    const end = headEnd + 4 + length;
    if (this.received.length < end) return undefined;
    const body = this.received.subarray(headEnd + 4, end);
    this.received = this.received.subarray(end);
    return { status, headers, body };
  }
}
