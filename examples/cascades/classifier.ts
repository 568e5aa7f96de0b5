import { streamOf } from '../../src/random/index.js';
import { GraphBuilder } from '../models/graph.js';
import { CLASSES, PIXELS } from './glyphs.js';

/** The share of a picture's error that its first step corrects, about. */
const STEP = 0.3;

const FIRST_KERNEL = 5;
const SECOND_KERNEL = 3;
/** Features are means over squares of POOLED × POOLED places; there are PLACES × PLACES of each channel. */
const PLACES = 4;
const POOLED = PIXELS / 2 / PLACES;

/** ClassifierOptions says how a classifier is made: its size, and how long it learns. */
export interface ClassifierOptions {
  /** The patterns that each of its two layers looks for. */
  readonly channels: number;
  readonly epochs: number;
  readonly seed: number;
}

/**
 * Classifier looks for random patterns in a picture, by two layers of convolutions, and learns a softmax regression on
 * where it finds them: the more patterns, the more accurate, and the dearer. All weights follow from the seed and what
 * it is taught.
 */
export class Classifier {
  /** The number of features of a picture. */
  readonly features: number;
  /** The weights of the classes, feature by class, and what is added to each class. */
  private readonly weights: Float32Array;
  private readonly bias = new Float32Array(CLASSES);

  constructor(private readonly options: ClassifierOptions) {
    this.features = options.channels * PLACES ** 2;
    this.weights = new Float32Array(this.features * CLASSES);
  }

  /**
   * learn fits the weights of the classes to labelled pictures by gradient descent, one picture at a time.
   * @param features those of one picture after another
   */
  learn(features: Float32Array, labels: Int32Array): void {
    const { seed, channels, epochs } = this.options;
    const centre = this.centreOf(features);
    const made = Array.from(labels, (_, i) => this.pictureOf(features, i).map((x, f) => x - centre[f]!));
    const { integer } = streamOf(seed, `order/${channels}`);
    const order = Uint32Array.from(labels, (_, i) => i);
    const squares = made.reduce((sum, picture) => sum + picture.reduce((all, x) => all + x ** 2, 0), 0);
    for (let epoch = 0; epoch < epochs; epoch++) {
      for (let i = order.length - 1; i > 0; i--) {
        const other = integer(i + 1);
        [order[i], order[other]] = [order[other] as number, order[i] as number];
      }
      const step = (STEP * made.length) / squares / (1 + epoch);
      for (const i of order) this.correct(made[i] as Float32Array, labels[i] as number, step);
    }
    const scores = this.scoresOf(centre);
    for (let c = 0; c < CLASSES; c++) this.bias[c]! += (this.bias[c] as number) - (scores[c] as number);
  }

  private pictureOf(features: Float32Array, picture: number): Float32Array {
    return features.subarray(picture * this.features, (picture + 1) * this.features);
  }

  /** centreOf gives the mean of each feature, without which the pictures differ by more of their features. */
  private centreOf(features: Float32Array): Float32Array {
    const sums = new Float64Array(this.features);
    for (let i = 0; i < features.length; i++) sums[i % this.features]! += features[i] as number;
    return Float32Array.from(sums, (sum) => (sum * this.features) / features.length);
  }

  /** correct moves the weights a step along the gradient of one picture's log-likelihood. */
  private correct(features: Float32Array, label: number, step: number): void {
    const errors = softmax(this.scoresOf(features)).map((p, c) => step * ((c === label ? 1 : 0) - p));
    for (let c = 0; c < CLASSES; c++) this.bias[c]! += errors[c] as number;
    for (let f = 0; f < features.length; f++) {
      const value = features[f] as number;
      for (let c = 0; c < CLASSES; c++) this.weights[f * CLASSES + c]! += value * (errors[c] as number);
    }
  }

  private scoresOf(features: Float32Array): Float64Array {
    const scores = Float64Array.from(this.bias);
    for (let f = 0; f < features.length; f++) {
      const value = features[f] as number;
      for (let c = 0; c < CLASSES; c++) scores[c]! += value * (this.weights[f * CLASSES + c] as number);
    }
    return scores;
  }

  /** featuresOnnx gives what comes before the classes as a file: pictures [batch, 1, 16, 16] in, features out. */
  featuresOnnx(): Uint8Array {
    const graph = this.graph();
    this.addFeatures(graph, 'features');
    graph.output('features', ['batch', this.features]);
    return graph.bytes();
  }

  /** onnx gives the classifier as a file: pictures [batch, 1, 16, 16] in, logits [batch, 10] out. */
  onnx(): Uint8Array {
    const graph = this.graph();
    const x = this.addFeatures(graph);
    const weights = graph.floats('weights', [this.features, CLASSES], [...this.weights]);
    const bias = graph.floats('bias', [CLASSES], [...this.bias]);
    graph.node('Gemm', [x, weights, bias], { name: 'classes', output: 'logits' });
    graph.output('logits', ['batch', CLASSES]);
    return graph.bytes();
  }

  private graph(): GraphBuilder {
    return new GraphBuilder(`glyphs-${this.options.channels}`, this.options.seed);
  }

  private addFeatures(graph: GraphBuilder, output?: string): string {
    const { channels } = this.options;
    let x = graph.input('pictures', 'float32', ['batch', 1, PIXELS, PIXELS]);
    x = this.addLayer(graph, x, { name: 'first', inputs: 1, kernel: FIRST_KERNEL, stride: 1 });
    x = this.addLayer(graph, x, { name: 'second', inputs: channels, kernel: SECOND_KERNEL, stride: 2 });
    const pool = { kernel_shape: [POOLED, POOLED], strides: [POOLED, POOLED] };
    x = graph.node('AveragePool', [x], { name: 'means', attributes: pool });
    return graph.node('Flatten', [x], { name: 'flat', output });
  }

  /** addLayer adds convolutions with normal weights, of which the positive parts go on. */
  private addLayer(
    graph: GraphBuilder,
    x: string,
    layer: {
      readonly name: string;
      readonly inputs: number;
      readonly kernel: number;
      readonly stride: number;
    },
  ): string {
    const { name, inputs, kernel, stride } = layer;
    const { channels, seed } = this.options;
    const { normal } = streamOf(seed, `${name}/${channels}`);
    const size = inputs * kernel ** 2;
    const draws = (count: number, scale: number) => Array.from({ length: count }, () => scale * normal());
    const weights = graph.floats(
      `${name}.weights`,
      [channels, inputs, kernel, kernel],
      draws(channels * size, Math.sqrt(2 / size)),
    );
    const offsets = graph.floats(`${name}.offsets`, [channels], draws(channels, 0.3));
    const edge = (kernel - 1) / 2;
    const attributes = {
      kernel_shape: [kernel, kernel],
      strides: [stride, stride],
      pads: [edge, edge, edge, edge],
    };
    const sums = graph.node('Conv', [x, weights, offsets], { name: `${name}.sums`, attributes });
    return graph.node('Relu', [sums], { name });
  }
}

function softmax(scores: Float64Array): Float64Array {
  const most = scores.reduce((best, score) => Math.max(best, score), Number.NEGATIVE_INFINITY);
  const powers = scores.map((score) => Math.exp(score - most));
  const sum = powers.reduce((all, power) => all + power, 0);
  return powers.map((power) => power / sum);
}
