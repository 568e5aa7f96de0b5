import { type Fault, InputError, type TensorSpec } from '../artifacts/index.js';
import { oipDatatype, splitBatch, type TensorData, type Tensors } from '../execution/index.js';
import { tensorFromBytes, tensorFromJson, WireFault } from '../protocol/index.js';
import type { LiveModel } from './pool-work.js';

/** AskedModel is what a request is checked against. */
export type AskedModel = Pick<LiveModel, 'name' | 'inputs' | 'outputs' | 'maxRows'>;

/** InferRequest is an inference request that was read and checked. */
export interface InferRequest {
  id?: string;
  /** The inputs of each row, by name. */
  rows: Tensors[];
  /** The outputs wanted, in order, and whether each is sent as binary data. */
  outputs: { name: string; binary: boolean }[];
  /** The client's own timeout, where it gave one. It counts when it is shorter than the model's SLO. */
  timeoutUs?: number;
}

interface JsonInput {
  name?: unknown;
  shape?: unknown;
  datatype?: unknown;
  parameters?: { binary_data_size?: unknown };
  data?: unknown;
}

/**
 * readInferRequest reads a request of the Open Inference Protocol, as JSON or with the binary tensor extension, and
 * checks it against the model. Binary tensors may be views of the body, which must not be changed afterwards.
 * @param headerLength the value of Inference-Header-Content-Length: the bytes of JSON before the binary data. It is
 *   absent where the body is all JSON; where it is 0, the body is the model's one input, of a single row.
 * @throws InputError with every fault of the request, also where it holds more rows than the model's `maxRows`
 */
export function readInferRequest(model: AskedModel, body: Uint8Array, headerLength?: string): InferRequest {
  if (headerLength === '0') return readRaw(model, body);
  const split = jsonLength(body, headerLength);
  const json = parseJson(body.subarray(0, split));
  const faults: Fault[] = [];
  const inputs = readInputs(model, json.inputs, body.subarray(split), faults);
  const outputs = readOutputs(model, json, faults);
  const timeoutUs = readTimeout(json, faults);
  if (json.id !== undefined && typeof json.id !== 'string')
    faults.push({ path: 'id', message: 'is not a string' });
  const count = inputs === undefined ? 0 : countRows(model, inputs, faults);
  if (faults.length > 0 || inputs === undefined) throw refusal(model, faults);
  return {
    rows: rowsOfRequest(model, inputs, count),
    outputs,
    ...(typeof json.id === 'string' ? { id: json.id } : {}),
    ...(timeoutUs === undefined ? {} : { timeoutUs }),
  };
}

function refusal(model: AskedModel, faults: Fault[]): InputError {
  return new InputError(`infer with ${model.name}`, faults);
}

/**
 * readRaw reads a request with header length 0: the body is the one input of a single row, and the outputs
 * are sent as binary data.
 */
function readRaw(model: AskedModel, body: Uint8Array): InferRequest {
  const [spec, ...others] = model.inputs;
  if (spec === undefined || others.length > 0) {
    throw refusal(model, [
      {
        path: 'Inference-Header-Content-Length',
        message: `is 0, but the model has ${model.inputs.length} inputs`,
      },
    ]);
  }
  const outputs = model.outputs.map(({ name }) => ({ name, binary: true }));
  try {
    return { rows: [{ [spec.name]: tensorFromBytes(spec.dtype, spec.shape, body) }], outputs };
  } catch (error) {
    throw refusal(model, [wireFault(error, `input ${spec.name}`)]);
  }
}

function jsonLength(body: Uint8Array, headerLength?: string): number {
  if (headerLength === undefined) return body.byteLength;
  const length = Number(headerLength);
  if (/^\d+$/.test(headerLength) && length <= body.byteLength) return length;
  throw new InputError('read the request', [
    {
      path: 'Inference-Header-Content-Length',
      message: `is ${JSON.stringify(headerLength)}; the body has ${body.byteLength} bytes`,
    },
  ]);
}

