import type { OnnxModel, OnnxNode, TensorType, ValueType } from '../wire/index.js';
import { quoted, travellingTypes, travels } from '../wire/index.js';

/** Cut is the place after the `position`-th node, with the tensors that must be handed on there. */
export interface Cut {
  readonly position: number;
  /** The live tensors in the order they are made, graph inputs first. */
  readonly tensors: readonly string[];
}

/** Span says where a tensor that is not constant is made and last needed, in places between nodes. */
export interface Span {
  /** The first cut it can cross: 0 for graph inputs, k + 1 for what node k makes. */
  readonly made: number;
  /** The last cut it must cross. */
  readonly needed: number;
}

/**
 * cutsOf lists every cut, one after each node but the last, with its live tensors. A tensor is live if it is a graph
 * input that is still needed, or if a node before the cut that is not constant made it and it is used later or is a
 * graph output. Use by a subgraph counts, and so does a residual edge. (The runtime carries a graph output to the end;
 * no later partition passes it through.) Tensors that only constants feed do not cross: constant nodes are repeated
 * in every partition that uses them. The cost is the number of nodes plus the sum of the cuts' sizes.
 */
export function cutsOf(model: OnnxModel): Cut[] {
  const last = model.graph.nodes.length - 1;
  const crossing: string[][] = Array.from({ length: Math.max(0, last) }, () => []);
  for (const [name, span] of spansOf(model)) {
    for (let position = Math.max(1, span.made); position <= Math.min(last, span.needed); position++)
      crossing[position - 1]?.push(name);
  }
  return crossing.map((tensors, index) => ({ position: index + 1, tensors }));
}

/** spansOf gives the spans of all needed tensors that are graph inputs or made by nodes that are not constant. */
export function spansOf(model: OnnxModel): Map<string, Span> {
  const { nodes, inputs, outputs } = model.graph;
  const made = new Map(inputs.map((input) => [input.name, 0]));
  const needed = new Map<string, number>();
  nodes.forEach((node, index) => {
    if (node.constant) return;
    for (const name of usedBy(node)) needed.set(name, index);
    for (const name of node.outputs) made.set(name, index + 1);
  });
  for (const { name } of outputs) needed.set(name, nodes.length);
  return new Map(
    [...made].flatMap(([name, at]) => {
      const until = needed.get(name);
      return until === undefined ? [] : [[name, { made: at, needed: until }] as const];
    }),
  );
}

/** usedBy lists the names a node reads: its inputs that are not left out, and what its subgraphs capture. */
export function usedBy(node: OnnxNode): string[] {
  return [...node.inputs, ...node.captures].filter((name) => name !== '');
}

/** workingNodes says for each node whether the answer depends on it: constant nodes and unused ones do not count. */
function workingNodes(model: OnnxModel): boolean[] {
  const wanted = new Set(model.graph.outputs.map((output) => output.name));
  const working = model.graph.nodes.map(() => false);
  for (let index = working.length - 1; index >= 0; index--) {
    const node = model.graph.nodes[index] as OnnxNode;
    if (!node.outputs.some((name) => wanted.has(name))) continue;
    working[index] = !node.constant;
    for (const name of usedBy(node)) wanted.add(name);
  }
  return working;
}

const workingOf = new WeakMap<OnnxModel, readonly boolean[]>();

function working(model: OnnxModel): readonly boolean[] {
  const before = workingOf.get(model);
  if (before !== undefined) return before;
  const now = workingNodes(model);
  workingOf.set(model, now);
  return now;
}

/**
 * cutFault says why a cut is not valid; it gives undefined where the cut is valid. Between any two valid cuts, before
 * the first and after the last lies at least one node whose result is used beyond it. So every partition that they make
 * has work and outputs.
 *
 * @param types types of crossing tensors as measured; where one is missing, the file's own declaration counts
 */
export function cutFault(
  model: OnnxModel,
  cut: Cut,
  types: ReadonlyMap<string, TensorType>,
): string | undefined {
  const works = working(model);
  if (!(Number.isInteger(cut.position) && cut.position >= 1 && cut.position < works.length))
    return `there is no cut ${cut.position}; cuts are 1 to ${works.length - 1}`;
  if (works[cut.position - 1] !== true)
    return 'the node before it is constant or its result is not used, so the cut is the same as an earlier one';
  if (!works.includes(true, cut.position)) return 'nothing is left to compute after it';
  if (cut.tensors.length === 0) return 'nothing crosses it';
  const faults = cut.tensors.flatMap((name) => crossingFault(model, name, types) ?? []);
  return faults.length === 0 ? undefined : faults.join('; ');
}

function crossingFault(
  model: OnnxModel,
  name: string,
  types: ReadonlyMap<string, TensorType>,
): string | undefined {
  const type = typeOf(model, name, types);
  if (type === undefined) return `the type of ${quoted(name)} is not known`;
  if (type.kind !== 'tensor') return `${quoted(name)} is ${article(type.kind)}, which cannot be sent`;
  if (!travels(type.dtype))
    return `${quoted(name)} is ${type.dtype}, which cannot be sent; ${travellingTypes()} can`;
  return undefined;
}

function article(kind: string): string {
  return /^[aeiou]/.test(kind) ? `an ${kind}` : `a ${kind}`;
}

/** typeOf gives a tensor's type as measured, else as the file declares it. */
export function typeOf(
  model: OnnxModel,
  name: string,
  types: ReadonlyMap<string, TensorType>,
): ValueType | undefined {
  const given = types.get(name);
  if (given !== undefined) return { kind: 'tensor', ...given };
  const { inputs, outputs, valueInfo } = model.graph;
  const declared = [...inputs, ...outputs].find((value) => value.name === name) ?? valueInfo.get(name);
  return declared?.type;
}
