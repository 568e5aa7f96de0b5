import { type Fault, InputError } from '../artifacts/index.js';
import {
  elementCount,
  oipDatatype,
  STRING_DTYPE,
  type TensorData,
  type Tensors,
  textFault,
} from '../execution/index.js';
import {
  type Json,
  parseJson,
  partOf,
  quotedJson,
  tensorFromBytes,
  tensorFromJson,
  WireFault,
} from '../protocol/index.js';
import {
  checkedParameters,
  INPUT_PARAMETERS,
  OUTPUT_PARAMETERS,
  REQUEST_PARAMETERS,
} from './request-parameters.js';
import {
  type AskedModel,
  countRows,
  fitsInput,
  inputsText,
  missingInputs,
  shapeOf,
  unknownInput,
} from './request-tensors.js';

/** InferRequest is an inference request that was read and checked. */
export interface InferRequest {
  id?: string;
  /** The inputs by name, each of all rows, and the number of rows. */
  inputs: Tensors;
  rows: number;
  /** The outputs wanted, in order, and whether each is sent as binary data. */
  outputs: { name: string; binary: boolean }[];
  /** The client's own timeout, where it gave one. It counts when it is shorter than the model's SLO. */
  timeoutUs?: number;
  /** What the client sent as its priority: 1 is the most urgent, and the default level is left out. */
  priority?: number;
}

const NO_BYTES: Uint8Array = new Uint8Array();

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
  return readJsonRequest(model, jsonOfBody(body.subarray(0, split)), body.subarray(split));
}

/**
 * readJsonRequest reads a request as `readInferRequest` does, whose JSON was parsed.
 * @param binary the bytes of the inputs that are sent in binary
 */
export function readJsonRequest(model: AskedModel, json: Json, binary = NO_BYTES): InferRequest {
  const { value } = json;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new InputError('read the request', [{ path: '', message: 'the body is not a JSON object' }]);
  }
  const faults: Fault[] = [];
  const parameters = checkedParameters(json, { rules: REQUEST_PARAMETERS, place: '' }, faults);
  const inputs = readInputs(model, { list: partOf(json, 'inputs'), binary }, faults);
  const outputs = readOutputs(
    model,
    { list: partOf(json, 'outputs'), binary: parameters.binary_data_output === true },
    faults,
  );
  const id = partOf(json, 'id').value ?? undefined;
  if (id !== undefined && typeof id !== 'string') faults.push({ path: 'id', message: 'is not a string' });
  const count = inputs === undefined ? 0 : countRows(model, inputs, faults);
  if (faults.length > 0 || inputs === undefined) throw refusal(model, faults);
  const { timeout, priority } = parameters;
  return {
    inputs,
    rows: count,
    outputs,
    ...(typeof id === 'string' ? { id } : {}),
    // In Triton, a timeout of 0 is none.
    ...(typeof timeout === 'number' && timeout > 0 ? { timeoutUs: timeout } : {}),
    ...(typeof priority === 'number' && priority > 0 ? { priority } : {}),
  };
}

function refusal(model: AskedModel, faults: Fault[]): InputError {
  return new InputError(`infer with ${model.name}`, faults);
}

/**
 * readRaw reads a request with header length 0: the body is the one input of a single row, and the outputs
 * are sent as binary data. Of a string, the body is the text itself.
 */
function readRaw(model: AskedModel, body: Uint8Array): InferRequest {
  const [spec, ...others] = model.inputs;
  const refused = (message: string) =>
    refusal(model, [{ path: 'Inference-Header-Content-Length', message: `is 0, but ${message}` }]);
  if (spec === undefined || others.length > 0) throw refused(`the model has ${model.inputs.length} inputs`);
  const { name, dtype, shape } = spec;
  const isText = dtype === STRING_DTYPE;
  if (isText && elementCount(shape) !== 1) throw refused(`input ${name} has ${elementCount(shape)} strings`);
  const faults: Fault[] = [];
  const read = () => tensorFromBytes(dtype, shape, isText ? withLength(body) : body);
  const tensor = taken(read, { path: `input ${name}`, faults });
  if (tensor === undefined) throw refusal(model, faults);
  return {
    inputs: { [name]: tensor },
    rows: 1,
    outputs: model.outputs.map((output) => ({ name: output.name, binary: true })),
  };
}

