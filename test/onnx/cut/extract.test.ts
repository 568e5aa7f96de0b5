import onnxProto from 'onnx-proto';
import { describe, expect, it } from 'vitest';
import { InputError } from '../../../src/formats/index.js';
import {
  type ExtractOptions,
  exposeTensors,
  extractPartition,
  extractPieces,
  mayBranch,
  nameNodes,
  type OnnxModel,
  readModel,
  type TensorType,
} from '../../../src/onnx/index.js';
import { fieldBytes, payload } from '../fields.js';
import { ranksApart } from '../made-models.js';
import * as w from '../writer.js';

const F4: TensorType = { dtype: 'float32', dims: [4] };
const TYPES = new Map(['a', 'b', 'c'].map((name) => [name, F4]));
const x = w.value('x', w.FLOAT, ['batch']);
const y = w.value('y', w.FLOAT, ['batch']);

const made = (parts: w.GraphParts, model: w.ModelParts = {}) =>
  readModel(w.model(w.graph({ inputs: [x], outputs: [y], ...parts }), model));

/** x → a → b → y. */
const LINE = [
  w.node('Relu', ['x'], ['a'], { name: 'one' }),
  w.node('Neg', ['a'], ['b'], { name: 'two' }),
  w.node('Exp', ['b'], ['y'], { name: 'three' }),
];

const extract = (model: OnnxModel, from: number, to: number, more: Partial<ExtractOptions> = {}) =>
  extractPartition(model, { from, to, types: TYPES, ...more });

/** decoded reads a model with onnx-proto, which shares nothing with our reader, into plain JSON. */
function decoded(bytes: Uint8Array) {
  // Protobuf has no field 0; one would be made of stray bytes.
  for (const message of [bytes, payload(bytes, 7)]) expect(fieldBytes(message, (n) => n === 0)).toEqual([]);
  const { graph, ...model } = JSON.parse(JSON.stringify(onnxProto.onnx.ModelProto.decode(bytes)));
  const named = (values: readonly { name?: string }[] = []) => values.map(({ name }) => name);
  return {
    model,
    graph,
    nodes: (graph.node ?? []).map((n: Record<string, unknown>) => [n.opType, n.input ?? [], n.output ?? []]),
    inputs: named(graph.input),
    outputs: named(graph.output),
    values: named(graph.valueInfo),
    initializers: named(graph.initializer),
  };
}

/** typeOf gives a ValueInfo's element type and dimensions, with `?` where it has no shape. */
function typeOf(value: { type?: { tensorType?: { elemType: number; shape?: { dim?: unknown[] } } } }) {
  const tensor = value.type?.tensorType;
  return tensor === undefined ? undefined : [tensor.elemType, tensor.shape?.dim ?? '?'];
}

