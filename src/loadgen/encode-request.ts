import type { TensorSpec } from '../artifacts/index.js';
import { oipDatatype, type TensorData, type Tensors } from '../execution/index.js';
import { bytesOf, jsonOf } from '../protocol/index.js';
import type { RemoteModel } from './remote-model.js';
import type { TensorsAs } from './types.js';

/** Encoded is a request as it is sent, without the server's address. */
export interface Encoded {
  path: string;
  headers: Record<string, string>;
  body: Uint8Array;
  /** The names of the tensors that an answer must hold. */
  outputs: readonly string[];
}

/**
 * encodeRequest makes a request's bytes once, so that they can be sent many times.
 * @param inputs a tensor for each of the model's inputs, by name
 * @param sent.id what the request is called; some servers fail where a request has no name
 * @param sent.tensors whether tensors are sent, and the outputs asked for, as bytes or as JSON
 * @param sent.priority what is sent as the priority; of 0, the default level, nothing is sent
 */
export function encodeRequest(
  model: RemoteModel,
  inputs: Tensors,
  { id, tensors, priority }: { readonly id: string; readonly tensors: TensorsAs; readonly priority: number },
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
  const text = `{"id":${JSON.stringify(id)},"inputs":[${described.join(',')}]${told}}`;
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

/** dimsOf gives the shape of a tensor in a request of `rows` rows. */
export function dimsOf(spec: TensorSpec, rows: number): number[] {
  return spec.shape.map((size, axis) => (axis === spec.batchAxis ? size * rows : size));
}
