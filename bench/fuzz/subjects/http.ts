import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startServer } from '../../../src/runtime/index.js';
import type { Dice } from '../../seeded/dice.js';
import type { CaseResult } from '../../seeded/every-case.js';
import { type Material, WIDTH } from '../material.js';
import { type MadeRequest, mutateRequest } from '../mutate-request.js';
import { type Answer, RawClient } from '../raw-client.js';
import type { Subject } from '../subject.js';
import { Cost } from '../watch.js';

/** The statuses that the protocol and HTTP have for faults of a client. A 500 would be a bug in the server. */
const STATUSES: readonly number[] = [200, 400, 403, 404, 405, 408, 413, 414, 415, 417, 431, 503];
/** What a request says of itself where it comes from a page, or to a name, that the server does not let in. */
const FOREIGN = /\b(host|origin): /;
/** Even on a busy machine no answer takes longer. */
const ANSWER_MS = 15_000;
const REQUEST_TIMEOUT_MS = 600;
/** The largest body that is accepted. It is small, so that cases can exceed it. */
const MOST_BODY_BYTES = 512 * 1024;
/** The most bytes of an answer that refuses a request, whatever is wrong with it. */
const MOST_REFUSAL_BYTES = 32 * 1024;
const TOLERANCE = 1e-4;

/** http tries requests on a running server: bodies, tensors, framings, headers and paths. */
export async function http({ folder, files }: Material): Promise<Subject> {
  const server = await startServer(join(folder, files.bundle), {
    port: 0,
    sloMs: 20_000,
    policy: ['formation=eager'],
    requestTimeoutMs: REQUEST_TIMEOUT_MS,
    maxBodyBytes: MOST_BODY_BYTES,
  });
  const port = Number(new URL(server.url).port);
  const right = await RightRequest.of(port);
  return { run: (dice, folder) => oneRequest(dice, { port, right, folder }), close: () => server.close() };
}

/** RightRequest is a valid request with a known answer. */
class RightRequest {
  private constructor(
    private readonly bytes: Buffer,
    private readonly expected: readonly number[],
  ) {}

  static async of(port: number): Promise<RightRequest> {
    const data = Array.from({ length: WIDTH }, (_, i) => i / 4);
    const body = JSON.stringify({ inputs: [{ name: 'x', shape: [1, WIDTH], datatype: 'FP32', data }] });
    const head = `POST /v2/models/dense/infer HTTP/1.1\r\nhost: localhost\r\ncontent-length: ${body.length}\r\ncontent-type: application/json\r\n\r\n`;
    const bytes = Buffer.from(head + body);
    const client = new RawClient(port);
    await client.send([bytes], false);
    const first = await client.answer(ANSWER_MS);
    client.destroy();
    if (typeof first === 'string' || first.status !== 200)
      throw new Error(`the server does not answer a right request: ${JSON.stringify(first)}`);
    return new RightRequest(bytes, outputOf(first));
  }

  /** faults sends the request on a connection and looks at the answer. */
  async faults(client: RawClient, when: string): Promise<string[]> {
    await client.send([this.bytes], false);
    const answer = await client.answer(ANSWER_MS);
    if (typeof answer === 'string') return [`a right request ${when} got no answer: ${answer}`];
    if (answer.status !== 200)
      return [`a right request ${when} got ${answer.status}: ${answer.body.toString().slice(0, 300)}`];
    const isRight = outputOf(answer).every(
      (value, i) => Math.abs(value - (this.expected[i] as number)) < TOLERANCE,
    );
    return isRight
      ? []
      : [`a right request ${when} got a wrong answer: ${answer.body.toString().slice(0, 300)}`];
  }
}

function outputOf({ body }: Answer): number[] {
  return (JSON.parse(body.toString()) as { outputs: { data: number[] }[] }).outputs[0]?.data ?? [];
}

interface Try {
  readonly port: number;
  readonly right: RightRequest;
  readonly folder: string;
}