describe('the range of extractPartition()', () => {
  it('is refused where it does not exist, with the existing nodes', () => {
    const model = made({ nodes: LINE });
    for (const [from, to] of [
      [-1, 1],
      [0, 4],
      [2, 1],
      [1, 1],
      [0.5, 2],
      [0, 1.5],
      [Number.NaN, 1],
      [0, Number.NaN],
    ] as const)
      expect(() => extract(model, from, to)).toThrow(
        `extract nodes [${from}, ${to}) of the model: there is no such range; the model has nodes 0 to 2`,
      );
  });

  it('may be all of a model without nodes', () => {
    const model = made({ nodes: [], outputs: [x] });
    expect(extract(model, 0, 0)).toMatchObject({ inputs: ['x'], outputs: ['x'], external: [] });
    expect(() => extract(model, 1, 1)).toThrow(InputError);
  });

  it('gives the whole model for all nodes, whatever types are known', () => {
    const model = made({ nodes: LINE });
    const whole = extractPartition(model, { from: 0, to: 3, types: new Map() });
    expect(whole).toMatchObject({ inputs: ['x'], outputs: ['y'] });
    expect(fieldBytes(payload(whole.bytes, 7)).sort()).toEqual(fieldBytes(payload(model.bytes, 7)).sort());
    for (const [from, to] of [
      [0, 2],
      [1, 3],
    ] as const)
      expect(() => extractPartition(model, { from, to, types: new Map() })).toThrow('is not known');
  });

  it('needs the types of the tensors that come in and go on, and reports each missing one', () => {
    const model = made({ nodes: LINE });
    expect(() => extract(model, 1, 2, { types: new Map() })).toThrow(
      /the type of "a" is not known\n.*the type of "b" is not known/,
    );
    const odd = new Map([...TYPES, ['b', { dtype: 'float99' }]]);
    expect(() => extract(model, 1, 2, { types: odd })).toThrow('"b" has an unknown type "float99"');
    expect(() => extract(model, 0, 1, { types: odd })).not.toThrow();
  });

  it('is refused where none of its results is used elsewhere', () => {
    const model = made({ nodes: [...LINE, w.node('Abs', ['a'], ['left'])] });
    expect(() => extract(model, 3, 4)).toThrow('the results of these nodes are used nowhere else');
    expect(extract(model, 2, 4).outputs).toEqual(['y']);
  });

  it('may be all of a model that does not say the types of its inputs', () => {
    const model = made({ nodes: LINE, inputs: [w.message([1, 'x'])] });
    expect(extract(model, 0, 3).inputs).toEqual(['x']);
    expect(() => extract(model, 0, 2)).toThrow('the type of "x" is not known');
  });

  it('may end at a graph output of unknown type, but not start at one', () => {
    const early = w.message([1, 'a']);
    const model = made({ nodes: LINE, outputs: [early, y] });
    const part = extract(model, 0, 1, { types: new Map() });
    expect(decoded(part.bytes).outputs).toEqual(['a']);
    expect(() => extract(model, 1, 2, { types: new Map([['b', F4]]) })).toThrow('the type of "a"');
  });
});

