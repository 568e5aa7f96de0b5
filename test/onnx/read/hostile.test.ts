import { describe, expect, it } from 'vitest';
import { mobilenetv2 } from '../../../examples/models/mobilenetv2.js';
import { InputError } from '../../../src/formats/index.js';
import {
  batchDim,
  bindDims,
  cutsOf,
  exposeTensors,
  extractPartition,
  freeDims,
  makeBatchSymbolic,
  nameNodes,
  readModel,
} from '../../../src/onnx/index.js';
import { cases, whole } from '../../cases.js';
import { choosing, convChain } from '../made-models.js';
import { noise } from '../noise.js';
import { hasShared, sharedBytes } from '../shared.js';
import * as w from '../writer.js';

const X = w.value('x', w.FLOAT, ['batch', 4]);
const Y = w.value('y', w.FLOAT, ['batch', 4]);

function small(parts: w.GraphParts = {}, model: w.ModelParts = {}): Uint8Array {
  const add = w.node('Add', ['x', 'b'], ['y'], { name: 'add' });
  const bias = w.floats('b', [4], [1, 2, 3, 4]);
  return w.model(w.graph({ nodes: [add], inputs: [X], outputs: [Y], initializers: [bias], ...parts }), model);
}

function refusal(bytes: Uint8Array): string {
  const start = performance.now();
  try {
    readModel(bytes, { name: 'm.onnx' });
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    expect(performance.now() - start).toBeLessThan(1000);
    return error.message;
  }
  return 'accepted';
}

/** bias gives the bytes of the small model with one tensor, of these dims and raw bytes, as its bias. */
function bias(dims: readonly number[], bytes: number, code = w.FLOAT): Uint8Array {
  const fields = dims.map((dim): w.FieldOf => [1, dim]);
  const tensor = w.message(...fields, [2, code], [8, 'b'], [9, new Uint8Array(bytes)]);
  return small({ initializers: [tensor] });
}

function ifNode(branch: Uint8Array, output: string): Uint8Array {
  const branches = [w.attribute.graph('then_branch', branch), w.attribute.graph('else_branch', branch)];
  return w.node('If', ['c'], [output], { attributes: branches });
}

/** CYCLIC is a graph that has a cycle. */
const CYCLIC = w.graph({ nodes: [w.node('Relu', ['p'], ['p'])], outputs: [w.value('p', 1)] });

function withNested(depth: number): Uint8Array {
  const condition = w.message([2, w.BOOL], [8, 'c'], [9, Uint8Array.of(1)]);
  const branch = w.attribute.graph('then_branch', depth === 0 ? w.graph({}) : deep(depth));
  const nodes = [w.node('If', ['c'], ['y'], { attributes: [branch] })];
  return small({ nodes, initializers: [condition] });
}

/** deep nests subgraphs in one another, each the only branch, so that 10,000 of them are still small. */
function deep(depth: number): Uint8Array {
  const branch = {
    before: [
      [1, 'then_branch'],
      [20, 5],
    ],
    field: 6,
  } as const;
  const node = {
    before: [
      [4, 'If'],
      [1, 'c'],
      [2, 'v'],
    ],
    field: 5,
  } as const;
  const graph = { before: [[12, w.value('v', w.FLOAT)]], field: 1 } as const;
  return w.nested(w.graph({ outputs: [w.value('x', w.FLOAT)] }), depth, [branch, node, graph]);
}

/** deepType nests sequences in one another. */
function deepType(depth: number): Uint8Array {
  const element = { before: [], field: 1 };
  const sequence = { before: [], field: 4 };
  const type = w.nested(w.message([1, w.message([1, w.FLOAT])]), depth, [element, sequence]);
  return small({ values: [w.message([1, 'v'], [2, type])] });
}

