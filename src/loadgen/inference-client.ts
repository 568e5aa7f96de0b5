import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import { Pool } from 'undici';
import { itemAt } from '../collections/index.js';
import { errorFields, type Fault, fault, InputError, MissingError, option } from '../formats/index.js';
import { type ClientAccess, NO_ACCESS } from './client-access.js';
import { type CountedExecutions, isCounted } from './counted-executions.js';
import { bodyOf, type Encoded } from './encode-request.js';
import { type Answered, InferAnswer } from './infer-answer.js';
import { DESCRIBE_TIMEOUT_MS, whyNoAnswer } from './no-answer.js';
import { AnswerReader, MIB, TooMuch } from './read-answer.js';
import {
  configuredProperties,
  isMetadata,
  type Metadata,
  type RemoteModel,
  readMetadata,
} from './remote-model.js';
import { errorIn, redirection } from './told-errors.js';
import type { LoadOptions } from './types.js';

/** ClientOptions says how a client speaks to a server, and what it takes from it. */
export type ClientOptions = Pick<
  LoadOptions,
  'connections' | 'timeoutS' | 'access' | 'maxAnswerBytes' | 'maxAnswersBytes' | 'maxDescriptionBytes'
>;

const DEFAULT_CONNECTIONS = 512;
const DEFAULT_TIMEOUT_S = 30;
/** A server may list more models than anybody asks for. */
const MOST_MODELS = 1000;
/** A server that sheds load says: not now (503), too many (429), or not in the time that it or its proxy gives (408, 504). */
const DROPPED = new Set([408, 429, 503, 504]);
/** The protocol's name for tensors as bytes behind the JSON. */
const BINARY = 'binary_tensor_data';

/** InferenceClient speaks the Open Inference Protocol to one server over many connections. The caller closes it. */
export class InferenceClient {
  private readonly pool: Pool;
  /** The prefix of all paths of the server. */
  private readonly prefix: string;
  private readonly answers: AnswerReader;
  private readonly headers: ClientAccess['headers'];
  private readonly descriptionBytes: number;
  private readonly timeoutMs: number;
  private describedBytes = 0;

  constructor(
    readonly url: string,
    options: ClientOptions,
  ) {
    const { timeoutS = DEFAULT_TIMEOUT_S, access = NO_ACCESS } = options;
    const timeout = Math.ceil(timeoutS * 1000);
    this.timeoutMs = timeout;
    this.headers = access.headers;
    this.descriptionBytes = options.maxDescriptionBytes ?? 16 * MIB;
    this.answers = new AnswerReader({
      oneBytes: options.maxAnswerBytes ?? 64 * MIB,
      allBytes: options.maxAnswersBytes ?? 512 * MIB,
      wholeMs: timeout,
    });
    const { origin, pathname } = new URL(url);
    this.prefix = pathname.replace(/\/+$/, '');
    this.pool = new Pool(origin, {
      connections: options.connections ?? DEFAULT_CONNECTIONS,
      headersTimeout: timeout,
      bodyTimeout: timeout,
      connect: { timeout: Math.min(timeout, 10_000), ...access.tls },
    });
  }

  /**
   * describe asks for a model's description. Without a name it asks for the only model served.
   * @throws MissingError where the server lacks the model; InputError where no server answers, or several
   *   models leave the choice open
   */
  async describe(name?: string): Promise<RemoteModel> {
    const model = name ?? (await this.onlyModel());
    const { status, json } = await this.json('GET', `/v2/models/${encodeURIComponent(model)}`);
    if (status === 404) {
      const { error = '' } = json as { error?: string };
      const why = error.includes(model) ? error : withSaid(`has no model ${model}`, error);
      throw new MissingError(`load ${this.url}`, [fault(why)]);
    }
    if (status !== 200) throw this.refused([fault(`answers ${status} when asked for model ${model}`)]);
    if (!isMetadata(json))
      throw this.refused([
        fault(`describes model ${model} in a way that the Open Inference Protocol does not know`),
      ]);
    const properties = json.properties ?? (await this.configured(model));
    return readMetadata(properties === undefined ? json : { ...json, properties });
  }

  /**
   * configured gives what a bundle for Triton has in a model's configuration, since Triton reports no properties. It
   * never rejects.
   */
  private async configured(model: string): Promise<Metadata['properties']> {
    try {
      const { status, json } = await this.json('GET', `/v2/models/${encodeURIComponent(model)}/config`);
      return status === 200 ? configuredProperties(json) : undefined;
    } catch {
      return undefined;
    }
  }

