import type { OnnxModel } from '../wire/index.js';
import { cutsOf, spansOf, usedBy } from './cuts.js';

/** LargestCut is the place where most bytes cross from one node to those after it. */
export interface LargestCut {
  readonly bytes: number;
  /** The name of the node before the cut. */
  readonly node: string;
  /** The tensors that cross, the largest first. */
  readonly tensors: readonly string[];
}

/** The output of these operators may be their input's memory under another name. */
const SAME_MEMORY = new Set(['Reshape', 'Flatten', 'Squeeze', 'Unsqueeze', 'Identity', 'Dropout']);

/**
 * largestCut finds the cut where most bytes cross. All of them are needed later, so any run of the model holds them at
 * once. Tensors that may share memory count once. It is undefined for a model of fewer than two nodes.
 */
export function largestCut(model: OnnxModel, bytesOf: (tensor: string) => number): LargestCut | undefined {
  const memoryOf = sharedMemory(model);
  let largest: LargestCut | undefined;
  for (const { position, tensors } of cutsOf(model)) {
    const pieces = new Map(tensors.map((name) => [memoryOf.get(name) ?? name, bytesOf(name)]));
    const bytes = sum(pieces.values());
    if (largest !== undefined && bytes <= largest.bytes) continue;
    largest = { bytes, node: model.graph.nodes[position - 1]!.name, tensors };
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
 * peakBytes gives the most bytes of tensors that nodes [from, to) hold at once when they run by themselves in order. At
 * each node these are what it reads and makes, what was made before and is used later, and the inputs of all nodes.
 * Tensors that only pass by do not count.
 */
export function peakBytes(
  model: OnnxModel,
  { from, to }: { readonly from: number; readonly to: number },
  bytesOf: (tensor: string) => number,
): number {
  const used = new Set(model.graph.nodes.slice(from, to).flatMap(usedBy));
  /** By node, the bytes that are held from it on, less those that the node before used last. */
  const changes = new Float64Array(to - from + 1);
  for (const [name, { made, needed }] of spansOf(model)) {
    const maker = made - 1;
    const given = maker < from && used.has(name);
    if (!given && (maker < from || maker >= to)) continue;
    changes[given ? 0 : maker - from]! += bytesOf(name);
    const last = given || needed >= to ? to - 1 : needed;
    changes[last - from + 1]! -= bytesOf(name);
  }
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