describe('a partition that extractPartition() makes', () => {
  it('has the nodes of its range, inputs and outputs in their order, and types as measured', () => {
    const model = made({ nodes: LINE });
    const { bytes, inputs, outputs } = extract(model, 1, 2);
    const part = decoded(bytes);
    expect(part.nodes).toEqual([['Neg', ['a'], ['b']]]);
    expect([inputs, outputs, part.inputs, part.outputs]).toEqual([['a'], ['b'], ['a'], ['b']]);
    for (const end of [part.graph.input[0], part.graph.output[0]])
      expect(typeOf(end)).toEqual([w.FLOAT, [{ dimValue: '4' }]]);
    const first = decoded(extract(model, 0, 2).bytes);
    expect(typeOf(first.graph.input[0])).toEqual([w.FLOAT, [{ dimParam: 'batch' }]]);
    const last = decoded(extract(model, 2, 3).bytes);
    expect(typeOf(last.graph.output[0])).toEqual([w.FLOAT, [{ dimParam: 'batch' }]]);
  });

  it('does not take omitted outputs and inputs for tensors', () => {
    const model = made({
      nodes: [
        w.node('Op', ['x'], ['a', '']),
        w.node('Op', ['a', '', 'x'], ['b', '']),
        w.node('Op', ['b', ''], ['y']),
      ],
    });
    const ends = [0, 1, 2].map((from) => {
      const { inputs, outputs } = extract(model, from, from + 1);
      return [inputs, outputs];
    });
    expect(ends).toEqual([
      [['x'], ['a']],
      [['x', 'a'], ['b']],
      [['b'], ['y']],
    ]);
  });

  it('repeats the constants that it needs, wherever they stand, and leaves the others out', () => {
    const constant = (from: string, to: string) => w.node('Cos', [from], [to]);
    const model = made({
      nodes: [
        constant('k', 'k1'),
        w.node('Add', ['x', 'k1'], ['a']),
        constant('k1', 'k2'),
        constant('k', 'other'),
        w.node('Add', ['a', 'k2'], ['b']),
        w.node('Add', ['b', 'other'], ['y']),
      ],
      initializers: [w.floats('k', [4], [1, 2, 3, 4]), w.floats('unused', [4], [0, 0, 0, 0])],
    });
    const parts = [extract(model, 0, 2), extract(model, 2, 5), extract(model, 5, 6)].map(({ bytes }) =>
      decoded(bytes),
    );
    expect(parts.map((part) => part.nodes.map(([, , outputs]: unknown[][]) => outputs?.[0]))).toEqual([
      ['k1', 'a'],
      ['k1', 'k2', 'b'],
      ['other', 'y'],
    ]);
    expect(parts.map(({ inputs }) => inputs)).toEqual([['x'], ['a'], ['b']]);
    expect(parts.map(({ initializers }) => initializers)).toEqual([['k'], ['k'], ['k']]);
  });

  it('includes a constant node for any of its outputs', () => {
    const model = made({
      nodes: [
        w.node('Split', ['k'], ['k1', 'k2']),
        w.node('Add', ['x', 'k1'], ['a']),
        w.node('Add', ['a', 'k2'], ['y']),
      ],
      initializers: [w.floats('k', [2], [1, 2])],
    });
    for (const [from, to] of [
      [0, 2],
      [2, 3],
    ] as const)
      expect(decoded(extract(model, from, to).bytes).nodes[0]).toEqual(['Split', ['k'], ['k1', 'k2']]);
  });

  it('copies initializers that are sparse, or may be overridden, as they are', () => {
    const sparse = w.message([1, w.floats('s', [1], [5])], [2, w.int64s('', [1], [2])], [3, 4]);
    const overridable = w.value('o', w.FLOAT, [4]);
    const model = made({
      nodes: [
        w.node('Relu', ['x'], ['a']),
        w.node('Op', ['a', 's', 'o'], ['b']),
        w.node('Exp', ['b'], ['y']),
      ],
      inputs: [x, overridable],
      initializers: [w.floats('o', [4], [1, 2, 3, 4])],
      sparse: [sparse],
    });
    const fieldsOf = (from: number, to: number, number: number) =>
      fieldBytes(payload(extract(model, from, to).bytes, 7), (n) => n === number);
    expect([fieldsOf(0, 1, 15), fieldsOf(1, 2, 15)]).toEqual([[], fieldBytes(w.message([15, sparse]))]);
    expect(fieldsOf(0, 1, 11)).toEqual(fieldBytes(w.message([11, x])));
    expect(fieldsOf(1, 2, 11).at(-1)).toEqual(fieldBytes(w.message([11, overridable]))[0]);
    expect(decoded(extract(model, 1, 2).bytes).inputs).toEqual(['a', 'o']);
    expect(extract(model, 1, 2).inputs).toEqual(['a']);
  });

  it('declares an input or output that is also one of the whole model with the file’s own bytes', () => {
    const told = (name: string) => w.message([1, name], [2, w.message([1, w.message([1, 1])])], [3, 'doc']);
    const model = made({ nodes: LINE, inputs: [told('x')], outputs: [told('y')] });
    const ends = (from: number, to: number, number: number) =>
      fieldBytes(payload(extract(model, from, to).bytes, 7), (n) => n === number);
    expect(ends(0, 1, 11)).toEqual(fieldBytes(w.message([11, told('x')])));
    expect(ends(2, 3, 12)).toEqual(fieldBytes(w.message([12, told('y')])));
  });

  it('gives constant graph outputs, initializers too, only from the last partition', () => {
    const model = made({
      nodes: [...LINE.slice(0, 2), w.node('Cos', ['k'], ['kc']), LINE[2] as Uint8Array],
      outputs: [y, w.value('kc', w.FLOAT, [4]), w.value('k', w.FLOAT, [4])],
      initializers: [w.floats('k', [4], [1, 2, 3, 4])],
    });
    const first = extract(model, 0, 2);
    expect([first.outputs, decoded(first.bytes).initializers]).toEqual([['b'], []]);
    const last = extract(model, 2, 4);
    expect([last.inputs, last.outputs]).toEqual([['b'], ['y', 'kc', 'k']]);
    expect(decoded(last.bytes).initializers).toEqual(['k']);
    expect(decoded(last.bytes).nodes.map(([op]: string[]) => op)).toEqual(['Cos', 'Exp']);
  });

  it("copies the file's annotations of the tensors inside, and of no others", () => {
    const annotation = (name: string) => w.message([1, name], [2, w.message([1, 'SCALE'], [2, 's'])]);
    const model = made({
      nodes: LINE,
      values: ['a', 'b'].map((name) => w.value(name, w.FLOAT, ['inner'])),
      extra: [
        [14, annotation('a')],
        [14, annotation('b')],
        [14, annotation('y')],
        [10, 'about the graph'],
      ],
    });
    const partOf = (from: number, to: number) => {
      const { graph, values } = decoded(extract(model, from, to).bytes);
      const annotations = (graph.quantizationAnnotation ?? []).map(
        ({ tensorName }: { tensorName: string }) => tensorName,
      );
      return { values, annotations, doc: graph.docString };
    };
    expect(partOf(0, 1)).toEqual({ values: [], annotations: ['a'], doc: 'about the graph' });
    expect(partOf(0, 2)).toEqual({ values: ['a'], annotations: ['a', 'b'], doc: 'about the graph' });
    expect(partOf(1, 3)).toEqual({ values: ['b'], annotations: ['a', 'b', 'y'], doc: 'about the graph' });
  });

  it('has the given name, or else the model’s own', () => {
    const model = made({ nodes: LINE, extra: [[10, 'doc']] });
    for (const [from, to] of [
      [0, 2],
      [0, 3],
    ] as const) {
      const told = (graphName?: string) => {
        const { bytes } = extract(model, from, to, graphName === undefined ? {} : { graphName });
        return fieldBytes(payload(bytes, 7), (number) => number === 2 || number === 10);
      };
      expect(told()).toEqual(fieldBytes(w.message([2, 'g'], [10, 'doc'])));
      expect(told('renamed')).toEqual(fieldBytes(w.message([2, 'renamed'], [10, 'doc'])));
    }
  });

  it('keeps the training information of a whole model, and gives none to partitions', () => {
    const model = made({ nodes: LINE }, { extra: [[20, w.message()]] });
    const training = (from: number, to: number) =>
      fieldBytes(extract(model, from, to).bytes, (number) => number === 20);
    expect(training(0, 3)).toHaveLength(1);
    expect(training(0, 2)).toHaveLength(0);
  });

  it('keeps every function of a whole model, called or not', () => {
    const body = w.message([1, 'F'], [4, 'p'], [5, 'q'], [7, LINE[0] as Uint8Array], [10, 'local']);
    const model = made({ nodes: LINE }, { functions: [body] });
    const functions = (from: number, to: number) =>
      fieldBytes(extract(model, from, to).bytes, (number) => number === 25);
    expect(functions(0, 3)).toHaveLength(1);
    expect(functions(0, 2)).toHaveLength(0);
  });
});

