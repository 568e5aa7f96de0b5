import type { OnnxFunction, OnnxModel, OnnxNode } from '../wire/index.js';
import { callKey, type RawNode } from './node.js';

/** These operators draw random numbers, or may (Dropout in training mode). */
const RANDOM_OPS = new Set(
  'RandomNormal RandomNormalLike RandomUniform RandomUniformLike Bernoulli Multinomial Dropout'.split(' '),
);
/** In these domains, all other operators give the same every time; in any other domain nothing is known. */
const KNOWN_DOMAINS = new Set(['', 'ai.onnx.ml', 'com.microsoft']);
const RANDOM_CONTRIB = /^(Random|Sampling|BeamSearch|GreedySearch|.*Dropout)/;

/**
 * constantNodes says of each node, in topological order, whether it is deterministic and fed only by `given` names and
 * constant nodes.
 */
export function constantNodes(
  nodes: readonly RawNode[],
  given: Iterable<string>,
  functions: readonly OnnxFunction[],
): boolean[] {
  const constants = new Set(given);
  const deterministic = holdsForAll(functions, isDeterministic);
  return nodes.map((node) => {
    const fed = [...node.inputs, ...node.captures].every((name) => name === '' || constants.has(name));
    const constant = fed && node.calls.every(deterministic);
    if (constant) for (const name of node.outputs) constants.add(name);
    return constant;
  });
}

/**
 * holdsForAll says of calls whether something holds for every operator that they lead to, through local functions.
 * Local functions that call one another in a circle do not have it.
 */
export function holdsForAll(
  functions: readonly OnnxFunction[],
  holds: (operator: string) => boolean,
): (call: string) => boolean {
  const local = new Map(functions.map((f) => [callKey(f.domain, f.name, f.overload), f]));
  const known = new Map<string, boolean>();
  const holdsFor = (call: string): boolean => {
    const before = known.get(call);
    if (before !== undefined) return before;
    const body = local.get(call);
    // The answer is set before the calls are visited, so that functions that call one another come to an end.
    known.set(call, body === undefined && holds(call));
    if (body !== undefined) known.set(call, body.calls.every(holdsFor));
    return known.get(call) === true;
  };
  return holdsFor;
}

/**
 * randomNodes lists the graph's nodes that draw random numbers, or may (as Dropout), as far as their operators are
 * known. It does not look into subgraphs and local functions.
 */
export function randomNodes(model: OnnxModel): OnnxNode[] {
  return model.graph.nodes.filter(({ domain, op }) => isRandom(domain, op));
}

function isRandom(domain: string, op: string): boolean {
  return RANDOM_OPS.has(op) || (domain === 'com.microsoft' && RANDOM_CONTRIB.test(op));
}

function isDeterministic(call: string): boolean {
  const [domain = '', op = ''] = call.split('\0');
  if (!KNOWN_DOMAINS.has(domain)) return false;
  return !isRandom(domain, op);
}
