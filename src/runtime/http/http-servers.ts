import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import {
  createServer as createTlsServer,
  type ServerOptions as TlsOptions,
  type Server as TlsServer,
} from 'node:https';
import { type AddressInfo, Server as NetServer, type Socket } from 'node:net';
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises';
import type { FastifyServerOptions } from 'fastify';
import { JSON_TYPE, RETRY_AFTER_S } from './http-headers.js';
import { PipelinedRequests } from './pipelined.js';
import { rawAnswer } from './raw-answer.js';
import { answerAndClose } from './unread-body.js';

/** How long a client may take to close its connection once it was told that the server closes. */
const LINGER_MS = 250;
/** A turn of the event loop in which a connection may have come after the look for one took longer than this. */
const SHORT_TURN_MS = 0.25;
const PAUSE_MS = 1;
const MOST_LISTENERS = 20;

/**
 * HttpServers makes the servers of a front, one for each address of its host, and closes them so that every
 * request on a connection that was accepted gets an answer. Node's own way to close a server loses some
 * requests: it ends the connections that are idle, and a request that is on its way there is reset.
 */
export class HttpServers {
  private readonly servers: Server[] = [];
  private handler: RequestListener | undefined;
  private settings: Omit<TlsOptions, 'key'> = {};
  /** The connections that can be answered, and the requests on each that are not answered yet. */
  private readonly connections = new Map<Socket, Set<ServerResponse>>();
  /** All sockets, of which TLS has one more for each connection. */
  private readonly sockets = new Set<Socket>();
  private readonly listeners: ((server: Server) => void)[] = [];
  private readonly dismissed = new WeakSet<Socket>();
  private readonly crowdListeners: (() => void)[] = [];
  private readonly pipelined = new PipelinedRequests(() => {
    for (const listener of this.crowdListeners) listener();
  });
  private isClosing = false;
  /** The requests to infer that crossed the words that the server closes, which they have as their answer. */
  crossedRequests = 0;

  /** @param tls certificates and keys; without them, the servers speak plain HTTP */
  constructor(private readonly tls?: TlsOptions) {}

  /** make is the `serverFactory` of fastify. */
  make = (handler: RequestListener, options: FastifyServerOptions & { http?: object | null }): Server => {
    const { requestTimeout = 0, keepAliveTimeout, connectionTimeout = 0, http } = options;
    // A request on a connection that was dismissed has had its answer. Another one would end the connection
    // too soon.
    this.handler = (request, response) => {
      // Each part of a front listens for the end of a response, and Node warns of more than ten.
      response.setMaxListeners(MOST_LISTENERS);
      if (this.dismissed.has(request.socket)) {
        if (request.method === 'POST') this.crossedRequests += 1;
        request.resume();
      } else this.pipelined.take(request, response, () => handler(request, response));
    };
    this.settings = { ...http, requestTimeout, ...(keepAliveTimeout !== undefined && { keepAliveTimeout }) };
    return this.another(connectionTimeout);
  };

  /** each calls a function for each server, also for those that are made later. */
  each(listener: (server: Server) => void): void {
    this.listeners.push(listener);
    for (const server of this.servers) listener(server);
  }

  /** onCrowded calls a function for each connection that is closed since too many requests wait on it. */
  onCrowded(listener: () => void): void {
    this.crowdListeners.push(listener);
  }

  /** listenOnOthers listens on the other addresses of a host too, as far as they are free; a name may have several. */
  async listenOnOthers(host: string): Promise<void> {
    const main = this.servers[0]?.address() as AddressInfo;
    const found = await lookup(host, { all: true }).catch(() => []);
    for (const { address } of found) {
      if (address === main.address) continue;
      const server = this.another(0);
      server.on('checkContinue', (...exchange) => this.servers[0]?.emit('checkContinue', ...exchange));
      server.on('clientError', (...failure) => this.servers[0]?.emit('clientError', ...failure));
      server.listen({ host: address, port: main.port });
      await once(server, 'listening').catch(() => this.servers.splice(this.servers.indexOf(server), 1));
    }
  }

  /** renew puts other certificates and keys in force, for connections that are made from now on. */
  renew(tls: TlsOptions): void {
    for (const server of this.servers) (server as TlsServer).setSecureContext(tls);
  }

  /** addresses lists where the servers listen. */
  get addresses(): string[] {
    return this.servers.flatMap((server) => (server.address() as AddressInfo | null)?.address ?? []);
  }

