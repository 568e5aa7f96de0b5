import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import onnxProto from 'onnx-proto';
import * as ort from 'onnxruntime-node';
import { describe, expect, it } from 'vitest';
import { InputError } from '../../src/formats/index.js';
import {
  bindDims,
  type Cut,
  cutFault,
  cutFaultText,
  cutsOf,
  exposeTensors,
  extractPartition,
  freeDims,
  nameNodes,
  type OnnxModel,
  readModel,
  type TensorType,
  zeroDims,
} from '../../src/onnx/index.js';
import { fieldBytes, payload } from './fields.js';
import { run, runChain, type Tensors, validCuts } from './runtime.js';
import * as w from './writer.js';

const { onnx } = onnxProto;
const X = w.value('x', w.FLOAT, ['batch', 4]);
const F4: TensorType = { dtype: 'float32', dims: [1, 4] };
const FEEDS = { x: new ort.Tensor('float32', Float32Array.of(1, -2, 3, -4), [1, 4]) };

function output(name: string): Uint8Array {
  return w.value(name, w.FLOAT, ['batch', 4]);
}

function made(parts: w.GraphParts, model: w.ModelParts = {}): OnnxModel {
  return readModel(w.model(w.graph({ inputs: [X], outputs: [output('y')], ...parts }), model));
}

function chain(...ops: [op: string, input: string, output: string][]): Uint8Array[] {
  return ops.map(([op, from, to]) => w.node(op, [from], [to]));
}

/** expectEveryCut checks that every single valid cut, and all of them at once, give the whole model's answer. */
async function expectEveryCut(model: OnnxModel, feeds: Tensors = FEEDS): Promise<number[]> {
  const { types, cuts } = await validCuts(model, feeds);
  const outputs = model.graph.outputs.map((value) => value.name);
  const whole = await run(model.bytes, feeds, { level: 'disabled', outputs });
  for (const cutAt of [...cuts.map((cut) => [cut]), cuts]) {
    const parts = await runChain(model, cutAt, feeds, { level: 'disabled', types, outputs });
    const where = cutAt.map(({ position }) => position);
    for (const name of outputs)
      expect(parts[name]!.data, `${name} cut at ${where}`).toEqual(whole[name]!.data);
  }
  return cuts.map(({ position }) => position);
}