describe('extractPieces()', () => {
  it('gives the file that extractPartition() gives, in pieces that copy no weights', () => {
    const weights = w.floats('weights', [4096], new Array(4096).fill(0.5));
    const add = w.node('Add', ['a', 'weights'], ['b'], { name: 'two' });
    const model = made({ nodes: [LINE[0]!, add, LINE[2]!], initializers: [weights] });
    for (const to of [2, 3]) {
      const options = { from: 0, to, types: TYPES };
      const { pieces, ...rest } = extractPieces(model, options);
      const { bytes, ...whole } = extractPartition(model, options);
      expect(rest).toEqual(whole);
      expect(Buffer.compare(Buffer.concat(pieces), bytes)).toBe(0);
      const copied = pieces.filter(({ buffer }) => buffer !== model.bytes.buffer);
      expect(copied.reduce((sum, { length }) => sum + length, 0)).toBeLessThan(4096);
    }
  });
});

describe('extractPartition() with boundary float16', () => {
  const half = (model: OnnxModel, from: number, to: number, types: ReadonlyMap<string, TensorType> = TYPES) =>
    extractPartition(model, { from, to, types, boundary: 'float16' });
  const castOf = (bytes: Uint8Array) =>
    (decoded(bytes).graph.node as Record<string, unknown>[]).filter(({ opType }) => opType === 'Cast');

  it('casts at both ends: inputs before the nodes, outputs after them', () => {
    const { bytes, inputs, outputs } = half(made({ nodes: LINE }), 1, 2);
    const part = decoded(bytes);
    expect([inputs, outputs]).toEqual([['a/float16'], ['b/float16']]);
    expect(part.nodes).toEqual([
      ['Cast', ['a/float16'], ['a']],
      ['Neg', ['a'], ['b']],
      ['Cast', ['b'], ['b/float16']],
    ]);
    expect([part.inputs, part.outputs]).toEqual([inputs, outputs]);
    for (const end of [part.graph.input[0], part.graph.output[0]])
      expect(typeOf(end)).toEqual([10, [{ dimValue: '4' }]]);
    expect(castOf(bytes)).toMatchObject([
      { name: 'a/float16/cast', attribute: [{ name: 'to', i: '1', type: 'INT' }] },
      { name: 'b/cast', attribute: [{ name: 'to', i: '10', type: 'INT' }] },
    ]);
  });

  it('leaves a whole model, other types, graph inputs and graph outputs as they are', () => {
    const model = made({ nodes: LINE, outputs: [y, w.value('a', w.FLOAT, [4])] });
    expect(castOf(half(model, 0, 3).bytes)).toEqual([]);
    expect(half(model, 0, 1)).toMatchObject({ inputs: ['x'], outputs: ['a'] });
    expect(half(model, 1, 2)).toMatchObject({ inputs: ['a'], outputs: ['b/float16'] });
    expect(half(model, 2, 3)).toMatchObject({ inputs: ['b/float16'], outputs: ['y'] });
    const doubles = new Map([...TYPES, ['b', { dtype: 'float64', dims: [4] }]]);
    expect(half(model, 2, 3, doubles)).toMatchObject({ inputs: ['b'], outputs: ['y'] });
    expect(castOf(extract(model, 1, 2, { boundary: 'exact' }).bytes)).toEqual([]);
  });

  it('finds a name that the model does not use, the same at both ends', () => {
    const nodes = [
      ...LINE.slice(0, 2),
      w.node('Abs', ['b'], ['b/float16']),
      w.node('Op', ['b', 'b/float16', 'b/float16_'], ['y']),
    ];
    const model = made({ nodes, initializers: [w.floats('b/float16_', [4], [1, 2, 3, 4])] });
    expect(half(model, 0, 2).outputs).toEqual(['b/float16__']);
    expect(half(model, 2, 4).inputs).toEqual(['b/float16__']);
    const given = made({
      nodes: LINE,
      inputs: [x, w.value('a/float16', w.FLOAT, [4])],
      outputs: [y, w.value('b/float16', w.FLOAT, [4])],
      initializers: [w.floats('b/float16', [4], [1, 2, 3, 4])],
    });
    expect(half(given, 1, 2)).toMatchObject({ inputs: ['a/float16_'], outputs: ['b/float16_'] });
  });

  it('writes the cast’s target as a name before operator set 6', () => {
    const targetAt = (version: number) =>
      castOf(half(made({ nodes: LINE }, { opsets: { '': version } }), 0, 1).bytes)[0]?.attribute;
    expect(targetAt(5)).toMatchObject([
      { name: 'to', s: Buffer.from('FLOAT16').toString('base64'), type: 'STRING' },
    ]);
    expect(targetAt(6)).toMatchObject([{ name: 'to', i: '10', type: 'INT' }]);
  });

  it('imports the operator set of the casts where the model imports no default one', () => {
    const nodes = LINE.map((_, i) =>
      w.node('Op', ['xaby'[i] as string], ['xaby'[i + 1] as string], { domain: 'm' }),
    );
    const model = made({ nodes }, { opsets: { m: 1 } });
    const imports = (bytes: Uint8Array) => decoded(bytes).model.opsetImport;
    expect(imports(extract(model, 1, 2).bytes)).toEqual([{ domain: 'm', version: '1' }]);
    for (const [from, to] of [
      [0, 1],
      [1, 2],
      [2, 3],
    ] as const)
      expect(imports(half(model, from, to).bytes)).toEqual([
        { domain: 'm', version: '1' },
        { version: '13' },
      ]);
    expect(castOf(half(model, 1, 2).bytes)[0]).toMatchObject({ attribute: [{ i: '1' }] });
    expect(imports(half(made({ nodes: LINE }), 1, 2).bytes)).toEqual([{ version: '17' }]);
  });
});

