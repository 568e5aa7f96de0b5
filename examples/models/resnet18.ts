import { GraphBuilder } from './graph.js';
import { batchNorm, conv, pooledClassifier, relu } from './layers.js';

export interface ImageOptions {
  readonly seed?: number;
  /** The height and width in pixels. */
  readonly image?: number;
  /** A factor for the channels of every layer. */
  readonly widthMultiplier?: number;
  readonly classes?: number;
}

const STAGE_CHANNELS = [64, 128, 256, 512];
const BLOCKS_PER_STAGE = 2;
/**
 * This scale of a branch's last normalization is small, so that eight residual sums do not blow the
 * activations up.
 */
const RESIDUAL_GAIN = 0.5;

/**
 * resnet18 makes ResNet-18 (He et al. 2016, table 1), with batch normalization kept as nodes: `image` float32
 * [batch, 3, size, size] → `logits` [batch, classes]. It has 11.69 M parameters at width 1 and 1000 classes.
 */
export function resnet18(options: ImageOptions = {}): Uint8Array {
  const { seed = 0, image = 224, widthMultiplier = 1, classes = 1000 } = options;
  const graph = new GraphBuilder('resnet18', seed);
  const [first = 64, ...later] = STAGE_CHANNELS.map((channels) =>
    Math.max(8, Math.round(channels * widthMultiplier)),
  );
  let x = graph.input('image', 'float32', ['batch', 3, image, image]);
  x = conv(graph, x, { name: 'conv1', in: 3, out: first, kernel: 7, stride: 2 });
  x = relu(graph, batchNorm(graph, x, { name: 'bn1', channels: first }), 'relu1');
  x = graph.node('MaxPool', [x], {
    name: 'maxpool',
    attributes: { kernel_shape: [3, 3], strides: [2, 2], pads: [1, 1, 1, 1] },
  });
  let width = first;
  [first, ...later].forEach((channels, stage) => {
    for (let block = 0; block < BLOCKS_PER_STAGE; block++) {
      const stride = stage > 0 && block === 0 ? 2 : 1;
      x = basicBlock(graph, `layer${stage + 1}.${block}`, x, width, channels, stride);
      width = channels;
    }
  });
  pooledClassifier(graph, x, { channels: width, classes });
  return graph.bytes();
}

function basicBlock(
  graph: GraphBuilder,
  name: string,
  x: string,
  from: number,
  to: number,
  stride: number,
): string {
  let branch = conv(graph, x, { name: `${name}.conv1`, in: from, out: to, kernel: 3, stride });
  branch = relu(graph, batchNorm(graph, branch, { name: `${name}.bn1`, channels: to }), `${name}.relu1`);
  branch = conv(graph, branch, { name: `${name}.conv2`, in: to, out: to, kernel: 3, linear: true });
  branch = batchNorm(graph, branch, { name: `${name}.bn2`, channels: to, gain: RESIDUAL_GAIN });
  let skip = x;
  if (stride !== 1 || from !== to) {
    skip = conv(graph, x, { name: `${name}.downsample`, in: from, out: to, kernel: 1, stride, linear: true });
    skip = batchNorm(graph, skip, { name: `${name}.downsample_bn`, channels: to });
  }
  return relu(graph, graph.node('Add', [branch, skip], { name: `${name}.add` }), `${name}.relu2`);
}
