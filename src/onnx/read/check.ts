import { itemAt } from '../../collections/index.js';
import { type Problems, quoted, short } from '../wire/index.js';
import type { RawGraph, RawNode } from './node.js';
import { orderOf } from './order.js';

/** A cycle is described by its first nodes. */
const MOST_TOLD_NODES = 6;

interface NameCheck {
  readonly path: string;
  readonly problems: Problems;
  /**
   * outer says what the graph may use from around it. A subgraph may use everything: the node that holds it answers
   * for what it captures.
   */
  readonly outer?: 'none' | 'any';
}

/**
 * checkNames finds the faults of a graph's names, and of its subgraphs' names: a name made twice or by nobody, and
 * nodes in a circle.
 */
export function checkNames(graph: RawGraph, { path, problems, outer = 'none' }: NameCheck): void {
  const made = checkMadeOnce(graph, path, problems);
  if (outer === 'none') checkMade(graph, made, path, problems);
  const order = orderOf(graph.nodes);
  if (order.kind === 'cyclic') problems.add(path, `has a cycle: ${circle(graph, order.cycle)}`);
  for (const [index, node] of graph.nodes.entries()) {
    for (const subgraph of node.subgraphs)
      checkNames(subgraph, { path: `${nodeAt(path, index, node)}.subgraph`, problems, outer: 'any' });
  }
}

/**
 * isConstant finds Constant nodes. Exporters of attention models write several of them for one name.
 * ONNX Runtime takes Constant nodes for initializers, of which the last counts. So they are accepted, and all nodes of
 * one name are extracted together.
 */
function isConstant(node: RawNode): boolean {
  return node.op === 'Constant' && node.domain === '';
}

const INITIALIZER = 'an initializer';
/** MAIN is the path of the graph that is in no other. */
export const MAIN = 'graph';

function checkMadeOnce(graph: RawGraph, path: string, problems: Problems): Set<string> {
  const makers = new Map<string, string>();
  const make = (name: string, by: string) => {
    const before = makers.get(name);
    if (before === undefined) makers.set(name, by);
    else {
      problems.isDoubled ||= path === MAIN && before === INITIALIZER && by === INITIALIZER;
      problems.add(path, `tensor ${quoted(name)} is made twice: by ${before} and by ${by}`);
    }
  };
  for (const { name } of graph.inputs) {
    if (name === '') problems.add(path, 'has an input without a name');
    make(name, 'an input');
  }
  const inputs = new Set(makers.keys());
  const initializers = new Set<string>();
  for (const { name } of graph.initializers) {
    if (name === '') problems.add(path, 'has an initializer without a name');
    if (!inputs.has(name) || initializers.has(name)) make(name, INITIALIZER);
    initializers.add(name);
  }
  const constants = new Set<string>();
  graph.nodes.forEach((node, index) => {
    for (const name of node.outputs) {
      if (name === '' || (isConstant(node) && constants.has(name))) continue;
      if (isConstant(node)) constants.add(name);
      make(name, nodeAt('', index, node));
    }
  });
  return new Set(makers.keys());
}

function checkMade(graph: RawGraph, made: ReadonlySet<string>, path: string, problems: Problems): void {
  graph.nodes.forEach((node, index) => {
    for (const name of new Set([...node.inputs, ...node.captures])) {
      if (name !== '' && !made.has(name))
        problems.add(nodeAt(`${path}.`, index, node), `uses tensor ${quoted(name)}, which nothing makes`);
    }
  });
  for (const { name } of graph.outputs) {
    if (!made.has(name)) problems.add(path, `gives tensor ${quoted(name)}, which nothing makes`);
  }
}

/** checkDomains adds one fault for every domain that nodes or their subgraphs use and for which no set is imported. */
export function checkDomains(
  nodes: readonly RawNode[],
  opsets: ReadonlyMap<string, number>,
  problems: Problems,
): void {
  const told = new Set<string>();
  for (const [index, node] of nodes.entries()) {
    for (const call of node.calls) {
      const [domain = '', op = ''] = call.split('\0');
      if (opsets.has(domain) || told.has(domain)) continue;
      told.add(domain);
      const called = domain === '' ? 'the default operator set' : `the operator set ${quoted(domain)}`;
      problems.add(nodeAt('graph.', index, node), `uses ${short(op)} of ${called}, which is not imported`);
    }
  }
}

function nodeAt(prefix: string, index: number, node: RawNode): string {
  return `${prefix}node[${index}]${node.name === '' ? '' : ` ${quoted(node.name)}`}`;
}

function circle(graph: RawGraph, cycle: readonly number[]): string {
  const told = cycle
    .slice(0, MOST_TOLD_NODES)
    .map((index) => nodeAt('', index, itemAt(graph.nodes, index)))
    .join(' ← ');
  return cycle.length > MOST_TOLD_NODES
    ? `${told} ← … (${cycle.length} nodes)`
    : `${told} ← back to the first`;
}
