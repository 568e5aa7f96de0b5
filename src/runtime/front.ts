import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { InputError, type PlanServing, thisTool } from '../artifacts/index.js';
import { parseJson, partOf, WireFault } from '../protocol/index.js';
import { Admission, answerAndClose, endIfSlow, worthKeeping } from './admission.js';
import { Bodies, type BodyLimits } from './bodies.js';
import { answerBroken } from './broken-request.js';
import { ENCODINGS } from './content-encoding.js';
import type { Counters } from './counters.js';
import { readInferRequest } from './infer-request.js';
import { writeInferResponse } from './infer-response.js';
import type { Ending, LiveDriver } from './live-driver.js';
import { modelConfig, modelExecutions, modelMetadata, statistics } from './model-descriptions.js';
import type { OpenedBundle } from './opened-bundle.js';
import type { LiveModel } from './pool-work.js';
import { refusedIndex } from './refused-index.js';
import { StatusError } from './status-error.js';

const HEADER_LENGTH = 'inference-header-content-length';
const RETRY_AFTER_S = '1';
/** How often connections are looked at whose request is overdue. */
const MOST_CHECKING_MS = 5000;
const NO_BODY = Buffer.alloc(0);
const ANY_BODY = 'application/octet-stream';
const JSON_TYPE = 'application/json';
/** The extensions of Triton that are here whole. Of `model_repository` and `schedule_policy` there are parts. */
const EXTENSIONS = ['binary_tensor_data', 'model_configuration', 'statistics'];

/** FrontParts are the parts behind the HTTP server. */
export interface FrontParts {
  readonly bundle: OpenedBundle;
  readonly driver: LiveDriver;
  /** How the driver schedules, in the words of plans. */
  readonly serving: PlanServing;
  readonly counters: Counters;
  readonly bodyLimits: BodyLimits;
  /** requestTimeoutMs is how long a client may take to send a request, from its connection or the last request on. */
  readonly requestTimeoutMs: number;
  /** ready says whether every pipeline can serve and the server is not closing. */
  ready: () => boolean;
}

/** Exchange is a request and its reply, as fastify hands them over. */
interface Exchange {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

interface ModelPath {
  model: string;
  version?: string;
}

/**
 * makeFront makes the HTTP server, which does not listen yet. It answers the Open Inference Protocol (`/v2`, health, a
 * model's metadata, readiness and `infer`), of Triton's extensions a model's `config` and `stats` and the repository's
 * index, and `/metrics`. Beyond the limits of `parts`, it answers 413 to a body that is too large, 503 where all bodies
 * are, and 408 to a request that takes too long to come.
 */
export function makeFront(parts: FrontParts): FastifyInstance {
  const { requestTimeoutMs } = parts;
  const app = fastify({
    bodyLimit: parts.bodyLimits.oneBytes,
    forceCloseConnections: 'idle',
    exposeHeadRoutes: false,
    requestTimeout: requestTimeoutMs,
    clientErrorHandler: answerBroken,
    // A path that cannot be decoded has no route, and so comes to no error handler of a route.
    frameworkErrors: (error, _request, reply) =>
      void (reply as FastifyReply)
        .code(error.statusCode ?? 400)
        .type(JSON_TYPE)
        .send(Buffer.from(JSON.stringify({ error: error.message }))),
    http: {
      headersTimeout: requestTimeoutMs,
      connectionsCheckingInterval: Math.min(MOST_CHECKING_MS, requestTimeoutMs / 4),
    },
  });
  const bodies = new Bodies(parts.bodyLimits);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (request, _payload, done) =>
    bodies.read(request.raw, Number(request.headers[HEADER_LENGTH] ?? 0), done),
  );
  addErrors(app);
  takeAnyContentType(app);
  answerPlainJson(app);
  addContinue(app, parts.bodyLimits.oneBytes);
  app.addHook('preParsing', (request, reply, payload, done) => {
    reply.raw.once('close', () => bodies.release(request.raw));
    done(null, payload);
  });
  addServerRoutes(app, parts);
  addModelRoutes(app, parts);
  addInferRoutes(app, parts, bodies);
  return app;
}

/**
 * takeAnyContentType ignores the content type of a body. No route uses it, and a request is not to be refused for a
 * header that is empty or misspelt.
 */
