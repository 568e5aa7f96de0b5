import * as ort from 'onnxruntime-node';
import { describe, expect, it } from 'vitest';
import {
  batchDim,
  exposeTensors,
  type MeasuredShapes,
  makeBatchSymbolic,
  type OnnxModel,
  readModel,
} from '../../../src/onnx/index.js';
import { streamOf } from '../../../src/random/index.js';
import { cases, fewOf } from '../../cases.js';
import { noise } from '../noise.js';
import { run, runEach, type Tensors } from '../runtime.js';
import { rowOf, stacked } from '../stacking.js';
import * as w from '../writer.js';

const { ints, int } = w.attribute;
const text = (name: string, value: string): Uint8Array => w.message([1, name], [4, value], [20, 3]);
/** The rules do not follow sizes through automatic padding. */
const VALID = { attributes: [w.attribute.text('auto_pad', 'VALID')] };
const conv = (pads: number) => ({ attributes: [ints('pads', [pads, pads, pads, pads])] });
const perm = (...axes: number[]) => ({ attributes: [ints('perm', axes)] });

function weights(name: string, dims: readonly number[]): Uint8Array {
  const next = noise(name.length * 7919 + dims.length);
  const count = dims.reduce((product, dim) => product * dim, 1);
  return w.floats(
    name,
    dims,
    Array.from({ length: count }, () => next() - 0.5),
  );
}

interface Made {
  readonly inputs: Readonly<Record<string, readonly number[]>>;
  readonly nodes: readonly Uint8Array[];
  readonly initializers: readonly Uint8Array[];
  /** Inner values whose types the file declares. */
  readonly values?: readonly Uint8Array[];
  /** Whether the file alone does not tell enough shapes. */
  readonly lacksShapes: boolean;
}

