import fastify, { type FastifyInstance } from 'fastify';
import type { Registry } from 'prom-client';
import type { Doorkeeper } from './access-hook.js';
import { answerBroken } from './broken-request.js';
import {
  type ClosedConnections,
  type ConnectionLimits,
  limitConnections,
  timeoutSettings,
} from './connections.js';
import { refuseOddRequests } from './http-demands.js';
import type { HttpServers } from './http-servers.js';

/** addMetrics answers `GET /metrics` for Prometheus. */
export function addMetrics(app: FastifyInstance, registry: Registry): void {
  app.get('/metrics', async (_request, reply) =>
    reply.type(registry.contentType).send(await registry.metrics()),
  );
}

/**
 * makeMetricsFront makes a server of metrics alone, for a port of their own. It asks its clients for what the other port
 * asks for, and holds them to the same limits.
 */
export function makeMetricsFront(parts: {
  readonly registry: Registry;
  readonly servers: HttpServers;
  readonly doorkeeper: Doorkeeper;
  readonly closed: ClosedConnections;
  readonly connections: ConnectionLimits;
}): FastifyInstance {
  const { registry, servers, doorkeeper, closed, connections } = parts;
  const app = fastify({
    return503OnClosing: false,
    serverFactory: servers.make,
    exposeHeadRoutes: false,
    ...timeoutSettings(connections),
    clientErrorHandler: answerBroken,
  });
  limitConnections(app, { servers, closed }, connections);
  refuseOddRequests(app, servers);
  doorkeeper.guard(app);
  addMetrics(app, registry);
  app.setNotFoundHandler(({ url }, reply) =>
    reply.code(404).send({ error: `There is nothing at ${url}; this port has /metrics alone` }),
  );
  return app;
}