type Hostile = [what: string, hostile: Uint8Array, why: RegExp, neighbour?: Uint8Array];
const CASES: Hostile[] = [
  ['an empty file', new Uint8Array(), /the file is empty/],
  ['text', new TextEncoder().encode('{ "model": "not this" }'), /the file is text, not ONNX: "\{ \\"model/],
  ['a ZIP archive', Uint8Array.of(0x50, 0x4b, 3, 4, 0, 0), /ZIP archive/],
  ['a model without a graph', w.message([1, 8], [8, w.message([2, 17])]), /has no graph/],
  ['a model without an operator set', small({}, { opsets: {} }), /imports no operator set/],
  [
    'a model without an IR version',
    small({}, { irVersion: 0 }),
    /no valid IR version/,
    small({}, { irVersion: 3 }),
  ],
  [
    'an operator set of version −1',
    small({}, { opsets: { '': -1 } }),
    /version -1/,
    small({}, { opsets: { '': 1 } }),
  ],
  [
    'an operator of a domain that is not imported',
    small({ nodes: [w.node('Add', ['x', 'b'], ['y'], { domain: 'acme' })] }),
    /uses Add of the operator set "acme", which is not imported/,
    small({ nodes: [w.node('Add', ['x', 'b'], ['y'], { domain: 'ai.onnx' })] }),
  ],
  ['a graph without outputs', small({ outputs: [] }), /has no outputs/],
  [
    'a node without an operator',
    small({ nodes: [w.message([1, 'x'], [2, 'y'])] }),
    /node\[0\]: has no operator/,
  ],
  [
    'a cycle',
    small({ nodes: [w.node('Add', ['x', 'z'], ['y']), w.node('Relu', ['y'], ['z'], { name: 'r' })] }),
    /has a cycle: node\[0\] ← node\[1\] "r" ← back to the first/,
    small({ nodes: [w.node('Add', ['x', 'z'], ['y']), w.node('Relu', ['b'], ['z'], { name: 'r' })] }),
  ],
  [
    'a node that feeds itself',
    small({ nodes: [w.node('Add', ['x', 'y'], ['y'])] }),
    /has a cycle: node\[0\]/,
  ],
  [
    'a tensor nothing makes',
    small({ nodes: [w.node('Add', ['x', 'q'], ['y'])] }),
    /node\[0\]: uses tensor "q", which nothing makes/,
    small({ nodes: [w.node('Clip', ['x', '', ''], ['y'])] }),
  ],
  [
    'an output nothing makes',
    small({ outputs: [w.value('q', w.FLOAT)] }),
    /gives tensor "q", which nothing makes/,
  ],
  [
    'a tensor that two nodes make',
    small({ nodes: [w.node('Relu', ['x'], ['y']), w.node('Neg', ['x'], ['y'], { name: 'n' })] }),
    /tensor "y" is made twice: by node\[0\] and by node\[1\] "n"/,
    small({ nodes: [w.node('Relu', ['x'], ['y']), w.node('Neg', ['x'], ['z'])] }),
  ],
  [
    'a node that makes an input',
    small({ nodes: [w.node('Relu', ['b'], ['x'])] }),
    /"x" is made twice: by an input/,
  ],
  [
    'two initializers of one name',
    small({ initializers: [w.floats('b', [1], [1]), w.floats('b', [1], [2])] }),
    /"b" is made twice/,
    small({ inputs: [X, w.value('b', w.FLOAT, [4])] }),
  ],
  [
    'dimensions larger than the values',
    bias([5], 16),
    /"b": is float32\[5\], 20 bytes, but holds 16/,
    bias([4], 16),
  ],
  ['dimensions smaller than the values', bias([3], 16), /12 bytes, but holds 16/, bias([2, 2], 16)],
  ['a negative dimension', bias([-4], 16), /negative dimension: \[-4\]/, bias([0, 7], 0)],
  [
    'dimensions that overflow',
    bias([2 ** 31, 2 ** 31], 16),
    /dimensions no memory can hold/,
    bias([1, 4, 1], 16),
  ],
  ['dimensions whose product wraps to the size', bias([2 ** 62, 4, 4], 16), /no memory can hold/],
  [
    'an input of absurd dimensions',
    small({ inputs: [w.value('x', w.FLOAT, [2 ** 40, 2 ** 40])] }),
    /no memory can hold/,
  ],
  ['an initializer without a type', bias([4], 16, 0), /has no element type/],
  ['int4 values in too few bytes', bias([5], 2, 22), /int4\[5\], 3 bytes, but holds 2/, bias([5], 3, 22)],
  ['subgraphs 33 deep', withNested(33), /nests subgraphs more than 32 deep/, withNested(30)],
  ['subgraphs 10,000 deep', withNested(10_000), /nests subgraphs more than 32 deep/],
  ['types 10,000 deep', deepType(10_000), /nests types more than 16 deep/, deepType(3)],
  [
    'a cycle in a subgraph',
    small({
      nodes: [ifNode(CYCLIC, 'y')],
      initializers: [w.message([2, w.BOOL], [8, 'c'], [9, Uint8Array.of(1)])],
    }),
    /subgraph: has a cycle/,
  ],
  [
    'external data outside the folder',
    small({ initializers: [w.externalFloats('b', [4], { location: '../secret' })] }),
    /lies outside the model's folder: "\.\.\/secret"/,
    small({ initializers: [w.externalFloats('b', [4], { location: 'weights..bin' })] }),
  ],
  ...['/etc/x', 'C:\\x', 'a\\..\\b', 'a/../../b'].map(
    (location): Hostile => [
      `external data outside the folder: ${location}`,
      small({ initializers: [w.externalFloats('b', [4], { location })] }),
      /lies outside the model's folder/,
    ],
  ),
  [
    'external data without a location',
    small({ initializers: [w.externalFloats('b', [4], {})] }),
    /has no location/,
  ],
  [
    'external data of another length',
    small({ initializers: [w.externalFloats('b', [4], { location: 'w', length: '12' })] }),
    /\[4\] takes 16 bytes, but 12 in "w"/,
    small({ initializers: [w.externalFloats('b', [4], { location: 'w', length: '16' })] }),
  ],
  [
    'an offset that is no number',
    small({ initializers: [w.externalFloats('b', [4], { location: 'w', offset: '-8' })] }),
    /not a whole number of bytes/,
  ],
  [
    'a field beyond the end',
    Uint8Array.of(8, 8, 0x3a, 0xe8, 0x07, 0x0a),
    /field 7 says 1000 bytes where 1 are left/,
  ],
  ['a negative length', Uint8Array.of(8, 8, 0x3a, ...Array(9).fill(0xff), 1), /field 7 says -1 bytes/],
  [
    'a length of 2^40 + 1',
    Uint8Array.of(8, 8, 0x3a, 0x81, 0x80, 0x80, 0x80, 0x80, 0x20, 0),
    /says 1099511627777 bytes/,
  ],
  ['a number of eleven bytes', Uint8Array.of(8, ...Array(10).fill(0xff), 1), /more than 64 bits/],
  ['a field numbered 0', Uint8Array.of(0, 1, 8, 8), /a field numbered 0/],
  ['groups', Uint8Array.of(8, 8, 0x0b, 0x0c), /wire type 3/],
  ['a graph that is a number', Uint8Array.of(8, 8, 0x38, 1), /field 7 of wire type 0/],
];

