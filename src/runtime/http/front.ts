import fastify, { type FastifyInstance, type FastifyReply } from 'fastify';
import { thisTool } from '../../artifacts/index.js';
import { itemAt } from '../../collections/index.js';
import { InputError, type PlanServing } from '../../formats/index.js';
import { parseJson, WireFault } from '../../protocol/index.js';
import type { CheckedBundle } from '../bundle/opened-bundle.js';
import type { LiveModel } from '../bundle/pool-work.js';
import type { CalledModel } from '../live/called-model.js';
import type { Counters } from '../live/counters.js';
import type { Intake } from '../live/submit.js';
import type { Doorkeeper } from './access-hook.js';
import { AnswerMemory } from './answer-memory.js';
import { Bodies, type BodyLimits } from './bodies.js';
import { answerBroken } from './broken-request.js';
import {
  type ClosedConnections,
  type ConnectionLimits,
  limitConnections,
  timeoutSettings,
} from './connections.js';
import { ENCODINGS } from './content-encoding.js';
import { refuseOddRequests } from './http-demands.js';
import { BYTES_TYPE, HEADER_LENGTH, JSON_TYPE, RETRY_AFTER_S } from './http-headers.js';
import type { HttpServers } from './http-servers.js';
import { addInferRoutes, calledIndex } from './infer-route.js';
import { addMetrics } from './metrics-front.js';
import { modelConfig, modelExecutions, modelMetadata, statistics } from './model-descriptions.js';
import { StatusError } from './status-error.js';
import { Turns } from './turns.js';

const NO_BODY = Buffer.alloc(0);
const UNAVAILABLE = 'a pool has no device that is up and does not hang, or the server closes';
/** Sequences count batches. */
const SEQUENCE = /^\d{1,15}$/;
/** A path is quoted up to this many letters. */
const MOST_QUOTED = 200;
/** A request for the index holds one flag. */
const MOST_INDEX_BYTES = 4096;
/** The extensions of Triton that are here whole. Of `model_repository` and `schedule_policy` there are parts. */
const EXTENSIONS = ['binary_tensor_data', 'model_configuration', 'statistics'];

/** FrontParts are the parts behind the HTTP server. */
export interface FrontParts {
  readonly bundle: CheckedBundle;
  readonly intake: Intake;
  /** How the driver schedules, in the words of plans. */
  readonly serving: PlanServing;
  readonly counters: Counters;
  readonly servers: HttpServers;
  readonly doorkeeper: Doorkeeper;
  readonly hasMetricsElsewhere: boolean;
  readonly bodyLimits: BodyLimits;
  /** The most memory for the answers that are being written or sent. */
  readonly answersBytes: number;
  readonly connections: ConnectionLimits;
  readonly closed: ClosedConnections;
  /** ready says whether every pipeline, or each of one model, can serve and the server is not closing. */
  ready: (model?: number) => boolean;
  isClosing: () => boolean;
}

/**
 * makeFront makes the HTTP server, which does not listen yet. It answers the Open Inference Protocol (`/v2`, health, a
 * model's metadata, readiness and `infer`), of Triton's extensions a model's `config` and `stats` and the repository's
 * index, and `/metrics`. Beyond the limits of `parts`, it answers 413 to a body that is too large, 503 where all bodies
 * or answers are, and 408 to a request that takes too long to come.
 */
export function makeFront(parts: FrontParts): FastifyInstance {
  const app = fastify({
    bodyLimit: parts.bodyLimits.oneBytes,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    serverFactory: parts.servers.make,
    exposeHeadRoutes: false,
    ...timeoutSettings(parts.connections),
    clientErrorHandler: answerBroken,
    // A path that cannot be decoded has no route, and so comes to no error handler of a route.
    frameworkErrors: (error, _request, reply) =>
      void (reply as FastifyReply)
        .code(error.statusCode ?? 400)
        .type(JSON_TYPE)
        .send(Buffer.from(JSON.stringify({ error: cut(error.message) }))),
  });
  const bodies = new Bodies(parts.bodyLimits);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (request, _payload, done) =>
    bodies.read(request.raw, Number(request.headers[HEADER_LENGTH] ?? 0), done),
  );
  refuseOddRequests(app, parts.servers);
  parts.doorkeeper.guard(app);
  limitConnections(app, parts, parts.connections);
  addErrors(app);
  endWhenClosing(app, parts.isClosing);
  takeAnyContentType(app);
  answerPlainJson(app);
  addContinue(app, parts.bodyLimits.oneBytes);
  app.addHook('preParsing', (request, reply, payload, done) => {
    reply.raw.once('close', () => bodies.release(request.raw));
    done(null, payload);
  });
  addServerRoutes(app, parts);
  addModelRoutes(app, parts);
  addInferRoutes(app, {
    ...parts,
    bodies,
    answers: new AnswerMemory(parts.answersBytes),
    turns: new Turns(),
  });
  return app;
}

/**
 * endWhenClosing lets a client know with its answer that no other request is taken on its connection. An answer to a
 * request whose body is still coming does not, as it would be reset.
 */
function endWhenClosing(app: FastifyInstance, isClosing: () => boolean): void {
  app.addHook('onSend', ({ raw }, reply, payload, done) => {
    if (isClosing() && raw.complete) reply.header('connection', 'close');
    done(null, payload);
  });
}

/**
 * takeAnyContentType ignores the content type of a body. No route uses it, and a request is not to be refused for a
 * header that is empty or misspelt.
 */
function takeAnyContentType(app: FastifyInstance): void {
  app.addHook('onRequest', (request, _reply, done) => {
    if (request.headers['content-type'] !== undefined) request.headers['content-type'] = BYTES_TYPE;
    done();
  });
}

