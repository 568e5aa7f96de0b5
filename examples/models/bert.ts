import { GraphBuilder } from './graph.js';
import { layerNorm, linear } from './layers.js';

export interface BertOptions {
  readonly seed?: number;
  /** A size named by Turc et al. 2019. The other options change single figures of it. */
  readonly size?: BertSize;
  readonly layers?: number;
  readonly hidden?: number;
  readonly heads?: number;
  readonly vocab?: number;
  /** The number of tokens of a request; at most 512. */
  readonly seq?: number;
}

export const BERT_SIZES = {
  tiny: { layers: 2, hidden: 128, heads: 2 },
  mini: { layers: 4, hidden: 256, heads: 4 },
  small: { layers: 4, hidden: 512, heads: 8 },
  base: { layers: 12, hidden: 768, heads: 12 },
} as const;
export type BertSize = keyof typeof BERT_SIZES;

export const MOST_POSITIONS = 512;
const TOKEN_TYPES = 2;
const FEED_FORWARD_FACTOR = 4;
/** This is added to the scores of tokens that the mask leaves out. */
const MASKED_SCORE = -10_000;

interface Shape {
  readonly hidden: number;
  readonly heads: number;
}

/**
 * bert makes a BERT encoder (Devlin et al. 2019) with its pooler: `input_ids` and `attention_mask` int64
 * [batch, seq] → `last_hidden_state` [batch, seq, hidden] and `pooler_output` [batch, hidden]. The base size
 * has 109.48 M parameters.
 */
export function bert(options: BertOptions = {}): Uint8Array {
  const { seed = 0, size = 'tiny', vocab = 30_522, seq = 128 } = options;
  const { layers, hidden, heads } = { ...BERT_SIZES[size], ...options };
  const graph = new GraphBuilder('bert', seed);
  const ids = graph.input('input_ids', 'int64', ['batch', seq]);
  const attended = graph.input('attention_mask', 'int64', ['batch', seq]);
  graph.integers('split_heads', [4], [0, 0, heads, hidden / heads]);
  graph.integers('join_heads', [3], [0, 0, hidden]);
  graph.floats('head_scale', [], [Math.sqrt(hidden / heads)]);
  for (const [name, value] of [
    ['one', 1],
    ['half', 0.5],
    ['sqrt_two', Math.SQRT2],
  ] as const) {
    graph.floats(name, [], [value]);
  }
  const mask = scoreMask(graph, attended);
  let x = embeddings(graph, ids, vocab, seq, hidden);
  for (let layer = 0; layer < layers; layer++) {
    const output = layer === layers - 1 ? 'last_hidden_state' : undefined;
    x = encoderLayer(graph, `layer${layer}`, x, mask, { hidden, heads }, output);
  }
  graph.output(x, ['batch', seq, hidden]);
  pooler(graph, x, hidden);
  return graph.bytes();
}

/** scoreMask is 0 for a token that is attended to, and far below 0 for others: [batch, 1, 1, seq]. */
function scoreMask(graph: GraphBuilder, attended: string): string {
  const axes = graph.integers('mask_axes', [2], [1, 2]);
  const spread = graph.node('Unsqueeze', [attended, axes], { name: 'mask.unsqueeze' });
  const float = graph.node('Cast', [spread], { name: 'mask.cast', attributes: { to: 1 } });
  const left = graph.node('Sub', ['one', float], { name: 'mask.invert' });
  return graph.node('Mul', [left, graph.floats('masked_score', [], [MASKED_SCORE])], { name: 'mask.scale' });
}

/** embeddings sums word, position and token type embeddings (all of type 0) and normalizes the sum. */
function embeddings(graph: GraphBuilder, ids: string, vocab: number, seq: number, hidden: number): string {
  const table = (name: string, rows: number) =>
    graph.weight(`embeddings.${name}`, [rows, hidden], { reach: 0.05 });
  const words = graph.node('Gather', [table('word', vocab), ids], {
    name: 'embeddings.words',
    attributes: { axis: 0 },
  });
  const [from, to, axes] = [
    graph.integers('first_position', [1], [0]),
    graph.integers('positions', [1], [seq]),
    graph.integers('position_axis', [1], [0]),
  ];
  const positions = graph.node('Slice', [table('position', MOST_POSITIONS), from, to, axes], {
    name: 'embeddings.positions',
  });
  const typeZero = graph.integers('type_zero', [], [0]);
  const type = graph.node('Gather', [table('token_type', TOKEN_TYPES), typeZero], {
    name: 'embeddings.type',
    attributes: { axis: 0 },
  });
  const placed = graph.node('Add', [words, positions], { name: 'embeddings.add_positions' });
  const sum = graph.node('Add', [placed, type], { name: 'embeddings.add_type' });
  return layerNorm(graph, sum, { name: 'embeddings.norm', width: hidden });
}

