import { streamOf } from '../../src/random/index.js';
import { GraphBuilder } from '../models/graph.js';
import { CLASSES, type Glyphs, PIXELS } from './glyphs.js';

/** The share of a picture's error that its first step corrects, about. */
const STEP = 0.3;

const INPUTS = PIXELS ** 2;

/** ClassifierOptions says how a classifier is made: its size, and how long it learns. */
export interface ClassifierOptions {
  /** The features that it makes of a picture; 0 for the pixels themselves. */
  readonly features: number;
  readonly epochs: number;
  readonly seed: number;
}

/**
 * Classifier makes random features of a picture, as the positive parts of random sums of its pixels, and learns a softmax
 * regression on them: the more features, the more accurate, and the dearer. All weights follow from the seed.
 */
export class Classifier {
  /** The weights of the features, picture by feature; empty where the pixels themselves are the features. */
  readonly hidden: Float32Array;
  readonly offsets: Float32Array;
  /** The weights of the classes, feature by class, and what is added to each class. */
  readonly weights: Float32Array;
  readonly bias: Float32Array;
  private readonly features: number;

  constructor(private readonly options: ClassifierOptions) {
    const { normal } = streamOf(options.seed, `features/${options.features}`);
    const scale = 1 / Math.sqrt(INPUTS);
    this.hidden = Float32Array.from({ length: options.features * INPUTS }, () => 2 * scale * normal());
    this.offsets = Float32Array.from({ length: options.features }, () => 0.3 * normal());
    this.features = options.features === 0 ? INPUTS : options.features;
    this.weights = new Float32Array(this.features * CLASSES);
    this.bias = new Float32Array(CLASSES);
  }

  /** scores gives the score of each class of a picture. */
  scores(picture: Float32Array): Float64Array {
    return this.scoresOf(this.featuresOf(picture));
  }

  private featuresOf(picture: Float32Array): Float32Array {
    if (this.options.features === 0) return picture;
    const made = new Float32Array(this.features);
    for (let f = 0; f < this.features; f++) {
      let sum = this.offsets[f] as number;
      const from = f * INPUTS;
      for (let p = 0; p < INPUTS; p++) sum += (this.hidden[from + p] as number) * (picture[p] as number);
      made[f] = Math.max(0, sum);
    }
    return made;
  }

  private scoresOf(features: Float32Array): Float64Array {
    const scores = Float64Array.from(this.bias);
    for (let f = 0; f < features.length; f++) {
      const value = features[f] as number;
      if (value === 0) continue;
      for (let c = 0; c < CLASSES; c++) scores[c]! += value * (this.weights[f * CLASSES + c] as number);
    }
    return scores;
  }

  /** learn fits the weights to labelled pictures by gradient descent, one picture at a time. */
  learn({ pixels, labels }: Glyphs): void {
    const made = Array.from(labels, (_, i) => this.featuresOf(pixels.subarray(i * INPUTS, (i + 1) * INPUTS)));
    const { integer } = streamOf(this.options.seed, `order/${this.options.features}`);
    const order = Uint32Array.from(labels, (_, i) => i);
    const mean = made[0] === undefined ? 1 : made[0].reduce((sum, value) => sum + value ** 2, 0);
    for (let epoch = 0; epoch < this.options.epochs; epoch++) {
      for (let i = order.length - 1; i > 0; i--) {
        const other = integer(i + 1);
        [order[i], order[other]] = [order[other] as number, order[i] as number];
      }
      const step = STEP / mean / (1 + epoch);
      for (const i of order) this.correct(made[i] as Float32Array, labels[i] as number, step);
    }
  }

  /** correct moves the weights a step along the gradient of one picture's log-likelihood. */
  private correct(features: Float32Array, label: number, step: number): void {
    const errors = softmax(this.scoresOf(features)).map((p, c) => step * ((c === label ? 1 : 0) - p));
    for (let c = 0; c < CLASSES; c++) this.bias[c]! += errors[c] as number;
    for (let f = 0; f < features.length; f++) {
      const value = features[f] as number;
      if (value === 0) continue;
      for (let c = 0; c < CLASSES; c++) this.weights[f * CLASSES + c]! += value * (errors[c] as number);
    }
  }

  /** onnx gives the classifier as a file: pictures [batch, 256] in, logits [batch, 10] out. */
  onnx(): Uint8Array {
    const graph = new GraphBuilder(`glyphs-${this.options.features}`, this.options.seed);
    let x = graph.input('pictures', 'float32', ['batch', INPUTS]);
    const { features } = this.options;
    if (features > 0) {
      const weights = graph.floats('hidden', [features, INPUTS], [...this.hidden]);
      const offsets = graph.floats('offsets', [features], [...this.offsets]);
      x = graph.node('Gemm', [x, weights, offsets], { name: 'sums', attributes: { transB: 1 } });
      x = graph.node('Relu', [x], { name: 'features' });
    }
    const weights = graph.floats('weights', [this.features, CLASSES], [...this.weights]);
    const bias = graph.floats('bias', [CLASSES], [...this.bias]);
    graph.node('Gemm', [x, weights, bias], { name: 'classes', output: 'logits' });
    graph.output('logits', ['batch', CLASSES]);
    return graph.bytes();
  }
}

function softmax(scores: Float64Array): Float64Array {
  const most = scores.reduce((best, score) => Math.max(best, score), Number.NEGATIVE_INFINITY);
  const powers = scores.map((score) => Math.exp(score - most));
  const sum = powers.reduce((all, power) => all + power, 0);
  return powers.map((power) => power / sum);
}