/** These declare no shapes of inner tensors, as many exported files do not. */
const MODELS: Record<string, Made> = {
  'a tracker with two inputs': {
    inputs: { z: [1, 3, 8, 8], x: [1, 3, 12, 12] },
    nodes: [
      w.node('Conv', ['z', 'k'], ['zf'], VALID),
      w.node('Conv', ['x', 'k'], ['xf'], VALID),
      w.node('Reshape', ['zf', 'flat'], ['zr']),
      w.node('Reshape', ['xf', 'flat'], ['xr']),
      w.node('Transpose', ['zr'], ['zt'], perm(0, 2, 1)),
      w.node('MatMul', ['zt', 'xr'], ['m']),
      w.node('Reshape', ['m', 'map'], ['c']),
      w.node('Conv', ['c', 'head'], ['y']),
    ],
    initializers: [
      weights('k', [4, 3, 3, 3]),
      weights('head', [2, 36, 1, 1]),
      w.int64s('flat', [3], [1, 4, -1]),
      w.int64s('map', [4], [-1, 36, 10, 10]),
    ],
    lacksShapes: true,
  },
  'a keyword spotter': {
    inputs: { x: [1, 1, 12, 8] },
    nodes: [
      w.node('Conv', ['x', 'k'], ['c'], conv(1)),
      w.node('MaxPool', ['c'], ['p'], {
        attributes: [ints('kernel_shape', [2, 2]), ints('strides', [2, 2])],
      }),
      w.node('Transpose', ['p'], ['t'], perm(2, 0, 1, 3)),
      w.node('Reshape', ['t', 'steps'], ['s']),
      w.node('GRU', ['s', 'gw', 'gr'], ['states', 'last'], { attributes: [int('hidden_size', 5)] }),
      w.node('Reshape', ['last', 'flat'], ['f']),
      w.node('Gemm', ['f', 'fc'], ['y']),
    ],
    initializers: [
      weights('k', [4, 1, 3, 3]),
      weights('gw', [1, 15, 16]),
      weights('gr', [1, 15, 5]),
      weights('fc', [5, 3]),
      w.int64s('steps', [3], [6, 1, -1]),
      w.int64s('flat', [2], [-1, 5]),
    ],
    lacksShapes: true,
  },
  'segmentation to a constant size': {
    inputs: { x: [1, 3, 9, 8] },
    nodes: [
      w.node('Conv', ['x', 'k'], ['c'], { attributes: [ints('strides', [2, 2]), ...VALID.attributes] }),
      w.node('Resize', ['c', '', '', 'sizes'], ['r'], { attributes: [text('mode', 'linear')] }),
      w.node('Conv', ['r', 'head'], ['y']),
    ],
    initializers: [
      weights('k', [4, 3, 3, 3]),
      weights('head', [2, 4, 1, 1]),
      w.int64s('sizes', [4], [1, 4, 9, 8]),
    ],
    lacksShapes: true,
  },
  'segmentation to a size computed from the input': {
    inputs: { x: [1, 3, 9, 8] },
    nodes: [
      w.node('Conv', ['x', 'k'], ['c'], { attributes: [ints('strides', [2, 2]), ...VALID.attributes] }),
      w.node('Shape', ['c'], ['shape']),
      w.node('Slice', ['shape', 'zero', 'two'], ['lead']),
      w.node('Concat', ['lead', 'plane'], ['sizes'], { attributes: [int('axis', 0)] }),
      w.node('Resize', ['c', '', '', 'sizes'], ['r'], { attributes: [text('mode', 'linear')] }),
      w.node('Conv', ['r', 'head'], ['y']),
    ],
    initializers: [
      weights('k', [4, 3, 3, 3]),
      weights('head', [2, 4, 1, 1]),
      w.int64s('zero', [1], [0]),
      w.int64s('two', [1], [2]),
      w.int64s('plane', [2], [9, 8]),
    ],
    lacksShapes: true,
  },
  'a bidirectional LSTM with constant initial states': {
    inputs: { x: [1, 5, 3] },
    nodes: [
      w.node('ConstantOfShape', ['state shape'], ['c0']),
      w.node('Transpose', ['x'], ['t'], perm(1, 0, 2)),
      w.node('LSTM', ['t', 'lw', 'lr', '', '', 'h0', 'c0'], ['states'], {
        attributes: [int('hidden_size', 4), text('direction', 'bidirectional')],
      }),
      w.node('Transpose', ['states'], ['u'], perm(0, 2, 1, 3)),
      w.node('Reshape', ['u', 'joined'], ['j']),
      w.node('Transpose', ['j'], ['v'], perm(1, 0, 2)),
      w.node('MatMul', ['v', 'fc'], ['y']),
    ],
    initializers: [
      weights('lw', [2, 16, 3]),
      weights('lr', [2, 16, 4]),
      weights('fc', [8, 2]),
      w.floats('h0', [2, 1, 4], new Array(8).fill(0)),
      w.int64s('state shape', [3], [2, 1, 4]),
      w.int64s('joined', [3], [0, 0, -1]),
    ],
    lacksShapes: false,
  },
  'channels shuffled with the batch inside the second axis': {
    inputs: { x: [1, 3, 6, 6] },
    nodes: [
      w.node('Conv', ['x', 'k'], ['c'], VALID),
      w.node('Reshape', ['c', 'pairs'], ['p']),
      w.node('Transpose', ['p'], ['t'], perm(1, 0, 2)),
      w.node('Reshape', ['t', 'halves'], ['h']),
      w.node('Gather', ['h', 'first'], ['a'], { attributes: [int('axis', 0)] }),
      w.node('Gather', ['h', 'second'], ['b'], { attributes: [int('axis', 0)] }),
      w.node('Sub', ['a', 'b'], ['y']),
    ],
    initializers: [
      weights('k', [6, 3, 3, 3]),
      w.int64s('pairs', [3], [-1, 2, 16]),
      w.int64s('halves', [5], [2, -1, 3, 4, 4]),
      w.int64s('first', [], [0]),
      w.int64s('second', [], [1]),
    ],
    lacksShapes: true,
  },
  'channels shuffled with constant sizes only': {
    inputs: { x: [1, 6, 4] },
    nodes: [
      w.node('Reshape', ['x', 'pairs'], ['p']),
      w.node('Transpose', ['p'], ['t'], perm(1, 0, 2)),
      w.node('Reshape', ['t', 'halves'], ['h']),
      w.node('Gather', ['h', 'second'], ['y'], { attributes: [int('axis', 0)] }),
    ],
    initializers: [
      w.int64s('pairs', [3], [3, 2, 4]),
      w.int64s('halves', [5], [2, 1, 3, 2, -1]),
      w.int64s('second', [], [1]),
    ],
    lacksShapes: false,
  },
  'frames of a request convolved one by one': {
    inputs: { x: [1, 4, 3, 6, 6] },
    nodes: [
      w.node('Reshape', ['x', 'frames'], ['f']),
      w.node('Conv', ['f', 'k'], ['c']),
      w.node('GlobalAveragePool', ['c'], ['g']),
      w.node('Reshape', ['g', 'back'], ['y']),
    ],
    initializers: [
      weights('k', [2, 3, 3, 3]),
      w.int64s('frames', [4], [4, 3, 6, 6]),
      w.int64s('back', [3], [1, 4, 2]),
    ],
    lacksShapes: false,
  },
  'an inner shape that the file declares in part': {
    inputs: { x: [1, 4, 3] },
    nodes: [w.node('Neg', ['x'], ['n']), w.node('Reshape', ['n', 'rows'], ['y'])],
    initializers: [w.int64s('rows', [2], [-1, 12])],
    values: [w.value('n', w.FLOAT, [1, 'length', 3])],
    lacksShapes: false,
  },
  'the shape of a shape that was stretched and squeezed': {
    inputs: { x: [1, 4] },
    nodes: [
      w.node('Shape', ['x'], ['s']),
      w.node('Unsqueeze', ['s', 'zero'], ['u']),
      w.node('Squeeze', ['u', 'zero'], ['q']),
      w.node('Shape', ['q'], ['two']),
      w.node('Concat', ['open', 'two', 'two'], ['t'], { attributes: [int('axis', 0)] }),
      w.node('Reshape', ['x', 't'], ['y']),
    ],
    initializers: [w.int64s('zero', [1], [0]), w.int64s('open', [1], [-1])],
    lacksShapes: false,
  },
  'the shape of a shape that was squeezed of every axis of size 1': {
    inputs: { x: [1, 4] },
    nodes: [
      w.node('Shape', ['x'], ['s']),
      w.node('Unsqueeze', ['s', 'zero'], ['u']),
      w.node('Squeeze', ['u'], ['q']),
      w.node('Shape', ['q'], ['two']),
      w.node('Concat', ['open', 'two', 'two'], ['t'], { attributes: [int('axis', 0)] }),
      w.node('Reshape', ['x', 't'], ['y']),
    ],
    initializers: [w.int64s('zero', [1], [0]), w.int64s('open', [1], [-1])],
    lacksShapes: false,
  },
};

