import { attention, type ExportedSize, feedForward, shapeOf, sizeOf } from './exported.js';
import { GraphBuilder } from './graph.js';
import { keepingReach, layerNorm, linear } from './layers.js';

export interface ExportedVitOptions extends Partial<ExportedSize> {
  readonly seed?: number;
  /** The height and width in pixels, a multiple of the patch. */
  readonly image?: number;
  readonly classes?: number;
}

export const VIT_PATCH = 16;
const SMALL = { layers: 2, hidden: 64, heads: 2, image: 64, classes: 10 };

/**
 * vitExported makes a vision transformer as PyTorch's exporter writes it: `pixel_values` float32 [batch, 3, size, size]
 * → `logits` [batch, classes]. Patches are 16 × 16 pixels. The class token is expanded to the batch, whose size is read
 * while the model runs, and so are the sizes of all Reshapes.
 */
export function vitExported(options: ExportedVitOptions = {}): Uint8Array {
  const size = { ...SMALL, ...options };
  const { hidden, image } = size;
  const graph = new GraphBuilder('vit_exported', options.seed ?? 0);
  const pixels = graph.input('pixel_values', 'float32', ['batch', 3, image, image]);
  let x = patches(graph, pixels, size);
  for (let layer = 0; layer < size.layers; layer++) {
    const name = `layer${layer}`;
    const before = layerNorm(graph, x, { name: `${name}.norm_before`, width: hidden });
    const part = (which: string) =>
      linear(graph, before, { name: `${name}.${which}`, from: hidden, to: hidden });
    const [query, key, value] = [part('query'), part('key'), part('value')];
    const mixed = attention(graph, `${name}.attention`, { query, key, value, size });
    const projected = linear(graph, mixed, { name: `${name}.projection`, from: hidden, to: hidden });
    const sum = graph.node('Add', [projected, x], { name: `${name}.residual` });
    const after = layerNorm(graph, sum, { name: `${name}.norm_after`, width: hidden });
    x = graph.node('Add', [feedForward(graph, after, { name: `${name}.feed`, hidden }), sum], {
      name: `${name}.feed.residual`,
    });
  }
  const normed = layerNorm(graph, x, { name: 'norm', width: hidden });
  const first = graph.integers('first_token', [], [0]);
  const token = graph.node('Gather', [normed, first], { name: 'class_state', attributes: { axis: 1 } });
  const weight = graph.weight('classifier.weight', [size.classes, hidden], { reach: keepingReach(hidden) });
  const bias = graph.weight('classifier.bias', [size.classes], { reach: 0.01 });
  graph.node('Gemm', [token, weight, bias], {
    name: 'classifier',
    attributes: { transB: 1 },
    output: 'logits',
  });
  graph.output('logits', ['batch', size.classes]);
  return graph.bytes();
}

/** patches makes a state of each patch, with the class token before them and positions added. */
function patches(
  graph: GraphBuilder,
  pixels: string,
  { hidden, image }: ExportedSize & { image: number },
): string {
  const count = (image / VIT_PATCH) ** 2;
  const batch = sizeOf(graph, pixels, { name: 'pixels.batch', axis: 0 });
  const weight = graph.weight('patches.weight', [hidden, 3, VIT_PATCH, VIT_PATCH], {
    reach: keepingReach(3 * VIT_PATCH ** 2),
  });
  const convolved = graph.node(
    'Conv',
    [pixels, weight, graph.weight('patches.bias', [hidden], { reach: 0.1 })],
    {
      name: 'patches.conv',
      attributes: { kernel_shape: [VIT_PATCH, VIT_PATCH], strides: [VIT_PATCH, VIT_PATCH] },
    },
  );
  const batchOfConv = sizeOf(graph, convolved, { name: 'patches.batch', axis: 0 });
  const channels = sizeOf(graph, convolved, { name: 'patches.channels', axis: 1 });
  const shape = shapeOf(graph, 'patches.view', [batchOfConv, channels, -1]);
  const flat = graph.node('Reshape', [convolved, shape], { name: 'patches.flatten' });
  const states = graph.node('Transpose', [flat], { name: 'patches.states', attributes: { perm: [0, 2, 1] } });
  const token = graph.weight('class_token', [1, 1, hidden], { reach: 0.1 });
  const tokens = graph.node('Expand', [token, shapeOf(graph, 'class_token.shape', [batch, 1, hidden])], {
    name: 'class_token.expand',
  });
  const all = graph.node('Concat', [tokens, states], { name: 'tokens', attributes: { axis: 1 } });
  const positions = graph.weight('positions', [1, count + 1, hidden], { reach: 0.05 });
  return graph.node('Add', [all, positions], { name: 'add_positions' });
}
