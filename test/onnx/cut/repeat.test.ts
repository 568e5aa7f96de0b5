import { expect, test } from 'vitest';
import { repeatsOf } from '../../../src/onnx/cut/repeat.js';
import { cutsOf, readModel } from '../../../src/onnx/index.js';
import { inWholeRun, whole } from '../../cases.js';
import * as w from '../writer.js';

const x = w.value('x', w.FLOAT, ['rows', 3]);

/** repeated gives the nodes that may be repeated, by name: of sizes and of inputs. */
function repeated(nodes: Uint8Array[], parts: w.GraphParts = {}, model: w.ModelParts = {}) {
  const graph = w.graph({ nodes, inputs: [x], outputs: [w.value('y', w.FLOAT)], ...parts });
  const { sizes, inputs } = repeatsOf(readModel(w.model(graph, model)));
  const names = (set: typeof sizes) => [...set].flatMap(({ outputs }) => outputs).toSorted();
  return { sizes: names(sizes), inputs: names(inputs) };
}

/** line is `count` nodes that are not repeated, from x to `end`. */
function line(count: number, end: string): Uint8Array[] {
  const name = (i: number) => (i === 0 ? 'x' : i === count ? end : `line${i}`);
  return Array.from({ length: count }, (_, i) => w.node('Tanh', [name(i)], [name(i + 1)]));
}

test('repeatsOf() takes what depends on shapes only, through any cheap node', () => {
  const nodes = [
    w.node('Tanh', ['x'], ['a']),
    w.node('Shape', ['a'], ['shape']),
    w.node('Size', ['x'], ['size']),
    w.node('Gather', ['shape', 'first'], ['rows']),
    w.node('Mul', ['rows', 'size'], ['product']),
    w.node('Softmax', ['shape'], ['dear']),
    w.node('RandomUniformLike', ['shape'], ['random']),
    w.node('Shape', ['x'], ['other'], { domain: 'own' }),
    w.node('Reshape', ['a', 'shape'], ['y']),
  ];
  const initializers = [w.int64s('first', [], [0])];
  const opsets = { '': 17, own: 1 };
  expect(repeated(nodes, { initializers }, { opsets }).sizes).toEqual(['product', 'rows', 'shape', 'size']);
});

test('repeatsOf() leaves out what makes a graph output', () => {
  const nodes = [w.node('Shape', ['x'], ['shape']), w.node('Neg', ['shape'], ['y'])];
  expect(repeated(nodes).sizes).toEqual(['shape']);
});

test.each([
  ['takes', 4 * 2 ** 20],
  ['leaves out', 4 * 2 ** 20 + 4],
])('repeatsOf() %s a node that uses constants of %i bytes', (how, bytes) => {
  const nodes = [
    w.node('Size', ['x'], ['size']),
    w.node('Add', ['size', 'large'], ['sum']),
    w.node('Tanh', ['sum'], ['y']),
  ];
  const large = w.floats('large', [bytes / 4], new Array<number>(bytes / 4).fill(0));
  const taken = how === 'takes' ? ['size', 'sum'] : ['size'];
  expect(repeated(nodes, { initializers: [large] }).sizes).toEqual(taken);
});

test.each([
  ['takes', 4 * 2 ** 20],
  ['leaves out', 4 * 2 ** 20 + 4],
])('repeatsOf() %s a node that uses a Constant node of %i bytes, or what is made of it', (how, bytes) => {
  const large = w.floats('', [bytes / 4], new Array<number>(bytes / 4).fill(0));
  const nodes = [
    w.node('Constant', [], ['large'], { attributes: [w.attribute.tensor('value', large)] }),
    w.node('Neg', ['large'], ['negative']),
    w.node('Size', ['x'], ['size']),
    w.node('Add', ['size', 'large'], ['sum']),
    w.node('Sub', ['size', 'negative'], ['difference']),
    w.node('Tanh', ['sum'], ['y']),
  ];
  const taken = how === 'takes' ? ['difference', 'size', 'sum'] : ['size'];
  expect(repeated(nodes).sizes).toEqual(taken);
});