describe('readModel() of hostile files', () => {
  it('readModel() accepts the small model that the others are made from', () => {
    expect(refusal(small())).toBe('accepted');
  });

  it.each(CASES)('readModel() refuses %s, and accepts its valid neighbour', (_, hostile, why, neighbour) => {
    expect(refusal(hostile)).toMatch(/^Cannot read m\.onnx:/);
    expect(refusal(hostile)).toMatch(why);
    if (neighbour !== undefined) expect(refusal(neighbour)).toBe('accepted');
  });

  it('readModel() shortens the place of a fault in many subgraphs to where it begins and ends', () => {
    const nested = (depth: number): Uint8Array => {
      const branch = w.attribute.graph(
        'then_branch',
        depth === 0 ? CYCLIC : w.graph({ nodes: [nested(depth - 1)] }),
      );
      return w.node('If', ['c'], ['y'], { name: `branch ${depth}`, attributes: [branch] });
    };
    const condition = w.message([2, w.BOOL], [8, 'c'], [9, Uint8Array.of(1)]);
    const said = refusal(small({ nodes: [nested(20)], initializers: [condition] }));
    const [, path = ''] = /(\S*node\[0\].*subgraph): has a cycle/.exec(said) ?? [];
    expect(path).toMatch(/node\[0\] "branch 20".*….*node\[0\] "branch 0"\.subgraph$/);
    expect(path.length).toBeLessThanOrEqual(200);
  });

  it('readModel() reports all faults of a file at once', () => {
    const broken = small(
      { nodes: [w.node('Add', ['x', 'q'], ['y'])], initializers: [w.message([1, -1], [2, 1], [8, 'b'])] },
      { opsets: {} },
    );
    expect(refusal(broken)).toMatch(/imports no operator set[\s\S]*negative dimension[\s\S]*"q"/);
  });

  it('readModel() refuses the small model, wherever it is cut off', () => {
    const whole = small();
    for (let length = 0; length < whole.length; length++) {
      expect(refusal(whole.slice(0, length)), `at ${length}`).toMatch(/Cannot read/);
    }
  });
});

