import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Counter, type Registry } from 'prom-client';
import type { ServeEvent } from '../types.js';
import type { Access, Refused } from './access.js';
import { JSON_TYPE } from './http-headers.js';
import { answerAndClose, endIfSlow, worthKeeping } from './unread-body.js';

const HEALTH = '/v2/health/';
/** Refused requests are reported at most once in this time, and counted meanwhile. */
const TOLD_EVERY_MS = 10_000;

/**
 * Doorkeeper lets requests in or refuses them, and counts and reports both. Where tokens are asked for, it
 * does so by their names.
 */
export class Doorkeeper {
  private readonly refusals: Counter<'reason'>;
  private readonly byClient: Counter<'client' | 'code'> | undefined;
  private readonly known = new Set<string>();
  private refusedSince = 0;
  private toldAtMs = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly access: Access,
    registry: Registry,
    private readonly log: (event: ServeEvent) => void,
  ) {
    const registers = [registry];
    this.refusals = new Counter({
      name: 'inferplan_refused_total',
      help: 'Requests that were not let in',
      labelNames: ['reason'],
      registers,
    });
    if (access.hasTokens)
      this.byClient = new Counter({
        name: 'inferplan_client_requests_total',
        help: 'Requests by the name of their token and the status of their answer',
        labelNames: ['client', 'code'],
        registers,
      });
  }

  /** guard refuses requests of a front before anything else is done for them. */
  guard(app: FastifyInstance): void {
    app.addHook('onRequest', (request, reply, done) => {
      const { headers, raw, routeOptions, socket } = request;
      const isOfHealth = routeOptions.url?.startsWith(HEALTH) === true;
      const refused = this.access.refused(headers, socket.localAddress, isOfHealth);
      if (refused !== undefined) {
        this.countRefused(refused, socket.remoteAddress);
        refuse({ request, reply }, refused);
        return;
      }
      const name = this.access.nameOf(headers.authorization);
      if (name !== undefined) this.countClient(name, { request, reply });
      if (raw.destroyed) return;
      done();
    });
  }

  private countClient(name: string, { request, reply }: Exchange): void {
    const address = request.socket.remoteAddress ?? 'an address that is gone';
    if (!this.known.has(name)) this.log({ kind: 'clientCame', name, address });
    this.known.add(name);
    reply.raw.once('close', () => {
      const code = reply.raw.headersSent ? String(reply.raw.statusCode) : 'none';
      this.byClient?.inc({ client: name, code });
    });
  }

  private countRefused({ reason, why }: Refused, address = 'an address that is gone'): void {
    this.refusals.inc({ reason });
    this.refusedSince += 1;
    const now = performance.now();
    if (now - this.toldAtMs < TOLD_EVERY_MS) return;
    this.log({ kind: 'refused', requests: this.refusedSince, address, why });
    this.refusedSince = 0;
    this.toldAtMs = now;
  }
}

interface Exchange {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

/** refuse answers without reading the body. */
function refuse({ request, reply }: Exchange, { status, why, headers = {} }: Refused): void {
  const error = `Cannot let this request in: ${why}`;
  if (worthKeeping(request.raw)) {
    void reply.code(status).headers(headers).send({ error });
    endIfSlow(request.raw);
    return;
  }
  reply.hijack();
  const body = JSON.stringify({ error });
  answerAndClose(request.raw, reply.raw, {
    status,
    headers: { 'content-type': JSON_TYPE, ...headers },
    body,
  });
}