function modelOf({ inputs, nodes, initializers, values = [] }: Made): OnnxModel {
  const graph = w.graph({
    nodes,
    initializers,
    values,
    inputs: Object.entries(inputs).map(([name, dims]) => w.value(name, w.FLOAT, dims)),
    outputs: [w.message([1, 'y'])],
  });
  return readModel(w.model(graph));
}

function requestOf({ inputs }: Made, seed: number): Tensors {
  const next = noise(seed * 613 + 1);
  return Object.fromEntries(
    Object.entries(inputs).map(([name, dims]) => {
      const length = dims.reduce((product, dim) => product * dim, 1);
      const data = Float32Array.from({ length }, () => next() * 2 - 1);
      return [name, new ort.Tensor('float32', data, dims)];
    }),
  );
}

/** measured gives the shapes of all inner tensors in a run of one request. */
async function measured(model: OnnxModel, request: Tensors): Promise<MeasuredShapes> {
  const inner = model.graph.nodes.flatMap(({ outputs }) => outputs).filter((name) => name !== 'y');
  const values = await run(exposeTensors(model, inner), request, { level: 'disabled' });
  return Object.fromEntries(Object.entries(values).map(([name, { dims }]) => [name, [...dims]]));
}

describe('makeBatchSymbolic() with measured shapes', () => {
  it.each(Object.entries(MODELS))('gives every row of a batch its own answer: %s', async (_, made) => {
    const model = modelOf(made);
    const rows = [1, 2, 3, 4].map((seed) => requestOf(made, seed));
    const without = makeBatchSymbolic(model);
    expect(without.ok ? 'made' : without).toEqual(
      made.lacksShapes ? { ok: false, lacksShapes: true, missing: expect.any(String) } : 'made',
    );
    const symbolic = makeBatchSymbolic(model, { shapes: await measured(model, rows[0]!) });
    if (!symbolic.ok) throw new Error(symbolic.missing);
    const batch = batchDim(readModel(symbolic.bytes));
    if (batch.kind !== 'symbolic') throw new Error(batch.kind);
    for (const level of ['disabled', 'all'] as const) {
      const together = (await run(symbolic.bytes, stacked(rows, batch.inputs), { level })).y!;
      for (const [i, request] of rows.entries()) {
        const alone = (await run(model.bytes, request, { level })).y!;
        const got = rowOf(together, 0, i).data as Float32Array;
        const wanted = alone.data as Float32Array;
        expect(together.dims).toEqual([4, ...alone.dims.slice(1)]);
        got.forEach((value, at) => {
          expect(Math.abs(value - wanted[at]!)).toBeLessThan(1e-6);
        });
      }
    }
  });

  it.each(Object.entries(MODELS))(
    'makes the same model again of the shapes it names: %s',
    async (_, made) => {
      const model = modelOf(made);
      const all = await measured(model, requestOf(made, 1));
      const first = makeBatchSymbolic(model, { shapes: all });
      if (!first.ok) throw new Error(first.missing);
      expect(Object.keys(first.shapes).length > 0).toBe(made.lacksShapes);
      expect(Object.keys(first.shapes).length).toBeLessThan(Math.max(1, Object.keys(all).length));
      expect(makeBatchSymbolic(model, { shapes: first.shapes })).toEqual(first);
    },
  );

  it('says what it changed', () => {
    const made = makeBatchSymbolic(modelOf(MODELS['a bidirectional LSTM with constant initial states']!));
    expect(made.ok && made.changes).toEqual([
      'the batch of "x", "y" is "batch"',
      expect.stringMatching(/^LSTM ".*": "h0" is left out$/),
      expect.stringMatching(/^LSTM ".*": "c0" is left out$/),
    ]);
  });
});