  /**
   * infer sends one request and reads the whole answer. Status 408, 429, 503 and 504 count as dropped. It never rejects:
   * every other error or status becomes an answer of kind `failed`, an abort too.
   * @param index the number of the request, by which its id is one that no other has
   */
  async infer(request: Encoded, index: number, signal?: AbortSignal): Promise<Answered> {
    try {
      const { path, headers, outputs } = request;
      const response = await this.pool.request({
        path: this.prefix + path,
        method: 'POST',
        headers: { ...this.headers, ...headers },
        // undici takes what can be iterated, which its types do not say.
        body: bodyOf(request, index) as unknown as Readable,
        onInfo: patient(this.timeoutMs),
        ...(signal ? { signal } : {}),
      });
      const { statusCode: status } = response;
      if (status !== 200) {
        const said = errorIn(await this.answers.start(response.body));
        if (DROPPED.has(status)) return { kind: 'dropped', status };
        return {
          kind: 'failed',
          why: withSaid(`status ${status}`, redirection(status, response.headers) ?? said),
        };
      }
      const bytes = await this.answers.read(response.body, response.headers['content-length']);
      const header = response.headers['inference-header-content-length'];
      const answer = new InferAnswer(bytes, header === undefined ? bytes.byteLength : Number(header));
      return {
        kind: 'answered',
        fault: () => answer.fault(outputs),
        outputs: () => answer.outputs(),
        answeredBy: () => answer.answeredBy(),
      };
    } catch (error) {
      const { code, message } = errorFields(error);
      return { kind: 'failed', why: code ?? message ?? String(error) };
    }
  }

  /**
   * executions asks what the server has counted of a model and its batches. It gives undefined where the server does not
   * tell, and never rejects.
   * @param since the `sequence` of an earlier answer; times are then of the batches since
   */
  async executions(name: string, since = 0): Promise<CountedExecutions | undefined> {
    try {
      const path = `/v2/models/${encodeURIComponent(name)}/executions?since=${since}`;
      const { status, json } = await this.json('GET', path);
      return status === 200 && isCounted(json) ? json : undefined;
    } catch {
      return undefined;
    }
  }

  /** close ends all connections at once. Open requests fail. */
  async close(): Promise<void> {
    await this.pool.destroy();
  }

  /** takesBinary says whether the server reports that it takes tensors as bytes. It never rejects. */
  async takesBinary(): Promise<boolean> {
    const { extensions } = await this.ofItself();
    return Array.isArray(extensions) && extensions.includes(BINARY);
  }

  /** serverName gives the name and version that the server reports. It never rejects. */
  async serverName(): Promise<string | undefined> {
    const { name, version } = await this.ofItself();
    return typeof name === 'string'
      ? [name, version].filter((one) => typeof one === 'string').join(' ')
      : undefined;
  }

  private async ofItself(): Promise<Readonly<Record<string, unknown>>> {
    try {
      const { status, json } = await this.json('GET', '/v2');
      return status === 200 ? ((json ?? {}) as Record<string, unknown>) : {};
    } catch {
      return {};
    }
  }

  /**
   * modelNames lists the models that the server has: those of its repository's index (Triton, MLServer), or else of
   * `/v2/models` (KServe). It is empty where the server reports none.
   * @throws InputError where no server answers within 5 s, or its list is not in JSON
   */
  async modelNames(): Promise<string[]> {
    // MLServer refuses to be asked without a body.
    const index = await this.json('POST', '/v2/repository/index', '{}');
    const indexed = listedModels(index);
    const names = indexed.length > 0 ? indexed : listedModels(await this.json('GET', '/v2/models'));
    if (names.length <= MOST_MODELS) return names;
    const told = `lists ${names.length} models, and at most ${MOST_MODELS} are looked at`;
    throw this.refused([fault(told)], `Name one with ${option('model')}.`);
  }

  private async onlyModel(): Promise<string> {
    const names = await this.modelNames();
    if (names.length === 1) return itemAt(names, 0);
    const told =
      names.length === 0
        ? 'does not say which models it has, or none of them is ready'
        : `has several models: ${names.join(', ')}`;
    throw this.refused([fault(told)], `Name one with ${option('model')}.`);
  }

