import { Pool } from 'undici';
import {
  type Fault,
  fault,
  InputError,
  MissingError,
  option,
  type PlanServing,
  type TensorSpec,
} from '../artifacts/index.js';
import { dtypeOfOip, elementCount, oipDatatype, type TensorData, type Tensors } from '../execution/index.js';
import {
  bytesOf,
  type Json,
  jsonOf,
  parseJson,
  partOf,
  tensorFromBytes,
  tensorFromJson,
  WireFault,
} from '../protocol/index.js';

/** RemoteModel is a model as a server describes it. */
export interface RemoteModel {
  name: string;
  inputs: TensorSpec[];
  outputs: TensorSpec[];
  sloMs?: number;
  /** The rate that it was planned for, and its weight among the models. Servers of others do not tell these. */
  plannedRps?: number;
  weight?: number;
  /** The digest of the plan that is served. */
  planSha256?: string;
  /** The notes of that plan, such as those on measurements that are unfit; absent where there are none. */
  planNotes?: string[];
  /** How the server schedules. */
  serving?: PlanServing;
}

/** Encoded is a request as it is sent, without the server's address. */
export interface Encoded {
  path: string;
  headers: Record<string, string>;
  body: Uint8Array;
  /** The names of the tensors that an answer must hold. */
  outputs: readonly string[];
}

/** Answered says how a request ended. */
export type Answered =
  | {
      kind: 'answered';
      /**
       * fault says why the answer lacks outputs of the model; it is undefined for a good answer. It does not
       * look at the data.
       */
      fault: () => string | undefined;
      /** outputs reads the output tensors. It throws where they cannot be read. */
      outputs: () => Tensors;
      /** answeredBy names the model of a cascade that answered each row, where a good answer tells. */
      answeredBy: () => readonly string[];
    }
  | { kind: 'dropped' }
  | { kind: 'failed'; why: string };

/** A server that does not describe its models within this time is taken to hang. */
const DESCRIBE_TIMEOUT_MS = 5000;
const WORDS: Readonly<Record<string, string>> = {
  ENOTFOUND: 'there is no such host (ENOTFOUND)',
  UND_ERR_SOCKET: 'the server closed the connection',
  UND_ERR_HEADERS_TIMEOUT: `none within ${DESCRIBE_TIMEOUT_MS / 1000} s`,
  UND_ERR_BODY_TIMEOUT: `none within ${DESCRIBE_TIMEOUT_MS / 1000} s`,
};

/** InferenceClient speaks the Open Inference Protocol to one server over many connections. The caller closes it. */
export class InferenceClient {
  private readonly pool: Pool;