/** withLength puts the length of a string before it, as the binary extension has it. */
function withLength(text: Uint8Array): Uint8Array {
  const bytes = Buffer.alloc(4 + text.byteLength);
  bytes.writeUInt32LE(text.byteLength);
  bytes.set(text, 4);
  return bytes;
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

function jsonOfBody(bytes: Uint8Array): Json {
  try {
    return parseJson(bytes);
  } catch (error) {
    if (!(error instanceof WireFault)) throw error;
    throw new InputError('read the request', [{ path: '', message: `the body ${error.message}` }]);
  }
}

/** Listed is a list of inputs or outputs, with the bytes that follow it or how outputs are sent. */
interface Listed<Binary> {
  readonly list: Json;
  readonly binary: Binary;
}

function readInputs(
  model: AskedModel,
  { list, binary }: Listed<Uint8Array>,
  faults: Fault[],
): Tensors | undefined {
  const entries = list.value;
  if (!Array.isArray(entries)) {
    faults.push({
      path: 'inputs',
      message: `is not a list; the inputs are ${inputsText(model)}`,
    });
    return undefined;
  }
  const inputs: Record<string, TensorData> = {};
  let offset = 0;
  for (const i of entries.keys()) {
    const entry = partOf(list, i);
    const path = placeOf(entry, `inputs[${i}]`);
    checkedParameters(entry, { rules: INPUT_PARAMETERS, place: path }, faults);
    const told = partOf(partOf(entry, 'parameters'), 'binary_data_size');
    const size = told.value ?? undefined;
    let bytes: Uint8Array | undefined;
    if (size !== undefined) {
      const left = binary.byteLength - offset;
      if (!Number.isInteger(size) || (size as number) < 0 || (size as number) > left) {
        const message = `its binary_data_size is ${quotedJson(told)}; ${left} bytes are left of the body`;
        faults.push({ path, message });
        return undefined;
      }
      bytes = binary.subarray(offset, offset + (size as number));
      offset += size as number;
    }
    readInput({ model, entry, path, bytes }, inputs, faults);
  }
  if (offset !== binary.byteLength) {
    faults.push({
      path: 'body',
      message: `has ${binary.byteLength - offset} bytes after the last input's data`,
    });
  }
  const told = new Set(entries.map((entry) => (entry as { name?: unknown } | null)?.name));
  faults.push(...missingInputs(model, told));
  return inputs;
}

function placeOf(entry: Json, otherwise: string): string {
  const name = partOf(entry, 'name').value;
  return typeof name === 'string' ? `input ${name}` : otherwise;
}

/** GivenInput is an input of a request, with its bytes where it is sent in binary. */
interface GivenInput {
  readonly model: AskedModel;
  readonly entry: Json;
  readonly path: string;
  readonly bytes: Uint8Array | undefined;
}

function readInput(
  { model, entry, path, bytes }: GivenInput,
  inputs: Record<string, TensorData>,
  faults: Fault[],
): void {
  const spec = model.inputs.find(({ name }) => name === partOf(entry, 'name').value);
  const told = (message: string) => faults.push({ path, message });
  if (spec === undefined) {
    told(unknownInput(model));
    return;
  }
  if (Object.hasOwn(inputs, spec.name)) {
    told('is given twice');
    return;
  }
  const before = faults.length;
  const datatype = partOf(entry, 'datatype');
  if (datatype.value !== oipDatatype(spec.dtype))
    told(`its datatype is ${quotedJson(datatype)}; it must be ${oipDatatype(spec.dtype)}`);
  const shape = partOf(entry, 'shape');
  if (!fitsInput(shape.value, spec))
    told(`its shape is ${quotedJson(shape)}; it must be [${shapeOf(spec).join(', ')}]`);
  const data = partOf(entry, 'data');
  if (bytes !== undefined && (data.value ?? undefined) !== undefined)
    told('has both data and binary_data_size; send it in one of these ways');
  if (faults.length > before) return;
  const dims = shape.value as number[];
  const read = () =>
    bytes === undefined ? tensorFromJson(spec.dtype, dims, data) : tensorFromBytes(spec.dtype, dims, bytes);
  const tensor = taken(read, { path, faults });
  if (tensor !== undefined) inputs[spec.name] = tensor;
}

/** taken gives a tensor that a model can be fed with, or tells why it cannot. */
function taken(
  read: () => TensorData,
  { path, faults }: { readonly path: string; readonly faults: Fault[] },
): TensorData | undefined {
  try {
    const tensor = read();
    const message = textFault(tensor);
    if (message === undefined) return tensor;
    faults.push({ path, message });
  } catch (error) {
    if (!(error instanceof WireFault)) throw error;
    faults.push({ path, message: error.message });
  }
  return undefined;
}

/** readOutputs gives the outputs that a request asks for: all of them where it names none. */
function readOutputs(
  model: AskedModel,
  { list, binary: all }: Listed<boolean>,
  faults: Fault[],
): InferRequest['outputs'] {
  const entries = list.value ?? [];
  if (!Array.isArray(entries)) {
    faults.push({ path: 'outputs', message: 'is not a list' });
    return [];
  }
  const known = model.outputs.map(({ name }) => name);
  const wanted = entries.map((_, i) => {
    const entry = partOf(list, i);
    const name = partOf(entry, 'name');
    const path = `output ${quotedJson(name)}`;
    if (!known.includes(name.value as string))
      faults.push({ path, message: `is not one of the model's: ${known.join(', ')}` });
    const { binary_data: binary = all } = checkedParameters(
      entry,
      { rules: OUTPUT_PARAMETERS, place: path },
      faults,
    );
    return { name: name.value as string, binary: binary === true };
  });
  const outputs = entries.length > 0 ? wanted : known.map((name) => ({ name, binary: all }));
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
