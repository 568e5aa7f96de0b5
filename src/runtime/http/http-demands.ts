import type { FastifyInstance } from 'fastify';
import type { HttpServers } from './http-servers.js';
import { rawAnswer } from './raw-answer.js';

/** OWN_DEMANDS leaves what HTTP demands of requests to `refuseOddRequests`, since Node refuses without a reason. */
export const OWN_DEMANDS = { requireHostHeader: false } as const;

/** refuseOddRequests answers 400 to a request of HTTP/1.1 without a host, and 417 to expectations that nobody meets. */
export function refuseOddRequests(app: FastifyInstance, servers: HttpServers): void {
  app.addHook('onRequest', ({ raw, headers }, reply, done) => {
    if (raw.httpVersion !== '1.1' || headers.host !== undefined) return done();
    reply.code(400).header('connection', 'close').send({ error: 'The request has no Host header' });
  });
  servers.each((server) =>
    server.on('checkExpectation', ({ socket }) => {
      const error = 'The header Expect can be met where it is 100-continue';
      socket.end(rawAnswer(417, { error }));
    }),
  );
}
