import { itemAt } from '../../collections/index.js';
import type { OnnxModel } from '../wire/index.js';
import { type PartRange, partitionParts } from './part.js';
import { liveAt, usedBy } from './spans.js';

/** LargestCut is the place where most bytes live between one node and those after it. */
export interface LargestCut {
  readonly bytes: number;
  /** The name of the node before the cut. */
  readonly node: string;
  /** The tensors that live there, the largest first. */
  readonly tensors: readonly string[];
}

/** The output of these operators may be their input's memory under another name. */
const SAME_MEMORY = new Set(['Reshape', 'Flatten', 'Squeeze', 'Unsqueeze', 'Identity', 'Dropout']);

/**
 * largestCut finds the place where most bytes live. All of them are needed later, so any run of the model holds them at
 * once. Tensors that may share memory count once. It is undefined for a model of fewer than two nodes.
 */
export function largestCut(model: OnnxModel, bytesOf: (tensor: string) => number): LargestCut | undefined {
  const memoryOf = sharedMemory(model);
  let largest: LargestCut | undefined;
  for (const [index, tensors] of liveAt(model).entries()) {
    const pieces = new Map(tensors.map((name) => [memoryOf.get(name) ?? name, bytesOf(name)]));
    const bytes = sum(pieces.values());
    if (largest !== undefined && bytes <= largest.bytes) continue;
    largest = { bytes, node: itemAt(model.graph.nodes, index).name, tensors };
  }
  if (largest === undefined) return undefined;
  return { ...largest, tensors: largest.tensors.toSorted((a, b) => bytesOf(b) - bytesOf(a)) };
}

/** sharedMemory maps a tensor that may share another's memory to that other tensor. */
function sharedMemory(model: OnnxModel): Map<string, string> {
  const shared = new Map<string, string>();
  for (const { op, domain, inputs, outputs } of model.graph.nodes) {
    const [from, to] = [inputs[0], outputs[0]];
    if (domain === '' && SAME_MEMORY.has(op) && from && to) shared.set(to, shared.get(from) ?? from);
  }
  return shared;
}

/**
 * peakBytes gives the most bytes of tensors that the partition of nodes [from, to) holds at once when it runs by itself
 * in order. At each node these are what it reads and makes, what was made before and is used later, and the inputs of
 * all nodes. Nodes that the partition repeats count as its own. Tensors that only pass by do not count.
 */
export function peakBytes(model: OnnxModel, range: PartRange, bytesOf: (tensor: string) => number): number {
  const part = partitionParts(model, range);
  const nodes = part.nodes.filter((node) => !node.constant);
  const used = new Set([...nodes.flatMap(usedBy), ...part.outputs]);
  const lastUse = new Map<string, number>();
  for (const [at, node] of nodes.entries()) for (const name of usedBy(node)) lastUse.set(name, at);
  for (const name of [...part.inputs, ...part.outputs]) lastUse.set(name, nodes.length - 1);
  /** By node, the bytes that are held from it on, less those that the node before used last. */
  const changes = new Float64Array(nodes.length + 1);
  const hold = (name: string, at: number) => {
    if (!used.has(name)) return;
    changes[at]! += bytesOf(name);
    changes[lastUse.get(name)! + 1]! -= bytesOf(name);
  };
  for (const name of part.inputs) hold(name, 0);
  for (const [at, node] of nodes.entries()) for (const name of node.outputs) hold(name, at);
  let most = 0;
  let now = 0;
  for (const change of changes) {
    now += change;
    most = Math.max(most, now);
  }
  return most;
}

function sum(values: Iterable<number>): number {
  let total = 0;
  for (const value of values) total += value;
  return total;
}