  /**
   * close takes in the connections that the system holds, and takes no more then. It tells these and all
   * others without a request that the server closes, waits for the answers to others, and ends them. A
   * request that crosses these words on its way has them as its answer. A request that is open after `mostMs`
   * is answered the same where no answer has begun, and ended. A connection that comes between the last look
   * for one and the end of listening, some hundredths of a millisecond later, is reset by the system.
   */
  async close(mostMs: number): Promise<void> {
    const until = performance.now() + mostMs;
    const greetings = await this.stopListening(mostMs / 2);
    this.isClosing = true;
    for (const greet of greetings) greet();
    for (const [socket, open] of this.connections) if (open.size === 0) this.dismiss(socket);
    await this.allGone(until - performance.now());
    for (const open of this.connections.values()) for (const response of open) refuse(response);
    await this.allGone(this.connections.size === 0 ? 0 : LINGER_MS);
    for (const socket of this.sockets) socket.destroy();
  }

  private another(connectionTimeout: number): Server {
    const { settings, tls, handler } = this;
    const { requestTimeout = 0 } = settings;
    const handshake = requestTimeout > 0 ? { handshakeTimeout: requestTimeout } : {};
    const server =
      tls === undefined
        ? createServer(settings, handler)
        : createTlsServer({ ...settings, ...handshake, ...tls }, handler);
    server.setTimeout(connectionTimeout);
    server.on('connection', (socket: Socket) => this.hold(socket));
    server.on(tls === undefined ? 'connection' : 'secureConnection', (socket: Socket) => this.greet(socket));
    server.on('request', ({ socket }, response) => this.opened(socket, response));
    this.servers.push(server);
    for (const listener of this.listeners) listener(server);
    return server;
  }

  private hold(socket: Socket): void {
    this.sockets.add(socket);
    socket.once('close', () => this.sockets.delete(socket));
  }

  private greet(socket: Socket): void {
    this.connections.set(socket, new Set());
    socket.once('close', () => this.connections.delete(socket));
    if (this.isClosing) this.dismiss(socket);
  }

  private opened(socket: Socket, response: ServerResponse): void {
    const open = this.connections.get(socket);
    open?.add(response);
    response.once('close', () => {
      open?.delete(response);
      if (this.isClosing && open?.size === 0) this.dismiss(socket);
    });
  }

  /**
   * stopListening first accepts the connections that the system holds for this process, which it resets when
   * listening ends. It does nothing else with them, since Node accepts one in a turn of the event loop, and a
   * turn that answers clients may take so long on a busy machine that more come meanwhile. Listening ends
   * after a short turn in which none came. A turn that follows a pause is the least likely to be interrupted
   * by the system.
   * @param mostMs the most time that this may take
   * @returns what greets these connections as any others
   */
  private async stopListening(mostMs: number): Promise<(() => void)[]> {
    const until = performance.now() + mostMs;
    const greetings: (() => void)[] = [];
    for (const server of this.servers) {
      const listeners = server.rawListeners('connection') as ((socket: Socket) => void)[];
      server.removeAllListeners('connection');
      server.on('connection', (socket: Socket) => {
        greetings.push(() => {
          for (const listener of listeners) listener.call(server, socket);
        });
      });
    }
    for (;;) {
      const before = greetings.length;
      await turn();
      if (greetings.length > before && performance.now() < until) continue;
      await sleep(PAUSE_MS);
      const startMs = performance.now();
      await turn();
      const endMs = performance.now();
      if (endMs < until && (greetings.length > before || endMs - startMs > SHORT_TURN_MS)) continue;
      // The method of Node's HTTP servers would end the idle connections.
      for (const server of this.servers) if (server.listening) NetServer.prototype.close.call(server);
      return greetings;
    }
  }

  /** dismiss tells a client without a request that the server closes, and ends this side of the connection alone. */
  private dismiss(socket: Socket): void {
    if (!socket.writable || this.dismissed.has(socket)) return;
    this.dismissed.add(socket);
    socket.end(rawAnswer(503, CLOSING, RETRY));
  }

  /** allGone waits until no connection is left, and at most `mostMs`. */
  private async allGone(mostMs: number): Promise<void> {
    const until = performance.now() + mostMs;
    while (this.connections.size > 0 && performance.now() < until) await sleep(5);
  }
}

/** The answer to a client whose request is not served because the server closes. */
const CLOSING = { error: 'Dropped at the entry: the server is closing', reason: 'draining', place: 'entry' };
const RETRY = { 'retry-after': RETRY_AFTER_S };

function refuse(response: ServerResponse): void {
  if (response.headersSent) return;
  const headers = { 'content-type': JSON_TYPE, ...RETRY };
  answerAndClose(response.req, response, { status: 503, headers, body: JSON.stringify(CLOSING) });
}
