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
export function conv(graph: GraphBuilder, name: string, x: string, shape: ConvShape): string {
  const { kernel, stride = 1, groups = 1, bias = false, linear = false } = shape;
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
  return graph.node('Conv', name, inputs, attributes, shape.output);
}

/**
 * batchNorm adds batch normalization as if trained: statistics near those of its input, and a scale of about
 * `gain`. It stays a node of its own.
 */
export function batchNorm(graph: GraphBuilder, name: string, x: string, channels: number, gain = 1): string {
  const parameter = (suffix: string, centre: number, reach: number) =>
    graph.weight(`${name}.${suffix}`, [channels], { centre, reach });
  const inputs = [
    x,
    parameter('weight', gain, gain * 0.2),
    parameter('bias', 0, 0.1),
    parameter('running_mean', 0, 0.1),
    parameter('running_var', 1, 0.2),
  ];
  return graph.node('BatchNormalization', name, inputs, { epsilon: { float: 1e-5 } });
}

export function relu(graph: GraphBuilder, name: string, x: string): string {
  return graph.node('Relu', name, [x]);
}

/**
 * pooledClassifier adds the classifier at the end of a convolutional network: each channel's mean, then a
 * linear layer, to `logits`.
 */
export function pooledClassifier(graph: GraphBuilder, x: string, channels: number, classes: number): void {
  const pooled = graph.node('GlobalAveragePool', 'avgpool', [x]);
  const flat = graph.node('Flatten', 'flatten', [pooled], { axis: 1 });
  const weight = graph.weight('fc.weight', [classes, channels], { reach: keepingReach(channels) });
  const bias = graph.weight('fc.bias', [classes], { reach: 0.01 });
  graph.node('Gemm', 'fc', [flat, weight, bias], { transB: 1 }, 'logits');
  graph.output('logits', ['batch', classes]);
}

/** linear adds x · W + b over the last axis. */
export function linear(graph: GraphBuilder, name: string, x: string, from: number, to: number): string {
  const reach = Math.sqrt(6 / (from + to));
  const product = graph.node('MatMul', `${name}.matmul`, [
    x,
    graph.weight(`${name}.weight`, [from, to], { reach }),
  ]);
  return graph.node('Add', `${name}.add`, [product, graph.weight(`${name}.bias`, [to], { reach: 0.02 })]);
}

export function layerNorm(
  graph: GraphBuilder,
  name: string,
  x: string,
  width: number,
  output?: string,
): string {
  const inputs = [
    x,
    graph.weight(`${name}.weight`, [width], { centre: 1, reach: 0.1 }),
    graph.weight(`${name}.bias`, [width], { reach: 0.05 }),
  ];
  return graph.node('LayerNormalization', name, inputs, { axis: -1, epsilon: { float: 1e-12 } }, output);
}
