import { callKey } from '../read/index.js';
import type { OnnxModel, OnnxNode } from '../wire/index.js';
import { usedBy } from './cuts.js';

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
 * It does not check that the range exists.
 */
export function partitionParts(model: OnnxModel, from: number, to: number): PartitionParts {
  const { nodes, inputs, outputs } = model.graph;
  const last = to === nodes.length;
  if (from === 0 && last) {
    const names = new Set<string>();
    return { whole: true, nodes, inputs: namesOf(inputs), outputs: namesOf(outputs), names };
  }
  const ours = (node: OnnxNode, index: number) => !node.constant && index >= from && index < to;
  const working = nodes.filter(ours);
  const chosen = withConstants(model, working, last ? namesOf(outputs) : []);
  const made = new Set(working.flatMap((node) => node.outputs));
  const usedLater = new Set(nodes.slice(to).flatMap(usedBy));
  for (const name of namesOf(outputs)) usedLater.add(name);
  const used = new Set(working.flatMap(usedBy));
  const given = namesOf(inputs).filter((name) => used.has(name));
  const before = nodes
    .filter((node, index) => !node.constant && index < from)
    .flatMap((node) => node.outputs);
  const constantOutputs = last ? namesOf(outputs).filter((name) => isConstant(model, name)) : [];
  return {
    whole: false,
    nodes: chosen,
    inputs: [...given, ...before.filter((name) => used.has(name))],
    outputs: [...[...made].filter((name) => usedLater.has(name)), ...constantOutputs],
    names: new Set([...chosen.flatMap((node) => [...usedBy(node), ...node.outputs]), ...constantOutputs]),
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

/** withConstants gives the working nodes and every constant node that they or `outputs` need, in topological order. */
function withConstants(
  model: OnnxModel,
  working: readonly OnnxNode[],
  outputs: readonly string[],
): OnnxNode[] {
  const chosen = new Set(working);
  const wanted = new Set([...working.flatMap(usedBy), ...outputs]);
  for (const node of model.graph.nodes.toReversed()) {
    if (!node.constant || !node.outputs.some((name) => wanted.has(name))) continue;
    chosen.add(node);
    for (const name of usedBy(node)) wanted.add(name);
  }
  return model.graph.nodes.filter((node) => chosen.has(node));
}

/**
 * usedFunctions finds the local functions that nodes call, directly or through one another. It gives the offsets of
 * their bytes (`encoded.byteOffset`), by which they are told apart.
 */
export function usedFunctions(model: OnnxModel, nodes: readonly OnnxNode[]): Set<number> {
  const calls = new Set(nodes.flatMap((node) => node.calls));
  const local = new Map(model.functions.map((f) => [callKey(f.domain, f.name, f.overload), f]));
  for (const call of calls) for (const inner of local.get(call)?.calls ?? []) calls.add(inner);
  return new Set([...calls].flatMap((call) => local.get(call)?.encoded.byteOffset ?? []));
}
