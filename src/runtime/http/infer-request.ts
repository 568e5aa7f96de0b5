import {
  elementCount,
  oipDatatype,
  STRING_DTYPE,
  type TensorData,
  type Tensors,
  textFault,
} from '../../execution/index.js';
import { counted, type Fault, InputError } from '../../formats/index.js';
import {
  atOnce,
  type DataText,
  dataTextBytes,
  type Json,
  parseCutJson,
  parseJson,
  partOf,
  quotedJson,
  requestParts,
  type Steps,
  tensorFromJson,
  tensorOfBytes,
  tensorOfText,
  WireFault,
} from '../../protocol/index.js';
import {
  type AskedModel,
  countRows,
  fitsInput,
  inputsText,
  missingInputs,
  shapeOf,
  unknownInput,
} from '../tensors/request-tensors.js';
import { FirstFaults, nameText } from './first-faults.js';
import {
  checkedParameters,
  INPUT_PARAMETERS,
  OUTPUT_PARAMETERS,
  REQUEST_PARAMETERS,
} from './request-parameters.js';

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
  /** The priority that the client sent: 1 is the most urgent, and the default level is left out. */
  priority?: number;
}

const NO_BYTES: Uint8Array = new Uint8Array();
/** JSON of at most this many bytes is parsed at once, which takes about a millisecond. */
const WHOLE_BYTES = 64 * 1024;
/**
 * The most bytes and values that long JSON may hold beside the data of the inputs, with more for each tensor.
 */
const REST_BYTES = 4 * 1024 * 1024;
const REST_VALUES = 16_384;
const TENSOR_VALUES = 128;
/** Of entries that no tensor of the model is left for, so many are looked at. */
const MOST_BEYOND = 10;
/** A text in binary takes its place in a list and what V8 keeps beside its characters. */
const STRING_BYTES = 32;

/** ReadOptions says how a request was sent, and who counts the memory that it takes. */
export interface ReadOptions {
  /**
   * The value of Inference-Header-Content-Length: the bytes of JSON before the binary data. It is absent where the body is
   * all JSON; where it is 0, the body is the model's one input, of a single row.
   */
  readonly headerLength?: string | undefined;
  /** take hears the bytes of memory that the tensors take beside the body, before they are made. It may throw. */
  readonly take?: (bytes: number) => void;
}

/**
 * readInferRequest reads a request of the Open Inference Protocol, as JSON or with the binary tensor extension, and
 * checks it against the model. Binary tensors may be views of the body, which must not be changed afterwards.
 * @throws InputError with the first ten faults of the request and the number of the others, also where it holds more rows
 *   than the model's `maxRows`
 */
export function readInferRequest(model: AskedModel, body: Uint8Array, options?: ReadOptions): InferRequest {
  return atOnce(inferRequestOf(model, body, options));
}

/**
 * inferRequestOf reads a request as `readInferRequest` does, in steps. Of JSON that is long, the data of inputs are cut out
 * by a scan of the bytes, and what is left is refused unparsed where it is longer than any request of the model needs.
 * Data are parsed one input after the other, once it is known that their number is the one of the shape.
 */
export function* inferRequestOf(
  model: AskedModel,
  body: Uint8Array,
  { headerLength, take = () => {} }: ReadOptions = {},
): Steps<InferRequest> {
  if (headerLength === '0') return yield* readRaw(model, body);
  const split = jsonLength(body, headerLength);
  const binary = body.subarray(split);
  const { json, data } = yield* jsonOfBody(model, body.subarray(0, split));
  return yield* readJson(model, { json, data, binary, take });
}

/** readJsonRequest reads a request as `readInferRequest` does, whose JSON was parsed. */
export function readJsonRequest(model: AskedModel, json: Json): InferRequest {
  return atOnce(readJson(model, { json, binary: NO_BYTES, take: () => {} }));
}

/** GivenRequest is a request whose JSON was parsed, except for the data of its inputs where these are in `data`. */
interface GivenRequest {
  readonly json: Json;
  readonly data?: readonly DataText[] | undefined;
  readonly binary: Uint8Array;
  readonly take: (bytes: number) => void;
}

