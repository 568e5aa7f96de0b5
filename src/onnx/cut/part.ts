import { callKey } from '../read/index.js';
import type { OnnxModel, OnnxNode } from '../wire/index.js';
import { type Cut, crossingAt } from './cuts.js';
import { repeatsOf } from './repeat.js';
import { spansOf, usedBy } from './spans.js';

/** PartRange says which nodes make a partition: [from, to) in topological order. */
export interface PartRange {
  readonly from: number;
  readonly to: number;
  /**
   * The crossings at its two ends, by the cuts' positions; by default those that `cutsOf` chooses without
   * bytes.
   */
  readonly cuts?: readonly Cut[] | undefined;
}

/** PartitionParts are a partition's nodes and the tensors at its ends, by the model's names. */
export interface PartitionParts {
  readonly whole: boolean;
  readonly nodes: readonly OnnxNode[];
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  /** All tensors that its nodes name; empty for the whole model, of which everything stays. */
  readonly names: ReadonlySet<string>;
}

/**
 * partitionParts finds what nodes [from, to) need to stand alone, and what they give to later nodes or to the caller.
 * Its nodes are these, and all earlier ones whose outputs it needs and does not get: constant nodes and nodes that are
 * repeated. It does not check that the range exists.
 */
export function partitionParts(model: OnnxModel, range: PartRange): PartitionParts {
  const { nodes, inputs, outputs } = model.graph;
  const { from, to } = range;
  const last = to === nodes.length;
  if (from === 0 && last) {
    const names = new Set<string>();
    return { whole: true, nodes, inputs: namesOf(inputs), outputs: namesOf(outputs), names };
  }
  const given = new Set(from === 0 ? namesOf(inputs) : crossingAt(model, from, range.cuts));
  const sent = last ? namesOf(outputs) : crossingAt(model, to, range.cuts);
  const isInput = new Set(namesOf(inputs));
  const wanted = new Set(sent.filter((name) => !given.has(name) && !isInput.has(name)));
  const chosen = withRepeated(model, { from, to, given, wanted });
  const made = new Set(chosen.flatMap((node) => node.outputs));
  const used = new Set(chosen.flatMap(usedBy));
  const isTaken = (name: string) => used.has(name) && !made.has(name);
  const before = nodes.slice(0, from).flatMap((node) => (node.constant ? [] : node.outputs));
  const constantOutputs = [...wanted].filter((name) => isConstant(model, name));
  const computed = chosen.flatMap((node) => (node.constant ? [] : node.outputs));
  return {
    whole: false,
    nodes: chosen,
    inputs: [...namesOf(inputs).filter(isTaken), ...before.filter(isTaken)],
    outputs: [...computed.filter((name) => wanted.has(name)), ...constantOutputs],
    names: new Set([...used, ...made, ...constantOutputs].filter((name) => name !== '')),
  };
}

/** namesOf lists the names of values in their order. */
export function namesOf(values: readonly { readonly name: string }[]): string[] {
  return values.map((value) => value.name);
}

function isConstant(model: OnnxModel, name: string): boolean {
  if (model.graph.initializers.has(name)) return true;
  return model.graph.nodes.some((node) => node.constant && node.outputs.includes(name));
}
/** Ends are where a partition begins and ends, what it is given, and what it must make. */
interface Ends {
  readonly from: number;
  readonly to: number;
  readonly given: ReadonlySet<string>;
  readonly wanted: ReadonlySet<string>;
}

/**
 * withRepeated gives, in topological order, the nodes that make what is wanted from what is given. Nodes of the range
 * that nothing uses are among them. All constant nodes that make a needed tensor are, because there are files in which
 * several do, and ONNX Runtime takes the last.
 */
function withRepeated(model: OnnxModel, { from, to, given, wanted }: Ends): OnnxNode[] {
  const { nodes } = model.graph;
  const { sizes, inputs } = repeatsOf(model);
  const live = spansOf(model);
  const needed = new Set(wanted);
  const chosen = new Set<OnnxNode>();
  const isNeeded = (node: OnnxNode) => node.outputs.some((name) => needed.has(name));
  const choose = (node: OnnxNode) => {
    chosen.add(node);
    for (const name of usedBy(node)) if (!given.has(name)) needed.add(name);
  };
  for (const [index, node] of [...nodes.entries()].slice(0, to).reverse()) {
    if (node.constant) continue;
    const isUnused = index >= from && !node.outputs.some((name) => live.has(name));
    const canBeHere = index >= from || sizes.has(node) || inputs.has(node);
    if (isUnused || (canBeHere && isNeeded(node))) choose(node);
  }
  for (const node of nodes.toReversed()) if (node.constant && isNeeded(node)) choose(node);
  return nodes.filter((node) => chosen.has(node));
}

/**
 * usedFunctions finds the local functions that nodes call, directly or through one another. It gives the offsets of
 * their bytes (`encoded.byteOffset`), by which they are distinguished.
 */
export function usedFunctions(model: OnnxModel, nodes: readonly OnnxNode[]): Set<number> {
  const calls = new Set(nodes.flatMap((node) => node.calls));
  const local = new Map(model.functions.map((f) => [callKey(f.domain, f.name, f.overload), f]));
  for (const call of calls) for (const inner of local.get(call)?.calls ?? []) calls.add(inner);
  return new Set([...calls].flatMap((call) => local.get(call)?.encoded.byteOffset ?? []));
}
