import type { Initializer, OnnxModel } from '../wire/index.js';
import {
  concat,
  delimited,
  ENTRY,
  fieldsOf,
  GRAPH,
  numberField,
  payloadOf,
  rawField,
  rewritten,
  TENSOR,
  textField,
  withGraph,
} from '../wire/index.js';

/** Smaller initializers stay in the model. ONNX Runtime looks into them when it infers shapes. */
const LEAST_BYTES = 1024;
/** Each weight starts at a page, so that it can be mapped into memory. */
const PAGE_BYTES = 4096;
/** TensorProto.DataLocation. */
const EXTERNAL = 1;
/** These are the types whose elements take whole bytes, in `raw_data` as in a data file. */
const MOVABLE = new Set(
  'float32 float64 float16 bfloat16 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool'.split(' '),
);

/** Weight is a piece of a data file: a view of the model's own bytes. */
export interface Weight {
  readonly offset: number;
  readonly bytes: Uint8Array;
}

/** LightModel is a model without its large weights, and what the data file is to hold. */
export interface LightModel {
  readonly bytes: Uint8Array;
  readonly weights: readonly Weight[];
}

/**
 * withoutWeights gives the same model with the large initializers of its graph in a data file. Many variants of it can
 * then be made, written and loaded without copies of the weights. External tensors stay where they are.
 * @param dataFile the file's name, in the folder where the model will lie
 */
export function withoutWeights(model: OnnxModel, dataFile: string): LightModel {
  const { encoded, initializers } = model.graph;
  const weights: Weight[] = [];
  let end = 0;
  const moved = (tensor: Uint8Array): Uint8Array => {
    const bytes = rawDataOf(tensor);
    if (bytes === undefined) return tensor;
    const offset = Math.ceil(end / PAGE_BYTES) * PAGE_BYTES;
    end = offset + bytes.length;
    weights.push({ offset, bytes });
    return pointing(tensor, { location: dataFile, offset: String(offset), length: String(bytes.length) });
  };
  const large = new Set([...initializers.values()].filter(isLarge).map(({ encoded }) => encoded.byteOffset));
  const graph = [...fieldsOf(encoded)].flatMap((field) => {
    if (field.number !== GRAPH.initializer) return [rawField(encoded, field)];
    const tensor = payloadOf(encoded, field);
    return large.has(tensor.byteOffset)
      ? delimited(GRAPH.initializer, moved(tensor))
      : [rawField(encoded, field)];
  });
  return { bytes: concat(withGraph(model, graph)), weights };
}

function isLarge({ dtype, byteLength, external, sparse }: Initializer): boolean {
  return !sparse && external === undefined && byteLength >= LEAST_BYTES && MOVABLE.has(dtype);
}

/** rawDataOf gives the tensor's raw bytes; undefined where its values lie in another field. */
function rawDataOf(tensor: Uint8Array): Uint8Array | undefined {
  let raw: Uint8Array | undefined;
  for (const field of fieldsOf(tensor)) if (field.number === TENSOR.rawData) raw = payloadOf(tensor, field);
  return raw;
}

function pointing(tensor: Uint8Array, entries: Record<string, string>): Uint8Array {
  const dropped = new Set<number>([TENSOR.rawData, TENSOR.dataLocation, TENSOR.externalData]);
  const kept = rewritten(tensor, ({ number }) => (dropped.has(number) ? [] : undefined));
  const told = Object.entries(entries).flatMap(([key, value]) =>
    delimited(TENSOR.externalData, concat([textField(ENTRY.key, key), textField(ENTRY.value, value)])),
  );
  return concat([kept, ...told, numberField(TENSOR.dataLocation, EXTERNAL)]);
}
