import type { IncomingMessage, ServerResponse } from 'node:http';

/** Up to this many bytes of an unwanted body are read and thrown away, to keep the connection. */
const MOST_DISCARDED_BYTES = 1024 * 1024;
/** The time in milliseconds that a client may take to send the rest of such a body. */
const KEEP_MS = 10_000;
/** The time in milliseconds that a client may take to notice that the connection ends. */
const LINGER_MS = 2000;

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
