import { oipDatatype, type TensorData, type Tensors } from '../execution/index.js';
import { bytesOf, jsonOf } from '../protocol/index.js';
import type { InferRequest } from './infer-request.js';

/** InferResponse is the body of an answer, with the length of its JSON part when binary data follows. */
export interface InferResponse {
  body: Buffer;
  headerLength?: number;
}

/**
 * writeInferResponse writes the answer to a request: JSON, then the outputs that were asked for as binary data, in
 * order.
 * @param outputs every output that the request asks for, by name
 * @throws Error where the JSON is longer than a string can be
 */
export function writeInferResponse(model: string, request: InferRequest, outputs: Tensors): InferResponse {
  const pieces: Uint8Array[] = [];
  const described = request.outputs.map(({ name, binary }) => {
    const tensor = outputs[name] as TensorData;
    const head = `"name":${JSON.stringify(name)},"shape":[${tensor.dims.join(',')}],"datatype":"${oipDatatype(tensor.dtype)}"`;
    if (!binary) return `{${head},"data":${jsonOf(tensor)}}`;
    const bytes = bytesOf(tensor);
    pieces.push(bytes);
    return `{${head},"parameters":{"binary_data_size":${bytes.byteLength}}}`;
  });
  const id = request.id === undefined ? '' : `"id":${JSON.stringify(request.id)},`;
  const json = Buffer.from(
    `{"model_name":${JSON.stringify(model)},"model_version":"1",${id}"outputs":[${described.join(',')}]}`,
  );
  if (pieces.length === 0) return { body: json };
  return { body: Buffer.concat([json, ...pieces]), headerLength: json.byteLength };
}