async function oneRequest(dice: Dice, { port, right, folder }: Try): Promise<CaseResult> {
  const made = mutateRequest(dice);
  writeFileSync(join(folder, 'request.bin'), Buffer.concat(made.pieces));
  const cost = new Cost();
  const client = new RawClient(port);
  const faults: string[] = [];
  let outcome = 'no answer';
  try {
    await client.send(made.pieces, made.isSlow);
    outcome =
      made.framing === 'whole'
        ? await whole(made, client, right, faults)
        : await brokenOff(made, client, faults);
  } catch (error) {
    faults.push((error as Error).message);
  } finally {
    client.destroy();
  }
  if (made.framing === 'broken' || faults.length > 0) {
    const fresh = new RawClient(port);
    faults.push(...(await right.faults(fresh, 'on a new connection afterwards')));
    fresh.destroy();
  }
  faults.push(...cost.faults(10_000));
  return { what: made.what, outcome, faults };
}

/**
 * whole expects one answer, and then a right answer to a valid request on the same connection, where that stays open.
 */
async function whole(
  made: MadeRequest,
  client: RawClient,
  right: RightRequest,
  faults: string[],
): Promise<string> {
  if (made.after === 'end') client.end();
  const answer = await client.answer(ANSWER_MS, isHead(made));
  if (typeof answer === 'string') {
    faults.push(`there was no answer: ${answer}`);
    return answer;
  }
  faults.push(...answerFaults(answer, made));
  if (answer.headers.get('connection') === 'close' || made.after === 'end') {
    const after = await client.answer(ANSWER_MS);
    if (after !== 'closed' || client.unread > 0)
      faults.push(`after the last answer came more: ${JSON.stringify(after)}`);
  } else faults.push(...(await right.faults(client, 'afterwards')));
  return String(answer.status);
}

function isHead({ pieces }: MadeRequest): boolean {
  return pieces[0]?.subarray(0, 5).toString() === 'HEAD ';
}

/** brokenOff expects that the server answers or ends the connection, whatever was sent. */
async function brokenOff(made: MadeRequest, client: RawClient, faults: string[]): Promise<string> {
  if (made.after === 'destroy') return 'left';
  if (made.after === 'end') client.end();
  const outcomes: string[] = [];
  for (;;) {
    const waitMs = made.after === 'wait' ? 5 * REQUEST_TIMEOUT_MS : ANSWER_MS;
    const answer = await client.answer(waitMs, isHead(made));
    if (typeof answer === 'string') {
      const mayStayOpen = made.after === 'wait' && outcomes.length > 0;
      if (answer === 'silent' && !mayStayOpen)
        faults.push('the server neither answered nor ended the connection');
      return outcomes[0] === undefined ? `broken: ${answer}` : `broken: ${outcomes[0]}`;
    }
    outcomes.push(String(answer.status));
    faults.push(...answerFaults(answer, made));
    // Only the first request is known to be HEAD, whose answer has no body.
    if (made.after === 'wait' || isHead(made)) return `broken: ${outcomes[0]}`;
  }
}

function answerFaults({ status, headers, body }: Answer, { what }: MadeRequest): string[] {
  const text = body.toString();
  if (!STATUSES.includes(status)) return [`the answer is ${status}: ${text.slice(0, 500)}`];
  if (status === 403 && !FOREIGN.test(what)) return [`403 came to a request of this machine: ${text}`];
  if (headers.has('x-forged')) return [`${status} came with a header of the client's making`];
  if (status >= 400 && body.length > MOST_REFUSAL_BYTES) return [`${status} came with ${body.length} bytes`];
  if (status === 503 && !headers.has('retry-after')) return ['503 came without Retry-After'];
  if (status < 400 || text === '') return [];
  // Some clients read an error of no other type.
  const type = headers.get('content-type');
  if (type !== 'application/json') return [`${status} came with the content type ${type}`];
  try {
    const { error, ready } = JSON.parse(text) as { error?: unknown; ready?: unknown };
    return typeof error === 'string' || ready !== undefined
      ? []
      : [`${status} came without words: ${text.slice(0, 300)}`];
  } catch {
    return [`${status} came with what is no JSON: ${text.slice(0, 300)}`];
  }
}