/** exercise does everything that the room does with a model; only InputErrors may be thrown. */
function exercise(bytes: Uint8Array): 'refused' | 'taken' {
  try {
    const model = readModel(bytes);
    const count = model.graph.nodes.length;
    const types = new Map<string, never>();
    for (const cut of cutsOf(model).slice(0, 3)) {
      attempt(() =>
        extractPartition(model, { from: 0, to: cut.position, types, boundary: 'float16', dataFile: 'd' }),
      );
    }
    attempt(() => extractPartition(model, { from: 0, to: count, types, dataFile: 'd' }));
    attempt(() => bindDims(model, Object.fromEntries(freeDims(model).map((dim) => [dim, 2]))));
    attempt(() => exposeTensors(model, model.graph.nodes.flatMap((node) => node.outputs).slice(0, 5)));
    nameNodes(model);
    batchDim(model);
    makeBatchSymbolic(model);
    return 'taken';
  } catch (error) {
    if (error instanceof InputError) return 'refused';
    throw error;
  }
}

function attempt(work: () => unknown): void {
  try {
    work();
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
  }
}

function damaged(bytes: Uint8Array, next: () => number): Uint8Array {
  const copy = Uint8Array.from(bytes);
  const flips = 1 + Math.floor(next() * 4);
  for (let i = 0; i < flips; i++) {
    const at = Math.floor(next() * copy.length);
    copy[at] = copy[at]! ^ (1 << Math.floor(next() * 8));
  }
  return next() < 0.2 ? copy.slice(0, Math.floor(next() * copy.length)) : copy;
}

describe('a damaged file', () => {
  const rich = () => {
    const condition = w.message([2, w.BOOL], [8, 'c'], [9, Uint8Array.of(1)]);
    const branch = w.graph({ nodes: [w.node('Add', ['x', 'b'], ['v'])], outputs: [w.value('v', w.FLOAT)] });
    const shape = w.int64s('s', [2], [1, 4]);
    return small({
      nodes: [
        ifNode(branch, 'i'),
        w.node('Reshape', ['i', 's'], ['r'], { attributes: [w.attribute.int('allowzero', 0)] }),
        w.node('Softmax', ['r'], ['y'], { attributes: [w.attribute.int('axis', -1)] }),
      ],
      initializers: [condition, shape, w.externalFloats('b', [4], { location: 'w', offset: '16' })],
      values: [
        w.value('i', w.FLOAT, [1, 4]),
        w.message([1, 'q'], [2, w.message([4, w.message([1, w.message([1, w.message([1, 1])])])])]),
      ],
      extra: [[14, w.message([1, 'x'], [2, w.message([1, 'SCALE'], [2, 'b'])])]],
      inputs: [w.value('x', w.FLOAT, [1, 4])],
    });
  };

  it('readModel() and the functions after it throw only InputErrors on damaged small models', () => {
    const bytes = rich();
    expect(exercise(bytes)).toBe('taken');
    fuzz(bytes, cases(whole(200, 800), 3000), 20261121);
  });

  it('readModel() and the functions after it throw only InputErrors on damaged larger models', () => {
    fuzz(convChain(8), cases(80, 400), 7);
    fuzz(choosing(), cases(80, 200), 8);
    fuzz(mobilenetv2({ image: 32, widthMultiplier: 0.1, classes: 4 }), cases(20, 100), 9);
    if (!hasShared) return;
    fuzz(sharedBytes('light_squeezenet.onnx'), cases(50, 150), 7);
    fuzz(sharedBytes('tinyvit_demo.onnx'), cases(20, 50), 8);
  });

  function fuzz(bytes: Uint8Array, count: number, seed: number): void {
    const next = noise(seed);
    const answers = { refused: 0, taken: 0 };
    for (let i = 0; i < count; i++) answers[exercise(damaged(bytes, next))]++;
    expect(answers.refused).toBeGreaterThan(count / 10);
    expect(answers.taken).toBeGreaterThan(count / 50);
  }
});