function parseJson(bytes: Uint8Array): Record<string, unknown> {
  let json: unknown;
  try {
    json = JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8'));
  } catch (error) {
    const why = bytes.byteLength === 0 ? 'it is empty' : (error as Error).message;
    throw new InputError('read the request', [{ path: '', message: `the body is not JSON: ${why}` }]);
  }
  if (typeof json !== 'object' || json === null || Array.isArray(json)) {
    throw new InputError('read the request', [{ path: '', message: 'the body is not a JSON object' }]);
  }
  return json as Record<string, unknown>;
}

function readInputs(
  model: AskedModel,
  list: unknown,
  binary: Uint8Array,
  faults: Fault[],
): Tensors | undefined {
  if (!Array.isArray(list)) {
    faults.push({
      path: 'inputs',
      message: `is not a list; the inputs are ${model.inputs.map(describe).join(', ')}`,
    });
    return undefined;
  }
  const inputs: Record<string, TensorData> = {};
  let offset = 0;
  for (const [i, entry] of (list as (JsonInput | null)[]).entries()) {
    const path = typeof entry?.name === 'string' ? `input ${entry.name}` : `inputs[${i}]`;
    const size = entry?.parameters?.binary_data_size;
    let bytes: Uint8Array | undefined;
    if (size !== undefined) {
      if (!Number.isInteger(size) || (size as number) < 0 || offset + (size as number) > binary.byteLength) {
        const left = binary.byteLength - offset;
        faults.push({
          path,
          message: `its binary_data_size is ${JSON.stringify(size)}; ${left} bytes are left of the body`,
        });
        return undefined;
      }
      bytes = binary.subarray(offset, offset + (size as number));
      offset += size as number;
    }
    readInput(model, entry ?? {}, path, bytes, inputs, faults);
  }
  if (offset !== binary.byteLength) {
    faults.push({
      path: 'body',
      message: `has ${binary.byteLength - offset} bytes after the last input's data`,
    });
  }
  const told = new Set((list as (JsonInput | null)[]).map((entry) => entry?.name));
  for (const spec of model.inputs) {
    if (!told.has(spec.name)) faults.push({ path: 'inputs', message: `lacks ${describe(spec)}` });
  }
  return inputs;
}

function readInput(
  model: AskedModel,
  entry: JsonInput,
  path: string,
  bytes: Uint8Array | undefined,
  inputs: Record<string, TensorData>,
  faults: Fault[],
): void {
  const spec = model.inputs.find(({ name }) => name === entry.name);
  if (spec === undefined) {
    faults.push({
      path,
      message: `is not one of the model's; it takes ${model.inputs.map(describe).join(', ')}`,
    });
    return;
  }
  if (Object.hasOwn(inputs, spec.name)) {
    faults.push({ path, message: 'is given twice' });
    return;
  }
  const before = faults.length;
  const datatype = oipDatatype(spec.dtype);
  if (entry.datatype !== datatype) {
    faults.push({
      path,
      message: `its datatype is ${JSON.stringify(entry.datatype)}; it must be ${datatype}`,
    });
  }
  const dims = entry.shape;
  if (!fitsInput(dims, spec)) {
    faults.push({
      path,
      message: `its shape is ${JSON.stringify(dims)}; it must be [${shapeOf(spec).join(', ')}]`,
    });
  }
  if (faults.length > before) return;
  try {
    inputs[spec.name] =
      bytes === undefined
        ? tensorFromJson(spec.dtype, dims as number[], entry.data)
        : tensorFromBytes(spec.dtype, dims as number[], bytes);
  } catch (error) {
    faults.push(wireFault(error, path));
  }
}

function wireFault(error: unknown, path: string): Fault {
  if (error instanceof WireFault) return { path, message: error.message };
  throw error;
}

/** fitsInput says whether a tensor of this shape holds whole rows of an input. */
export function fitsInput(dims: unknown, spec: TensorSpec): boolean {
  if (!Array.isArray(dims) || dims.length !== spec.shape.length) return false;
  return spec.shape.every((size, axis) => {
    const dim: unknown = dims[axis];
    if (axis !== spec.batchAxis) return dim === size;
    return Number.isSafeInteger(dim) && (dim as number) > 0 && (dim as number) % size === 0;
  });
}

/**
 * shapeOf gives a tensor's shape as the protocol's metadata states it, with −1 for the axis that grows with the rows and
 * for axes whose size depends on the data.
 */