function takeAnyContentType(app: FastifyInstance): void {
  app.addHook('onRequest', (request, _reply, done) => {
    if (request.headers['content-type'] !== undefined) request.headers['content-type'] = ANY_BODY;
    done();
  });
}

/**
 * answerPlainJson leaves out the charset of JSON, which has no such parameter. KServe's client reads no text of an error
 * where it is told one.
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
    const state = parts.ready()
      ? { state: 'READY', reason: '' }
      : { state: 'UNAVAILABLE', reason: 'not every pool has a device that is up, or the server closes' };
    const isLeftOut = asksForReady(body as Buffer | undefined) && state.state !== 'READY';
    return isLeftOut ? [] : bundle.models.map(({ name }) => ({ name, version: '1', ...state }));
  });
  app.get('/metrics', async (_request, reply) => {
    const text = await counters.registry.metrics();
    return reply.type(counters.registry.contentType).send(text);
  });
}

/** asksForReady says whether the body of a request for the index asks for models alone that are ready. */
function asksForReady(body: Buffer = NO_BODY): boolean {
  if (body.byteLength === 0) return false;
  try {
    return partOf(parseJson(body), 'ready').value === true;
  } catch (error) {
    throw error instanceof WireFault ? new StatusError(400, `The body ${error.message}`) : error;
  }
}

