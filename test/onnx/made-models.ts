import { noise } from './noise.js';
import * as w from './writer.js';

const CHANNELS = 4;
const CLASSES = 5;

function weights(name: string, dims: readonly number[], seed: number): Uint8Array {
  const next = noise(seed);
  const size = dims.reduce((product, dim) => product * dim, 1);
  return w.floats(
    name,
    dims,
    Array.from({ length: size }, () => next() - 0.5),
  );
}

/**
 * convChain writes a model of data[1, 3, side, side] with `depth` convolutions, a Relu after each, and a product that
 * gives probabilities[1, 5]. Its batch is fixed by its input, its output and the constant shape of a Reshape.
 */
export function convChain(depth: number, side = 8): Uint8Array {
  const layers = Array.from({ length: depth }, (_, i) => i);
  const from = (i: number) => (i === 0 ? 'data' : `relu${i - 1}`);
  const pads = { attributes: [w.attribute.ints('pads', [1, 1, 1, 1])] };
  return w.model(
    w.graph({
      nodes: [
        ...layers.flatMap((i) => [
          w.node('Conv', [from(i), `weight${i}`], [`conv${i}`], pads),
          w.node('Relu', [`conv${i}`], [`relu${i}`]),
        ]),
        w.node('GlobalAveragePool', [`relu${depth - 1}`], ['pooled']),
        w.node('Reshape', ['pooled', 'flat'], ['features']),
        w.node('MatMul', ['features', 'classes'], ['logits']),
        w.node('Softmax', ['logits'], ['probabilities']),
      ],
      initializers: [
        ...layers.map((i) => weights(`weight${i}`, [CHANNELS, i === 0 ? 3 : CHANNELS, 3, 3], i + 1)),
        weights('classes', [CHANNELS, CLASSES], depth + 1),
        w.int64s('flat', [2], [1, CHANNELS]),
      ],
      inputs: [w.value('data', w.FLOAT, [1, 3, side, side])],
      outputs: [w.value('probabilities', w.FLOAT, [1, CLASSES])],
    }),
  );
}

/** openSizes writes a model of image[batch, 3, height, width], whose free dimensions have names. */
export function openSizes(): Uint8Array {
  const dims = ['batch', 3, 'height', 'width'];
  return w.model(
    w.graph({
      nodes: [w.node('Relu', ['image'], ['positive']), w.node('Neg', ['positive'], ['y'])],
      inputs: [w.value('image', w.FLOAT, dims)],
      outputs: [w.value('y', w.FLOAT, dims)],
    }),
  );
}

/** ownShape writes a model of x[batch, 4] that computes a shape with the batch in it and uses it two nodes later. */
export function ownShape(): Uint8Array {
  return w.model(
    w.graph({
      nodes: [
        w.node('Relu', ['x'], ['positive']),
        w.node('Shape', ['positive'], ['size']),
        w.node('Neg', ['positive'], ['negative']),
        w.node('Reshape', ['negative', 'size'], ['shaped']),
        w.node('Abs', ['shaped'], ['y']),
      ],
      inputs: [w.value('x', w.FLOAT, ['batch', 4])],
      outputs: [w.value('y', w.FLOAT, ['batch', 4])],
    }),
  );
}

/** choosing writes a model of x[2, 3] whose If answers by a tensor that both of its branches take from around them. */
export function choosing(): Uint8Array {
  const branch = (op: string) =>
    w.graph({
      nodes: [w.node(op, ['doubled'], ['chosen'])],
      outputs: [w.value('chosen', w.FLOAT, [2, 3])],
    });
  const branches = [
    w.attribute.graph('then_branch', branch('Neg')),
    w.attribute.graph('else_branch', branch('Abs')),
  ];
  return w.model(
    w.graph({
      nodes: [
        w.node('Add', ['x', 'x'], ['doubled']),
        w.node('ReduceSum', ['x'], ['sum'], { attributes: [w.attribute.int('keepdims', 0)] }),
        w.node('Greater', ['sum', 'zero'], ['positive']),
        w.node('If', ['positive'], ['chosenOne'], { attributes: branches }),
        w.node('Sub', ['chosenOne', 'x'], ['y']),
      ],
      initializers: [w.floats('zero', [], [0])],
      inputs: [w.value('x', w.FLOAT, [2, 3])],
      outputs: [w.value('y', w.FLOAT, [2, 3]), w.value('sum', w.FLOAT, [])],
    }),
  );
}

