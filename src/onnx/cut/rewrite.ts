import { itemAt } from '../../collections/index.js';
import { fault, InputError } from '../../formats/index.js';
import type { OnnxModel, OnnxNode } from '../wire/index.js';
import {
  concat,
  delimited,
  fieldsOf,
  GRAPH,
  NODE,
  quoted,
  rawField,
  textField,
  textOf,
  valueInfoBytes,
  withGraph,
} from '../wire/index.js';

/**
 * exposeTensors gives the whole model with these tensors as graph outputs too, after its own outputs. Where the file
 * does not declare a tensor's type, the output has only a name, and ONNX Runtime infers the rest.
 *
 * @throws InputError where a name is no tensor of the graph
 */
export function exposeTensors(model: OnnxModel, names: readonly string[]): Uint8Array {
  const { graph } = model;
  checkTensors(model, names);
  const already = new Set(graph.outputs.map((output) => output.name));
  const added = [...new Set(names)].filter((name) => !already.has(name));
  const declared = new Map(
    [...graph.inputs, ...graph.valueInfo.values()].map((value) => [value.name, value.encoded]),
  );
  const outputs = added.flatMap((name) =>
    delimited(GRAPH.output, declared.get(name) ?? valueInfoBytes(name)),
  );
  return concat(withGraph(model, [graph.encoded, ...outputs]));
}

/**
 * checkTensors gives the names of all tensors of the graph.
 * @throws InputError where one of `names` is not among them
 */
export function checkTensors(model: OnnxModel, names: readonly string[]): Set<string> {
  const { graph } = model;
  const known = new Set([...graph.inputs, ...graph.initializers.values()].map((value) => value.name));
  for (const node of graph.nodes) for (const name of node.outputs) known.add(name);
  const unknown = names.filter((name) => name === '' || !known.has(name));
  if (unknown.length === 0) return known;
  const faults = unknown.map((name) => fault(`${quoted(name)} is no tensor of its graph`));
  throw new InputError(`expose tensors of ${model.name}`, faults);
}

/**
 * nameNodes gives the same model with every node under its unique `OnnxNode.name`, in topological order, so that a
 * runtime's messages about nodes can be mapped back.
 */
export function nameNodes(model: OnnxModel): Uint8Array {
  const { encoded, nodes } = model.graph;
  const others = [...fieldsOf(encoded)].filter((field) => field.number !== GRAPH.node);
  const asNamed = nodes.map(named);
  const inOrder = nodes.every(
    (node, i) => i === 0 || node.encoded.byteOffset > itemAt(nodes, i - 1).encoded.byteOffset,
  );
  if (inOrder && nodes.every((node, i) => asNamed[i] === node.encoded)) return model.bytes;
  const graph = [
    ...asNamed.flatMap((node) => delimited(GRAPH.node, node)),
    ...others.map((field) => rawField(encoded, field)),
  ];
  return concat(withGraph(model, graph));
}

function named(node: OnnxNode): Uint8Array {
  const names = [...fieldsOf(node.encoded)].filter((field) => field.number === NODE.name);
  if (names.length === 1 && textOf(node.encoded, itemAt(names, 0)) === node.name) return node.encoded;
  const others = [...fieldsOf(node.encoded)].filter((field) => field.number !== NODE.name);
  return concat([...others.map((field) => rawField(node.encoded, field)), textField(NODE.name, node.name)]);
}
