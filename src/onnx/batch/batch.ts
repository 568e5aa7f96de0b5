import type { OnnxModel, OnnxNode, TensorType } from '../wire/index.js';
import { quoted } from '../wire/index.js';
import { batchDim } from './batch-dim.js';
import { relaxed } from './batch-edit.js';
import {
  attributesOf,
  type BatchFlow,
  constantFlow,
  constantNodeFlow,
  type NodeEdit,
  ruleNode,
} from './batch-flow.js';
import { follow } from './batch-rules.js';

/**
 * SymbolicBatch is a model that takes any batch, with what was changed for that in words; or it is the reason why the
 * batch could not be made symbolic.
 */
export type SymbolicBatch =
  | { readonly ok: true; readonly bytes: Uint8Array; readonly changes: readonly string[] }
  | { readonly ok: false; readonly missing: string };

/**
 * makeBatchSymbolic turns a model with a fixed batch (usually 1) into one that takes any batch. It does so where it can
 * show that every row goes its own way from input to output, and otherwise names the tensor, node and axis where it
 * cannot. It follows the batch's axis through the graph, node by node, and opens the declared shapes and the constants
 * of Reshape that have the batch in them. A model whose batch is symbolic already is returned as it is. `batchDim` says
 * which dimension is the batch.
 *
 * @param options.types types of inner tensors as measured at the fixed batch; they decide cases that the file's own
 *   declarations leave open (how many rows a −1 stands for, what broadcasts against the batch)
 */
export function makeBatchSymbolic(
  model: OnnxModel,
  options: { types?: ReadonlyMap<string, TensorType> } = {},
): SymbolicBatch {
  const batch = batchDim(model);
  if (batch.kind === 'symbolic') return { ok: true, bytes: model.bytes, changes: [] };
  if (batch.kind === 'none') return { ok: false, missing: batch.why };
  const followed = followBatch(model, batch.size, options.types ?? new Map());
  if (typeof followed === 'string') return { ok: false, missing: followed };
  const lost = model.graph.outputs.flatMap(({ name }) => lostOutput(name, followed.flows.get(name)) ?? []);
  if (lost.length > 0) return { ok: false, missing: lost.join('; ') };
  return { ok: true, ...relaxed(model, followed.flows, followed.edits) };
}

function lostOutput(name: string, flow: BatchFlow | undefined): string | undefined {
  if (flow?.batch === undefined) return `output ${quoted(name)} has no batch axis`;
  if (flow.batch.factor === 1) return undefined;
  const { axis, factor } = flow.batch;
  return `output ${quoted(name)} has ${factor} entries on axis ${axis} for each request`;
}

function followBatch(
  model: OnnxModel,
  size: number,
  types: ReadonlyMap<string, TensorType>,
): { flows: Map<string, BatchFlow>; edits: NodeEdit[] } | string {
  const { graph } = model;
  const flows = new Map(
    [...graph.initializers.values()].map((tensor) => [tensor.name, constantFlow(tensor)]),
  );
  const known = new Map(types);
  for (const { name, type } of [...graph.inputs, ...graph.outputs, ...graph.valueInfo.values()])
    if (type?.kind === 'tensor' && !known.has(name)) known.set(name, type);
  for (const { name } of graph.inputs) {
    const dims = knownDims(known.get(name));
    const scalar = dims?.length === 0;
    flows.set(name, { ...(scalar ? {} : { batch: { axis: 0, factor: 1 } }), ...(dims && { dims }) });
  }
  const edits: NodeEdit[] = [];
  for (const node of graph.nodes) {
    const why = followNode(model, node, { flows, known, edits, size });
    if (why !== undefined) return `${node.op} ${quoted(node.name)}${about(node, flows)}: ${why}`;
  }
  return { flows, edits };
}

interface Following {
  readonly flows: Map<string, BatchFlow>;
  readonly known: ReadonlyMap<string, TensorType>;
  readonly edits: NodeEdit[];
  readonly size: number;
}

function followNode(model: OnnxModel, node: OnnxNode, state: Following): string | undefined {
  const { flows, known, edits, size } = state;
  const captured = node.captures.some(
    (name) => flows.get(name)?.batch !== undefined || flows.get(name)?.sized,
  );
  if (captured) return 'its subgraphs use batched tensors';
  const attributes = attributesOf(node);
  if (attributes === undefined) return 'its attributes cannot be read';
  if (node.op === 'Constant' && node.domain === '') {
    flows.set(node.outputs[0] ?? '', constantNodeFlow(attributes));
    return undefined;
  }
  const opset = model.opsets.get('') ?? 1;
  const outcome = follow(ruleNode(node, attributes, { flows, opset, size }), node.domain);
  if (typeof outcome === 'string') return outcome;
  if (outcome.edit !== undefined) {
    const before = flows.get(node.inputs[outcome.edit.input] ?? '')?.values ?? [];
    edits.push({ ...outcome.edit, node, before: before.map(Number) });
  }
  node.outputs.forEach((name, index) => {
    if (name === '') return;
    const flow = outcome.flows[index] ?? {};
    const dims = knownDims(known.get(name));
    flows.set(name, dims === undefined ? flow : { ...flow, dims });
  });
  return undefined;
}

function knownDims(type: TensorType | undefined): (number | undefined)[] | undefined {
  return type?.dims?.map((dim) => (typeof dim === 'number' ? dim : undefined));
}

/** about names the batched input of a node and its axis: where a person should look in the model. */
function about(node: OnnxNode, flows: ReadonlyMap<string, BatchFlow>): string {
  const name = node.inputs.find((input) => flows.get(input)?.batch !== undefined);
  const batch = name === undefined ? undefined : flows.get(name)?.batch;
  return batch === undefined ? '' : ` on ${quoted(name!)} (batch on axis ${batch.axis})`;
}
