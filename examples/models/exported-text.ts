import {
  attention,
  BOOL,
  constant,
  type ExportedSize,
  FLOAT,
  feedForward,
  LOWEST,
  shapeOf,
  sizeOf,
  unsqueezed,
} from './exported.js';
import { GraphBuilder } from './graph.js';
import { layerNorm, linear } from './layers.js';

export interface ExportedTextOptions extends Partial<ExportedSize> {
  readonly seed?: number;
  readonly vocab?: number;
  /** The most tokens of a request: the rows of the table of positions. */
  readonly positions?: number;
}

const SMALL = { layers: 2, hidden: 64, heads: 2, vocab: 1000, positions: 128 };

/** Tokens are what the first nodes compute from the inputs: sizes, and the embeddings' sum. */
interface Tokens {
  readonly ids: string;
  readonly batch: string;
  readonly tokens: string;
}

/**
 * bertExported makes a BERT encoder as PyTorch's exporter writes it: `input_ids` and `attention_mask` int64 [batch,
 * sequence] → `last_hidden_state` [batch, sequence, hidden]. Both axes are dynamic, so that sizes are read from the
 * input while the model runs, and used in every layer. Token types and positions are buffers cut to the sequence's
 * length, and the mask of [batch, 1, sequence, sequence] is computed in the first nodes and used in every layer.
 */
export function bertExported(options: ExportedTextOptions = {}): Uint8Array {
  const size = { ...SMALL, ...options };
  const graph = new GraphBuilder('bert_exported', options.seed ?? 0);
  const read = textInputs(graph);
  const mask = paddingMask(graph, read);
  const words = embedded(graph, 'words', read.ids, [size.vocab, size.hidden]);
  const types = embedded(graph, 'types', expandedBuffer(graph, 'type_ids', read, size.positions), [
    2,
    size.hidden,
  ]);
  const positions = embedded(graph, 'positions', positionIds(graph, read.tokens), [
    size.positions,
    size.hidden,
  ]);
  const typed = graph.node('Add', [words, types], { name: 'embeddings.add_types' });
  const sum = graph.node('Add', [typed, positions], { name: 'embeddings.add_positions' });
  let x = layerNorm(graph, sum, { name: 'embeddings.norm', width: size.hidden });
  for (let layer = 0; layer < size.layers; layer++) {
    const name = `layer${layer}`;
    const part = (which: string) =>
      linear(graph, x, { name: `${name}.${which}`, from: size.hidden, to: size.hidden });
    const [query, key, value] = [part('query'), part('key'), part('value')];
    const mixed = attention(graph, `${name}.attention`, { query, key, value, mask, size, sizes: read });
    const projected = linear(graph, mixed, {
      name: `${name}.projection`,
      from: size.hidden,
      to: size.hidden,
    });
    const first = graph.node('Add', [projected, x], { name: `${name}.residual` });
    const normed = layerNorm(graph, first, { name: `${name}.norm`, width: size.hidden });
    const fed = feedForward(graph, normed, { name: `${name}.feed`, hidden: size.hidden });
    const second = graph.node('Add', [fed, normed], { name: `${name}.feed.residual` });
    const output = layer === size.layers - 1 ? 'last_hidden_state' : undefined;
    x = layerNorm(graph, second, { name: `${name}.feed.norm`, width: size.hidden, output });
  }
  graph.output(x, ['batch', 'sequence', size.hidden]);
  return graph.bytes();
}

/**
 * gptExported makes a GPT-2-like decoder as PyTorch's exporter writes it: `input_ids` and `attention_mask` int64
 * [batch, sequence] → `logits` [batch, sequence, vocab]. The causal mask is made of the sequence's length, joined with
 * the padding and used in every layer. Each layer reads sizes from its own states. The width of the states after the
 * embeddings is used at the end.
 */
