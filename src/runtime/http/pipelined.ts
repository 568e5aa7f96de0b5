import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Of one connection, this many requests are begun before the first of them is answered. */
const MOST_BEGUN = 4;
/** This many others may wait. Each takes some KiB, though its client may have sent only 20 bytes. */
const MOST_WAITING = 100;

interface Waiting {
  readonly response: ServerResponse;
  readonly begin: () => void;
}

/** Line is what a connection has asked for. */
interface Line {
  begun: number;
  readonly waiting: Waiting[];
  isOver: boolean;
}

/**
 * PipelinedRequests begins the requests that a client sends in a row without waiting for answers: four at a time, and
 * one more in a turn of the event loop in which one was answered, so that other clients are answered in between, and a
 * client that reads nothing has four answers waiting at most. Where more than 100 others wait, the connection is
 * closed.
 */
export class PipelinedRequests {
  private readonly lines = new WeakMap<Socket, Line>();

  /** @param onTooMany is called before a connection is closed on which too many requests wait */
  constructor(private readonly onTooMany: () => void) {}

  /** take begins a request of a connection now, or when its turn has come; not at all where the connection is closed by then. */
  take({ socket }: IncomingMessage, response: ServerResponse, begin: () => void): void {
    const line = this.lines.get(socket) ?? { begun: 0, waiting: [], isOver: false };
    this.lines.set(socket, line);
    if (line.isOver) return;
    if (line.begun < MOST_BEGUN && line.waiting.length === 0) {
      this.begin(socket, line, { response, begin });
      return;
    }
    if (line.waiting.length === MOST_WAITING) {
      this.end(socket, line);
      return;
    }
    line.waiting.push({ response, begin });
  }

  private begin(socket: Socket, line: Line, { response, begin }: Waiting): void {
    line.begun += 1;
    response.once('close', () => {
      line.begun -= 1;
      if (line.waiting.length > 0) setImmediate(() => this.next(socket, line));
    });
    begin();
  }

  private next(socket: Socket, line: Line): void {
    const next = line.waiting.shift();
    if (next !== undefined && !socket.destroyed) this.begin(socket, line, next);
  }

  /** end closes a connection once Node has parsed what has come on it, which it parses whole. */
  private end(socket: Socket, line: Line): void {
    line.isOver = true;
    line.waiting.length = 0;
    this.onTooMany();
    process.nextTick(() => socket.destroy());
  }
}
