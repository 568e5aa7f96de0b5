import { GraphBuilder } from './graph.js';
import { conv, relu } from './layers.js';
import type { ImageOptions } from './resnet18.js';

const FIRST_CHANNELS = 32;
/** The image is halved this many times on the way down. */
export const UNET_DEPTH = 4;

/**
 * unet makes a U-Net (Ronneberger et al. 2015, padded, half the width) that names a class for every pixel:
 * `image` float32 [batch, 3, size, size] → `mask_logits` [batch, classes, size, size]. Its skip connections
 * cross most cuts. `image` must be a multiple of 16.
 */
export function unet(options: ImageOptions = {}): Uint8Array {
  const { seed = 0, image = 128, widthMultiplier = 1, classes = 2 } = options;
  const graph = new GraphBuilder('unet', seed);
  const first = Math.max(4, Math.round(FIRST_CHANNELS * widthMultiplier));
  const widths = Array.from({ length: UNET_DEPTH }, (_, level) => first * 2 ** level);
  const skips: string[] = [];
  let x = graph.input('image', 'float32', ['batch', 3, image, image]);
  let width = 3;
  widths.forEach((channels, level) => {
    x = doubleConv(graph, `down${level}`, x, width, channels);
    skips.push(x);
    x = graph.node('MaxPool', [x], {
      name: `pool${level}`,
      attributes: { kernel_shape: [2, 2], strides: [2, 2] },
    });
    width = channels;
  });
  x = doubleConv(graph, 'bottom', x, width, width * 2);
  for (let level = UNET_DEPTH - 1; level >= 0; level--) {
    const channels = widths[level]!;
    x = upsample(graph, `up${level}`, x, channels * 2, channels);
    x = graph.node('Concat', [skips[level]!, x], { name: `concat${level}`, attributes: { axis: 1 } });
    x = doubleConv(graph, `merge${level}`, x, channels * 2, channels);
  }
  const head = { in: first, out: classes, kernel: 1, bias: true, linear: true, output: 'mask_logits' };
  graph.output(conv(graph, x, { name: 'classes', ...head }), ['batch', classes, image, image]);
  return graph.bytes();
}

function doubleConv(graph: GraphBuilder, name: string, x: string, from: number, to: number): string {
  const first = conv(graph, x, { name: `${name}.conv1`, in: from, out: to, kernel: 3, bias: true });
  const middle = relu(graph, first, `${name}.relu1`);
  const second = conv(graph, middle, { name: `${name}.conv2`, in: to, out: to, kernel: 3, bias: true });
  return relu(graph, second, `${name}.relu2`);
}

/** upsample doubles the size and halves the channels by a learnt 2 × 2 kernel. */
function upsample(graph: GraphBuilder, name: string, x: string, from: number, to: number): string {
  const weight = graph.weight(`${name}.weight`, [from, to, 2, 2], { reach: Math.sqrt(3 / from) });
  const bias = graph.weight(`${name}.bias`, [to], { reach: 0.1 });
  return graph.node('ConvTranspose', [x, weight, bias], {
    name,
    attributes: { kernel_shape: [2, 2], strides: [2, 2] },
  });
}