export function gptExported(options: ExportedTextOptions = {}): Uint8Array {
  const size = { ...SMALL, ...options };
  const graph = new GraphBuilder('gpt_exported', options.seed ?? 0);
  const read = textInputs(graph);
  const words = embedded(graph, 'wte', read.ids, [size.vocab, size.hidden]);
  const positions = embedded(graph, 'wpe', positionIds(graph, read.tokens), [size.positions, size.hidden]);
  let x = graph.node('Add', [words, positions], { name: 'embeddings.add' });
  const padding = paddingMask(graph, read);
  const mask = graph.node('Min', [causalMask(graph, read.tokens), padding], { name: 'mask' });
  const width = sizeOf(graph, x, { name: 'embeddings.width', axis: -1 });
  for (let layer = 0; layer < size.layers; layer++) x = decoderLayer(graph, `h${layer}`, x, { mask, size });
  const normed = layerNorm(graph, x, { name: 'ln_f', width: size.hidden });
  const shape = shapeOf(graph, 'output_shape', [-1, read.tokens, width]);
  const viewed = graph.node('Reshape', [normed, shape], { name: 'view' });
  const head = graph.weight('lm_head', [size.hidden, size.vocab], { reach: 0.1 });
  graph.node('MatMul', [viewed, head], { name: 'lm_head', output: 'logits' });
  graph.output('logits', ['batch', 'sequence', size.vocab]);
  return graph.bytes();
}

function decoderLayer(
  graph: GraphBuilder,
  name: string,
  x: string,
  { mask, size }: { mask: string; size: ExportedSize },
): string {
  const { hidden } = size;
  const before = layerNorm(graph, x, { name: `${name}.ln_1`, width: hidden });
  const all = flatLinear(graph, `${name}.c_attn`, before, { from: hidden, to: 3 * hidden });
  const [query = '', key = '', value = ''] = graph.split(all, {
    name: `${name}.parts`,
    sizes: [hidden, hidden, hidden],
  });
  const mixed = attention(graph, `${name}.attention`, { query, key, value, mask, size });
  const projected = flatLinear(graph, `${name}.c_proj`, mixed, { from: hidden, to: hidden });
  const sum = graph.node('Add', [projected, x], { name: `${name}.residual` });
  const normed = layerNorm(graph, sum, { name: `${name}.ln_2`, width: hidden });
  return graph.node('Add', [sum, feedForward(graph, normed, { name: `${name}.feed`, hidden })], {
    name: `${name}.feed.residual`,
  });
}

/** flatLinear is GPT-2's Conv1D: tokens of all requests in one list, a Gemm, and the sizes before put back. */
function flatLinear(
  graph: GraphBuilder,
  name: string,
  x: string,
  { from, to }: { from: number; to: number },
): string {
  const batch = sizeOf(graph, x, { name: `${name}.batch`, axis: 0 });
  const tokens = sizeOf(graph, x, { name: `${name}.tokens`, axis: 1 });
  const width = sizeOf(graph, x, { name: `${name}.width`, axis: 2 });
  const flat = graph.node('Reshape', [x, shapeOf(graph, `${name}.flat_view`, [-1, width])], {
    name: `${name}.flat`,
  });
  const reach = Math.sqrt(6 / (from + to));
  const weight = graph.weight(`${name}.weight`, [from, to], { reach });
  const bias = graph.weight(`${name}.bias`, [to], { reach: 0.02 });
  const product = graph.node('Gemm', [flat, weight, bias], { name: `${name}.gemm` });
  const shape = shapeOf(graph, `${name}.view`, [batch, tokens, to]);
  return graph.node('Reshape', [product, shape], { name });
}

function textInputs(graph: GraphBuilder): Tokens & { readonly attended: string } {
  const ids = graph.input('input_ids', 'int64', ['batch', 'sequence']);
  const attended = graph.input('attention_mask', 'int64', ['batch', 'sequence']);
  const batch = sizeOf(graph, ids, { name: 'batch', axis: 0 });
  const tokens = sizeOf(graph, ids, { name: 'sequence', axis: 1 });
  return { ids, attended, batch, tokens };
}