describe('readModel()', () => {
  it('puts nodes in order, and leaves a valid order as it is', () => {
    const nodes = chain(['Relu', 'x', 'a'], ['Neg', 'a', 'b'], ['Exp', 'b', 'y']);
    const ops = (order: number[]) =>
      made({ nodes: order.map((i) => nodes[i]!) }).graph.nodes.map((node) => node.op);
    for (const order of [
      [0, 1, 2],
      [2, 1, 0],
      [1, 2, 0],
    ])
      expect(ops(order)).toEqual(['Relu', 'Neg', 'Exp']);
    const forked = [
      w.node('Relu', ['x'], ['a']),
      w.node('Exp', ['x'], ['b']),
      w.node('Add', ['b', 'a'], ['y']),
    ];
    expect(made({ nodes: forked }).graph.nodes.map((node) => node.op)).toEqual(['Relu', 'Exp', 'Add']);
  });

  it('names nodes that have no name, or another node’s', () => {
    const nodes = [
      w.node('Relu', ['x'], ['a']),
      w.node('Neg', ['a'], ['b'], { name: 'n' }),
      w.node('Neg', ['b'], ['c'], { name: 'n' }),
      w.node('Exp', ['c'], ['y'], { name: 'n_2' }),
    ];
    const model = made({ nodes });
    expect(model.graph.nodes.map((node) => node.name)).toEqual(['Relu_0', 'n', 'n_2_', 'n_2']);
    const renamed = onnx.ModelProto.decode(nameNodes(model)).graph!.node!;
    expect(renamed.map((node) => node.name)).toEqual(['Relu_0', 'n', 'n_2_', 'n_2']);
  });

  it('leaves initializers out of the inputs, and optional inputs out of what nodes need', async () => {
    const model = made({
      nodes: [w.node('Add', ['x', 'w'], ['a']), w.node('Clip', ['a', '', 'most'], ['y'])],
      inputs: [X, w.value('w', w.FLOAT, [4])],
      initializers: [w.floats('w', [4], [1, 1, 1, 1]), w.floats('most', [], [2])],
    });
    expect(model.graph.inputs.map((input) => input.name)).toEqual(['x']);
    expect(model.graph.nodes.map((node) => node.weightBytes)).toEqual([16, 4]);
    const part = readModel(extractPartition(model, { from: 0, to: 1, types: new Map([['a', F4]]) }).bytes);
    expect([...part.graph.overridable.keys()]).toEqual(['w']);
    expect(await expectEveryCut(model)).toEqual([1]);
  });

  it('reads sparse initializers, which partitions take along', () => {
    const sparse = w.message([1, w.floats('s', [1], [5])], [2, w.int64s('', [1], [2])], [3, 4]);
    const nodes = [w.node('Relu', ['x'], ['a']), w.node('Add', ['a', 's'], ['y'])];
    const model = made({ nodes, sparse: [sparse] });
    expect(model.graph.initializers.get('s')).toMatchObject({ dtype: 'float32', dims: [4], byteLength: 12 });
    const types = new Map([['a', F4]]);
    const [first, second] = [0, 1].map(
      (from) => extractPartition(model, { from, to: from + 1, types }).bytes,
    );
    expect(readModel(first!).graph.initializers.size).toBe(0);
    expect(fieldBytes(payload(second!, 7), (number) => number === 15)).toEqual(
      fieldBytes(payload(model.bytes, 7), (number) => number === 15),
    );
  });

  it('joins a graph written in two pieces, and takes the last of two scalars', async () => {
    const [one, two] = chain(['Relu', 'x', 'a'], ['Neg', 'a', 'y']);
    const split = w.message(
      [1, 3],
      [7, w.graph({ nodes: [one!], inputs: [X] })],
      [8, w.message([2, 9], [2, 17])],
      [7, w.message([1, two!], [12, output('y')])],
      [1, 8],
    );
    const model = readModel(split);
    expect(model.irVersion).toBe(8);
    expect(model.opsets.get('')).toBe(17);
    expect(model.graph.nodes.map((node) => node.op)).toEqual(['Relu', 'Neg']);
    const whole = extractPartition(model, { from: 0, to: 2, types: new Map() });
    // onnx-proto does not merge the pieces, but ONNX Runtime does.
    const answers = [];
    for (const bytes of [split, whole.bytes]) answers.push(await run(bytes, FEEDS, { level: 'disabled' }));
    for (const { y } of answers) expect(y!.data).toEqual(Float32Array.of(-1, -0, -3, -0));
  });

  it('finds nodes constant that only constants feed, unless they draw random numbers', () => {
    const shape = w.int64s('s', [1], [4]);
    const model = made({
      nodes: [
        w.node('ConstantOfShape', ['s'], ['zeros']),
        w.node('Cos', ['zeros'], ['ones']),
        w.node('RandomNormalLike', ['ones'], ['noise']),
        w.node('Neg', ['noise'], ['minus']),
        w.node('RandomUniform', [], ['u'], { attributes: [w.attribute.ints('shape', [4])] }),
        w.node('Sum', ['x', 'ones', 'minus', 'u'], ['y']),
      ],
      initializers: [shape],
    });
    expect(model.graph.nodes.map((node) => node.constant)).toEqual([true, true, false, false, false, false]);
    expect(cutsOf(model).map((cut) => cut.tensors)).toEqual([
      ['x'],
      ['x'],
      ['x', 'noise'],
      ['x', 'minus'],
      ['x', 'minus', 'u'],
    ]);
  });
});