function addModelRoutes(app: FastifyInstance, parts: FrontParts): void {
  const { bundle, counters } = parts;
  const get = (path: string, handle: (model: LiveModel, index: number, reply: FastifyReply) => unknown) => {
    for (const route of [`/v2/models/:model${path}`, `/v2/models/:model/versions/:version${path}`]) {
      app.get<{ Params: ModelPath }>(route, (request, reply) => {
        const index = modelIndex(bundle, request.params);
        return handle(bundle.models[index]!, index, reply);
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
    const since = Number((request.query as { since?: string }).since ?? 0);
    if (!(since >= 0)) throw new StatusError(400, 'since is not the sequence of an earlier answer');
    return modelExecutions(index, { bundle, counters, since });
  });
  get('/ready', (model, _index, reply) => {
    const ready = parts.ready();
    return reply.code(ready ? 200 : 400).send({ name: model.name, ready });
  });
}

function modelIndex(bundle: OpenedBundle, { model, version }: ModelPath): number {
  const index = bundle.models.findIndex(({ name }) => name === model);
  if (index < 0) {
    const known = bundle.models.map(({ name }) => name).join(', ');
    throw new StatusError(404, `There is no model ${JSON.stringify(model)}; the served models are ${known}`);
  }
  if (version !== undefined && version !== '1') {
    throw new StatusError(404, `Model ${model} has no version ${JSON.stringify(version)}; it has 1`);
  }
  return index;
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

function addInferRoutes(app: FastifyInstance, parts: FrontParts, bodies: Bodies): void {
  const { bundle, driver } = parts;
  const admission = new Admission(bundle, driver);
  const onRequest = (
    request: FastifyRequest<{ Params: ModelPath }>,
    reply: FastifyReply,
    done: () => void,
  ): void => {
    const index = modelIndex(bundle, request.params);
    if (admission.wouldDrop(index)) {
      turnAway(index, parts, { request, reply });
      return;
    }
    const ended = admission.reading(index);
    request.raw.once('end', () => ended(true));
    request.raw.once('close', () => ended(false));
    done();
  };
  const handle = (request: FastifyRequest<{ Params: ModelPath }>, reply: FastifyReply) => {
    const index = modelIndex(bundle, request.params);
    return infer(index, { ...parts, bodies }, { request, reply });
  };
  app.post<{ Params: ModelPath }>('/v2/models/:model/infer', { onRequest }, handle);
  app.post<{ Params: ModelPath }>('/v2/models/:model/versions/:version/infer', { onRequest }, handle);
}

/** turnAway answers a request that would be dropped as soon as its headers are here, without its body. */
function turnAway(index: number, { driver, counters }: FrontParts, { request, reply }: Exchange): void {
  counters.arrived(index);
  driver.turnAway(index, (ending, times) => {
    counters.ended(index, ending, times);
    if (ending.kind !== 'dropped') return;
    if (worthKeeping(request.raw)) {
      sendFailure(reply, ending);
      endIfSlow(request.raw);
      return;
    }
    reply.hijack();
    const headers = { 'content-type': JSON_TYPE, 'retry-after': RETRY_AFTER_S };
    const body = JSON.stringify(dropWords(ending));
    answerAndClose(request.raw, reply.raw, { status: 503, headers, body });
  });
}

/** infer serves one inference: it reads the request, submits it, and answers when the core has decided. */
function infer(
  index: number,
  { bundle, driver, counters, bodies }: FrontParts & { readonly bodies: Bodies },
  { request, reply }: Exchange,
): FastifyReply {
  const model = bundle.models[index]!;
  const arrivedAt = driver.now();
  const header = request.headers[HEADER_LENGTH];
  const body = (request.body as Buffer | undefined) ?? NO_BODY;
  const inference = reading(counters, index, () =>
    readInferRequest(model, body, header as string | undefined),
  );
  const allowedNs = Math.min(model.sloNs, 1e3 * (inference.timeoutUs ?? Number.POSITIVE_INFINITY));
  counters.arrived(index);
  const arrival = { at: arrivedAt, model: index, deadlineNs: arrivedAt + allowedNs };
  const ticket = driver.submit(arrival, inference.rows, (ending, times) => {
    counters.ended(index, ending, times);
    reply.raw.off('close', left);
    if (ending.kind !== 'answered') {
      const refused = ending.kind === 'failed' ? refusedIndex(ending.why, inference.rows) : undefined;
      if (refused === undefined) sendFailure(reply, ending);
      else void reply.code(400).send({ error: `Cannot infer with ${model.name}: ${refused}` });
      return;
    }
    let written: ReturnType<typeof writeInferResponse>;
    try {
      written = writeInferResponse(model.name, inference, ending);
    } catch (error) {
      // An answer may, for instance, be more text than one string holds. The client asked for it, so the
      // server goes on.
      const why = `the answer cannot be written, ask for binary data: ${(error as Error).message}`;
      sendFailure(reply, { kind: 'failed', why });
      return;
    }
    const { body: answer, headerLength } = written;
    // Every batch with its rows has come back and the answer is a copy, so nothing uses the body any more.
    bodies.giveBack(body);
    if (headerLength === undefined) void reply.type(JSON_TYPE).send(answer);
    else void reply.type('application/octet-stream').header(HEADER_LENGTH, headerLength).send(answer);
  });
  const left = () => {
    if (ticket.cancel()) counters.cancelled(index);
  };
  reply.raw.on('close', left);
  return reply;
}

function reading<T>(counters: Counters, index: number, read: () => T): T {
  try {
    return read();
  } catch (error) {
    counters.refused(index);
    throw error;
  }
}

function sendFailure(reply: FastifyReply, ending: Exclude<Ending, { kind: 'answered' }>): void {
  if (ending.kind === 'failed') {
    void reply.code(500).send({ error: `Cannot infer: ${ending.why || 'the execution failed'}` });
    return;
  }
  void reply.code(503).header('retry-after', RETRY_AFTER_S).send(dropWords(ending));
}

function dropWords({ reason, place }: Extract<Ending, { kind: 'dropped' }>): Record<string, string> {
  return { error: `Dropped: ${DROP_WORDS[reason]}`, reason, place };
}

const DROP_WORDS = {
  deadline: 'it could not be answered by its deadline',
  'device-down': 'its device went down, or none came up, and no other could serve it in time',
  'queue-full': 'more requests are in flight than the server holds',
  draining: 'the server is closing',
  overload: 'more requests come than can be answered in time',
} as const;

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
    if (allowed.length === 0) return reply.code(404).send({ error: `There is nothing at ${request.url}` });
    const error = `${request.method} is not allowed here; allowed is ${allowed.join(', ')}`;
    return reply.code(405).header('allow', allowed.join(', ')).send({ error });
  });
}

/** routeOf turns a path into the pattern of its route, to look it up under another method. */
function routeOf(url: string): string {
  const path = url.split('?')[0] ?? url;
  return path
    .replace(/^\/v2\/models\/[^/]+/, '/v2/models/:model')
    .replace(/\/versions\/[^/]+/, '/versions/:version');
}