function encoderLayer(
  graph: GraphBuilder,
  name: string,
  x: string,
  mask: string,
  shape: Shape,
  output?: string,
): string {
  const { hidden } = shape;
  const attended = attention(graph, `${name}.attention`, x, mask, shape);
  const projected = linear(graph, attended, { name: `${name}.attention.output`, from: hidden, to: hidden });
  const first = graph.node('Add', [projected, x], { name: `${name}.attention.residual` });
  const normed = layerNorm(graph, first, { name: `${name}.attention.norm`, width: hidden });
  const wide = linear(graph, normed, {
    name: `${name}.intermediate`,
    from: hidden,
    to: FEED_FORWARD_FACTOR * hidden,
  });
  const narrow = linear(graph, gelu(graph, `${name}.gelu`, wide), {
    name: `${name}.output`,
    from: FEED_FORWARD_FACTOR * hidden,
    to: hidden,
  });
  const second = graph.node('Add', [narrow, normed], { name: `${name}.output.residual` });
  return layerNorm(graph, second, { name: `${name}.output.norm`, width: hidden, output });
}

/**
 * attention is scaled dot-product attention over all heads at once. Its Reshapes keep batch and sequence
 * free.
 */
function attention(graph: GraphBuilder, name: string, x: string, mask: string, shape: Shape): string {
  const byHead = (part: string, perm: number[]) => {
    const flat = linear(graph, x, { name: `${name}.${part}`, from: shape.hidden, to: shape.hidden });
    const split = graph.node('Reshape', [flat, 'split_heads'], { name: `${name}.${part}.split` });
    return graph.node('Transpose', [split], { name: `${name}.${part}.transpose`, attributes: { perm } });
  };
  const query = byHead('query', [0, 2, 1, 3]);
  const key = byHead('key', [0, 2, 3, 1]);
  const value = byHead('value', [0, 2, 1, 3]);
  const raw = graph.node('MatMul', [query, key], { name: `${name}.scores` });
  const scaled = graph.node('Div', [raw, 'head_scale'], { name: `${name}.scale` });
  const masked = graph.node('Add', [scaled, mask], { name: `${name}.mask` });
  const shares = graph.node('Softmax', [masked], { name: `${name}.softmax`, attributes: { axis: -1 } });
  const mixed = graph.node('MatMul', [shares, value], { name: `${name}.context` });
  const joined = graph.node('Transpose', [mixed], {
    name: `${name}.transpose`,
    attributes: { perm: [0, 2, 1, 3] },
  });
  return graph.node('Reshape', [joined, 'join_heads'], { name: `${name}.join` });
}

/** gelu is x · ½ (1 + erf(x / √2)), written out as exporters do. */
function gelu(graph: GraphBuilder, name: string, x: string): string {
  const scaled = graph.node('Div', [x, 'sqrt_two'], { name: `${name}.div` });
  const shifted = graph.node('Add', [graph.node('Erf', [scaled], { name: `${name}.erf` }), 'one'], {
    name: `${name}.add`,
  });
  return graph.node('Mul', [graph.node('Mul', [x, shifted], { name: `${name}.mul` }), 'half'], {
    name: `${name}.half`,
  });
}

/** pooler passes the first token's state through a tanh layer. */
function pooler(graph: GraphBuilder, x: string, hidden: number): void {
  const first = graph.node('Gather', [x, graph.integers('first_token', [], [0])], {
    name: 'pooler.first',
    attributes: { axis: 1 },
  });
  const dense = linear(graph, first, { name: 'pooler.dense', from: hidden, to: hidden });
  graph.node('Tanh', [dense], { name: 'pooler.tanh', output: 'pooler_output' });
  graph.output('pooler_output', ['batch', hidden]);
}
