import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { Counter, type Registry } from 'prom-client';
import { OWN_DEMANDS } from './http-demands.js';
import type { HttpServers } from './http-servers.js';

/** ConnectionLimits bounds what clients may do with connections. */
export interface ConnectionLimits {
  /** The most connections that are open at once. Others are closed as they come. */
  readonly most: number;
  /**
   * How long a client may take to send a request, from its connection or the last request on, and may read nothing of
   * an answer.
   */
  readonly timeoutMs: number;
}

/** A client that has ended its side and has no answer yet is asked so often whether it is still there. */
const ASK_MS = 500;

/** How often connections are looked at whose request is overdue, at most. */
const MOST_CHECKING_MS = 5000;

/** timeoutSettings gives the settings of a server by which requests that take too long to come are ended. */
export function timeoutSettings({ timeoutMs }: ConnectionLimits) {
  const connectionsCheckingInterval = Math.min(MOST_CHECKING_MS, timeoutMs / 4);
  return {
    requestTimeout: timeoutMs,
    http: { headersTimeout: timeoutMs, connectionsCheckingInterval, ...OWN_DEMANDS },
  };
}

/** ClosedConnections counts the connections that were closed for a limit, by which it was. */
export type ClosedConnections = Counter<'reason'>;

/** closedConnections makes the count of connections that were closed, of all ports of a server. */
export function closedConnections(registry: Registry): ClosedConnections {
  const closed = new Counter({
    name: 'inferplan_connections_closed_total',
    help: 'Connections that were closed for a limit',
    labelNames: ['reason'],
    registers: [registry],
  });
  for (const reason of ['limit', 'unread', 'pipelined']) closed.inc({ reason }, 0);
  return closed;
}

/**
 * limitConnections keeps a server's connections within limits. A connection on which nothing of an answer is
 * read for as long as a request may take is closed. A client that ends its side after a request is answered
 * all the same: some end it to say that no other request follows. Whether it is gone instead is heard when
 * something is sent to it. So where its answer takes long, the server sends it 102 (Processing), which
 * clients of HTTP/1.1 pass over: a client that is gone answers with a reset.
 */
export function limitConnections(
  app: FastifyInstance,
  {
    servers,
    closed,
  }: { readonly servers: Pick<HttpServers, 'each' | 'onCrowded'>; readonly closed: ClosedConnections },
  { most, timeoutMs }: ConnectionLimits,
): void {
  const open = new Set<Socket>();
  servers.onCrowded(() => closed.inc({ reason: 'pipelined' }));
  servers.each((server) => {
    server.on('connection', (socket: Socket) => {
      if (open.size >= most) {
        closed.inc({ reason: 'limit' });
        socket.destroy();
        return;
      }
      open.add(socket);
      socket.once('close', () => open.delete(socket));
    });
    // Node's own way to answer a client that has ended its side; it has no type.
    Object.assign(server, { httpAllowHalfOpen: true });
    server.on('request', askIfHalfClosed);
  });
  const onTimeout = () => closed.inc({ reason: 'unread' });
  // Of one connection, several answers may wait to be read.
  const answers = new WeakMap<Socket, number>();
  app.addHook('onSend', ({ raw: { socket } }, { raw }, payload, done) => {
    const before = answers.get(socket) ?? 0;
    answers.set(socket, before + 1);
    socket.setTimeout(timeoutMs);
    if (before === 0) socket.once('timeout', onTimeout);
    raw.once('close', () => {
      const left = (answers.get(socket) ?? 1) - 1;
      answers.set(socket, left);
      if (left === 0) socket.off('timeout', onTimeout);
    });
    done(null, payload);
  });
}

/** The requests of each connection that have no whole answer yet, in their order. */
const WAITING = new WeakMap<Socket, Set<ServerResponse>>();

function askIfHalfClosed({ socket }: IncomingMessage, response: ServerResponse): void {
  const waiting = WAITING.get(socket) ?? new Set();
  waiting.add(response);
  response.once('close', () => waiting.delete(response));
  if (WAITING.has(socket)) return;
  WAITING.set(socket, waiting);
  const ask = () => {
    const [first] = waiting;
    if (first?.headersSent === false && first.req.httpVersion === '1.1') first.writeProcessing();
  };
  socket.once('end', () => {
    // The first that reaches nobody is reset, and the next one hears of it.
    const timer = setInterval(ask, ASK_MS);
    socket.once('close', () => clearInterval(timer));
  });
}