describe('extractPartition() of nodes that may branch', () => {
  const branch = w.attribute.graph('then_branch', w.graph({ nodes: [], outputs: [] }));
  const withOp = (op: string, domain?: string) =>
    made(
      {
        nodes: [
          w.node('Relu', ['x'], ['a']),
          w.node(op, ['a', 'x'], ['b'], { attributes: [branch], ...(domain !== undefined && { domain }) }),
          w.node('Exp', ['b'], ['y']),
        ],
      },
      { opsets: { '': 17, m: 1 } },
    );

  it('declares incoming tensors with their number of axes, which onnx.checker asks for, and without sizes', () => {
    for (const op of ['If', 'Loop', 'Scan', 'SequenceMap']) {
      const model = withOp(op);
      expect(mayBranch(model)).toBe(true);
      const { input, output } = decoded(extract(model, 1, 2).bytes).graph;
      expect(input.map(typeOf)).toEqual([
        [w.FLOAT, [{ dimParam: 'batch' }]],
        [w.FLOAT, [{}]],
      ]);
      expect(output.map(typeOf)).toEqual([[w.FLOAT, [{ dimValue: '4' }]]]);
      // The nodes around them are told the shapes.
      expect(decoded(extract(model, 2, 3).bytes).graph.input.map(typeOf)).toEqual([
        [w.FLOAT, [{ dimValue: '4' }]],
      ]);
    }
  });

  it('declares no number of axes only where it may depend on a branch and another branch may contradict it', () => {
    const model = readModel(ranksApart());
    const names = ['either', 'kept', 'turned', 'positive'];
    const types = new Map(names.map((name) => [name, F4]));
    const shapesAt = (from: number, to: number) => {
      const { inputs, bytes } = extractPartition(model, { from, to, types });
      return Object.fromEntries(
        decoded(bytes)
          .graph.input.map(typeOf)
          .map((t: unknown[], i: number) => [inputs[i], t[1]]),
      );
    };
    expect(shapesAt(4, 6)).toEqual({ positive: [{}], kept: '?' });
    expect(shapesAt(3, 5)).toEqual({ positive: [{}], either: '?' });
    expect(shapesAt(5, 6)).toEqual({ turned: [{ dimValue: '4' }] });
    // This tensor leads to no branch, and stands in a partition that has one.
    const beside = made(
      {
        nodes: [
          w.node('Squeeze', ['x'], ['a']),
          w.node('If', ['x'], ['b'], { attributes: [branch] }),
          w.node('Add', ['a', 'b'], ['y']),
        ],
      },
      {},
    );
    const { bytes } = extract(beside, 1, 3);
    expect(decoded(bytes).graph.input.map(typeOf)).toEqual([
      [w.FLOAT, [{ dimParam: 'batch' }]],
      [w.FLOAT, [{}]],
    ]);
  });

  it('counts shapes of a computed length among what any number of axes comes from, unless the file declares it', () => {
    const shapes = (shape: string, values: readonly Uint8Array[] = []) => {
      const model = made({
        nodes: [
          w.node('Shape', ['x'], ['sizes']),
          w.node('Concat', ['sizes', 'constant'], ['joined'], { attributes: [w.attribute.int('axis', 0)] }),
          w.node('NonZero', ['x'], ['computed']),
          w.node('Slice', ['joined', 'constant', 'sizes'], ['sliced']),
          w.node('Reshape', ['x', shape], ['a']),
          w.node('Relu', ['a'], ['b']),
          w.node('If', ['b'], ['y'], { attributes: [branch] }),
        ],
        initializers: [w.int64s('constant', [1], [4])],
        values,
      });
      return typeOf(decoded(extract(model, 6, 7).bytes).graph.input[0])?.[1];
    };
    for (const shape of ['constant', 'sizes', 'joined']) expect(shapes(shape), shape).toEqual([{}]);
    for (const shape of ['computed', 'sliced']) expect(shapes(shape), shape).toBe('?');
    for (const name of ['a', 'b'])
      expect(shapes('computed', [w.value(name, w.FLOAT, [4])]), name).toEqual([{}]);
  });

  it('declares an input that is no tensor as the file does', () => {
    const sequence = w.message(
      [1, 'a'],
      [2, w.message([4, w.message([1, w.message([1, w.message([1, 1])])])])],
    );
    const model = made({
      nodes: [
        LINE[0] as Uint8Array,
        w.node('If', ['a'], ['b'], { attributes: [branch] }),
        LINE[2] as Uint8Array,
      ],
      values: [sequence],
    });
    const part = extract(model, 1, 2, { types: new Map([['b', F4]]) });
    expect(fieldBytes(payload(part.bytes, 7), (n) => n === 11)).toEqual(
      fieldBytes(w.message([11, sequence])),
    );
  });

  it('sends float16 without sizes there too', () => {
    const part = extractPartition(withOp('If'), { from: 1, to: 2, types: TYPES, boundary: 'float16' });
    const { input, output } = decoded(part.bytes).graph;
    expect(input.map(typeOf)).toEqual([
      [w.FLOAT, [{ dimParam: 'batch' }]],
      [10, [{}]],
    ]);
    expect(output.map(typeOf)).toEqual([[10, [{ dimValue: '4' }]]]);
  });

  it('counts only the branching operators of the default domain', () => {
    for (const model of [withOp('If', 'm'), withOp('Relu')]) {
      expect(mayBranch(model)).toBe(false);
      expect(decoded(extract(model, 1, 2).bytes).graph.input.map(typeOf)[1]).toEqual([
        w.FLOAT,
        [{ dimValue: '4' }],
      ]);
    }
  });

  it('counts the branches in the local functions that its nodes call', () => {
    const body = w.message([1, 'F'], [4, 'p'], [5, 'q'], [7, LINE[0] as Uint8Array], [10, 'local']);
    const nodes = [
      LINE[0] as Uint8Array,
      w.node('F', ['a'], ['b'], { domain: 'local' }),
      LINE[2] as Uint8Array,
    ];
    const model = made({ nodes }, { opsets: { '': 17, local: 1 }, functions: [body] });
    expect([mayBranch(model), mayBranch(model, model.graph.nodes.slice(0, 1))]).toEqual([true, false]);
    const shapes = [1, 2].map(
      (from) => typeOf(decoded(extract(model, from, from + 1).bytes).graph.input[0])?.[1],
    );
    expect(shapes).toEqual([[{}], [{ dimValue: '4' }]]);
  });
});

