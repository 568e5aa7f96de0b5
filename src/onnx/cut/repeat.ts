import { largestOf } from '../../collections/index.js';
import { holdsForAll } from '../read/index.js';
import type { OnnxModel, OnnxNode } from '../wire/index.js';
import { remembered } from './remembered.js';
import { usedBy } from './spans.js';

/** Repeats are the nodes that may be computed again in each partition that needs their outputs, by what feeds them. */
export interface Repeats {
  /** Nodes that depend on nothing but the shapes of tensors, and constants. */
  readonly sizes: ReadonlySet<OnnxNode>;
  /** Nodes that depend on graph inputs (and perhaps on shapes and constants), and not on sizes alone. */
  readonly inputs: ReadonlySet<OnnxNode>;
}

/**
 * These operators are so cheap that they may be repeated: they move, compare and combine elements, each once. All of
 * them give the same for the same inputs.
 */
const CHEAP_OPS = new Set(
  [
    'Shape Size Identity Cast CastLike Constant ConstantOfShape Range EyeLike',
    'Reshape Flatten Squeeze Unsqueeze Expand Tile Transpose Concat Split Slice Pad Trilu OneHot',
    'Gather GatherElements GatherND ScatterElements ScatterND NonZero CumSum Where Compress',
    'Add Sub Mul Div Mod Pow Neg Abs Sign Sqrt Reciprocal Exp Log Sin Cos Floor Ceil Round Min Max Sum Clip',
    'And Or Not Xor Equal Greater GreaterOrEqual Less LessOrEqual BitShift',
    'BitwiseAnd BitwiseOr BitwiseNot BitwiseXor IsNaN IsInf',
    'ReduceMax ReduceMin ReduceProd ReduceSum ArgMax ArgMin',
    'SequenceConstruct SequenceEmpty SequenceInsert SequenceErase SequenceAt SequenceLength',
    'ConcatFromSequence SplitToSequence If Optional OptionalGetElement OptionalHasElement',
  ].flatMap((line) => line.split(' ')),
);
/** Their outputs depend on the shape of their input only. */
const SIZE_OPS = new Set(['Shape', 'Size']);
/** A node that uses larger constants is not repeated, because each partition would hold a copy of them. */
const MOST_CONSTANT_BYTES = 4 * 2 ** 20;
/** A longer chain of nodes that make a size is not repeated, because every cut would look at the whole chain. */
const LONGEST_SIZE_CHAIN = 256;
/** A value made from graph inputs by more nodes than this is not repeated, because that would take time. */
const MOST_REPEATED_NODES = 32;
/**
 * A value made from graph inputs is repeated where it is needed over at least this share of all nodes, as masks are, and
 * over at least this many.
 */
const LEAST_SHARE = 1 / 4;
const LEAST_NODES = 16;

/**
 * repeatsOf finds the nodes that may be repeated. They are cheap, they make no graph output, and only
 * constants, shapes, graph inputs and other such nodes feed them. Nodes fed by graph inputs are needed far
 * behind them.
 */
export const repeatsOf = remembered((model): Repeats => {
  const { graph } = model;
  const outputs = new Set(graph.outputs.map(({ name }) => name));
  const isCheap = cheapness(model);
  const constants = new Set(graph.initializers.keys());
  /** By tensor, the number of nodes that make it from graph inputs, those that depend on sizes alone not counted. */
  const steps = new Map(graph.inputs.map(({ name }) => [name, 0]));
  /** The tensors that depend on sizes alone. */
  const ofSizes = new Set<string>();
  /** By tensor that may be made again, the length of the longest chain of nodes that makes it. */
  const chains = new Map<string, number>();
  const repeats = { sizes: new Set<OnnxNode>(), inputs: new Set<OnnxNode>() };
  for (const node of graph.nodes) {
    if (node.constant) {
      for (const name of node.outputs) constants.add(name);
      continue;
    }
    if (node.outputs.some((name) => outputs.has(name)) || !isCheap(node)) continue;
    const fedBy = usedBy(node).filter((name) => !constants.has(name));
    const chain = fedBy.reduce((longest, name) => Math.max(longest, 1 + (chains.get(name) ?? 0)), 1);
    const isOfSizes = isSize(node) || fedBy.every((name) => ofSizes.has(name));
    if (isOfSizes && chain <= LONGEST_SIZE_CHAIN) {
      repeats.sizes.add(node);
      for (const name of node.outputs) ofSizes.add(name);
      for (const name of node.outputs) chains.set(name, chain);
      continue;
    }
    const count = fedBy.reduce(
      (sum, name) => sum + (ofSizes.has(name) ? 0 : (steps.get(name) ?? Infinity)),
      1,
    );
    if (count > MOST_REPEATED_NODES) continue;
    repeats.inputs.add(node);
    for (const name of node.outputs) steps.set(name, count);
    for (const name of node.outputs) chains.set(name, chain);
  }
  return { sizes: repeats.sizes, inputs: neededFar(model, repeats.inputs, repeats.sizes) };
});

/** neededFar keeps the nodes whose outputs, or what is made of them again, are used far behind them. */
function neededFar(
  { graph: { nodes } }: OnnxModel,
  candidates: ReadonlySet<OnnxNode>,
  sizes: ReadonlySet<OnnxNode>,
): Set<OnnxNode> {
  const lastUse = new Map<string, number>();
  const far = new Set<OnnxNode>();
  const least = Math.max(LEAST_NODES, nodes.length * LEAST_SHARE);
  for (const [index, node] of [...nodes.entries()].reverse()) {
    const needed = Math.max(index, largestOf(node.outputs.map((name) => lastUse.get(name) ?? index)));
    if (candidates.has(node) && needed - index >= least) far.add(node);
    const use = far.has(node) || sizes.has(node) ? needed : index;
    for (const name of usedBy(node)) lastUse.set(name, Math.max(lastUse.get(name) ?? 0, use));
  }
  return far;
}

function isSize({ domain, op }: OnnxNode): boolean {
  return domain === '' && SIZE_OPS.has(op);
}

/** cheapness tells cheap nodes: all that they call is cheap, and so are the constants that they use. */
function cheapness(model: OnnxModel): (node: OnnxNode) => boolean {
  const constantBytes = bytesOfConstants(model);
  const isCheapCall = holdsForAll(model.functions, (operator) => {
    const [domain = '', op = ''] = operator.split('\0');
    return domain === '' && CHEAP_OPS.has(op);
  });
  return (node) => {
    if (!node.calls.every(isCheapCall)) return false;
    const bytes = [...new Set(usedBy(node))].reduce((sum, name) => sum + (constantBytes.get(name) ?? 0), 0);
    return bytes <= MOST_CONSTANT_BYTES;
  };
}

/** bytesOfConstants gives the bytes that a partition holds, at least, where it uses a constant. */
function bytesOfConstants({ graph: { initializers, nodes } }: OnnxModel): Map<string, number> {
  const bytes = new Map([...initializers].map(([name, { byteLength }]) => [name, byteLength]));
  for (const node of nodes) {
    if (!node.constant) continue;
    const held = Math.max(node.weightBytes, largestOf(usedBy(node).map((name) => bytes.get(name) ?? 0)));
    for (const name of node.outputs) bytes.set(name, held);
  }
  return bytes;
}
