import type { IncomingMessage, ServerResponse } from 'node:http';
import type { LiveDriver } from './live-driver.js';
import type { OpenedBundle } from './opened-bundle.js';

/** A body is taken to be in soon, and so before a new one, for this share of the SLO. */
const SOON_SHARE = 0.25;
/** Weight of the last body in the average time of reading one. */
const READING_WEIGHT = 0.1;
/** What of a body that is not wanted is read and thrown away, to keep the connection. */
const MOST_DISCARDED_BYTES = 1024 * 1024;
/** How long a client may take to send the rest of it. */
const KEEP_MS = 10_000;
/** How long a client may take to notice that the connection ends. */
const LINGER_MS = 2000;

interface Reading {
  since: number;
}

/**
 * Decides at a request's headers whether its body is worth reading. Bodies that are being read are ahead of it, if they
 * have not been for long: a slow client holds no place.
 */
export class Admission {
  /** Per model, in the order they began. */
  private readonly readings: Set<Reading>[];
  private readonly averageNs: Float64Array;

  constructor(
    private readonly bundle: OpenedBundle,
    private readonly driver: LiveDriver,
  ) {
    this.readings = bundle.models.map(() => new Set());
    this.averageNs = new Float64Array(bundle.models.length);
  }

  /** Whether a request of the model whose headers are here would be dropped once it is read. */
  wouldDrop(model: number): boolean {
    const at = this.driver.now();
    const { sloNs } = this.bundle.models[model]!;
    const soonNs = SOON_SHARE * sloNs;
    const readings = this.readings[model]!;
    for (const reading of readings) {
      if (at - reading.since <= soonNs) break;
      readings.delete(reading);
    }
    const readNs = Math.min(this.averageNs[model]!, soonNs);
    return this.driver.wouldDrop(at, model, at + readNs + sloNs, readings.size);
  }

  /** Its body is being read; @returns to be called when it is in, or will not come. */
  reading(model: number): (isIn: boolean) => void {
    const reading = { since: this.driver.now() };
    this.readings[model]!.add(reading);
    return (isIn) => {
      this.readings[model]!.delete(reading);
      if (isIn)
        this.averageNs[model]! +=
          READING_WEIGHT * (this.driver.now() - reading.since - this.averageNs[model]!);
    };
  }
}

/** Whether the rest of the request is small enough to be thrown away for the connection's sake. */
export function worthKeeping({ headers }: IncomingMessage): boolean {
  if (headers.expect !== undefined || headers['transfer-encoding'] !== undefined) return false;
  return Number(headers['content-length'] ?? 0) <= MOST_DISCARDED_BYTES;
}

/** An answered request's body is thrown away by Node as it comes: the connection ends where that takes too long. */
export function endIfSlow(request: IncomingMessage): void {
  if (request.complete) return;
  const timer = setTimeout(() => {
    if (!request.complete) request.socket.destroy();
  }, KEEP_MS);
  timer.unref();
  request.once('close', () => clearTimeout(timer));
}

/**
 * Answers and ends the connection without reading the body. Ended at once, a connection with bytes unread is reset, and the
 * client may lose the answer: so it is sent whole, and the end waits until the client has closed or has been heard out,
 * within bounds.
 */
export function answerAndClose(
  request: IncomingMessage,
  response: ServerResponse,
  status: number,
  headers: Record<string, string>,
  body: string,
): void {
  response.writeHead(status, { ...headers, connection: 'close', 'content-length': Buffer.byteLength(body) });
  response.write(body);
  let discarded = 0;
  const end = () => {
    clearTimeout(timer);
    response.end();
  };
  const timer = setTimeout(end, LINGER_MS);
  timer.unref();
  request.on('data', (chunk: Buffer) => {
    discarded += chunk.length;
    if (discarded > MOST_DISCARDED_BYTES) end();
  });
  request.once('end', end);
  request.once('error', end);
  response.once('close', () => clearTimeout(timer));
}
