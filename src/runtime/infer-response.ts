import { oipDatatype } from '../execution/index.js';
import { bytesOf, jsonOf } from '../protocol/index.js';
import type { InferRequest } from './infer-request.js';
import type { RowsAnswer } from './tensors-of-rows.js';

/** InferResponse is the body of an answer, with the length of its JSON part when binary data follows. */
export interface InferResponse {
  body: Buffer;
  headerLength?: number;
}

/**
 * writeInferResponse writes the answer to a request: JSON, then the outputs that were asked for as binary data, in
 * order. Outputs of branches that were not taken are listed in the parameter `not_taken`. Where rows have taken different
 * branches, the parameter `rows` of an output says which rows it has. The parameters `answered_by` and `certainty` name
 * the model of a cascade that answers, and say how certain it is; of several rows they are lists.
 * @throws Error where the JSON is longer than a string can be
 */
export function writeInferResponse(
  model: string,
  request: InferRequest,
  { outputs, rowsOf, notTaken, answeredBy }: RowsAnswer,
): InferResponse {
  const pieces: Uint8Array[] = [];
  const described = request.outputs.flatMap(({ name, binary }) => {
    const tensor = outputs[name];
    if (tensor === undefined) return [];
    const head = `"name":${JSON.stringify(name)},"shape":[${tensor.dims.join(',')}],"datatype":"${oipDatatype(tensor.dtype)}"`;
    const parameters = rowsOf[name] === undefined ? [] : [`"rows":[${rowsOf[name].join(',')}]`];
    if (!binary) return [`{${head}${parametersOf(parameters)},"data":${jsonOf(tensor)}}`];
    const bytes = bytesOf(tensor);
    pieces.push(bytes);
    return [`{${head}${parametersOf([`"binary_data_size":${bytes.byteLength}`, ...parameters])}}`];
  });
  const left = request.outputs.flatMap(({ name }) => (notTaken.includes(name) ? [name] : []));
  const parameters = parametersOf([
    ...(left.length === 0 ? [] : [`"not_taken":${JSON.stringify(left)}`]),
    ...answeredParameters(answeredBy),
  ]);
  const id = request.id === undefined ? '' : `"id":${JSON.stringify(request.id)},`;
  const json = Buffer.from(
    `{"model_name":${JSON.stringify(model)},"model_version":"1",${id}"outputs":[${described.join(',')}]${parameters}}`,
  );
  if (pieces.length === 0) return { body: json };
  return { body: Buffer.concat([json, ...pieces]), headerLength: json.byteLength };
}

function answeredParameters(answeredBy: RowsAnswer['answeredBy']): string[] {
  if (answeredBy.length === 0) return [];
  const one = <T>(values: readonly T[]) => JSON.stringify(values.length === 1 ? values[0] : values);
  const models = one(answeredBy.map(({ model }) => model));
  return [`"answered_by":${models}`, `"certainty":${one(answeredBy.map(({ certainty }) => certainty))}`];
}

/** parametersOf writes members as a list of parameters behind others; it is empty without any. */
function parametersOf(members: readonly string[]): string {
  return members.length === 0 ? '' : `,"parameters":{${members.join(',')}}`;
}