/** A random chain of Transpose and Reshape over x[size, 4, 6, 2]; targets hold −1, 0 or sizes only. */
function randomLayout(seed: number, size: number): Made {
  const next = noise(seed * 7907 + 13);
  const below = (count: number) => Math.floor(next() * count);
  let dims = [size, 4, 6, 2];
  const nodes: Uint8Array[] = [];
  const initializers: Uint8Array[] = [];
  const length = 2 + below(4);
  for (let i = 0; i < length; i++) {
    const [from, to] = [i === 0 ? 'x' : `t${i}`, i === length - 1 ? 'y' : `t${i + 1}`];
    if (below(2) === 0) {
      const order = dims.map((_, axis) => axis).sort(() => next() - 0.5);
      nodes.push(w.node('Transpose', [from], [to], perm(...order)));
      dims = order.map((axis) => dims[axis]!);
      continue;
    }
    const target =
      dims.length > 1 && below(3) === 0
        ? joined(dims, below(dims.length - 1))
        : parted(dims, below(dims.length), below);
    const written = target.map((size, axis) => (size === dims[axis] && below(3) === 0 ? 0 : size));
    if (below(2) === 0) written[below(written.length)] = -1;
    nodes.push(w.node('Reshape', [from, `s${i}`], [to]));
    initializers.push(w.int64s(`s${i}`, [written.length], written));
    dims = target;
  }
  return { inputs: { x: [size, 4, 6, 2] }, nodes, initializers, lacksShapes: false };
}

function joined(dims: readonly number[], axis: number): number[] {
  return [...dims.slice(0, axis), dims[axis]! * dims[axis + 1]!, ...dims.slice(axis + 2)];
}

