import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { itemAt } from '../../collections/index.js';
import { tensorBytes } from '../../execution/index.js';
import { InputError } from '../../formats/index.js';
import type { Steps } from '../../protocol/index.js';
import type { CheckedBundle } from '../bundle/opened-bundle.js';
import { type CalledModel, findModel } from '../live/called-model.js';
import type { Counters } from '../live/counters.js';
import type { Intake, SubmitEnding } from '../live/submit.js';
import type { AnswerMemory } from './answer-memory.js';
import type { Bodies } from './bodies.js';
import { ClientGone } from './client-gone.js';
import { BYTES_TYPE, HEADER_LENGTH, JSON_TYPE } from './http-headers.js';
import { type InferRequest, inferRequestOf } from './infer-request.js';
import { type InferResponse, inferResponseOf } from './infer-response.js';
import { StatusError } from './status-error.js';
import type { Turns } from './turns.js';
import { answerAndClose, endIfSlow, worthKeeping } from './unread-body.js';

const NO_BODY = Buffer.alloc(0);

/** InferParts are the parts behind the routes for inference. */
export interface InferParts {
  readonly bundle: CheckedBundle;
  readonly intake: Intake;
  readonly counters: Counters;
  readonly bodies: Bodies;
  readonly answers: AnswerMemory;
  readonly turns: Turns;
}

type InferenceRequest = FastifyRequest<{ Params: CalledModel }>;

/** Exchange is a request and its reply, as fastify hands them over. */
interface Exchange {
  readonly request: InferenceRequest;
  readonly reply: FastifyReply;
}

/**
 * addInferRoutes adds the routes for inference. A request is admitted when its headers are here, read when its body is,
 * submitted, and answered by how it ended.
 */
export function addInferRoutes(app: FastifyInstance, parts: InferParts): void {
  const onRequest = (request: InferenceRequest, reply: FastifyReply, done: () => void): void =>
    admit(parts.intake, { request, reply }, done);
  const handle = (request: InferenceRequest, reply: FastifyReply) => infer(parts, { request, reply });
  app.post<{ Params: CalledModel }>('/v2/models/:model/infer', { onRequest }, handle);
  app.post<{ Params: CalledModel }>('/v2/models/:model/versions/:version/infer', { onRequest }, handle);
}

/** admit lets the body of a request be read, or answers it without. */
function admit(intake: Intake, exchange: Exchange, read: () => void): void {
  const { params, raw } = exchange.request;
  const admitted = intake.admit(params);
  switch (admitted.kind) {
    case 'unknown':
      throw new StatusError(404, admitted.why);
    case 'turnedAway':
      void admitted.ending.then((ending) => answerUnread(exchange, ending));
      return;
    case 'admitted':
      raw.once('end', () => admitted.ended(true));
      raw.once('close', () => admitted.ended(false));
      read();
      return;
  }
}

/** infer reads a request, submits it, and answers by how it ended. Long work is done in turns. */
async function infer(parts: InferParts, { request, reply }: Exchange): Promise<FastifyReply> {
  const { intake, bodies, turns } = parts;
  const isWanted = () => !reply.raw.closed;
  const wholeNs = intake.now();
  const body = (request.body as Buffer | undefined) ?? NO_BODY;
  const reading = turns.run(inferenceOf(parts, request, body), isWanted);
  const isLong = reading instanceof Promise;
  const inference = isLong ? await reading : reading;
  if (inference === undefined) return reply;
  const { inputs, timeoutUs, priority } = inference;
  const options = { cameNs: isLong ? intake.now() : wholeNs, wholeNs, timeoutUs, priority };
  const signal = new ClientGone(reply.raw);
  const ending = await intake.submit(request.params, inputs, { ...options, signal });
  if (ending.kind !== 'answered') {
    sendFailure(reply, failureOf(ending));
    return reply;
  }
  // Every batch with its rows has come back, so nothing uses the body any more.
  bodies.giveBack(body);
  bodies.release(request.raw);
  const response = await turns.run(responseOf(parts, { request, reply }, { inference, ending }), isWanted);
  if (response !== undefined) sendResponse(reply, response);
  return reply;
}

/**
 * inferenceOf reads a request in steps.
 * @throws InputError with the faults of the request, which is counted then; StatusError where there is no such model, or no
 *   memory for its tensors
 */
