import type { OnnxModel, OnnxNode } from '../wire/index.js';
import {
  concat,
  DIM,
  delimited,
  type Field,
  fieldsOf,
  GRAPH,
  NODE,
  payloadOf,
  quoted,
  rewritten,
  rewrittenParts,
  SHAPE,
  TENSOR_TYPE,
  TYPE,
  textField,
  textOf,
  VALUE_INFO,
  valueInfoBytes,
  vectorBytes,
  withGraph,
} from '../wire/index.js';
import type { BatchFlow, NodeEdit } from './batch-flow.js';

/** Up to this IR version, initializers stand among the graph's inputs too. */
const LAST_IR_WITH_INITIALIZER_INPUTS = 3;

/**
 * relaxed gives the model with its declared shapes opened along the batch, and with new constants for the edited ones;
 * and it says in words what changed.
 */
export function relaxed(
  model: OnnxModel,
  flows: ReadonlyMap<string, BatchFlow>,
  edits: readonly NodeEdit[],
): { bytes: Uint8Array; changes: string[] } {
  const symbol = batchSymbol(model);
  const placed = placedEdits(model, edits);
  const edited = new Map(edits.map(({ node }) => [node, placed.filter((edit) => edit.node === node)]));
  const { encoded, nodes } = model.graph;
  const others = rewrittenParts(encoded, (field) => {
    if (field.number === GRAPH.node) return [];
    if (![GRAPH.input, GRAPH.output, GRAPH.valueInfo].includes(field.number as never)) return undefined;
    return delimited(field.number, looseValue(payloadOf(encoded, field), flows, symbol));
  });
  const graph = [
    ...nodes.flatMap((node) => delimited(GRAPH.node, rewired(node, edited.get(node)))),
    ...others,
    ...placed.flatMap(({ edit, name }) => (edit.values === undefined ? [] : constant(model, name, edit))),
  ];
  return { bytes: concat(withGraph(model, graph)), changes: changesOf(model, symbol, edits) };
}

function changesOf(model: OnnxModel, symbol: string, edits: readonly NodeEdit[]): string[] {
  const ends = [...model.graph.inputs, ...model.graph.outputs].map((value) => quoted(value.name));
  return [`the batch of ${ends.join(', ')} is ${quoted(symbol)}`, ...edits.map(changeOf)];
}

function changeOf({ node, edit: { input, values }, before }: NodeEdit): string {
  const whose = `${node.op} ${quoted(node.name)}`;
  if (values === undefined) return `${whose}: ${quoted(node.inputs[input] ?? '')} is left out`;
  const was = before === undefined ? quoted(node.inputs[input] ?? '') : `[${before.join(', ')}]`;
  return `${whose}: ${was} is [${values.join(', ')}]`;
}

/** batchSymbol gives `batch`, or a longer name where the file uses that symbol for something else. */
function batchSymbol(model: OnnxModel): string {
  const { inputs, outputs, valueInfo } = model.graph;
  const used = new Set(
    [...inputs, ...outputs, ...valueInfo.values()].flatMap((value) =>
      value.type?.kind === 'tensor' ? (value.type.dims ?? []) : [],
    ),
  );
  let symbol = 'batch';
  while (used.has(symbol)) symbol += '_';
  return symbol;
}

interface PlacedEdit extends NodeEdit {
  /** The name of the new constant, or no name where the input is left out. */
  readonly name: string;
}

/** placedEdits names a new initializer for every edited constant, because the old one may have other users. */
function placedEdits(model: OnnxModel, edits: readonly NodeEdit[]): PlacedEdit[] {
  const { nodes, inputs, initializers } = model.graph;
  const taken = new Set([
    ...nodes.flatMap((node) => node.outputs),
    ...inputs.map((i) => i.name),
    ...initializers.keys(),
  ]);
  return edits.map((placed) => {
    const { node, edit } = placed;
    if (edit.values === undefined) return { ...placed, name: '' };
    let name = `${node.inputs[edit.input] || node.name}/batch`;
    while (taken.has(name)) name += '_';
    taken.add(name);
    return { ...placed, name };
  });
}

function rewired(node: OnnxNode, edits: readonly PlacedEdit[] = []): Uint8Array {
  if (edits.length === 0) return node.encoded;
  const names = new Map(edits.map(({ edit, name }) => [edit.input, name]));
  let index = 0;
  return rewritten(node.encoded, (field) => {
    const name = field.number === NODE.input ? names.get(index++) : undefined;
    return name === undefined ? undefined : [textField(NODE.input, name)];
  });
}

function constant(
  model: OnnxModel,
  name: string,
  { values = [], dtype = 'int64' }: { values?: readonly number[]; dtype?: 'int64' | 'float32' },
): Uint8Array[] {
  const tensor = vectorBytes(name, values, dtype);
  const input = valueInfoBytes(name, { dtype, dims: [values.length] });
  const listed = model.irVersion <= LAST_IR_WITH_INITIALIZER_INPUTS ? delimited(GRAPH.input, input) : [];
  return [...delimited(GRAPH.initializer, tensor), ...listed];
}

/** looseValue names the batch's axis in a declared type, or opens it where each request has several entries there. */
function looseValue(value: Uint8Array, flows: ReadonlyMap<string, BatchFlow>, symbol: string): Uint8Array {
  const nameField = [...fieldsOf(value)].findLast((field) => field.number === VALUE_INFO.name);
  const batch = nameField === undefined ? undefined : flows.get(textOf(value, nameField))?.batch;
  if (batch === undefined) return value;
  const dim = batch.factor === 1 ? textField(DIM.param, symbol) : new Uint8Array();
  const within = (
    message: Uint8Array,
    number: number,
    change: (inner: Uint8Array, field: Field) => Uint8Array,
  ) =>
    rewritten(message, (field) =>
      field.number === number ? delimited(number, change(payloadOf(message, field), field)) : undefined,
    );
  return within(value, VALUE_INFO.type, (type) =>
    within(type, TYPE.tensor, (tensor) =>
      within(tensor, TENSOR_TYPE.shape, (shape) => {
        let axis = 0;
        return within(shape, SHAPE.dim, (old) => (axis++ === batch.axis ? dim : old));
      }),
    ),
  );
}