test('repeatsOf() counts a chain of sizes on through the shapes of what is made of it', () => {
  const count = 300;
  const links = Array.from({ length: count }, (_, i) =>
    i % 3 === 0
      ? w.node('ConstantOfShape', [`s${i}`], [`s${i + 1}`])
      : w.node(i % 3 === 1 ? 'Shape' : 'Identity', [`s${i}`], [`s${i + 1}`]),
  );
  const nodes = [w.node('Shape', ['x'], ['s0']), ...links, w.node('Tanh', [`s${count}`], ['y'])];
  const { sizes } = repeated(nodes);
  expect([sizes.includes('s255'), sizes.includes('s256'), sizes.includes('s257')]).toEqual([
    true,
    false,
    false,
  ]);
});

test.each([
  [15, []],
  [16, ['mask']],
])(
  'repeatsOf() takes what is made from inputs where it is needed behind 16 nodes, not %i',
  (count, taken) => {
    const nodes = [
      w.node('Neg', ['x'], ['mask']),
      ...line(count - 1, 'end'),
      w.node('Add', ['end', 'mask'], ['y']),
    ];
    expect(repeated(nodes).inputs).toEqual(taken);
  },
);

test('repeatsOf() takes what is made from inputs where it is needed behind a quarter of the nodes', () => {
  const masked = (count: number) => [
    w.node('Neg', ['x'], ['mask']),
    ...line(count, 'middle'),
    w.node('Add', ['middle', 'mask'], ['sum']),
    ...Array.from({ length: 78 - count }, (_, i) =>
      w.node('Tanh', [i === 0 ? 'sum' : `after${i}`], [i === 77 - count ? 'y' : `after${i + 1}`]),
    ),
  ];
  expect(repeated(masked(18)).inputs).toEqual([]);
  expect(repeated(masked(19)).inputs).toEqual(['mask']);
});

test.each([
  [32, 32],
  [33, 0],
])('repeatsOf() of a value that %i nodes make from inputs takes %i of them', (count, taken) => {
  const chain = Array.from({ length: count }, (_, i) =>
    w.node('Neg', [i === 0 ? 'x' : `m${i}`], [`m${i + 1}`]),
  );
  const nodes = [...chain, ...line(60, 'end'), w.node('Add', ['end', `m${count}`], ['y'])];
  const { inputs } = repeated(nodes);
  expect(inputs.includes(`m${count}`)).toBe(taken > 0);
});

test('repeatsOf() looks into local functions and subgraphs', () => {
  const call = (name: string, op: string) => ({
    name,
    encoded: w.message(
      [1, name],
      [4, 'a'],
      [5, 'b'],
      [7, w.node(op, ['a'], ['b'])],
      [9, w.message([1, ''], [2, 17])],
      [10, 'own'],
    ),
  });
  const functions = [call('Cheap', 'Neg'), call('Dear', 'Softmax')];
  const branch = (op: string) =>
    w.attribute.graph(
      'then_branch',
      w.graph({ nodes: [w.node(op, ['size'], ['b'])], outputs: [w.value('b', w.INT64)] }),
    );
  const nodes = [
    w.node('Size', ['x'], ['size']),
    w.node('Cheap', ['size'], ['cheap'], { domain: 'own' }),
    w.node('Dear', ['size'], ['dear'], { domain: 'own' }),
    w.node('If', ['cheap'], ['chosen'], { attributes: [branch('Neg')] }),
    w.node('If', ['cheap'], ['choosing'], { attributes: [branch('Softmax')] }),
    w.node('Tanh', ['x'], ['y']),
  ];
  const opsets = { '': 17, own: 1 };
  const found = repeated(nodes, {}, { opsets, functions: functions.map(({ encoded }) => encoded) });
  expect(found.sizes).toEqual(['cheap', 'chosen', 'size']);
});

inWholeRun(
  'repeatsOf() takes the first 256 nodes of a chain of sizes, and cuts of very long chains are found',
  () => {
    const count = whole(4000, 20_000);
    const links = Array.from({ length: count }, (_, i) => w.node('Identity', [`s${i}`], [`s${i + 1}`]));
    const nodes = [w.node('Shape', ['x'], ['s0']), ...links, w.node('Tanh', [`s${count}`], ['y'])];
    const outputs = [w.value('y', w.FLOAT)];
    const model = readModel(w.model(w.graph({ nodes, inputs: [x], outputs })));
    expect(repeatsOf(model).sizes.size).toBe(256);
    const cuts = cutsOf(model, () => 24);
    expect(cuts.map(({ tensors }) => tensors.length)).toEqual(new Array<number>(count + 1).fill(1));
  },
);
