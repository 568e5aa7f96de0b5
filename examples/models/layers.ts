import type { GraphBuilder } from './graph.js';

/**
 * keepingReach gives the reach of uniform weights that keeps the variance of activations through a layer of
 * this many inputs.
 */
export function keepingReach(fanIn: number): number {
  return Math.sqrt(3 / fanIn);
}

/** heReach is keepingReach for a layer before a ReLU, which halves the variance (He et al. 2015). */
export function heReach(fanIn: number): number {
  return Math.sqrt(6 / fanIn);
}

interface Named {
  /** The name of the layer, with which the names of its nodes and weights begin. */
  readonly name: string;
}

export interface ConvShape {
  readonly in: number;
  readonly out: number;
  readonly kernel: number;
  readonly stride?: number;
  readonly groups?: number;
  readonly bias?: boolean;
  /** Whether no activation follows. */
  readonly linear?: boolean;
  /** The name of the output, where it matters. */
  readonly output?: string;
}

/** conv adds a convolution, padded so that stride 1 keeps the image's size. */
export function conv(graph: GraphBuilder, x: string, shape: ConvShape & Named): string {
  const { name, kernel, stride = 1, groups = 1, bias = false, linear = false } = shape;
  const fanIn = (shape.in / groups) * kernel * kernel;
  const reach = linear ? keepingReach(fanIn) : heReach(fanIn);
  const inputs = [
    x,
    graph.weight(`${name}.weight`, [shape.out, shape.in / groups, kernel, kernel], { reach }),
  ];
  if (bias) inputs.push(graph.weight(`${name}.bias`, [shape.out], { reach: 0.1 }));
  const pad = (kernel - 1) >> 1;
  const attributes = {
    kernel_shape: [kernel, kernel],
    strides: [stride, stride],
    pads: [pad, pad, pad, pad],
    dilations: [1, 1],
    group: groups,
  };
  return graph.node('Conv', inputs, { name, attributes, output: shape.output });
}

interface BatchNorm extends Named {
  readonly channels: number;
  /** The scale is about this; 1 by default. */
  readonly gain?: number;
}

/**
 * batchNorm adds batch normalization as if trained: statistics near those of its input, and a scale of about
 * `gain`. It stays a node of its own.
 */
export function batchNorm(graph: GraphBuilder, x: string, layer: BatchNorm): string {
  const { name, channels, gain = 1 } = layer;
  const parameter = (suffix: string, centre: number, reach: number) =>
    graph.weight(`${name}.${suffix}`, [channels], { centre, reach });
  const inputs = [
    x,
    parameter('weight', gain, gain * 0.2),
    parameter('bias', 0, 0.1),
    parameter('running_mean', 0, 0.1),
    parameter('running_var', 1, 0.2),
  ];
  return graph.node('BatchNormalization', inputs, { name, attributes: { epsilon: { float: 1e-5 } } });
}

export function relu(graph: GraphBuilder, x: string, name: string): string {
  return graph.node('Relu', [x], { name });
}

/**
 * pooledClassifier adds the classifier at the end of a convolutional network: each channel's mean, then a
 * linear layer, to `logits`.
 */
export function pooledClassifier(
  graph: GraphBuilder,
  x: string,
  { channels, classes }: { channels: number; classes: number },
): void {
  const pooled = graph.node('GlobalAveragePool', [x], { name: 'avgpool' });
  const flat = graph.node('Flatten', [pooled], { name: 'flatten', attributes: { axis: 1 } });
  const weight = graph.weight('fc.weight', [classes, channels], { reach: keepingReach(channels) });
  const bias = graph.weight('fc.bias', [classes], { reach: 0.01 });
  graph.node('Gemm', [flat, weight, bias], { name: 'fc', attributes: { transB: 1 }, output: 'logits' });
  graph.output('logits', ['batch', classes]);
}

/** linear adds x · W + b over the last axis. */
export function linear(graph: GraphBuilder, x: string, layer: Named & { from: number; to: number }): string {
  const { name, from, to } = layer;
  const reach = Math.sqrt(6 / (from + to));
  const product = graph.node('MatMul', [x, graph.weight(`${name}.weight`, [from, to], { reach })], {
    name: `${name}.matmul`,
  });
  return graph.node('Add', [product, graph.weight(`${name}.bias`, [to], { reach: 0.02 })], {
    name: `${name}.add`,
  });
}

interface LayerNorm extends Named {
  readonly width: number;
  /** The name of the output, where it matters. */
  readonly output?: string | undefined;
}

export function layerNorm(graph: GraphBuilder, x: string, layer: LayerNorm): string {
  const { name, width, output } = layer;
  const inputs = [
    x,
    graph.weight(`${name}.weight`, [width], { centre: 1, reach: 0.1 }),
    graph.weight(`${name}.bias`, [width], { reach: 0.05 }),
  ];
  return graph.node('LayerNormalization', inputs, {
    name,
    attributes: { axis: -1, epsilon: { float: 1e-12 } },
    output,
  });
}