function* readJson(model: AskedModel, given: GivenRequest): Steps<InferRequest> {
  const { json } = given;
  const { value } = json;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw notAnObject();
  const faults = new FirstFaults();
  const parameters = checkedParameters(json, { rules: REQUEST_PARAMETERS, place: '' }, faults);
  const inputs = yield* readInputs(model, given, faults);
  const outputs = readOutputs(
    model,
    { list: partOf(json, 'outputs'), binary: parameters.binary_data_output === true },
    faults,
  );
  const id = partOf(json, 'id').value ?? undefined;
  if (id !== undefined && typeof id !== 'string') faults.tell(() => ['id', 'is not a string']);
  const rowFaults: Fault[] = [];
  const count = inputs === undefined ? 0 : countRows(model, inputs, rowFaults);
  faults.take(rowFaults);
  if (faults.size > 0 || inputs === undefined) throw refusal(model, faults);
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

function refusal(model: AskedModel, faults: FirstFaults): InputError {
  return new InputError(`infer with ${model.name}`, faults.told);
}

function notAnObject(): InputError {
  return unreadable('the body is not a JSON object');
}

function unreadable(message: string): InputError {
  return new InputError('read the request', [{ path: '', message }]);
}

/**
 * readRaw reads a request with header length 0: the body is the one input of a single row, and the outputs
 * are sent as binary data. Of a string, the body is the text itself.
 */
function* readRaw(model: AskedModel, body: Uint8Array): Steps<InferRequest> {
  const [spec, ...others] = model.inputs;
  const faults = new FirstFaults();
  const refused = (message: string) => {
    faults.tell(() => ['Inference-Header-Content-Length', `is 0, but ${message}`]);
    return refusal(model, faults);
  };
  if (spec === undefined || others.length > 0)
    throw refused(`the model has ${counted(model.inputs.length, 'input')}`);
  const { name, dtype, shape } = spec;
  const isText = dtype === STRING_DTYPE;
  if (isText && elementCount(shape) !== 1) throw refused(`input ${name} has ${elementCount(shape)} strings`);
  const read = tensorOfBytes(dtype, shape, isText ? withLength(body) : body);
  const tensor = yield* taken(read, { path: `input ${name}`, faults });
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

function* jsonOfBody(
  model: AskedModel,
  bytes: Uint8Array,
): Steps<{ readonly json: Json; readonly data?: readonly DataText[] }> {
  try {
    if (bytes.byteLength <= WHOLE_BYTES) return { json: parseJson(bytes) };
    const tensors = model.inputs.length + model.outputs.length;
    const limits = { restBytes: REST_BYTES, restValues: REST_VALUES + TENSOR_VALUES * tensors };
    const parts = yield* requestParts(bytes, { ...limits, inputs: model.inputs.length + MOST_BEYOND });
    const faults = entryFaults(model, parts.entries);
    if (faults.size > 0) throw refusal(model, faults);
    const { rest, restBytes, restValues } = parts;
    if (rest === undefined)
      throw unreadable(
        `the JSON of the body has ${restBytes} bytes and ${restValues} values beside the data of its inputs; at most ${limits.restBytes} and ${limits.restValues} are taken`,
      );
    return { json: parseCutJson(rest), data: parts.data };
  } catch (error) {
    throw error instanceof WireFault ? unreadable(`the body ${error.message}`) : error;
  }
}

/** entryFaults refuses, by their numbers alone, lists with many more entries than the model has inputs or outputs. */
function entryFaults(
  { inputs, outputs }: AskedModel,
  entries: { readonly inputs: number; readonly outputs: number },
): FirstFaults {
  const faults = new FirstFaults();
  for (const [path, has, all] of [
    ['inputs', entries.inputs, inputs.length],
    ['outputs', entries.outputs, outputs.length],
  ] as const)
    if (has > all + MOST_BEYOND)
      faults.tell(() => [path, `has ${has} entries; the model has ${counted(all, path.slice(0, -1))}`]);
  return faults;
}

/** listLength gives the number of entries of a list, and 0 for what is no list. */
function listLength({ value }: Json): number {
  return Array.isArray(value) ? value.length : 0;
}

function* readInputs(
  model: AskedModel,
  { json, data, binary, take }: GivenRequest,
  faults: FirstFaults,
): Steps<Tensors | undefined> {
  const list = partOf(json, 'inputs');
  const entries = list.value;
  if (!Array.isArray(entries)) {
    faults.tell(() => ['inputs', `is not a list; the inputs are ${inputsText(model)}`]);
    return undefined;
  }
  const tooMany = entryFaults(model, {
    inputs: entries.length,
    outputs: listLength(partOf(json, 'outputs')),
  });
  if (tooMany.size > 0) throw refusal(model, tooMany);
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
        faults.tell(() => [
          path,
          `its binary_data_size is ${quotedJson(told)}; ${left} bytes are left of the body`,
        ]);
        return undefined;
      }
      bytes = binary.subarray(offset, offset + (size as number));
      offset += size as number;
    }
    yield* readInput({ model, entry, path, bytes, data, take }, inputs, faults);
  }
  if (offset !== binary.byteLength)
    faults.tell(() => ['body', `has ${binary.byteLength - offset} bytes after the last input's data`]);
  const told = new Set(entries.map((entry) => (entry as { name?: unknown } | null)?.name));
  faults.take(missingInputs(model, told));
  return inputs;
}

