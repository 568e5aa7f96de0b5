import { type RawNode, readNode } from '../read/index.js';
import {
  ATTRIBUTE,
  delimited,
  type Field,
  FUNCTION,
  fieldsOf,
  GRAPH,
  NODE,
  numberOf,
  type OnnxFunction,
  OPSET,
  Problems,
  payloadOf,
  rewritten,
  textField,
  textOf,
} from '../wire/index.js';

/** CalledBody is the body of a local function, with the attributes of the node that calls it. */
export interface CalledBody {
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly nodes: readonly RawNode[];
  /** The version of the default operator set that the function imports. */
  readonly opset: number;
}

/**
 * calledBody reads the body of a local function as a node calls it.
 * @throws WireError where its bytes, or those of the call, cannot be read
 */
export function calledBody({ encoded }: OnnxFunction, call: Pick<RawNode, 'encoded'>): CalledBody {
  const inputs: string[] = [];
  const outputs: string[] = [];
  const nodes: Uint8Array[] = [];
  const given = new Map<string, Uint8Array>();
  let opset = 1;
  for (const field of fieldsOf(encoded)) {
    if (field.number === FUNCTION.input) inputs.push(textOf(encoded, field));
    else if (field.number === FUNCTION.output) outputs.push(textOf(encoded, field));
    else if (field.number === FUNCTION.node) nodes.push(payloadOf(encoded, field));
    else if (field.number === FUNCTION.attributeDefault) addTo(given, payloadOf(encoded, field));
    else if (field.number === FUNCTION.opsetImport) opset = versionOf(payloadOf(encoded, field)) ?? opset;
  }
  for (const field of fieldsOf(call.encoded))
    if (field.number === NODE.attribute) addTo(given, payloadOf(call.encoded, field));
  const read = (node: Uint8Array) =>
    readNode(withAttributes(node, given), { path: '', problems: new Problems() });
  return { inputs, outputs, nodes: nodes.map(read), opset };
}

function addTo(given: Map<string, Uint8Array>, attribute: Uint8Array): void {
  given.set(textIn(attribute, ATTRIBUTE.name), attribute);
}

/** versionOf gives the version of an operator set, if it is the default one. */
function versionOf(encoded: Uint8Array): number | undefined {
  if (!['', 'ai.onnx'].includes(textIn(encoded, OPSET.domain))) return undefined;
  const version = [...fieldsOf(encoded)].findLast((field) => field.number === OPSET.version);
  return version && numberOf(encoded, version);
}

/** withAttributes puts the attributes of a call in place of the references to them, in subgraphs too. */
function withAttributes(node: Uint8Array, given: ReadonlyMap<string, Uint8Array>): Uint8Array {
  return changed(node, NODE.attribute, (attribute) => {
    const reference = textIn(attribute, ATTRIBUTE.reference);
    if (reference !== '') {
      const value = given.get(reference);
      // A reference to an attribute that the call leaves out is left out as well.
      return value && rewritten(value, (field) => (isName(field) ? [nameOf(attribute)] : undefined));
    }
    return changed(attribute, ATTRIBUTE.g, (graph) =>
      changed(graph, GRAPH.node, (inner) => withAttributes(inner, given)),
    );
  });
}

/** changed passes the parts of a message that are under a number through `change`; undefined leaves a part out. */
function changed(
  message: Uint8Array,
  number: number,
  change: (part: Uint8Array) => Uint8Array | undefined,
): Uint8Array {
  return rewritten(message, (field) => {
    if (field.number !== number) return undefined;
    const part = change(payloadOf(message, field));
    return part === undefined ? [] : delimited(number, part);
  });
}

const isName = (field: Field) => field.number === ATTRIBUTE.name;
const nameOf = (attribute: Uint8Array) => textField(ATTRIBUTE.name, textIn(attribute, ATTRIBUTE.name));

/** textIn gives the text of a message's field, or an empty one. */
export function textIn(message: Uint8Array, number: number): string {
  const field = [...fieldsOf(message)].findLast((one) => one.number === number);
  return field === undefined ? '' : textOf(message, field);
}