describe('inputs and outputs of partitions', () => {
  it('are declared as the file does where they are no tensors, or where their type is measured elsewhere', () => {
    const sequence = w.message(
      [1, 'a'],
      [2, w.message([4, w.message([1, w.message([1, w.message([1, 1])])])])],
    );
    const model = made({ nodes: LINE, values: [sequence] });
    const types = new Map([['b', F4]]);
    const declared = fieldBytes(w.message([12, sequence])).map((field) => field.slice(4));
    const part = extractPartition(model, { from: 0, to: 1, types });
    expect(fieldBytes(payload(part.bytes, 7), (n) => n === 12).map((field) => field.slice(4))).toEqual(
      declared,
    );
  });

  it('are declared as measured where they are graph outputs without a type', () => {
    const model = made({ nodes: LINE, outputs: [w.message([1, 'a']), y] });
    expect(typeOf(decoded(extract(model, 0, 1).bytes).graph.output[0])).toEqual([
      w.FLOAT,
      [{ dimValue: '4' }],
    ]);
    const untyped = extract(model, 0, 1, { types: new Map() });
    expect(decoded(untyped.bytes).graph.output).toEqual([{ name: 'a' }]);
  });
});

describe('exposeTensors()', () => {
  const value = w.value('b', w.FLOAT, ['inner']);
  const model = made({
    nodes: [...LINE, w.node('Op', ['b'], ['c', ''])],
    values: [value],
    initializers: [w.floats('k', [4], [1, 2, 3, 4])],
  });

  it('adds each tensor once, after the existing outputs, as the file declares it', () => {
    const { graph, outputs } = decoded(exposeTensors(model, ['b', 'x', 'y', 'c', 'k', 'b']));
    expect(outputs).toEqual(['y', 'b', 'x', 'c', 'k']);
    expect(graph.output.map(typeOf)).toEqual([
      [w.FLOAT, [{ dimParam: 'batch' }]],
      [w.FLOAT, [{ dimParam: 'inner' }]],
      [w.FLOAT, [{ dimParam: 'batch' }]],
      undefined,
      undefined,
    ]);
    expect(decoded(exposeTensors(model, [])).outputs).toEqual(['y']);
  });

  it('refuses every name that is no tensor, the empty one too', () => {
    expect(() => exposeTensors(model, ['q', 'a', ''])).toThrow(
      /Cannot expose tensors of the model:[\s\S]*"q" is no tensor of its graph\n.*"" is no tensor of its graph$/,
    );
  });
});