function placeOf(entry: Json, otherwise: string): string {
  const name = partOf(entry, 'name').value;
  return typeof name === 'string' ? `input ${nameText(name)}` : otherwise;
}

/** GivenInput is an input of a request, with its bytes where it is sent in binary. */
interface GivenInput extends Pick<GivenRequest, 'data' | 'take'> {
  readonly model: AskedModel;
  readonly entry: Json;
  readonly path: string;
  readonly bytes: Uint8Array | undefined;
}

function* readInput(given: GivenInput, inputs: Record<string, TensorData>, faults: FirstFaults): Steps<void> {
  const { model, entry, path, bytes } = given;
  const spec = model.inputs.find(({ name }) => name === partOf(entry, 'name').value);
  const told = (message: () => string) => faults.tell(() => [path, message()]);
  if (spec === undefined) {
    told(() => unknownInput(model));
    return;
  }
  if (Object.hasOwn(inputs, spec.name)) {
    told(() => 'is given twice');
    return;
  }
  const before = faults.size;
  const datatype = partOf(entry, 'datatype');
  if (datatype.value !== oipDatatype(spec.dtype))
    told(() => `its datatype is ${quotedJson(datatype)}; it must be ${oipDatatype(spec.dtype)}`);
  const shape = partOf(entry, 'shape');
  if (!fitsInput(shape.value, spec))
    told(() => `its shape is ${quotedJson(shape)}; it must be [${shapeOf(spec).join(', ')}]`);
  if (bytes !== undefined && (partOf(entry, 'data').value ?? undefined) !== undefined)
    told(() => 'has both data and binary_data_size; send it in one of these ways');
  if (faults.size > before) return;
  const read = tensorOf(spec.dtype, shape.value as number[], given);
  const tensor = yield* taken(read, { path, faults });
  if (tensor !== undefined) inputs[spec.name] = tensor;
}

/** tensorOf reads the data of an input, which are bytes, JSON that is not parsed yet, or values. */
function* tensorOf(
  dtype: string,
  dims: readonly number[],
  { entry, bytes, data, take }: GivenInput,
): Steps<TensorData> {
  if (bytes !== undefined) {
    // Each has a length of four bytes, so that a shape of more is refused when these are read.
    const strings = Math.min(elementCount(dims), bytes.byteLength / 4);
    if (dtype === STRING_DTYPE) take(STRING_BYTES * strings + 2 * bytes.byteLength);
    return yield* tensorOfBytes(dtype, dims, bytes);
  }
  const json = partOf(entry, 'data');
  const text = Array.isArray(json.value) ? data?.[json.value[0] as number] : undefined;
  if (text === undefined) return tensorFromJson(dtype, dims, json);
  take(dataTextBytes(dtype, text));
  return yield* tensorOfText(dtype, dims, text);
}

/** taken gives a tensor that a model can be fed with, or says why it cannot. */
function* taken(
  read: Steps<TensorData>,
  { path, faults }: { readonly path: string; readonly faults: FirstFaults },
): Steps<TensorData | undefined> {
  try {
    const tensor = yield* read;
    const message = textFault(tensor);
    if (message === undefined) return tensor;
    faults.tell(() => [path, message]);
  } catch (error) {
    if (!(error instanceof WireFault)) throw error;
    faults.tell(() => [path, error.message]);
  }
  return undefined;
}

/** ListedOutputs is the list of the outputs that a request asks for, and how they are sent that do not say it. */
interface ListedOutputs {
  readonly list: Json;
  readonly binary: boolean;
}

/** readOutputs gives the outputs that a request asks for: all of them where it names none. */
function readOutputs(
  model: AskedModel,
  { list, binary: all }: ListedOutputs,
  faults: FirstFaults,
): InferRequest['outputs'] {
  const entries = list.value ?? [];
  if (!Array.isArray(entries)) {
    faults.tell(() => ['outputs', 'is not a list']);
    return [];
  }
  const known = model.outputs.map(({ name }) => name);
  const named = new Set<unknown>();
  const wanted = entries.map((_, i) => {
    const entry = partOf(list, i);
    const name = partOf(entry, 'name');
    const isNamed = typeof name.value === 'string';
    const path = isNamed ? `output ${quotedJson(name)}` : `outputs[${i}]`;
    if (!isNamed) faults.tell(() => [path, `has no name; the model's outputs are ${known.join(', ')}`]);
    else if (!known.includes(name.value))
      faults.tell(() => [path, `is not one of the model's: ${known.join(', ')}`]);
    else if (named.has(name.value)) faults.tell(() => [path, 'is named twice']);
    named.add(name.value);
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
    if (half && !binary)
      faults.tell(() => [`output ${name}`, 'is FP16, which JSON cannot carry; ask for it with binary_data']);
  }
  return outputs;
}
