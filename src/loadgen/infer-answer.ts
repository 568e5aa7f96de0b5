import { dtypeOfOip, type Tensors } from '../execution/index.js';
import {
  type Json,
  parseJson,
  partOf,
  tensorFromBytes,
  tensorFromJson,
  WireFault,
} from '../protocol/index.js';

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
  | { kind: 'dropped'; status: number }
  | { kind: 'failed'; why: string };

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

/** InferAnswer is the body of a response with status 200. It is read when something of it is asked for. */
export class InferAnswer {
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

  /** An answer that `fault` did not read, because it is long, names no models. */
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
