import { oipDatatype } from '../../execution/index.js';
import { bytesOf, jsonTexts, type Steps } from '../../protocol/index.js';
import type { RowsAnswer } from '../tensors/tensors-of-rows.js';
import type { InferRequest } from './infer-request.js';

/** InferResponse is the body of an answer in pieces, with the length of its JSON part when binary data follows. */
export interface InferResponse {
  readonly pieces: readonly Uint8Array[];
  readonly headerLength?: number;
}

/** Pieces of an answer are about as long as this, in characters or bytes. */
const PIECE_BYTES = 1024 * 1024;

/**
 * inferResponseOf writes the answer to a request: JSON, then the outputs that were asked for as binary data, in
 * order. Outputs of branches that were not taken are listed in the parameter `not_taken`. Where rows have taken different
 * branches, the parameter `rows` of an output says which rows it has. The parameters `answered_by` and `certainty` name
 * the model of a cascade that answers, and say how certain it is; of several rows they are lists. An answer shares no memory
 * with the outputs. It is written in steps.
 * @param take hears the bytes of memory that each piece takes. It may throw.
 */
export function* inferResponseOf(
  { model, request, answer }: AnswerParts,
  take: (bytes: number) => void,
): Steps<InferResponse> {
  const { outputs, rowsOf, notTaken, answeredBy } = answer;
  const json = new Pieces(take);
  const binary: Uint8Array[] = [];
  const id = request.id === undefined ? '' : `"id":${JSON.stringify(request.id)},`;
  json.write(`{"model_name":${JSON.stringify(model)},"model_version":"1",${id}"outputs":[`);
  let written = 0;
  for (const { name, binary: isBinary } of request.outputs) {
    const tensor = outputs[name];
    if (tensor === undefined) continue;
    const head = `"name":${JSON.stringify(name)},"shape":[${tensor.dims.join(',')}],"datatype":"${oipDatatype(tensor.dtype)}"`;
    const parameters = rowsOf[name] === undefined ? [] : [`"rows":[${rowsOf[name].join(',')}]`];
    json.write(written++ === 0 ? '{' : ',{');
    if (isBinary) {
      const bytes = bytesOf(tensor);
      take(bytes.byteLength);
      binary.push(bytes);
      json.write(`${head}${parametersOf([`"binary_data_size":${bytes.byteLength}`, ...parameters])}}`);
      continue;
    }
    json.write(`${head}${parametersOf(parameters)},"data":`);
    for (const text of jsonTexts(tensor)) if (json.write(text)) yield;
    json.write('}');
  }
  const left = request.outputs.flatMap(({ name }) => (notTaken.includes(name) ? [name] : []));
  const parameters = parametersOf([
    ...(left.length === 0 ? [] : [`"not_taken":${JSON.stringify(left)}`]),
    ...answeredParameters(answeredBy),
  ]);
  json.write(`]${parameters}}`);
  const pieces = json.end();
  if (binary.length === 0) return { pieces };
  const headerLength = pieces.reduce((sum, { byteLength }) => sum + byteLength, 0);
  return { pieces: yield* copied([...pieces, ...binary]), headerLength };
}

/** AnswerParts is an answer to a request of a model. */
export interface AnswerParts {
  readonly model: string;
  readonly request: InferRequest;
  readonly answer: RowsAnswer;
}

/** Pieces makes bytes of text that comes bit by bit. */
class Pieces {
  private readonly pieces: Buffer[] = [];
  private text: string[] = [];
  private length = 0;
  private sinceStep = 0;

  constructor(private readonly take: (bytes: number) => void) {}

  /** write adds text. It says whether what was written since the last step was enough work for one. */
  write(text: string): boolean {
    this.text.push(text);
    this.length += text.length;
    if (this.length >= PIECE_BYTES) this.flush();
    this.sinceStep += text.length;
    if (this.sinceStep < STEP_CHARACTERS) return false;
    this.sinceStep = 0;
    return true;
  }

  end(): readonly Buffer[] {
    this.flush();
    return this.pieces;
  }

  private flush(): void {
    const piece = Buffer.from(this.text.join(''));
    this.take(piece.byteLength);
    this.pieces.push(piece);
    this.text = [];
    this.length = 0;
  }
}

/** Text of more characters takes about a millisecond. */
const STEP_CHARACTERS = 64 * 1024;

/** copied copies pieces into others, of which only the last is shorter than a mebibyte. */
function* copied(pieces: readonly Uint8Array[]): Steps<Uint8Array[]> {
  const copies: Uint8Array[] = [];
  let left = pieces.reduce((sum, { byteLength }) => sum + byteLength, 0);
  let copy = new Uint8Array(0);
  let used = 0;
  for (const piece of pieces)
    for (let from = 0; from < piece.byteLength; ) {
      if (used === copy.byteLength) {
        if (used > 0) yield;
        copy = Buffer.allocUnsafe(Math.min(left, PIECE_BYTES));
        copies.push(copy);
        used = 0;
      }
      const part = piece.subarray(from, from + copy.byteLength - used);
      copy.set(part, used);
      used += part.byteLength;
      from += part.byteLength;
      left -= part.byteLength;
    }
  return copies;
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