/**
 * answerPlainJson leaves out the charset of JSON, which has no such parameter. KServe's client does not read
 * the text of an error that it gets.
 */
function answerPlainJson(app: FastifyInstance): void {
  app.addHook('onSend', (_request, reply, payload, done) => {
    if (String(reply.getHeader('content-type')).startsWith(JSON_TYPE))
      reply.header('content-type', JSON_TYPE);
    done(null, payload);
  });
}

function addServerRoutes(app: FastifyInstance, parts: FrontParts): void {
  const { bundle, counters } = parts;
  const about = { name: 'inferplan', version: thisTool().version, extensions: EXTENSIONS };
  app.get('/v2', () => about);
  app.get('/v2/', () => about);
  app.get('/v2/health/live', () => ({ live: true }));
  app.get('/v2/health/ready', (_request, reply) => {
    const ready = parts.ready();
    return reply.code(ready ? 200 : 400).send({ ready });
  });
  app.post('/v2/repository/index', ({ body }) => {
    const isForReady = asksForReady(body as Buffer | undefined);
    return bundle.models.flatMap(({ name }, model) => {
      if (parts.ready(model)) return [{ name, version: '1', state: 'READY', reason: '' }];
      return isForReady ? [] : [{ name, version: '1', state: 'UNAVAILABLE', reason: UNAVAILABLE }];
    });
  });
  if (!parts.hasMetricsElsewhere) addMetrics(app, counters.registry);
}

/** asksForReady says whether the body of a request for the index asks for models alone that are ready. */
function asksForReady(body: Buffer = NO_BODY): boolean {
  if (body.byteLength === 0) return false;
  if (body.byteLength > MOST_INDEX_BYTES)
    throw new StatusError(413, `The body is too large; at most ${MOST_INDEX_BYTES} bytes are taken here`);
  try {
    const { value } = parseJson(body);
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      throw new StatusError(400, 'The body is no JSON object, such as {"ready": true}');
    const { ready = false } = value as { readonly ready?: unknown };
    if (typeof ready !== 'boolean') throw new StatusError(400, 'ready is neither true nor false');
    return ready;
  } catch (error) {
    throw error instanceof WireFault ? new StatusError(400, `The body ${error.message}`) : error;
  }
}

function addModelRoutes(app: FastifyInstance, parts: FrontParts): void {
  const { bundle, counters } = parts;
  const get = (path: string, handle: (model: LiveModel, index: number, reply: FastifyReply) => unknown) => {
    for (const route of [`/v2/models/:model${path}`, `/v2/models/:model/versions/:version${path}`]) {
      app.get<{ Params: CalledModel }>(route, (request, reply) => {
        const index = calledIndex(bundle, request.params);
        return handle(itemAt(bundle.models, index), index, reply);
      });
    }
  };
  get('', (model) => modelMetadata(model, parts));
  get('/config', (model) => modelConfig(model));
  get('/stats', (_model, index) => statistics(parts, [index]));
  app.get('/v2/models/stats', () => ({
    // A model may be called stats, and its metadata are at this path too.
    ...bundle.models.filter(({ name }) => name === 'stats').map((model) => modelMetadata(model, parts))[0],
    ...statistics(parts, [...bundle.models.keys()]),
  }));
  get('/executions', (_model, index, { request }) => {
    const { since = '0' } = request.query as { since?: string | string[] };
    if (typeof since !== 'string' || !SEQUENCE.test(since))
      throw new StatusError(400, 'since is not the sequence of an earlier answer, a whole number');
    return modelExecutions(index, { bundle, counters, since: Number(since) });
  });
  get('/ready', (model, index, reply) => {
    const ready = parts.ready(index);
    return reply.code(ready ? 200 : 400).send({ name: model.name, ready });
  });
}

/**
 * addContinue lets the routes answer "100 Continue" only after they have looked at the headers, for clients
 * that ask before they send a body.
 */
function addContinue(app: FastifyInstance, mostBytes: number): void {
  app.server.on('checkContinue', (request, response) => {
    app.server.emit('request', request, response);
  });
  app.addHook('preParsing', (request, reply, payload, done) => {
    const { expect, 'content-length': length = '0' } = request.headers;
    if (expect !== undefined && Number(length) <= mostBytes) reply.raw.writeContinue();
    done(null, payload);
  });
}

function addErrors(app: FastifyInstance): void {
  app.setErrorHandler((error: Error & { statusCode?: number }, _request, reply) => {
    if (error instanceof InputError) return reply.code(400).send({ error: error.message });
    const status = error.statusCode ?? 500;
    if (status === 503) reply.header('retry-after', RETRY_AFTER_S);
    if (status === 415) reply.header('accept-encoding', ENCODINGS);
    return reply
      .code(status)
      .send({ error: status < 500 || status === 503 ? error.message : 'A fault of the server' });
  });
  app.setNotFoundHandler((request, reply) => {
    const allowed = ['GET', 'POST'].filter(
      (method) => app.findRoute({ method, url: routeOf(request.url) }) !== null,
    );
    if (allowed.length === 0)
      return reply.code(404).send({ error: `There is nothing at ${cut(request.url)}` });
    const error = `${request.method} is not allowed here; allowed is ${allowed.join(', ')}`;
    return reply.code(405).header('allow', allowed.join(', ')).send({ error });
  });
}

function cut(text: string): string {
  return text.length > MOST_QUOTED ? `${text.slice(0, MOST_QUOTED)}…` : text;
}

/** routeOf turns a path into the pattern of its route, to look it up under another method. */
function routeOf(url: string): string {
  const path = url.split('?')[0] ?? url;
  return path
    .replace(/^\/v2\/models\/[^/]+/, '/v2/models/:model')
    .replace(/\/versions\/[^/]+/, '/versions/:version');
}