  /** json asks a server of itself. Where the status is not 200, `json` is what could be read of an error. */
  private async json(method: 'GET' | 'POST', path: string, body?: string): Promise<Told> {
    try {
      const response = await this.pool.request({
        method,
        path: this.prefix + path,
        onInfo: patient(DESCRIBE_TIMEOUT_MS),
        headersTimeout: DESCRIBE_TIMEOUT_MS,
        bodyTimeout: DESCRIBE_TIMEOUT_MS,
        headers: { ...this.headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
        ...(body === undefined ? {} : { body }),
      });
      const { statusCode: status, headers } = response;
      const text = Buffer.from(await this.described(response.body, headers)).toString();
      this.refuseRefusal(status, headers, text);
      if (status !== 200) return { status, json: { error: errorIn(Buffer.from(text)) } };
      return { status, json: text === '' ? {} : (JSON.parse(text) as unknown) };
    } catch (error) {
      if (error instanceof InputError) throw error;
      if (error instanceof TooMuch)
        throw this.refused(
          [fault(`${path}: ${error.message}, which is what it may tell of itself`)],
          `Raise the limit with ${option('maxDescription')} if the server is to be trusted.`,
        );
      if (error instanceof SyntaxError)
        throw this.refused([fault(`answers ${path} with something other than JSON`)]);
      const { why, advice } = await whyNoAnswer(this.url, error as NodeJS.ErrnoException);
      throw this.refused([fault(why)], advice);
    }
  }

  /** described reads what a server reports about itself, which together is bounded. */
  private async described(body: Readable, headers: IncomingHttpHeaders): Promise<Uint8Array> {
    const left = Math.max(0, this.descriptionBytes - this.describedBytes);
    const limits = { oneBytes: left, allBytes: left, wholeMs: DESCRIBE_TIMEOUT_MS };
    const bytes = await new AnswerReader(limits).read(body, headers['content-length']);
    this.describedBytes += bytes.byteLength;
    return bytes;
  }

  /** refuseRefusal throws where a server lets nobody in without a token, or sends its clients elsewhere. */
  private refuseRefusal(status: number, headers: IncomingHttpHeaders, text: string): void {
    const elsewhere = redirection(status, headers);
    if (elsewhere !== undefined) throw this.refused([fault(`answers ${status}: ${elsewhere}`)]);
    if (status !== 401 && status !== 403) return;
    const said = errorIn(Buffer.from(text));
    const isKnown = 'authorization' in this.headers;
    const remedy = isKnown ? 'The server does not know the token that was sent' : 'Give a token';
    const advice =
      status === 401
        ? `${remedy}${isKnown ? '; name the file of another' : ''} with ${option('tokenFile')}.`
        : undefined;
    throw this.refused([fault(withSaid(`answers ${status}`, said))], advice);
  }

  private refused(faults: Fault[], advice?: string): InputError {
    return new InputError(`load ${this.url}`, faults, advice);
  }
}

/** Told is what a server reports about itself. */
interface Told {
  readonly status: number;
  readonly json: unknown;
}

/** States of a model in which it answers nothing. */
const NOT_SERVED = new Set<unknown>(['UNAVAILABLE', 'LOADING', 'UNLOADING']);

/** listedModels gives the names in a list of models that a server serves: of names, or of what has one, also within `models`. */
function listedModels({ status, json }: Told): string[] {
  if (status !== 200) return [];
  const list = Array.isArray(json) ? json : (json as { models?: unknown } | null)?.models;
  if (!Array.isArray(list)) return [];
  const models = list.map(
    (model: unknown) => (typeof model === 'string' ? { name: model } : (model ?? {})) as ListedModel,
  );
  // Where a server reports states, what has none is in its repository and was not loaded (Triton).
  const tellsStates = models.some(hasState);
  const names = models.map((model) =>
    NOT_SERVED.has(model.state) || (tellsStates && !hasState(model)) ? undefined : model.name,
  );
  return [...new Set(names.filter((name) => typeof name === 'string'))];
}

interface ListedModel {
  readonly name?: unknown;
  readonly state?: unknown;
}

function hasState({ state }: ListedModel): boolean {
  return state !== undefined && state !== null && state !== '';
}

/** withSaid adds to a sentence what a server says, if anything. */
function withSaid(sentence: string, said: string): string {
  return said === '' ? sentence : `${sentence}: ${said}`;
}

/** patient hears of what a server says before its answer, which begins undici's wait anew, and ends the wait in time. */
function patient(timeoutMs: number): () => void {
  let fromMs: number | undefined;
  return () => {
    fromMs ??= performance.now();
    if (performance.now() - fromMs > timeoutMs)
      throw new TooMuch(`the answer did not begin within ${timeoutMs / 1000} s`);
  };
}