export function shapeOf({ shape, batchAxis, variableAxes = [] }: TensorSpec): number[] {
  return shape.map((size, axis) => (axis === batchAxis || variableAxes.includes(axis) ? -1 : size));
}

function describe(spec: TensorSpec): string {
  return `${spec.name} ${oipDatatype(spec.dtype)}[${shapeOf(spec).join(', ')}]`;
}

function readOutputs(
  model: AskedModel,
  json: Record<string, unknown>,
  faults: Fault[],
): InferRequest['outputs'] {
  const parameters = json.parameters as { binary_data_output?: unknown } | undefined;
  const all = parameters?.binary_data_output === true;
  if (json.outputs === undefined) return checked(model.outputs.map(({ name }) => ({ name, binary: all })));
  if (!Array.isArray(json.outputs)) {
    faults.push({ path: 'outputs', message: 'is not a list' });
    return [];
  }
  const known = model.outputs.map(({ name }) => name);
  const wanted = (json.outputs as ({ name?: unknown; parameters?: { binary_data?: unknown } } | null)[]).map(
    (entry) => {
      const name = entry?.name;
      if (!known.includes(name as string)) {
        faults.push({
          path: `output ${JSON.stringify(name)}`,
          message: `is not one of the model's: ${known.join(', ')}`,
        });
      }
      const binary = entry?.parameters?.binary_data;
      return { name: name as string, binary: binary === undefined ? all : binary === true };
    },
  );
  return checked(wanted);

  function checked(outputs: InferRequest['outputs']): InferRequest['outputs'] {
    for (const { name, binary } of outputs) {
      const half = model.outputs.find((spec) => spec.name === name)?.dtype === 'float16';
      if (half && !binary) {
        faults.push({
          path: `output ${name}`,
          message: 'is FP16, which JSON cannot carry; ask for it with binary_data',
        });
      }
    }
    return outputs;
  }
}

function readTimeout(json: Record<string, unknown>, faults: Fault[]): number | undefined {
  const timeout = (json.parameters as { timeout?: unknown } | undefined)?.timeout;
  if (timeout === undefined || timeout === 0) return undefined;
  if (Number.isSafeInteger(timeout) && (timeout as number) > 0) return timeout as number;
  faults.push({
    path: 'parameters.timeout',
    message: `is ${JSON.stringify(timeout)}; it must be a whole number of µs`,
  });
  return undefined;
}

/** countRows counts the rows. All inputs that grow with the batch must hold the same number. */
export function countRows(model: AskedModel, inputs: Tensors, faults: Fault[]): number {
  const counts = model.inputs.flatMap((spec) => {
    const tensor = inputs[spec.name];
    if (spec.batchAxis === undefined || tensor === undefined) return [];
    return [{ name: spec.name, rows: tensor.dims[spec.batchAxis]! / spec.shape[spec.batchAxis]! }];
  });
  const rows = counts[0]?.rows ?? 1;
  if (counts.some((count) => count.rows !== rows)) {
    const told = counts.map((count) => `${count.name} ${count.rows}`).join(', ');
    faults.push({ path: 'inputs', message: `hold unequal numbers of rows: ${told}` });
  }
  if (rows > model.maxRows) {
    faults.push({
      path: 'inputs',
      message: `hold ${rows} rows; at most ${model.maxRows} are taken in one request`,
    });
  }
  return rows;
}

/** rowsOfRequest splits inputs of `count` rows into those of each row. */
export function rowsOfRequest(model: AskedModel, inputs: Tensors, count: number): Tensors[] {
  if (count === 1) return [inputs];
  const rows: Record<string, TensorData>[] = Array.from({ length: count }, () => ({}));
  for (const spec of model.inputs) {
    const tensor = inputs[spec.name] as TensorData;
    const parts =
      spec.batchAxis === undefined
        ? undefined
        : splitBatch(tensor, spec.batchAxis, new Array<number>(count).fill(spec.shape[spec.batchAxis]!));
    rows.forEach((row, i) => {
      row[spec.name] = parts?.[i] ?? tensor;
    });
  }
  return rows;
}
