import { isUtf8 } from 'node:buffer';
import {
  ATTRIBUTE,
  type Field,
  FUNCTION,
  fieldsOf,
  GRAPH,
  LENGTH_DELIMITED,
  NODE,
  type OnnxModel,
  payloadOf,
  SPARSE,
  TENSOR,
  textOf,
} from '../wire/index.js';

/**
 * textsNotUtf8 names the constants, and the nodes with attributes, that hold a string that is not UTF-8, also those of
 * subgraphs and local functions.
 */
export function textsNotUtf8({ graph, functions }: Pick<OnnxModel, 'graph' | 'functions'>): string[] {
  const bodies = functions.flatMap(({ encoded }) => parts(encoded, FUNCTION.node, nodesWith));
  return [...new Set([...graphWith(graph.encoded), ...bodies])];
}

function graphWith(graph: Uint8Array): string[] {
  return [
    ...parts(graph, GRAPH.initializer, tensorsWith),
    ...parts(graph, GRAPH.sparseInitializer, (sparse) => parts(sparse, SPARSE.values, tensorsWith)),
    ...parts(graph, GRAPH.node, nodesWith),
  ];
}

function tensorsWith(tensor: Uint8Array): string[] {
  return holdsOther(tensor, TENSOR.stringData) ? [`constant ${nameOf(tensor, TENSOR.name)}`] : [];
}

function nodesWith(node: Uint8Array): string[] {
  const name = nameOf(node, NODE.name) || nameOf(node, NODE.opType);
  return parts(node, NODE.attribute, (attribute) => {
    const tensors = [
      ...parts(attribute, ATTRIBUTE.t, tensorsWith),
      ...parts(attribute, ATTRIBUTE.tensors, tensorsWith),
      ...[ATTRIBUTE.sparseTensor, ATTRIBUTE.sparseTensors].flatMap((kind) =>
        parts(attribute, kind, (sparse) => parts(sparse, SPARSE.values, tensorsWith)),
      ),
    ];
    const isOwn =
      tensors.length > 0 || [ATTRIBUTE.s, ATTRIBUTE.strings].some((kind) => holdsOther(attribute, kind));
    const inner = [ATTRIBUTE.g, ATTRIBUTE.graphs].flatMap((kind) => parts(attribute, kind, graphWith));
    return [...(isOwn ? [`node ${name}`] : []), ...inner];
  });
}

/** holdsOther says whether a field of a message holds bytes that are not UTF-8. */
function holdsOther(message: Uint8Array, number: number): boolean {
  return fields(message).some((field) => field.number === number && !isUtf8(payloadOf(message, field)));
}

function parts(message: Uint8Array, number: number, read: (part: Uint8Array) => string[]): string[] {
  return fields(message).flatMap((field) => (field.number === number ? read(payloadOf(message, field)) : []));
}

function nameOf(message: Uint8Array, number: number): string {
  const field = fields(message).find((one) => one.number === number);
  return field === undefined ? '' : textOf(message, field);
}

/** fields lists the fields that hold bytes, as all do that hold text or parts in a model that was read. */
function fields(message: Uint8Array): Field[] {
  return [...fieldsOf(message)].filter(({ wireType }) => wireType === LENGTH_DELIMITED);
}
