import { itemAt } from '../../collections/index.js';
import type { OnnxModel } from '../wire/index.js';
import {
  ATTRIBUTE,
  concat,
  delimited,
  GRAPH,
  MODEL,
  messageField,
  NODE,
  numberField,
  OPSET,
  textField,
  valueInfoBytes,
  vectorBytes,
  withGraph,
} from '../wire/index.js';
import { checkTensors } from './rewrite.js';

/** Pick holds the places along one axis that are looked at, in ascending order. */
export interface Pick {
  readonly axis: number;
  readonly indices: readonly number[];
}

/**
 * Probe asks for a tensor's shape, or for its elements: those at the crossings of all `picks`, or all of them without
 * picks.
 */
export type Probe =
  | { readonly tensor: string; readonly asks: 'shape' }
  | { readonly tensor: string; readonly asks: 'elements'; readonly picks: readonly Pick[] };

export interface Probed {
  readonly bytes: Uint8Array;
  /** The graph output that answers each probe. */
  readonly outputs: readonly string[];
}

/** Where a model imports no default operator set, this one is imported. All have Shape, Gather and Constant. */
const DEFAULT_OPSET = 13;
/** AttributeProto.AttributeType. */
const ATTRIBUTE_TENSOR = 4;
const ATTRIBUTE_INT = 2;

/**
 * probeTensors gives the whole model with probes as graph outputs too, after its own outputs. A probed tensor stays an
 * inner tensor, which ONNX Runtime frees after its last use. For that, the probes' nodes stand last, in the reverse of
 * the order in which their tensors are made. ONNX Runtime orders nodes depth first from the graph's ends, the last end
 * first, so that each probe runs as soon as its tensor is made.
 *
 * @throws InputError where a name is no tensor of the graph
 */
export function probeTensors(model: OnnxModel, probes: readonly Probe[]): Probed {
  const taken = checkTensors(
    model,
    probes.map(({ tensor }) => tensor),
  );
  const made = new Map(model.graph.nodes.flatMap(({ outputs }, at) => outputs.map((name) => [name, at])));
  const answers = probes.map((probe) => answerOf(probe, taken));
  const order = [...answers.keys()].sort(
    (a, b) => (made.get(itemAt(probes, b).tensor) ?? -1) - (made.get(itemAt(probes, a).tensor) ?? -1),
  );
  const nodes = order.flatMap((i) => itemAt(answers, i).nodes.flatMap((node) => delimited(GRAPH.node, node)));
  const already = new Set(model.graph.outputs.map(({ name }) => name));
  const outputs = answers.map(({ output }) => output);
  const added = [...new Set(outputs)].filter((name) => !already.has(name));
  const infos = added.flatMap((name) => delimited(GRAPH.output, declared(model, name)));
  const opset = delimited(MODEL.opsetImport, numberField(OPSET.version, DEFAULT_OPSET));
  const lacking = nodes.length > 0 && !model.opsets.has('') ? opset : [];
  const bytes = concat([...withGraph(model, [model.graph.encoded, ...nodes, ...infos]), ...lacking]);
  return { bytes, outputs };
}

function declared(model: OnnxModel, name: string): Uint8Array {
  const { inputs, valueInfo } = model.graph;
  const known = inputs.find((input) => input.name === name) ?? valueInfo.get(name);
  return known?.encoded ?? valueInfoBytes(name);
}

function answerOf(probe: Probe, taken: Set<string>): { nodes: Uint8Array[]; output: string } {
  const { tensor } = probe;
  if (probe.asks === 'shape') {
    const output = unique(`${tensor}/shape probe`, taken);
    return { nodes: [node('Shape', [tensor], output)], output };
  }
  let output = tensor;
  const nodes = probe.picks.flatMap((pick) => {
    const [from, indices, to] = [
      output,
      unique(`${tensor}/probed indices`, taken),
      unique(`${tensor}/probed part`, taken),
    ];
    output = to;
    const places = tensorAttribute('value', indices, pick.indices);
    return [
      node('Constant', [], indices, places),
      node('Gather', [from, indices], to, integerAttribute('axis', pick.axis)),
    ];
  });
  return { nodes, output };
}

function unique(wanted: string, taken: Set<string>): string {
  let name = wanted;
  while (taken.has(name)) name += '_';
  taken.add(name);
  return name;
}

function node(op: string, inputs: readonly string[], output: string, attribute?: Uint8Array): Uint8Array {
  return concat([
    ...inputs.map((name) => textField(NODE.input, name)),
    textField(NODE.output, output),
    textField(NODE.name, output),
    textField(NODE.opType, op),
    ...(attribute === undefined ? [] : [messageField(NODE.attribute, attribute)]),
  ]);
}

function integerAttribute(name: string, value: number): Uint8Array {
  return concat([
    textField(ATTRIBUTE.name, name),
    numberField(ATTRIBUTE.i, value),
    numberField(ATTRIBUTE.type, ATTRIBUTE_INT),
  ]);
}

function tensorAttribute(name: string, tensor: string, values: readonly number[]): Uint8Array {
  return concat([
    textField(ATTRIBUTE.name, name),
    messageField(ATTRIBUTE.t, vectorBytes(tensor, values)),
    numberField(ATTRIBUTE.type, ATTRIBUTE_TENSOR),
  ]);
}