describe('nameNodes()', () => {
  it('leaves nodes with a unique name as they are, byte for byte', () => {
    const model = made({ nodes: LINE });
    expect(fieldBytes(nameNodes(model)).sort()).toEqual(fieldBytes(model.bytes).sort());
  });

  it('copies nothing where every node has its name and place', () => {
    const model = made({ nodes: LINE });
    expect(nameNodes(model)).toBe(model.bytes);
    const turned = made({ nodes: [LINE[1], LINE[0], LINE[2]] as Uint8Array[] });
    const names = readModel(nameNodes(turned)).graph.nodes.map(({ encoded }) => encoded.byteOffset);
    expect(nameNodes(turned)).not.toBe(turned.bytes);
    expect(names).toEqual([...names].sort((a, b) => a - b));
  });

  it('gives one name to each node that has no name, two names, or another node’s, and keeps its other fields', () => {
    const twice = w.message([1, 'a'], [3, 'first'], [2, 'b'], [3, 'second'], [4, 'Neg'], [900, 'kept']);
    const model = made({ nodes: [w.node('Relu', ['x'], ['a']), twice, LINE[2] as Uint8Array] });
    const { graph } = decoded(nameNodes(model));
    expect(graph.node.map(({ name }: { name: string }) => name)).toEqual(['Relu_0', 'second', 'three']);
    const second = [...fieldBytes(payload(nameNodes(model), 7), (n) => n === 1)][1] as string;
    expect(second).toContain(Buffer.from('kept').toString('hex'));
    expect(second).not.toContain(Buffer.from('first').toString('hex'));
    expect(second.split(Buffer.from('second').toString('hex'))).toHaveLength(2);
    const repeated = made({
      nodes: LINE.map((_, i) => w.node('Op', ['xab'[i]!], ['aby'[i]!], { name: 'n' })),
    });
    const names = decoded(nameNodes(repeated)).graph.node.map(({ name }: { name: string }) => name);
    expect(names).toEqual(['n', 'n_1', 'n_2']);
  });
});
