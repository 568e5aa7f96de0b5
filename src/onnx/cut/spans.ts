import type { OnnxModel, OnnxNode } from '../wire/index.js';
import { remembered } from './remembered.js';

/** Span says where a tensor that is not constant is made and last needed, in places between nodes. */
export interface Span {
  /** The first place where it lives: 0 for graph inputs, k + 1 for what node k makes. */
  readonly made: number;
  /** The last place where it must live. */
  readonly needed: number;
}

/** usedBy lists the names a node reads: its inputs that are not left out, and what its subgraphs capture. */
export function usedBy(node: OnnxNode): string[] {
  return [...node.inputs, ...node.captures].filter((name) => name !== '');
}

/**
 * spansOf gives the spans of all needed tensors that are graph inputs or made by nodes that are not constant, as they
 * live in a run of the whole model. Use by a subgraph counts, and graph outputs are needed to the end.
 */
export const spansOf = remembered((model): ReadonlyMap<string, Span> => {
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
});

/**
 * liveAt gives, for each place between two nodes, the tensors that live there in a run of the whole model: those made
 * before and used after. They come in the order in which they are made, graph inputs first. Item k is the place after
 * node k.
 */
export function liveAt(model: OnnxModel): string[][] {
  const last = model.graph.nodes.length - 1;
  const live: string[][] = Array.from({ length: Math.max(0, last) }, () => []);
  for (const [name, span] of spansOf(model)) {
    for (let position = Math.max(1, span.made); position <= Math.min(last, span.needed); position++)
      live[position - 1]?.push(name);
  }
  return live;
}

/** liveTensors lists all tensors that live between two nodes, and the graph's inputs and outputs. */
export function liveTensors(model: OnnxModel): string[] {
  const { inputs, outputs } = model.graph;
  return [...new Set([...[...inputs, ...outputs].map(({ name }) => name), ...liveAt(model).flat()])];
}