/** choosingTwice writes a model of x[2, 3] whose If holds another If in the branch that is taken for a positive sum. */
export function choosingTwice(): Uint8Array {
  const chosen = (nodes: readonly Uint8Array[]) =>
    w.graph({ nodes, outputs: [w.value('chosen', w.FLOAT, [2, 3])] });
  const choice = (condition: string, output: string, taken: Uint8Array, other: Uint8Array) =>
    w.node('If', [condition], [output], {
      attributes: [w.attribute.graph('then_branch', taken), w.attribute.graph('else_branch', other)],
    });
  const inner = choice(
    'large',
    'chosen',
    chosen([w.node('Exp', ['x'], ['chosen'])]),
    chosen([w.node('Tanh', ['x'], ['chosen'])]),
  );
  const outer = chosen([w.node('Greater', ['sum', 'many'], ['large']), inner]);
  return w.model(
    w.graph({
      nodes: [
        w.node('ReduceSum', ['x'], ['sum'], { attributes: [w.attribute.int('keepdims', 0)] }),
        w.node('Greater', ['sum', 'zero'], ['positive']),
        choice('positive', 'y', outer, chosen([w.node('Abs', ['x'], ['chosen'])])),
      ],
      initializers: [w.floats('zero', [], [0]), w.floats('many', [], [100])],
      inputs: [w.value('x', w.FLOAT, [2, 3])],
      outputs: [w.value('y', w.FLOAT, [2, 3])],
    }),
  );
}

/**
 * ranksApart writes a model of x[2, 3] in which a tensor has as many axes as a branch gives it: two, or three where the
 * sum is positive. Each branch of another If holds for one of these ranks only, and ONNX Runtime refuses it for the other.
 */
export function ranksApart(): Uint8Array {
  const chosen = (node: Uint8Array) => w.graph({ nodes: [node], outputs: [w.value('chosen', w.FLOAT)] });
  const choice = (output: string, taken: Uint8Array, other: Uint8Array) =>
    w.node('If', ['positive'], [output], {
      attributes: [
        w.attribute.graph('then_branch', chosen(taken)),
        w.attribute.graph('else_branch', chosen(other)),
      ],
    });
  const transposed = (...order: number[]) =>
    w.node('Transpose', ['kept'], ['chosen'], { attributes: [w.attribute.ints('perm', order)] });
  return w.model(
    w.graph({
      nodes: [
        w.node('ReduceSum', ['x'], ['sum'], { attributes: [w.attribute.int('keepdims', 0)] }),
        w.node('Greater', ['sum', 'zero'], ['positive']),
        choice('either', w.node('Unsqueeze', ['x', 'first'], ['chosen']), w.node('Neg', ['x'], ['chosen'])),
        w.node('Abs', ['either'], ['kept']),
        choice('turned', transposed(0, 2, 1), transposed(1, 0)),
        w.node('Exp', ['turned'], ['y']),
      ],
      initializers: [w.floats('zero', [], [0]), w.int64s('first', [1], [0])],
      inputs: [w.value('x', w.FLOAT, [2, 3])],
      outputs: [w.value('y', w.FLOAT)],
    }),
  );
}

/** labelled writes a model of x[2, 3] that answers with a class's name, and with each class's probability by name. */
export function labelled(): Uint8Array {
  const names = ['cat', 'dog', 'owl'];
  const ml = 'ai.onnx.ml';
  const byIndex = [w.attribute.ints('keys_int64s', [0, 1, 2]), w.attribute.strings('values_strings', names)];
  return w.model(
    w.graph({
      nodes: [
        w.node('Softmax', ['x'], ['p'], { attributes: [w.attribute.int('axis', 1)] }),
        w.node('ArgMax', ['p'], ['index'], {
          attributes: [w.attribute.int('axis', 1), w.attribute.int('keepdims', 0)],
        }),
        w.node('LabelEncoder', ['index'], ['label'], { domain: ml, attributes: byIndex }),
        w.node('ZipMap', ['p'], ['probabilities'], {
          domain: ml,
          attributes: [w.attribute.strings('classlabels_strings', names)],
        }),
      ],
      inputs: [w.value('x', w.FLOAT, [2, 3])],
      outputs: [w.value('label', w.STRING, [2]), w.maps('probabilities')],
    }),
    { opsets: { '': 17, [ml]: 3 } },
  );
}

/** quantised writes a model of x[1, 8] that goes through eight-bit integers and back between two products. */
function quantised(): Uint8Array {
  return w.model(
    w.graph({
      nodes: [
        w.node('MatMul', ['x', 'first'], ['hidden']),
        w.node('DynamicQuantizeLinear', ['hidden'], ['bytes', 'scale', 'zero']),
        w.node('Reshape', ['bytes', 'flat'], ['row']),
        w.node('DequantizeLinear', ['row', 'scale', 'zero'], ['back']),
        w.node('MatMul', ['back', 'second'], ['product']),
        w.node('Tanh', ['product'], ['y']),
      ],
      initializers: [
        weights('first', [8, 6], 1),
        weights('second', [6, 4], 2),
        w.int64s('flat', [2], [1, 6]),
      ],
      inputs: [w.value('x', w.FLOAT, [1, 8])],
      outputs: [w.value('y', w.FLOAT, [1, 4])],
    }),
  );
}

/** MADE_MODELS are models of every kind above, each by its name and with all its sizes given. */
export const MADE_MODELS: Readonly<Record<string, () => Uint8Array>> = {
  convChain: () => convChain(5),
  ownShape,
  choosing,
  choosingTwice,
  ranksApart,
  labelled,
  quantised,
};