describe('cutsOf() and extractPartition()', () => {
  it('cutsOf() counts a residual edge at every cut it spans', async () => {
    const nodes = [
      ...chain(['Relu', 'x', 'a'], ['Neg', 'a', 'b'], ['Exp', 'b', 'c'], ['Abs', 'c', 'd']),
      w.node('Add', ['d', 'a'], ['y']),
    ];
    const model = made({ nodes });
    expect(cutsOf(model).map((cut) => cut.tensors)).toEqual([['a'], ['a', 'b'], ['a', 'c'], ['a', 'd']]);
    expect(await expectEveryCut(model)).toEqual([1, 2, 3, 4]);
    const middle = extractPartition(model, {
      from: 2,
      to: 4,
      types: new Map([
        ['b', F4],
        ['d', F4],
      ]),
    });
    expect([middle.inputs, middle.outputs]).toEqual([['b'], ['d']]);
  });

  it('cutsOf() carries a graph output made early to the end, without passing it through', async () => {
    const nodes = chain(['Relu', 'x', 'early'], ['Neg', 'early', 'b'], ['Exp', 'b', 'y']);
    const model = made({ nodes, outputs: [output('early'), output('y')] });
    expect(cutsOf(model).map((cut) => cut.tensors)).toEqual([['early'], ['early', 'b']]);
    const last = extractPartition(model, { from: 2, to: 3, types: new Map([['b', F4]]) });
    expect([last.inputs, last.outputs]).toEqual([['b'], ['y']]);
    await expectEveryCut(model);
  });

  it('cutFault() refuses cuts after constant nodes, after the last work, and of tensors that cannot be sent', () => {
    const nodes = [
      w.node('ConstantOfShape', ['s'], ['k']),
      w.node('Add', ['x', 'k'], ['a']),
      w.node('SequenceConstruct', ['a'], ['q']),
      w.node('SequenceAt', ['q', 'i'], ['y']),
      w.node('Neg', ['a'], ['unused']),
    ];
    const sequence = w.message(
      [1, 'q'],
      [2, w.message([4, w.message([1, w.message([1, w.message([1, 1])])])])],
    );
    const initializers = [w.int64s('s', [1], [4]), w.int64s('i', [], [0])];
    const model = made({ nodes, initializers, values: [sequence] });
    const types = new Map([['a', F4]]);
    const said = (cut: Cut, types: ReadonlyMap<string, TensorType>) => {
      const fault = cutFault(model, cut, { types });
      return fault && cutFaultText(fault);
    };
    const why = cutsOf(model).map((cut) => said(cut, types));
    expect(why[0]).toMatch(/constant or its result is not used/);
    expect(why[1]).toBeUndefined();
    expect(why[2]).toBe(
      '"q", made by SequenceConstruct_2 and last used by SequenceAt_3, is a sequence, which cannot be sent',
    );
    expect(why[3]).toBe('nothing is left to compute after it');
    const strings = new Map([['a', { dtype: 'string', dims: [1, 4] }]]);
    expect(said(cutsOf(model)[1]!, strings)).toMatch(
      /"a", made by Add_1 and last used by Neg_4, is string, which cannot be sent; float32/,
    );
    expect(said(cutsOf(model)[1]!, new Map())).toBe(
      '"a", made by Add_1 and last used by Neg_4, is of a type that is not known',
    );
  });

  it('extractPartition() names the fault of a range', () => {
    const model = made({ nodes: chain(['Relu', 'x', 'a'], ['Neg', 'a', 'y'], ['Exp', 'a', 'unused']) });
    const cut = (from: number, to: number) => () => extractPartition(model, { from, to, types: new Map() });
    expect(cut(0, 4)).toThrow(/Cannot extract nodes \[0, 4\) of the model: there is no such range/);
    expect(cut(2, 3)).toThrow(/the results of these nodes are used nowhere else/);
    expect(cut(0, 1)).toThrow(/the type of "a" is not known/);
    expect(cut(1, 1)).toThrow(InputError);
    const untyped = made({ nodes: chain(['Relu', 'x', 'y']), outputs: [w.message([1, 'y'])] });
    expect(extractPartition(untyped, { from: 0, to: 1, types: new Map() }).outputs).toEqual(['y']);
  });

  it('extractPartition() keeps the tensors that a subgraph captures, from cuts and from initializers', async () => {
    const condition = w.message([2, w.BOOL], [8, 'c'], [9, Uint8Array.of(1)]);
    const inner = w.graph({ nodes: [w.node('Mul', ['a', 'k'], ['i'])], outputs: [w.value('i', w.FLOAT)] });
    const outer = (g: Uint8Array) => [
      w.attribute.graph('then_branch', g),
      w.attribute.graph('else_branch', g),
    ];
    const middle = w.graph({
      nodes: [w.node('If', ['c'], ['m'], { attributes: outer(inner) })],
      outputs: [w.value('m', w.FLOAT)],
    });
    const model = made({
      nodes: [
        w.node('Relu', ['x'], ['a']),
        w.node('Neg', ['x'], ['b']),
        w.node('If', ['c'], ['f'], { attributes: outer(middle) }),
        w.node('Add', ['f', 'b'], ['y']),
      ],
      initializers: [condition, w.floats('k', [4], [2, 3, 4, 5])],
    });
    expect(model.graph.nodes[2]!.captures).toEqual(['c', 'a', 'k']);
    expect(cutsOf(model)[1]!.tensors).toEqual(['a', 'b']);
    expect(await expectEveryCut(model)).toEqual([1, 2, 3]);
  });

  it('extractPartition() declares no measured shape that a branch not taken would contradict', async () => {
    const branch = (node: Uint8Array) => w.graph({ nodes: [node], outputs: [w.value('v', w.FLOAT)] });
    const model = made({
      nodes: [
        w.node('Reshape', ['x', 's'], ['a']),
        w.node('If', ['c'], ['y'], {
          attributes: [
            w.attribute.graph('then_branch', branch(w.node('Identity', ['a'], ['v']))),
            w.attribute.graph('else_branch', branch(w.node('Squeeze', ['a', 'one'], ['v']))),
          ],
        }),
      ],
      inputs: [X, w.value('s', w.INT64, [2])],
      outputs: [w.value('y', w.FLOAT)],
      initializers: [w.message([2, w.BOOL], [8, 'c'], [9, Uint8Array.of(1)]), w.int64s('one', [1], [1])],
    });
    const shape = new ort.Tensor('int64', BigInt64Array.of(2n, 2n), [2]);
    expect(await expectEveryCut(model, { ...FEEDS, s: shape })).toEqual([1]);
  });

  it('extractPartition() cuts around Loop and Scan whose bodies capture outer values', async () => {
    const body = w.graph({
      nodes: [w.node('Identity', ['more'], ['again']), w.node('Add', ['state', 'a'], ['next'])],
      inputs: [w.value('step', w.INT64, []), w.value('more', w.BOOL, []), w.value('state', w.FLOAT)],
      outputs: [w.value('again', w.BOOL, []), w.value('next', w.FLOAT)],
    });
    const scan = w.graph({
      nodes: [
        w.node('Mul', ['row', 'k'], ['scaled']),
        w.node('Add', ['sum', 'scaled'], ['sum2']),
        w.node('Identity', ['scaled'], ['out']),
      ],
      inputs: [w.value('sum', w.FLOAT, [4]), w.value('row', w.FLOAT, [4])],
      outputs: [w.value('sum2', w.FLOAT, [4]), w.value('out', w.FLOAT, [4])],
    });
    const model = made({
      nodes: [
        w.node('Relu', ['x'], ['a']),
        w.node('Abs', ['x'], ['b']),
        w.node('Loop', ['n', '', 'b'], ['l'], { attributes: [w.attribute.graph('body', body)] }),
        w.node('Scan', ['zero', 'l'], ['total', 'rows'], {
          attributes: [w.attribute.graph('body', scan), w.attribute.int('num_scan_inputs', 1)],
        }),
        w.node('Add', ['rows', 'total'], ['y']),
      ],
      initializers: [
        w.int64s('n', [], [3]),
        w.floats('zero', [4], [0, 0, 0, 0]),
        w.floats('k', [4], [1, 2, 3, 4]),
      ],
    });
    expect(await expectEveryCut(model)).toEqual([1, 2, 3, 4]);
  });

  it('extractPartition() copies the local functions that its nodes call and no others', async () => {
    const body = (name: string, op: string, domain = '') =>
      w.message(
        [1, name],
        [4, 'p'],
        [5, 'q'],
        [7, w.node(op, ['p'], ['q'], { domain })],
        [9, w.message([2, 17])],
        [9, w.message([1, 'local'], [2, 1])],
        [10, 'local'],
      );
    const functions = [body('Outer', 'Inner', 'local'), body('Inner', 'Neg'), body('Other', 'Abs')];
    const model = made(
      {
        nodes: [
          w.node('Outer', ['x'], ['a'], { domain: 'local' }),
          w.node('Other', ['a'], ['y'], { domain: 'local' }),
        ],
      },
      { opsets: { '': 17, local: 1 }, functions },
    );
    const types = new Map([['a', F4]]);
    const names = (from: number) =>
      readModel(extractPartition(model, { from, to: from + 1, types }).bytes).functions.map((f) => f.name);
    expect([names(0), names(1)]).toEqual([['Outer', 'Inner'], ['Other']]);
    expect(await expectEveryCut(model)).toEqual([1]);
  });

  it('extractPartition() keeps unknown fields at every level', () => {
    const nodes = [w.node('Relu', ['x'], ['a'], { extra: [[900, 'node']] }), w.node('Neg', ['a'], ['y'])];
    const model = made(
      {
        nodes,
        extra: [
          [901, 'graph'],
          [16, w.message([1, 'k'], [2, 'v'])],
        ],
      },
      {
        extra: [
          [902, 2 ** 52],
          [14, w.message([1, 'm'], [2, 'v'])],
        ],
      },
    );
    const part = extractPartition(model, { from: 0, to: 1, types: new Map([['a', F4]]) }).bytes;
    const graph = payload(part, 7);
    expect(fieldBytes(graph, (n) => n === 1)).toEqual(
      fieldBytes(payload(model.bytes, 7), (n) => n === 1).slice(0, 1),
    );
    const kept = (bytes: Uint8Array, numbers: number[]) => fieldBytes(bytes, (n) => numbers.includes(n));
    expect(kept(graph, [901, 16])).toEqual(kept(payload(model.bytes, 7), [901, 16]));
    expect(kept(part, [1, 8, 14, 902])).toEqual(kept(model.bytes, [1, 8, 14, 902]));
  });

  it('extractPartition() says which external data to copy where, and rewrites the places', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'inferplan-external-'));
    const entries = (offset: number) => ({
      location: 'weights.bin',
      offset: String(offset),
      checksum: 'abc',
    });
    const model = made({
      nodes: [
        w.node('Add', ['x', 'v'], ['a']),
        w.node('Mul', ['a', 'u'], ['b']),
        w.node('Add', ['b', 'u'], ['y']),
      ],
      initializers: [w.externalFloats('v', [4], entries(64)), w.externalFloats('u', [4], entries(128))],
    });
    const types = new Map([['a', F4]]);
    const part = extractPartition(model, { from: 1, to: 3, types, dataFile: 'part.bin' });
    expect(part.external).toEqual([{ location: 'weights.bin', offset: 128, length: 16, toOffset: 0 }]);
    const moved = readModel(part.bytes).graph.initializers;
    expect([...moved.keys()]).toEqual(['u']);
    expect(moved.get('u')!.external).toEqual({ location: 'part.bin', offset: 0, length: 16 });
    expect(Buffer.from(part.bytes).includes('abc')).toBe(true);
    writeFileSync(join(folder, 'part.bin'), new Uint8Array(Float32Array.of(2, 3, 4, 5).buffer));
    writeFileSync(join(folder, 'part.onnx'), part.bytes);
    const session = await ort.InferenceSession.create(join(folder, 'part.onnx'));
    const answer = await session.run({ a: FEEDS.x });
    expect(answer.y!.data).toEqual(Float32Array.of(1 * 2 + 2, -2 * 3 + 3, 3 * 4 + 4, -4 * 5 + 5));
    await session.release();
    rmSync(folder, { recursive: true });
    const stay = extractPartition(model, { from: 1, to: 3, types });
    expect(readModel(stay.bytes).graph.initializers.get('u')!.external).toMatchObject({
      location: 'weights.bin',
      offset: 128,
    });
  });

  it('extractPartition() with boundary float16 casts tensors between partitions, not inputs and outputs', async () => {
    const nodes = [
      ...chain(['Relu', 'x', 'early'], ['Neg', 'x', 'b'], ['Shape', 'x', 's']),
      w.node('Sum', ['early', 'b', 'x'], ['c']),
      w.node('Reshape', ['c', 's'], ['y']),
    ];
    const model = made({ nodes, outputs: [output('early'), output('y')] });
    const types = new Map([
      ['early', F4],
      ['b', F4],
      ['s', { dtype: 'int64', dims: [2] }],
    ]);
    const second = extractPartition(model, { from: 3, to: 5, types, boundary: 'float16' });
    expect(second.inputs).toEqual(['x', 'early', 'b/float16', 's']);
    const first = extractPartition(model, { from: 0, to: 3, types, boundary: 'float16' });
    expect(first.outputs).toEqual(['early', 'b/float16', 's']);
    const sent = await run(first.bytes, FEEDS, { level: 'disabled' });
    expect(sent['b/float16']!.type).toBe('float16');
    const answer = await run(second.bytes, { ...FEEDS, ...sent }, { level: 'disabled' });
    // early + b + x = max(x, 0) − x + x
    expect(answer.y!.data).toEqual(Float32Array.of(1, 0, 3, 0));
  });
});