function parted(dims: readonly number[], axis: number, below: (count: number) => number): number[] {
  const factor = [1, 2, 3][below(3)]!;
  const size = dims[axis]!;
  return size % factor === 0
    ? [...dims.slice(0, axis), factor, size / factor, ...dims.slice(axis + 1)]
    : [...dims];
}

/** expectRowsApart runs two requests of the file's batch alone and together, and compares all rows along the batch. */
async function expectRowsApart(made: Made, bytes: Uint8Array, what: string): Promise<void> {
  const model = modelOf(made);
  const size = made.inputs.x![0]!;
  const requests = [1, 2].map((seed) => requestOf(made, seed));
  const answers = await runEach(model.bytes, requests, { level: 'disabled' });
  const [first, second] = answers.map((answer) => answer.y);
  const { y } = await run(bytes, joinedRequests(requests), { level: 'disabled' });
  const grown = y!.dims.flatMap((dim, axis) => (dim === first!.dims[axis] ? [] : [axis]));
  expect(grown.length, what).toBe(1);
  const [axis] = grown as [number];
  expect(y!.dims, what).toEqual(first!.dims.with(axis, 2 * size));
  for (let row = 0; row < 2 * size; row++) {
    const alone = rowOf(row < size ? first! : second!, axis, row % size);
    expect([...(rowOf(y!, axis, row).data as Float32Array)], what).toEqual([...(alone.data as Float32Array)]);
  }
}

/** joinedRequests puts the rows of several requests one after another along the first axis of x. */
function joinedRequests(requests: readonly Tensors[]): Tensors {
  const data = requests.flatMap(({ x }) => [...(x!.data as Float32Array)]);
  const [lead, ...rest] = requests[0]!.x!.dims;
  return { x: new ort.Tensor('float32', Float32Array.from(data), [requests.length * lead!, ...rest]) };
}

it.each(fewOf([2, 1], 1))(
  'makeBatchSymbolic() keeps rows apart in every random chain it accepts, of batch %i',
  async (size) => {
    let accepted = 0;
    for (let seed = 0; seed < cases(150, 2000); seed++) {
      const made = randomLayout(seed, size);
      const symbolic = makeBatchSymbolic(modelOf(made));
      if (!symbolic.ok) continue;
      accepted++;
      await expectRowsApart(made, symbolic.bytes, `seed ${seed}`);
    }
    expect(accepted).toBeGreaterThan(cases(20, 200));
  },
);

it('makeBatchSymbolic() knows the sizes behind Conv and pools as ONNX Runtime has them', async () => {
  const stream = streamOf(1, 'sizes');
  const two = (most: number) => [1 + stream.integer(most), 1 + stream.integer(most)];
  for (let k = 0; k < 20; k++) {
    const [kernel, pads] = [two(3), [...two(2), ...two(2)].map((pad) => pad - 1)];
    const common = [ints('strides', two(3)), ints('pads', pads)];
    const pool = stream.uniform() < 0.5 ? 'MaxPool' : 'AveragePool';
    const nodes = [
      w.node('Conv', ['x', 'k'], ['c'], { attributes: [...common, ints('dilations', two(2))] }),
      w.node(pool, ['c'], ['p'], { attributes: [ints('kernel_shape', [2, 2]), ints('strides', two(2))] }),
    ];
    const initializers = [weights('k', [4, 3, ...kernel])];
    const made: Made = { inputs: { x: [1, 3, 17, 15] }, nodes, initializers, lacksShapes: false };
    const model = modelOf({ ...made, nodes: [...nodes, w.node('Identity', ['p'], ['y'])] });
    const { p } = await measured(model, requestOf(made, k));
    const row = p!.reduce((product, size) => product * size, 1);
    const laid = modelOf({
      ...made,
      nodes: [...nodes, w.node('Reshape', ['p', 'flat'], ['y'])],
      initializers: [...initializers, w.int64s('flat', [2], [-1, row])],
    });
    expect(makeBatchSymbolic(laid).ok, `${pool} behind a kernel of ${kernel}, ${pads}`).toBe(true);
  }
});
