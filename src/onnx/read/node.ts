import type { Initializer, ValueInfo } from '../wire/index.js';
import {
  ANNOTATION,
  ATTRIBUTE,
  fieldsOf,
  GRAPH,
  merged,
  NODE,
  type Problems,
  payloadOf,
  quoted,
  readSparse,
  readTensor,
  readValueInfo,
  textOf,
  WireError,
} from '../wire/index.js';

/**
 * Protobuf's own parsers stop at 100 nested messages. A subgraph takes three of them (graph, node, attribute), so no
 * runtime reads deeper ones.
 */
const MOST_SUBGRAPH_DEPTH = 32;

/** Place says where in a file a graph or node stands, and where its faults go. */
interface Place {
  readonly path: string;
  readonly problems: Problems;
  /** The number of graphs around this one that hold it. */
  readonly depth?: number;
}

/** RawNode is a NodeProto as it stands in the file. */
export interface RawNode {
  readonly name: string;
  readonly op: string;
  readonly domain: string;
  readonly overload: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly subgraphs: readonly RawGraph[];
  /** The outer values that its subgraphs use, however deeply nested, in order of first use. */
  readonly captures: readonly string[];
  /** The keys (`callKey`) of its operator and of the operators in its subgraphs. */
  readonly calls: readonly string[];
  /** The bytes of the tensors in its attributes and its subgraphs' initializers. */
  readonly heldBytes: number;
  readonly encoded: Uint8Array;
}

/** RawGraph is a GraphProto as it stands in the file, with nodes in file order. */
export interface RawGraph {
  readonly encoded: Uint8Array;
  readonly nodes: readonly RawNode[];
  readonly inputs: readonly ValueInfo[];
  readonly outputs: readonly ValueInfo[];
  readonly initializers: readonly Initializer[];
  readonly valueInfo: readonly ValueInfo[];
}

/**
 * readGraph reads a GraphProto. Parts that cannot be read become faults in `problems` and are left out.
 * @throws WireError where the graph's own fields cannot be read
 */
export function readGraph(encoded: Uint8Array, { path, problems, depth = 0 }: Place): RawGraph {
  const nodes: RawNode[] = [];
  const inputs: ValueInfo[] = [];
  const outputs: ValueInfo[] = [];
  const initializers: Initializer[] = [];
  const valueInfo: ValueInfo[] = [];
  const value = (bytes: Uint8Array, at: string) => readValueInfo(bytes, at, problems);
  const readers = new Map<number, (bytes: Uint8Array) => void>([
    [GRAPH.node, into(nodes, `${path}.node`, (bytes, at) => readNode(bytes, { path: at, problems, depth }))],
    [
      GRAPH.initializer,
      into(initializers, `${path}.initializer`, (bytes, at) => readTensor(bytes, at, problems)),
    ],
    [
      GRAPH.sparseInitializer,
      into(initializers, `${path}.sparse_initializer`, (bytes, at) => readSparse(bytes, at, problems)),
    ],
    [GRAPH.input, into(inputs, `${path}.input`, value)],
    [GRAPH.output, into(outputs, `${path}.output`, value)],
    [GRAPH.valueInfo, into(valueInfo, `${path}.value_info`, value)],
    [GRAPH.quantizationAnnotation, into([], `${path}.quantization_annotation`, annotatedTensor)],
  ]);
  function into<T>(list: T[], where: string, read: (bytes: Uint8Array, at: string) => T) {
    let index = 0;
    return (bytes: Uint8Array) => {
      const at = `${where}[${index++}]`;
      const item = problems.reading(at, () => read(bytes, at));
      if (item !== undefined) list.push(item);
    };
  }
  for (const field of fieldsOf(encoded)) readers.get(field.number)?.(payloadOf(encoded, field));
  return { encoded, nodes, inputs, outputs, initializers, valueInfo };
}

/** annotatedTensor names the tensor that a TensorAnnotation is about. */
export function annotatedTensor(annotation: Uint8Array): string {
  let name = '';
  for (const field of fieldsOf(annotation)) {
    if (field.number === ANNOTATION.tensorName) name = textOf(annotation, field);
  }
  return name;
}

/**
 * readNode reads a NodeProto with its subgraphs, and adds a fault where it has no operator.
 * @throws WireError where its bytes cannot be read, or subgraphs nest more than 32 deep
 */
