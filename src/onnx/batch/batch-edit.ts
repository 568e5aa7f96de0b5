import { withGraph } from '../cut/index.js';
import type { OnnxModel, OnnxNode } from '../wire/index.js';
import {
  concat,
  DIM,
  delimited,
  type Field,
  fieldsOf,
  GRAPH,
  NODE,
  numberField,
  payloadOf,
  quoted,
  rewritten,
  SHAPE,
  TENSOR,
  TENSOR_TYPE,
  TYPE,
  textField,
  textOf,
  VALUE_INFO,
  valueInfoBytes,
} from '../wire/index.js';
import type { BatchFlow, NodeEdit } from './batch-flow.js';

/** Up to this IR version, initializers stand among the graph's inputs too. */
const LAST_IR_WITH_INITIALIZER_INPUTS = 3;
const INT64 = 7;

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
  const names = namesOfEdits(model, edits);
  const edited = new Map(edits.map((edit, index) => [edit.node, { edit, name: names[index] as string }]));
  const { encoded, nodes } = model.graph;
  const others = rewritten(encoded, (field) => {
    if (field.number === GRAPH.node) return [];
    if (![GRAPH.input, GRAPH.output, GRAPH.valueInfo].includes(field.number as never)) return undefined;
    return delimited(field.number, looseValue(payloadOf(encoded, field), flows, symbol));
  });
  const graph = [
    ...nodes.flatMap((node) => delimited(GRAPH.node, rewired(node, edited.get(node)))),
    others,
    ...edits.flatMap((edit, index) => constant(model, names[index] as string, edit.values)),
  ];
  return { bytes: concat(withGraph(model, graph)), changes: changesOf(model, symbol, edits) };
}

function changesOf(model: OnnxModel, symbol: string, edits: readonly NodeEdit[]): string[] {
  const ends = [...model.graph.inputs, ...model.graph.outputs].map((value) => quoted(value.name));
  return [
    `the batch of ${ends.join(', ')} is ${quoted(symbol)}`,
    ...edits.map(
      ({ node, before, values }) =>
        `${node.op} ${quoted(node.name)}: [${before.join(', ')}] is [${values.join(', ')}]`,
    ),
  ];
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

/** namesOfEdits names a new initializer for every edited constant, because the old one may have other users. */
function namesOfEdits(model: OnnxModel, edits: readonly NodeEdit[]): string[] {
  const { nodes, inputs, initializers } = model.graph;
  const taken = new Set([
    ...nodes.flatMap((node) => node.outputs),
    ...inputs.map((i) => i.name),
    ...initializers.keys(),
  ]);
  return edits.map(({ node, input }) => {
    let name = `${node.inputs[input]}/batch`;
    while (taken.has(name)) name += '_';
    taken.add(name);
    return name;
  });
}

function rewired(node: OnnxNode, edited: { edit: NodeEdit; name: string } | undefined): Uint8Array {
  if (edited === undefined) return node.encoded;
  let index = 0;
  return rewritten(node.encoded, (field) => {
    if (field.number !== NODE.input || index++ !== edited.edit.input) return undefined;
    return [textField(NODE.input, edited.name)];
  });
}

function constant(model: OnnxModel, name: string, values: readonly number[]): Uint8Array[] {
  const tensor = concat([
    numberField(TENSOR.dims, values.length),
    numberField(TENSOR.dataType, INT64),
    textField(TENSOR.name, name),
    ...delimited(TENSOR.rawData, new Uint8Array(BigInt64Array.from(values.map(BigInt)).buffer)),
  ]);
  const input = valueInfoBytes(name, { dtype: 'int64', dims: [values.length] });
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
