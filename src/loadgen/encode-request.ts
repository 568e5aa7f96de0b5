import { oipDatatype, type TensorData, type Tensors } from '../execution/index.js';
import type { TensorSpec } from '../formats/index.js';
import { bytesOf, jsonOf } from '../protocol/index.js';
import type { RemoteModel } from './remote-model.js';
import type { TensorsAs } from './types.js';

/** Numbers of requests have this many digits, so that the length of a request does not depend on its own. */
const ID_DIGITS = 12;

/** Encoded is a request as it can be sent many times, without the server's address. */
export interface Encoded {
  path: string;
  headers: Record<string, string>;
  /** The text that the body begins with. The number of the request follows. */
  start: string;
  /** The rest of the body, which all that are sent share. */
  rest: Uint8Array;
  /** The names of the tensors that an answer must hold. */
  outputs: readonly string[];
}

/**
 * encodeRequest makes a request's bytes once, so that they can be sent many times, each time under another `id`: some servers
 * fail where a request has none, and others where two that are open have the same.
 * @param inputs a tensor for each of the model's inputs, by name
 * @param sent.run what ids begin with
 * @param sent.tensors whether tensors are sent, and the outputs asked for, as bytes or as JSON
 * @param sent.priority what is sent as the priority; of 0, the default level, nothing is sent
 */
export function encodeRequest(
  model: RemoteModel,
  inputs: Tensors,
  {
    run,
    tensors,
    priority,
  }: { readonly run: string; readonly tensors: TensorsAs; readonly priority: number },
): Encoded {
  const binary = tensors === 'binary';
  const pieces: Uint8Array[] = [];
  const described = model.inputs.map(({ name }) => {
    const tensor = inputs[name] as TensorData;
    const head = `"name":${JSON.stringify(name)},"shape":[${tensor.dims.join(',')}],"datatype":"${oipDatatype(tensor.dtype)}"`;
    if (!binary) return `{${head},"data":${jsonOf(tensor)}}`;
    const bytes = bytesOf(tensor);
    pieces.push(bytes);
    return `{${head},"parameters":{"binary_data_size":${bytes.byteLength}}}`;
  });
  const parameters = [
    ...(binary ? ['"binary_data_output":true'] : []),
    ...(priority === 0 ? [] : [`"priority":${priority}`]),
  ];
  const told = parameters.length === 0 ? '' : `,"parameters":{${parameters.join(',')}}`;
  const start = `{"id":${JSON.stringify(`${run}-`).slice(0, -1)}`;
  const text = `","inputs":[${described.join(',')}]${told}}`;
  const before = Buffer.byteLength(start) + ID_DIGITS;
  // Spaces pad the JSON to a multiple of eight bytes, so that the server can use the tensors behind it
  // without copying.
  const jsonBytes = before + Buffer.byteLength(text);
  const padding = binary ? 8 * Math.ceil(jsonBytes / 8) - jsonBytes : 0;
  const rest = Buffer.concat([Buffer.from(text + ' '.repeat(padding)), ...pieces]);
  const path = `/v2/models/${encodeURIComponent(model.name)}/infer`;
  const outputs = model.outputs.map(({ name }) => name);
  const headers = {
    'content-type': binary ? 'application/octet-stream' : 'application/json',
    'content-length': String(before + rest.byteLength),
    ...(binary ? { 'inference-header-content-length': String(jsonBytes + padding) } : {}),
  };
  return { path, headers, start, rest, outputs: model.mayLackOutputs ? [] : outputs };
}

/** bodyOf gives the body of a request with a number of its own, in two parts of which the second is not copied. */
export function bodyOf({ start, rest }: Encoded, index: number): readonly Uint8Array[] {
  return [Buffer.from(start + String(index).padStart(ID_DIGITS, '0')), rest];
}

/** dimsOf gives the shape of a tensor in a request of `rows` rows. */
export function dimsOf(spec: TensorSpec, rows: number): number[] {
  return spec.shape.map((size, axis) => (axis === spec.batchAxis ? size * rows : size));
}