export function readNode(encoded: Uint8Array, { path, problems, depth = 0 }: Place): RawNode {
  const texts = { name: '', op: '', domain: '', overload: '' };
  const inputs: string[] = [];
  const outputs: string[] = [];
  const attributes: Uint8Array[] = [];
  for (const field of fieldsOf(encoded)) {
    if (field.number === NODE.input) inputs.push(textOf(encoded, field));
    else if (field.number === NODE.output) outputs.push(textOf(encoded, field));
    else if (field.number === NODE.name) texts.name = textOf(encoded, field);
    else if (field.number === NODE.opType) texts.op = textOf(encoded, field);
    else if (field.number === NODE.domain) texts.domain = domainOf(textOf(encoded, field));
    else if (field.number === NODE.overload) texts.overload = textOf(encoded, field);
    else if (field.number === NODE.attribute) attributes.push(payloadOf(encoded, field));
  }
  if (texts.op === '') problems.add(nodePath(path, texts.name), 'has no operator');
  const held = readAttributes(attributes, nodePath(path, texts.name), problems, depth);
  const captures = [...new Set(held.subgraphs.flatMap(outerNames))];
  const nested = held.subgraphs.flatMap((graph) => graph.nodes.flatMap((node) => node.calls));
  const calls = [...new Set([callKey(texts.domain, texts.op, texts.overload), ...nested])];
  return { ...texts, inputs, outputs, captures, calls, ...held, encoded };
}

/** callKey identifies what a node calls: an operator of a domain, or a local function of that name. */
export function callKey(domain: string, op: string, overload: string): string {
  return [domain, op, overload].join('\0');
}

/** outerNames lists the names that a subgraph uses and does not define: they come from the graphs around it. */
function outerNames(graph: RawGraph): string[] {
  const own = new Set([...graph.inputs, ...graph.initializers].map((value) => value.name));
  for (const node of graph.nodes) for (const output of node.outputs) own.add(output);
  const used = graph.nodes.flatMap((node) => [...node.inputs, ...node.captures]);
  return [...used, ...graph.outputs.map((output) => output.name)].filter(
    (name) => name !== '' && !own.has(name),
  );
}

/** domainOf gives the two spellings of the default domain one form. */
export function domainOf(text: string): string {
  return text === 'ai.onnx' ? '' : text;
}

function nodePath(path: string, name: string): string {
  return name === '' ? path : `${path} ${quoted(name)}`;
}

function readAttributes(
  attributes: readonly Uint8Array[],
  path: string,
  problems: Problems,
  depth: number,
): { subgraphs: RawGraph[]; heldBytes: number } {
  const subgraphs: RawGraph[] = [];
  let heldBytes = 0;
  for (const attribute of attributes) {
    const held = attributeParts(attribute);
    for (const tensor of held.tensors)
      heldBytes += readTensor(tensor, `${path} attribute`, problems).byteLength;
    for (const sparse of held.sparse)
      heldBytes += readSparse(sparse, `${path} attribute`, problems).byteLength;
    for (const graph of held.graphs) {
      if (depth >= MOST_SUBGRAPH_DEPTH)
        throw new WireError(`nests subgraphs more than ${MOST_SUBGRAPH_DEPTH} deep, which no runtime reads`);
      subgraphs.push(readGraph(graph, { path: `${path}.subgraph`, problems, depth: depth + 1 }));
    }
  }
  for (const graph of subgraphs) heldBytes += graphBytes(graph);
  return { subgraphs, heldBytes };
}

function attributeParts(encoded: Uint8Array): {
  tensors: Uint8Array[];
  sparse: Uint8Array[];
  graphs: Uint8Array[];
} {
  const single = { tensor: [] as Uint8Array[], sparse: [] as Uint8Array[], graph: [] as Uint8Array[] };
  const many = { tensors: [] as Uint8Array[], sparse: [] as Uint8Array[], graphs: [] as Uint8Array[] };
  for (const field of fieldsOf(encoded)) {
    if (field.number === ATTRIBUTE.t) single.tensor.push(payloadOf(encoded, field));
    else if (field.number === ATTRIBUTE.g) single.graph.push(payloadOf(encoded, field));
    else if (field.number === ATTRIBUTE.sparseTensor) single.sparse.push(payloadOf(encoded, field));
    else if (field.number === ATTRIBUTE.tensors) many.tensors.push(payloadOf(encoded, field));
    else if (field.number === ATTRIBUTE.graphs) many.graphs.push(payloadOf(encoded, field));
    else if (field.number === ATTRIBUTE.sparseTensors) many.sparse.push(payloadOf(encoded, field));
  }
  return {
    tensors: [...whole(single.tensor), ...many.tensors],
    sparse: [...whole(single.sparse), ...many.sparse],
    graphs: [...whole(single.graph), ...many.graphs],
  };
}

function whole(parts: readonly Uint8Array[]): Uint8Array[] {
  const message = merged(parts);
  return message === undefined ? [] : [message];
}

function graphBytes(graph: RawGraph): number {
  const own = graph.initializers.reduce((sum, tensor) => sum + tensor.byteLength, 0);
  return graph.nodes.reduce((sum, node) => sum + node.heldBytes, own);
}