  constructor(
    readonly url: string,
    options: { connections: number; timeoutS: number },
  ) {
    const timeout = options.timeoutS * 1000;
    this.pool = new Pool(url, {
      connections: options.connections,
      headersTimeout: timeout,
      bodyTimeout: timeout,
      connect: { timeout: Math.min(timeout, 10_000) },
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
      throw new MissingError(`load ${this.url}`, [
        fault((json as { error?: string }).error ?? `has no model ${model}`),
      ]);
    }
    if (status !== 200) throw this.refused([fault(`answers ${status} when asked for model ${model}`)]);
    if (!isMetadata(json))
      throw this.refused([
        fault(`describes model ${model} in a way that the Open Inference Protocol does not know`),
      ]);
    return readMetadata(json);
  }

  /**
   * infer sends one request and reads the whole answer. Status 503 counts as dropped. It never rejects: every other
   * error or status becomes an answer of kind `failed`, an abort too.
   */
  async infer(request: Encoded, signal?: AbortSignal): Promise<Answered> {
    try {
      const { path, headers, body, outputs } = request;
      const response = await this.pool.request({
        path,
        method: 'POST',
        headers,
        body,
        ...(signal ? { signal } : {}),
      });
      const bytes = new Uint8Array(await response.body.arrayBuffer());
      if (response.statusCode === 503) return { kind: 'dropped' };
      if (response.statusCode !== 200)
        return { kind: 'failed', why: `status ${response.statusCode}: ${errorIn(bytes)}` };
      const header = response.headers['inference-header-content-length'];
      const answer = new Answer(bytes, header === undefined ? bytes.byteLength : Number(header));
      return {
        kind: 'answered',
        fault: () => answer.fault(outputs),
        outputs: () => answer.outputs(),
        answeredBy: () => answer.answeredBy(),
      };
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      return { kind: 'failed', why: code ?? message };
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

  /**
   * modelNames lists the models that the server has; it is empty where the server does not tell.
   * @throws InputError where no server answers within 5 s, or not in JSON
   */
  async modelNames(): Promise<string[]> {
    const { status, json } = await this.json('POST', '/v2/repository/index');
    const listed = status === 200 && Array.isArray(json) ? (json as (Partial<RemoteModel> | null)[]) : [];
    return listed.map((model) => model?.name).filter((name) => typeof name === 'string');
  }

  private async onlyModel(): Promise<string> {
    const names = await this.modelNames();
    if (names.length === 1) return names[0] as string;
    const told =
      names.length === 0 ? 'does not say which models it has' : `has several models: ${names.join(', ')}`;
    throw this.refused([fault(told)], `Name one with ${option('model')}.`);
  }

  private async json(method: 'GET' | 'POST', path: string): Promise<{ status: number; json: unknown }> {
    try {
      const response = await this.pool.request({
        ...{ method, path },
        ...{ headersTimeout: DESCRIBE_TIMEOUT_MS, bodyTimeout: DESCRIBE_TIMEOUT_MS },
      });
      const text = await response.body.text();
      return { status: response.statusCode, json: text === '' ? {} : (JSON.parse(text) as unknown) };
    } catch (error) {
      if (error instanceof SyntaxError)
        throw this.refused([fault(`answers ${path} with something other than JSON`)]);
      const { code, message } = error as NodeJS.ErrnoException;
      throw this.refused(
        [fault(`no answer: ${WORDS[code ?? ''] ?? code ?? message}`)],
        'Is the server running?',
      );
    }
  }

  private refused(faults: Fault[], advice?: string): InputError {
    return new InputError(`load ${this.url}`, faults, advice);
  }
}

/** CountedExecutions is what a server has counted of a model and its batches since its start. */
export interface CountedExecutions {
  sequence: number;
  requests: { answered: number; request_us: number; queue_us: number };
  executions: {
    pipeline: number;
    partition: number;
    device_class: string;
    virtual: number;
    batch_size: number;
    executed: number;
    measured: number;
    p50_us?: number;
    p95_us?: number;
  }[];
}

function isCounted(json: unknown): json is CountedExecutions {
  const { sequence, requests, executions } = (json ?? {}) as Record<string, unknown>;
  const areNumbers = (of: unknown, ...names: string[]): boolean =>
    names.every((name) => typeof (of as Record<string, unknown> | null)?.[name] === 'number');
  return (
    typeof sequence === 'number' &&
    areNumbers(requests, 'answered', 'request_us', 'queue_us') &&
    Array.isArray(executions) &&
    executions.every((one) =>
      areNumbers(one, 'pipeline', 'partition', 'virtual', 'batch_size', 'executed', 'measured'),
    )
  );
}

interface MetadataTensor {
  name: string;
  datatype: string;
  shape: number[];
}

interface Metadata {
  name: string;
  inputs: MetadataTensor[];
  outputs: MetadataTensor[];
  properties?: {
    slo_ms?: string;
    planned_rps?: string;
    weight?: string;
    plan_sha256?: string;
    plan_notes?: string;
    scheduler?: string;
    policy?: string;
    [key: `fill.${string}`]: string;
  };
}

function isMetadata(json: unknown): json is Metadata {
  const { name, inputs, outputs } = (json ?? {}) as Record<string, unknown>;
  const isTensor = (value: unknown): boolean => {
    const tensor = (value ?? {}) as Record<string, unknown>;
    const named = typeof tensor.name === 'string' && typeof tensor.datatype === 'string';
    return (
      named && Array.isArray(tensor.shape) && tensor.shape.every((size) => Number.isInteger(Number(size)))
    );
  };
  const areTensors = (value: unknown): boolean => Array.isArray(value) && value.every(isTensor);
  return typeof name === 'string' && areTensors(inputs) && areTensors(outputs);
}

function readMetadata({ name, inputs, outputs, properties }: Metadata): RemoteModel {
  const spec = ({ name: tensor, datatype, shape }: MetadataTensor): TensorSpec => {
    const axis = shape.findIndex((size) => Number(size) === -1);
    const fill = properties?.[`fill.${tensor}`];
    return {
      name: tensor,
      dtype: dtypeOfOip(datatype) ?? datatype,
      shape: shape.map((size) => Math.abs(Number(size))),
      ...(axis < 0 ? {} : { batchAxis: axis }),
      ...(fill === undefined ? {} : { fill: Number(fill) }),
    };
  };
  return {
    name,
    inputs: inputs.map(spec),
    outputs: outputs.map(spec),
    ...numberOf('sloMs', properties?.slo_ms),
    ...numberOf('plannedRps', properties?.planned_rps),
    ...numberOf('weight', properties?.weight),
    ...(typeof properties?.plan_sha256 === 'string' ? { planSha256: properties.plan_sha256 } : {}),
    ...planNotesOf(properties),
    ...servingOf(properties),
  };
}

/** planNotesOf gives the notes of the plan that a server serves, where it tells them in a way that is known here. */
function planNotesOf({ plan_notes: text }: NonNullable<Metadata['properties']> = {}): {
  planNotes?: string[];
} {
  if (typeof text !== 'string') return {};
  try {
    const notes = JSON.parse(text) as unknown;
    const areTold = Array.isArray(notes) && notes.every((note) => typeof note === 'string');
    return areTold && notes.length > 0 ? { planNotes: notes } : {};
  } catch {
    return {};
  }
}

/** servingOf gives how a server schedules, where it tells that in a way that is known here. */
function servingOf({ scheduler, policy }: NonNullable<Metadata['properties']> = {}): {
  serving?: PlanServing;
} {
  if (typeof scheduler !== 'string' || scheduler === '' || typeof policy !== 'string') return {};
  try {
    const choices = JSON.parse(policy) as unknown;
    const areTold =
      typeof choices === 'object' &&
      choices !== null &&
      !Array.isArray(choices) &&
      Object.values(choices).every((choice) => ['string', 'number', 'boolean'].includes(typeof choice));
    return areTold ? { serving: { scheduler, policy: choices as PlanServing['policy'] & {} } } : {};
  } catch {
    return {};
  }
}

/** numberOf gives a property that is a number, under the name that it has here. */
function numberOf<K extends string>(name: K, text: string | undefined): { [key in K]?: number } {
  const value = Number(text);
  return (text === undefined || Number.isNaN(value) ? {} : { [name]: value }) as { [key in K]?: number };
}

/**
 * encodeRequest makes a request's bytes once, so that they can be sent many times.
 * @param inputs a tensor for each of the model's inputs, by name
 * @param sent.binary whether tensors are sent, and the outputs asked for, as bytes rather than JSON
 * @param sent.priority what is sent as the priority; of 0, the default level, nothing is sent
 */
export function encodeRequest(
  model: RemoteModel,
  inputs: Tensors,
  { binary, priority }: { readonly binary: boolean; readonly priority: number },
): Encoded {
  const pieces: Uint8Array[] = [];
  const described = model.inputs.map(({ name }) => {
    const tensor = inputs[name] as TensorData;
    const head = `"name":${JSON.stringify(name)},"shape":[${tensor.dims.join(',')}],"datatype":"${oipDatatype(tensor.dtype)}"`;
    if (!binary) return `{${head},"data":${jsonOf(tensor)}}`;
    const bytes = bytesOf(tensor);
    pieces.push(bytes);
    return `{${head},"parameters":{"binary_data_size":${bytes.byteLength}}}`;
  });
  const urgency = priority === 0 ? '' : `,"priority":${priority}`;
  const text = `{"inputs":[${described.join(',')}],"parameters":{"binary_data_output":${binary}${urgency}}}`;
  // Spaces pad the JSON to a multiple of eight bytes, so that the server can use the tensors behind it
  // without copying.
  const json = Buffer.from(binary ? text.padEnd(8 * Math.ceil(text.length / 8)) : text);
  const path = `/v2/models/${encodeURIComponent(model.name)}/infer`;
  const outputs = model.outputs.map(({ name }) => name);
  if (!binary) return { path, headers: { 'content-type': 'application/json' }, body: json, outputs };
  const headers = {
    'content-type': 'application/octet-stream',
    'inference-header-content-length': String(json.byteLength),
  };
  return { path, headers, body: Buffer.concat([json, ...pieces]), outputs };
}

interface JsonOutput {
  name: string;
  shape: number[];
  datatype: string;
  parameters?: { binary_data_size?: number };
}

/** SentOutput is an output with its data: bytes where it was sent in binary, and else JSON. */
type SentOutput = Pick<JsonOutput, 'name' | 'shape' | 'datatype'> & {
  readonly data: { readonly bytes: Uint8Array } | { readonly json: Json };
};

/**
 * Sent is what an answer holds: its outputs, the names of those of branches that the request did not take, and the models
 * of a cascade that answered.
 */
interface Sent {
  readonly outputs: readonly SentOutput[];
  readonly notTaken: readonly unknown[];
  readonly answeredBy: readonly unknown[];
}

/**
 * Longer JSON takes so long to read that the client would send late. It counts as a good answer without being
 * read.
 */
const MOST_JUDGED_BYTES = 64 * 1024;

/** Answer is the body of a response with status 200. It is read when something of it is asked for. */
class Answer {
  private sent: Sent | undefined;

  constructor(
    private readonly bytes: Uint8Array,
    private readonly headerLength: number,
  ) {}

  fault(wanted: readonly string[]): string | undefined {
    const { bytes, headerLength } = this;
    if (headerLength > MOST_JUDGED_BYTES && headerLength <= bytes.byteLength) return undefined;
    try {
      const { outputs, notTaken } = this.read();
      const missing = wanted.find(
        (name) => !outputs.some((output) => output.name === name) && !notTaken.includes(name),
      );
      return missing === undefined ? undefined : `no output ${missing}`;
    } catch (error) {
      return error instanceof WireFault ? error.message : 'no JSON with outputs';
    }
  }

  outputs(): Tensors {
    return Object.fromEntries(
      this.read().outputs.map(({ name, shape, datatype, data }) => {
        const dtype = dtypeOfOip(datatype) ?? datatype;
        const tensor =
          'json' in data
            ? tensorFromJson(dtype, shape, data.json)
            : tensorFromBytes(dtype, shape, data.bytes);
        return [name, tensor];
      }),
    );
  }

  /** What `fault` did not read, because it is long, tells nothing. */
  answeredBy(): readonly string[] {
    return this.sent?.answeredBy.filter((stage) => typeof stage === 'string') ?? [];
  }

  private read(): Sent {
    this.sent ??= this.split();
    return this.sent;
  }

  /**
   * @throws WireFault where the parts do not add up to the body; another error where the body is no JSON with
   *   outputs
   */
  private split(): Sent {
    const { bytes, headerLength } = this;
    if (!(Number.isInteger(headerLength) && headerLength >= 0 && headerLength <= bytes.byteLength))
      throw new WireFault('a header longer than it');
    const json = jsonOfAnswer(bytes.subarray(0, headerLength));
    const list = partOf(json, 'outputs');
    let offset = headerLength;
    const outputs = (list.value as JsonOutput[]).map(
      ({ name, shape, datatype, parameters }, i): SentOutput => {
        const size = parameters?.binary_data_size;
        if (size === undefined) {
          const data = partOf(partOf(list, i), 'data');
          if (!Array.isArray(data.value)) throw new WireFault(`no data of output ${name}`);
          return { name, shape, datatype, data: { json: data } };
        }
        if (!(Number.isSafeInteger(size) && size >= 0)) throw new WireFault(`no size of output ${name}`);
        offset += size;
        return { name, shape, datatype, data: { bytes: bytes.subarray(offset - size, offset) } };
      },
    );
    if (offset !== bytes.byteLength) throw new WireFault('other bytes than its outputs need');
    const { not_taken: notTaken, answered_by: answeredBy = [] } = (partOf(json, 'parameters').value ??
      {}) as { not_taken?: unknown; answered_by?: unknown };
    return {
      outputs,
      notTaken: Array.isArray(notTaken) ? notTaken : [],
      answeredBy: Array.isArray(answeredBy) ? answeredBy : [answeredBy],
    };
  }
}

function jsonOfAnswer(bytes: Uint8Array): Json {
  try {
    return parseJson(bytes);
  } catch {
    throw new WireFault('no JSON with outputs');
  }
}

function errorIn(bytes: Uint8Array): string {
  const text = Buffer.from(bytes).toString();
  try {
    return ((JSON.parse(text) as { error?: string }).error ?? text).split('\n')[0] as string;
  } catch {
    return text.slice(0, 200);
  }
}

/** dimsOf gives the shape of a tensor in a request of `rows` rows. */
export function dimsOf(spec: TensorSpec, rows: number): number[] {
  return spec.shape.map((size, axis) => (axis === spec.batchAxis ? size * rows : size));
}

/**
 * inputFaults says what is wrong with given inputs of a model: a tensor is missing, has another type, or other elements
 * than its own shape needs. It does not compare shapes with the model's. The list is empty when nothing is wrong.
 * @param place the place of the faults
 */
export function inputFaults(model: RemoteModel, inputs: Tensors, place: string): Fault[] {
  return model.inputs.flatMap((spec) => {
    const tensor = inputs[spec.name];
    if (tensor === undefined) return [fault(`lacks ${spec.name}`, place)];
    if (tensor.dtype !== spec.dtype)
      return [fault(`${spec.name} is ${tensor.dtype}, not ${spec.dtype}`, place)];
    if (tensor.data.length === elementCount(tensor.dims)) return [];
    return [fault(`${spec.name} has ${tensor.data.length} elements for [${tensor.dims.join(', ')}]`, place)];
  });
}
