import type { OnnxModel, OnnxNode } from '../wire/index.js';
import { usedFunctions } from './part.js';
import { remembered } from './remembered.js';
import { usedBy } from './spans.js';

const BRANCHING = new Set(['If', 'Loop', 'Scan', 'SequenceMap']);

/**
 * mayBranch says whether there are branches that may not be taken, in nodes or local functions. ONNX Runtime infers
 * shapes in those too, and refuses a model where a measured shape contradicts them. The whole model declares no such
 * shapes, so a partition must not either.
 */
export function mayBranch(model: OnnxModel, nodes = model.graph.nodes): boolean {
  if (nodes.some((node) => node.domain === '' && BRANCHING.has(node.op))) return true;
  return model.functions.length > 0 && usedFunctions(model, nodes).size > 0;
}

/** branchingNodes finds the nodes of a model that may branch. */
const branchingNodes = remembered(
  (model): ReadonlySet<OnnxNode> => new Set(model.graph.nodes.filter((node) => mayBranch(model, [node]))),
);

/** reachingBranches lists the tensors that nodes, in topological order, lead to a node that may branch. */
export function reachingBranches(model: OnnxModel, nodes: readonly OnnxNode[]): Set<string> {
  const branching = branchingNodes(model);
  const reaching = new Set<string>();
  for (const node of nodes.toReversed()) {
    if (!branching.has(node) && !node.outputs.some((name) => reaching.has(name))) continue;
    for (const name of usedBy(node)) reaching.add(name);
  }
  return reaching;
}

/** Operators whose outputs may have any number of axes, besides those that branch. */
const OF_ANY_RANK =
  /^(Squeeze|GatherND|OptionalGetElement|SequenceAt|SplitToSequence|ConcatFromSequence|SequenceConstruct)$/;
/** The first input that sets the number of axes, of operators where one does if it is constant. */
const RANK_SETTERS: ReadonlyMap<string, number> = new Map([
  ['Reshape', 1],
  ['Expand', 1],
  ['Unsqueeze', 1],
  ['ConstantOfShape', 0],
]);

/** Operators that make tensors of a fixed shape of such tensors, as arithmetic on sizes does. */
const OF_FIXED_SHAPE = /^(Concat|Gather|Unsqueeze|Slice|Cast|Identity|Add|Sub|Mul|Div)$/;

/**
 * uncertainRanks lists the tensors for which ONNX Runtime may not know the number of axes before the model runs: what
 * branches, sequences, operators of other domains and computed shapes make, and what is made of that. Tensors that the
 * file declares with a shape are not among them.
 */
export const uncertainRanks = remembered((model): ReadonlySet<string> => {
  const { nodes, inputs, outputs, valueInfo } = model.graph;
  const declares = (value: (typeof inputs)[number]) =>
    value.type?.kind === 'tensor' && value.type.dims !== undefined;
  const declared = new Set([...outputs, ...valueInfo.values()].filter(declares).map(({ name }) => name));
  const uncertain = new Set(inputs.filter((input) => !declares(input)).map(({ name }) => name));
  const constant = new Set(model.graph.initializers.keys());
  const fixed = new Set<string>();
  for (const node of nodes) {
    const known = { uncertain, constant, fixed };
    if (hasFixedShape(node, known)) for (const name of node.outputs) fixed.add(name);
    if (node.constant) for (const name of node.outputs) constant.add(name);
    else if (isUncertain(model, node, known))
      for (const name of node.outputs) if (!declared.has(name)) uncertain.add(name);
  }
  return uncertain;
});

/** Known is what is known of the tensors before a node. */
interface Known {
  readonly uncertain: ReadonlySet<string>;
  readonly constant: ReadonlySet<string>;
  /** Tensors other than constants whose shape does not depend on the sizes of inputs. */
  readonly fixed: ReadonlySet<string>;
}

function hasFixedShape({ op, domain, inputs }: OnnxNode, { uncertain, constant, fixed }: Known): boolean {
  if (domain !== '') return false;
  if (op === 'Shape') return !inputs.some((name) => uncertain.has(name));
  if (op === 'Size') return true;
  const setsSize = op === 'Slice' || op === 'Unsqueeze';
  return (
    OF_FIXED_SHAPE.test(op) &&
    inputs.every(
      (name, at) => constant.has(name) || name === '' || (fixed.has(name) && !(setsSize && at > 0)),
    )
  );
}

function isUncertain(model: OnnxModel, node: OnnxNode, { uncertain, constant, fixed }: Known): boolean {
  const { op, domain, inputs } = node;
  if (op === 'Shape' || op === 'Size') return false;
  if (domain !== '' || OF_ANY_RANK.test(op) || branchingNodes(model).has(node)) return true;
  const setsAll = op === 'Reshape' || op === 'ConstantOfShape';
  const isKnown = (name: string) => name === '' || constant.has(name) || (setsAll && fixed.has(name));
  const setter = RANK_SETTERS.get(op) ?? (op.startsWith('Reduce') ? 1 : inputs.length);
  if (!inputs.slice(setter).every(isKnown)) return true;
  return !setsAll && usedBy(node).some((name) => uncertain.has(name));
}