function* inferenceOf(
  { bundle, counters, bodies }: InferParts,
  { params, headers, raw }: InferenceRequest,
  body: Buffer,
): Steps<InferRequest> {
  const index = calledIndex(bundle, params);
  const headerLength = headers[HEADER_LENGTH] as string | undefined;
  const take = (bytes: number) => bodies.charge(raw, bytes);
  try {
    return yield* inferRequestOf(itemAt(bundle.models, index), body, { headerLength, take });
  } catch (error) {
    counters.refused(index);
    throw error;
  }
}

/** AnsweredInference is a request that was read, and its answer. */
interface AnsweredInference {
  readonly inference: InferRequest;
  readonly ending: Extract<SubmitEnding, { kind: 'answered' }>;
}

/** responseOf writes an answer in steps. Its outputs count beside it while it is written. */
function* responseOf(
  { answers, counters }: InferParts,
  { request, reply }: Exchange,
  { inference, ending }: AnsweredInference,
): Steps<InferResponse> {
  const take = (bytes: number) => answers.hold(reply.raw, bytes);
  const outputBytes = Object.values(ending.outputs).reduce((sum, tensor) => sum + tensorBytes(tensor), 0);
  const { model } = request.params;
  try {
    take(outputBytes);
    const response = yield* inferResponseOf({ model, request: inference, answer: ending }, take);
    take(-outputBytes);
    return response;
  } catch (error) {
    counters.unsent(model);
    throw error;
  }
}

/** sendResponse sends an answer. The pieces of one that is long are handed to the connection as it takes them. */
function sendResponse(reply: FastifyReply, { pieces, headerLength }: InferResponse): void {
  if (headerLength === undefined) reply.type(JSON_TYPE);
  else reply.type(BYTES_TYPE).header(HEADER_LENGTH, headerLength);
  const [piece, ...more] = pieces;
  if (more.length === 0) {
    void reply.send(piece);
    return;
  }
  const length = pieces.reduce((sum, { byteLength }) => sum + byteLength, 0);
  void reply.header('content-length', length).send(Readable.from(pieces));
}

/** calledIndex gives the index of the model that is called. @throws StatusError where there is none */
export function calledIndex(bundle: CheckedBundle, called: CalledModel): number {
  const index = findModel(bundle, called);
  if (typeof index !== 'number') throw new StatusError(404, index.why);
  return index;
}

/** answerUnread answers a request that was turned away as soon as its headers were here, without its body. */
function answerUnread({ request, reply }: Exchange, ending: UnansweredEnding): void {
  const failure = failureOf(ending);
  if (failure === undefined) return;
  if (worthKeeping(request.raw)) {
    sendFailure(reply, failure);
    endIfSlow(request.raw);
    return;
  }
  reply.hijack();
  const { status, headers, body } = failure;
  const whole = { status, headers: { 'content-type': JSON_TYPE, ...headers }, body: JSON.stringify(body) };
  answerAndClose(request.raw, reply.raw, whole);
}

/** UnansweredEnding is the ending of a request without outputs. */
type UnansweredEnding = Exclude<SubmitEnding, { kind: 'answered' }>;

/** Failure is the answer that a client gets for such an ending. */
interface Failure {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, string>>;
}

/** failureOf says an ending in the words of HTTP. It is undefined where the client is gone. */
function failureOf(ending: UnansweredEnding): Failure | undefined {
  switch (ending.kind) {
    case 'unknown':
      return { status: 404, headers: {}, body: { error: ending.why } };
    case 'refused': {
      const { message } = new InputError(`infer with ${ending.model}`, ending.faults);
      return { status: 400, headers: {}, body: { error: message } };
    }
    case 'dropped': {
      const { reason, place, stage, retryAfterS } = ending;
      const error = `Dropped at ${stage ?? 'the entry'}: ${DROP_WORDS[reason]}`;
      const body = { error, reason, place, ...(stage === undefined ? {} : { stage }) };
      return { status: 503, headers: { 'retry-after': String(retryAfterS) }, body };
    }
    case 'failed': {
      const error = `Cannot infer: ${ending.why || 'the execution failed'}`;
      return { status: 500, headers: {}, body: { error } };
    }
    case 'cancelled':
      return undefined;
  }
}

const DROP_WORDS = {
  deadline: 'it could not be answered by its deadline',
  'device-down': 'its device went down, or none came up, and no other could serve it in time',
  'queue-full': 'more requests are in flight than the server holds',
  draining: 'the server is closing',
  overload: 'more requests come than can be answered in time',
} as const;

function sendFailure(reply: FastifyReply, failure: Failure | undefined): void {
  if (failure !== undefined) void reply.code(failure.status).headers(failure.headers).send(failure.body);
}
