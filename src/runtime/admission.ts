import type { IncomingMessage, ServerResponse } from 'node:http';
import type { LiveDriver } from './live-driver.js';
import type { OpenedBundle } from './opened-bundle.js';

/** A body counts as nearly read, and so as ahead of a new one, for this share of the SLO. */
const SOON_SHARE = 0.25;
/** The weight of the last body in the average time of reading one. */
const READING_WEIGHT = 0.1;
/** Up to this many bytes of an unwanted body are read and thrown away, to keep the connection. */
const MOST_DISCARDED_BYTES = 1024 * 1024;
/** The time in milliseconds that a client may take to send the rest of such a body. */
const KEEP_MS = 10_000;
/** The time in milliseconds that a client may take to notice that the connection ends. */
const LINGER_MS = 2000;

interface Reading {
  since: number;
}

/**
 * Admission decides at a request's headers whether its body is worth reading. Bodies of its model that are being read
 * are ahead of it, except those that have taken longer than a quarter of the SLO: a slow client holds no place.
 */
export class Admission {
  /** The bodies that are being read, per model, in the order they began. */
  private readonly readings: Set<Reading>[];
  private readonly averageNs: Float64Array;

  constructor(
    private readonly bundle: OpenedBundle,
    private readonly driver: LiveDriver,
  ) {
    this.readings = bundle.models.map(() => new Set());
    this.averageNs = new Float64Array(bundle.models.length);
  }

  /**
   * wouldDrop says whether a request of the model whose headers are here would be dropped once it is read. It expects
   * the reading to take as long as on average (recent bodies count most), and at most a quarter of the SLO.
   */
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
    return this.driver.wouldDrop({ at, model, deadlineNs: at + readNs + sloNs }, readings.size);
  }

  /**
   * reading tells that a body is being read.
   * @returns a function to call when the body is in (true), which changes the average, or will not come (false)
   */
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

/**
 * worthKeeping says whether the body of a refused request is worth throwing away for the sake of the connection: its
 * announced length is at most 1 MiB, it is not chunked, and the client does not wait for "100 Continue".
 */
export function worthKeeping({ headers }: IncomingMessage): boolean {
  if (headers.expect !== undefined || headers['transfer-encoding'] !== undefined) return false;
  return Number(headers['content-length'] ?? 0) <= MOST_DISCARDED_BYTES;
}

/**
 * endIfSlow ends the connection of an answered request whose body is not whole 10 s from now. Node throws the body away
 * meanwhile.
 */
export function endIfSlow(request: IncomingMessage): void {
  if (request.complete) return;
  const timer = setTimeout(() => {
    if (!request.complete) request.socket.destroy();
  }, KEEP_MS);
  timer.unref();
  request.once('close', () => clearTimeout(timer));
}

/** WholeAnswer is an answer that is sent at once. */
interface WholeAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/**
 * answerAndClose answers and ends the connection without keeping the body. A connection that is closed with
 * unread bytes is reset, and the client may lose the answer. So the answer is sent whole first, and the
 * connection ends when the body has ended, or after 1 MiB more of it, or after 2 s.
 */
export function answerAndClose(
  request: IncomingMessage,
  response: ServerResponse,
  { status, headers, body }: WholeAnswer,
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
