import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Of one connection, so many requests are begun before the first of them is answered. */
const MOST_BEGUN = 4;
/** So many others may wait. Each takes some KiB, though its client may have sent only 20 bytes. */
const MOST_WAITING = 100;

interface Waiting {
  readonly response: ServerResponse;
  readonly begin: () => void;
}

/** Line is what a connection has asked for. */
interface Line {
  begun: number;
  readonly waiting: Waiting[];
  isPausing: boolean;
  isOver: boolean;
}

/**
 * PipelinedRequests begins the requests that a client sends in a row without waiting for answers: four at a time, and one more in a
 * turn of the event loop in which one was answered, so that other clients are answered in between. While others wait, the connection
 * is not read, and a client that reads nothing has four answers waiting at most. Where more than 100 others wait, the connection is
 * closed: they may have come at once, before reading could be stopped.
 */
export class PipelinedRequests {
  private readonly lines = new WeakMap<Socket, Line>();

  /** @param onTooMany is called before a connection is closed on which too many requests wait */
  constructor(private readonly onTooMany: () => void) {}

  /** take begins a request of a connection now, or when its turn has come; not at all where the connection is closed by then. */
  take({ socket }: IncomingMessage, response: ServerResponse, begin: () => void): void {
    const line = this.lines.get(socket) ?? { begun: 0, waiting: [], isPausing: false, isOver: false };
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
    if (line.isPausing) return;
    line.isPausing = true;
    // Node reads on after each request that it has parsed, and what it has read it parses whole.
    process.nextTick(() => {
      line.isPausing = false;
      pauseWhileWaiting(socket, line);
    });
  }

  private begin(socket: Socket, line: Line, { response, begin }: Waiting): void {
    line.begun += 1;
    response.once('close', () => {
      line.begun -= 1;
      // Node has read on for the sake of a body that nobody has read.
      pauseWhileWaiting(socket, line);
      if (line.waiting.length > 0) setImmediate(() => this.next(socket, line));
    });
    begin();
  }

  private next(socket: Socket, line: Line): void {
    if (socket.destroyed) return;
    const next = line.waiting.shift();
    if (line.waiting.length === 0) socket.resume();
    if (next !== undefined) this.begin(socket, line, next);
  }

  private end(socket: Socket, line: Line): void {
    line.isOver = true;
    line.waiting.length = 0;
    this.onTooMany();
    process.nextTick(() => socket.destroy());
  }
}

function pauseWhileWaiting(socket: Socket, { waiting }: Line): void {
  if (waiting.length > 0) socket.pause();
}
