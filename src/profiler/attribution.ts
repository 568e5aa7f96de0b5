import { itemAt } from '../collections/index.js';
import type { OnnxModel, OnnxNode } from '../onnx/index.js';

/** OptimizedNode is a node of the optimized graph, as far as attribution needs it. */
export interface OptimizedNode {
  readonly name: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
}

/**
 * originalsOf finds the original nodes that each node of an optimized graph stands for, by index into
 * `original.graph.nodes`.
 *
 * An optimized node that makes a tensor of the original graph stands for the original nodes between that tensor and the
 * nearest tensors that other optimized nodes make: its backward closure. (Nodes that only constants feed are left out
 * unless there is nothing else.) `<tensor>_nchwc`, the same tensor in blocked layout, counts as the tensor. A node that
 * makes no original tensor (a reorder of layouts, a part of a fusion) stands for the same nodes as its first consumer,
 * or as its producer where nobody consumes it.
 * @returns the original nodes of each optimized node; empty only where the graphs have nothing in common
 */
export function originalsOf(original: OnnxModel, optimized: readonly OptimizedNode[]): number[][] {
  const graph = indexed(original);
  const made = optimized.map((node) => node.outputs.map((name) => graph.canonical(name)));
  const available = new Set(made.flat());
  const claimed = new Set<number>();
  const own = made.map((outputs) => {
    const closure = closureOf(graph, outputs, available);
    const unclaimed = closure.filter((index) => !claimed.has(index));
    for (const index of unclaimed) claimed.add(index);
    return unclaimed.length > 0 ? unclaimed : closure;
  });
  return adopted(optimized, own);
}

interface Indexed {
  readonly nodes: readonly OnnxNode[];
  readonly producer: ReadonlyMap<string, number>;
  /** The original tensor that a name of the optimized graph stands for, or undefined. */
  canonical(name: string): string | undefined;
}

const BLOCKED_LAYOUT = /_nchwc$/;

function indexed(model: OnnxModel): Indexed {
  const producer = new Map<string, number>();
  model.graph.nodes.forEach((node, index) => {
    for (const name of node.outputs) if (name !== '') producer.set(name, index);
  });
  const canonical = (name: string) => {
    if (producer.has(name)) return name;
    const plain = name.replace(BLOCKED_LAYOUT, '');
    return producer.has(plain) ? plain : undefined;
  };
  return { nodes: model.graph.nodes, producer, canonical };
}

/** closureOf lists the original nodes from these tensors back to the tensors that are available. */
function closureOf(
  graph: Indexed,
  outputs: readonly (string | undefined)[],
  available: ReadonlySet<string | undefined>,
): number[] {
  const working = new Set<number>();
  const constant = new Set<number>();
  const waiting = outputs.flatMap((name) => (name === undefined ? [] : [name]));
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    const index = graph.producer.get(name);
    if (index === undefined || working.has(index) || constant.has(index)) continue;
    const node = itemAt(graph.nodes, index);
    (node.constant ? constant : working).add(index);
    for (const input of [...node.inputs, ...node.captures]) {
      if (input !== '' && !available.has(input)) waiting.push(input);
    }
  }
  const found = working.size > 0 ? working : constant;
  return [...found].sort((a, b) => a - b);
}

/** adopted gives nodes without originals those of their first consumer, else of their first producer. */
function adopted(optimized: readonly OptimizedNode[], own: readonly number[][]): number[][] {
  const result = own.map((list) => [...list]);
  const producer = new Map<string, number>();
  const consumer = new Map<string, number>();
  optimized.forEach((node, index) => {
    for (const name of node.outputs) producer.set(name, index);
    for (const name of node.inputs) if (!consumer.has(name)) consumer.set(name, index);
  });
  const adopt = (index: number, names: readonly string[], from: ReadonlyMap<string, number>) => {
    for (const name of names) {
      const other = from.get(name);
      if (itemAt(result, index).length === 0 && other !== undefined)
        result[index] = [...itemAt(result, other)];
    }
  };
  for (let i = optimized.length - 1; i >= 0; i--) adopt(i, itemAt(optimized, i).outputs, consumer);
  optimized.forEach((node, i) => {
    adopt(i, node.inputs, producer);
  });
  return result;
}