function embedded(graph: GraphBuilder, name: string, ids: string, [rows, width]: [number, number]): string {
  const table = graph.weight(`embeddings.${name}`, [rows, width], { reach: 0.05 });
  return graph.node('Gather', [table, ids], { name: `embeddings.${name}.gather`, attributes: { axis: 0 } });
}

/** positionIds counts the tokens: 0, 1, … [1, sequence]. */
function positionIds(graph: GraphBuilder, tokens: string): string {
  const [from, step] = [constant(graph, 'positions.from', 0), constant(graph, 'positions.step', 1)];
  const range = graph.node('Range', [from, tokens, step], { name: 'positions.range' });
  return unsqueezed(graph, range, { name: 'positions.ids', axes: [0] });
}

/** expandedBuffer cuts a buffer of zeros to the sequence's length and repeats it for each request. */
function expandedBuffer(
  graph: GraphBuilder,
  name: string,
  { batch, tokens }: Tokens,
  positions: number,
): string {
  const zeros = graph.integers(`${name}.buffer`, [1, positions], new Array<number>(positions).fill(0));
  const end = unsqueezed(graph, tokens, { name: `${name}.end`, axes: [0] });
  const [from, axes] = [constant(graph, `${name}.from`, [0]), constant(graph, `${name}.axes`, [1])];
  const cut = graph.node('Slice', [zeros, from, end, axes], { name: `${name}.slice` });
  return graph.node('Expand', [cut, shapeOf(graph, `${name}.shape`, [batch, tokens])], { name });
}

/** paddingMask is 0 where a token is attended to and the lowest float elsewhere: [batch, 1, sequence, sequence]. */
function paddingMask(graph: GraphBuilder, read: Tokens & { readonly attended: string }): string {
  const spread = unsqueezed(graph, read.attended, { name: 'padding.unsqueeze', axes: [1, 2] });
  const shape = shapeOf(graph, 'padding.shape', [read.batch, 1, read.tokens, read.tokens]);
  const ones = graph.node('ConstantOfShape', [constant(graph, 'padding.rank', [4])], {
    name: 'padding.ones',
    attributes: { value: { integers: [1], dims: [1] } },
  });
  const minusOnes = graph.node('Mul', [ones, constant(graph, 'padding.minus', -1)], {
    name: 'padding.minus_ones',
  });
  const isOpen = graph.node('Equal', [shape, minusOnes], { name: 'padding.is_open' });
  const target = graph.node('Where', [isOpen, ones, shape], { name: 'padding.target' });
  const expanded = graph.node('Expand', [spread, target], { name: 'padding.expand' });
  const float = graph.node('Cast', [expanded], { name: 'padding.cast', attributes: { to: FLOAT } });
  const left = graph.node('Sub', [graph.floats('padding.one', [], [1]), float], { name: 'padding.invert' });
  const isLeft = graph.node('Cast', [left], { name: 'padding.bool', attributes: { to: BOOL } });
  const lowest = graph.floats('padding.lowest', [], [LOWEST]);
  return graph.node('Where', [isLeft, lowest, left], { name: 'padding.mask' });
}

/** causalMask is the lowest float where a token would see a later one, and 0 elsewhere: [1, 1, sequence, sequence]. */
function causalMask(graph: GraphBuilder, tokens: string): string {
  const shape = shapeOf(graph, 'causal.shape', [tokens, tokens]);
  const lowest = graph.node('Expand', [graph.floats('causal.lowest', [], [LOWEST]), shape], {
    name: 'causal.expand',
  });
  const upper = graph.node('Trilu', [lowest, constant(graph, 'causal.diagonal', 1)], {
    name: 'causal.trilu',
    attributes: { upper: 1 },
  });
  return unsqueezed(graph, upper, { name: 'causal.mask', axes: [0, 1] });
}
