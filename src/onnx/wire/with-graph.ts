import { MODEL } from './fields.js';
import type { OnnxModel } from './types.js';
import { delimitedParts, fieldsOf, rawField } from './wire.js';

/** withGraph gives the model's fields with another graph in place of its own, without those that `keep` refuses. */
export function withGraph(
  model: OnnxModel,
  graph: readonly Uint8Array[],
  keep: (number: number, payload: Uint8Array) => boolean = () => true,
): Uint8Array[] {
  const before: Uint8Array[] = [];
  for (const field of fieldsOf(model.bytes)) {
    if (field.number === MODEL.graph) continue;
    if (keep(field.number, model.bytes.subarray(field.from, field.end)))
      before.push(rawField(model.bytes, field));
  }
  return [...before, ...delimitedParts(MODEL.graph, graph)];
}