describe('exposeTensors(), freeDims() and bindDims()', () => {
  const nodes = chain(['Relu', 'x', 'a'], ['Shape', 'a', 's'], ['Neg', 'a', 'y']);

  it('exposeTensors() gives inner tensors whose type only ONNX Runtime knows', async () => {
    const bytes = exposeTensors(made({ nodes }), ['a', 's', 'a', 'y']);
    const tensors = await run(bytes, FEEDS, { level: 'disabled' });
    expect(Object.keys(tensors)).toEqual(['y', 'a', 's']);
    expect(tensors.a!.data).toEqual(Float32Array.of(1, 0, 3, 0));
    expect(tensors.s!.data).toEqual(BigInt64Array.of(1n, 4n));
    expect(() => exposeTensors(made({ nodes }), ['q', 'r'])).toThrow(/"q" is no tensor[^"]*"r" is no tensor/);
  });

  it('bindDims() sets symbols everywhere and unnamed dimensions where they stand', () => {
    const open = w.message(
      [1, 'z'],
      [
        2,
        w.message([
          1,
          w.message([1, 1], [2, w.message([1, w.message([3, 'N'])], [1, w.message([2, 'seq'])])]),
        ]),
      ],
    );
    const sequence = w.message(
      [1, 'q'],
      [
        2,
        w.message([
          4,
          w.message([1, w.message([1, w.message([1, 1], [2, w.message([1, w.message([2, 'seq'])])])])]),
        ]),
      ],
    );
    const model = made({ nodes, inputs: [X, open], values: [sequence] });
    expect(freeDims(model)).toEqual(['batch', 'z.0', 'seq']);
    const bound = onnx.ModelProto.decode(bindDims(model, { seq: 128, 'z.0': 2 })).graph!;
    const dims = (type: { shape?: { dim?: unknown[] | null } | null } | null | undefined) =>
      JSON.parse(JSON.stringify(type?.shape?.dim));
    expect(dims(bound.input![1]!.type!.tensorType)).toEqual([
      { dimValue: '2', denotation: 'N' },
      { dimValue: '128' },
    ]);
    expect(dims(bound.input![0]!.type!.tensorType)).toEqual([{ dimParam: 'batch' }, { dimValue: '4' }]);
    expect(dims(bound.valueInfo![0]!.type!.sequenceType!.elemType!.tensorType)).toEqual([
      { dimValue: '128' },
    ]);
    expect(() => bindDims(model, { sequence: 4, batch: 0 })).toThrow(
      /"sequence"; free dimensions are batch, z\.0, seq[\s\S]*"batch" cannot be 0/,
    );
  });

  it('negative dimensions are free, as in ONNX Runtime, and are bound where they stand', async () => {
    const inputs = [w.value('x', w.FLOAT, [-1, -7])];
    const outputs = [w.value('y', w.FLOAT, [-1, -2])];
    const model = made({ nodes, inputs, outputs, initializers: [] });
    expect(freeDims(model)).toEqual(['x.0', 'x.1']);
    const open = await run(model.bytes, FEEDS, { level: 'disabled' });
    const bound = bindDims(model, { 'x.1': 4 });
    expect(await run(bound, FEEDS, { level: 'disabled' })).toEqual(open);
    const dims = onnx.ModelProto.decode(bound).graph!.input![0]!.type!.tensorType!.shape!.dim!;
    expect(dims.map(({ dimValue }) => Number(dimValue))).toEqual([-1, 4]);
    const other = { x: FEEDS.x.reshape([4, 1]) };
    expect((await run(model.bytes, other, { level: 'disabled' })).y!.dims).toEqual([4, 1]);
    await expect(run(bound, other, { level: 'disabled' })).rejects.toThrow(/x/);
  });

  it('dimensions of 0 are not free, as in ONNX Runtime, and can be bound', async () => {
    const inputs = [w.value('x', w.FLOAT, [1, 0])];
    const outputs = [w.value('y', w.FLOAT, [1, -1])];
    const model = made({ nodes, inputs, outputs, initializers: [] });
    expect(freeDims(model)).toEqual([]);
    expect(zeroDims(model)).toEqual(['x.1']);
    await expect(run(model.bytes, FEEDS, { level: 'disabled' })).rejects.toThrow(/x/);
    const bound = bindDims(model, { 'x.1': 4 });
    expect((await run(bound, FEEDS, { level: 'disabled' })).y!.dims).toEqual([1, 4]);
    expect(() => bindDims(model, { 'x.0': 4 })).toThrow(/"x\.0"; free dimensions are x\.1/);
  });
});
