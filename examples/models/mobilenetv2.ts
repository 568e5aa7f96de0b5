import { GraphBuilder } from './graph.js';
import { batchNorm, type ConvShape, conv, pooledClassifier } from './layers.js';
import type { ImageOptions } from './resnet18.js';

/** STAGES lists expansion t, channels c, blocks n and first stride s, from table 2 of the paper. */
const STAGES: readonly (readonly [t: number, c: number, n: number, s: number])[] = [
  [1, 16, 1, 1],
  [6, 24, 2, 2],
  [6, 32, 3, 2],
  [6, 64, 4, 2],
  [6, 96, 3, 1],
  [6, 160, 3, 2],
  [6, 320, 1, 1],
];
const STEM_CHANNELS = 32;
const LAST_CHANNELS = 1280;
const RESIDUAL_GAIN = 0.5;

/**
 * mobilenetv2 makes MobileNetV2 (Sandler et al. 2018): `image` float32 [batch, 3, size, size] → `logits`
 * [batch, classes]. It has 3.50 M parameters at width 1 and 1000 classes.
 */
export function mobilenetv2(options: ImageOptions = {}): Uint8Array {
  const { seed = 0, image = 224, widthMultiplier = 1, classes = 1000 } = options;
  const graph = new GraphBuilder('mobilenetv2', seed);
  graph.floats('zero', [], [0]);
  graph.floats('six', [], [6]);
  let width = ofEight(STEM_CHANNELS * widthMultiplier);
  let x = graph.input('image', 'float32', ['batch', 3, image, image]);
  x = convNormClip(graph, 'stem', x, { in: 3, out: width, kernel: 3, stride: 2 });
  let block = 0;
  for (const [expansion, channels, count, firstStride] of STAGES) {
    const to = ofEight(channels * widthMultiplier);
    for (let i = 0; i < count; i++) {
      const stride = i === 0 ? firstStride : 1;
      x = invertedResidual(graph, `block${block++}`, x, { from: width, to, stride, expansion });
      width = to;
    }
  }
  const last = ofEight(LAST_CHANNELS * Math.max(1, widthMultiplier));
  x = convNormClip(graph, 'head', x, { in: width, out: last, kernel: 1 });
  pooledClassifier(graph, x, { channels: last, classes });
  return graph.bytes();
}

interface BlockShape {
  readonly from: number;
  readonly to: number;
  readonly stride: number;
  readonly expansion: number;
}

function invertedResidual(graph: GraphBuilder, name: string, x: string, shape: BlockShape): string {
  const { from, to, stride, expansion } = shape;
  const wide = from * expansion;
  let branch = x;
  if (expansion !== 1) {
    branch = convNormClip(graph, `${name}.expand`, branch, { in: from, out: wide, kernel: 1 });
  }
  const depthwise = { in: wide, out: wide, kernel: 3, stride, groups: wide };
  branch = convNormClip(graph, `${name}.depthwise`, branch, depthwise);
  branch = conv(graph, branch, { name: `${name}.project`, in: wide, out: to, kernel: 1, linear: true });
  const residual = stride === 1 && from === to;
  branch = batchNorm(graph, branch, {
    name: `${name}.project_bn`,
    channels: to,
    gain: residual ? RESIDUAL_GAIN : 1,
  });
  return residual ? graph.node('Add', [x, branch], { name: `${name}.add` }) : branch;
}

function convNormClip(graph: GraphBuilder, name: string, x: string, shape: ConvShape): string {
  const normed = batchNorm(graph, conv(graph, x, { name, ...shape }), {
    name: `${name}_bn`,
    channels: shape.out,
  });
  return graph.node('Clip', [normed, 'zero', 'six'], { name: `${name}_relu6` });
}

/**
 * ofEight rounds to the nearest multiple of eight that is at most a tenth smaller, as the authors' code does.
 */
function ofEight(channels: number): number {
  const rounded = Math.max(8, Math.floor((channels + 4) / 8) * 8);
  return rounded < 0.9 * channels ? rounded + 8 : rounded;
}
